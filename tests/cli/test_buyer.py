"""Records of buyers from the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import count

import ape
import pytest
from eth_account import Account
from eth_utils import keccak

from bilateral.buyers.anchors import StateTree
from bilateral.cli.terms import fields_of
from bilateral.core.contracts.buyer_terms import BuyerState, BuyerTier, policy_hash
from scripts._payments import sign_payment

NUMBERS = count(1)


def new_address():
    return Account.create().address


def new_hash():
    return "0x" + keccak(text=f"payment {next(NUMBERS)}").hex()


@pytest.fixture
def buyer(done, with_buyers):
    """Runs a command of the group that must succeed, and returns what it wrote as JSON."""

    def run(*arguments, key=None, stdin=None):
        text = None if stdin is None else json.dumps(stdin)
        return done("buyer", *arguments, key=key, stdin=text, **with_buyers)

    return run


@pytest.fixture
def mistake(refused, with_buyers):
    """Runs a command of the group that must fail, and returns the sentence."""

    def run(code, *arguments, key=None, stdin=None):
        text = None if stdin is None else json.dumps(stdin)
        return refused(code, "buyer", *arguments, key=key, stdin=text, **with_buyers)["message"]

    return run


def a_state(**changes):
    state = BuyerState(
        new_address(), 8453, 50, BuyerTier.VERIFIED, 5, 10**6, 1, 2, 1, 90, 1, 90, 0, policy_hash("brp-1.0"), 7
    )
    return replace(state, **changes)


def test_a_signed_payment_is_settled(buyer, token, deployer, owner, agent, client, other_client):
    token.mint(client, 10**9, sender=deployer)
    payment = sign_payment(token, ape.chain.chain_id, client, owner.address, 20_000, next(NUMBERS))
    payer, payee, amount, after, before, nonce, signature = payment.whole
    terms = {
        "buyer": payer,
        "payee": payee,
        "amount": amount,
        "valid_after": after,
        "valid_before": before,
        "nonce": "0x" + nonce.hex(),
        "signature": "0x" + bytes(signature).hex(),
        "token": token.address,
    }
    settled = buyer("settle", "-", stdin=terms, key=other_client)["result"]
    assert (settled["buyer"], settled["amount"], settled["refusal"]) == (payer, 20_000, None)
    shown = buyer("show", payer)
    assert (shown["score"], shown["tier"]) == (15, "new")
    assert shown["records"]["settled"]["payments"] == 1
    assert shown["from_settled_payments"]["score"] == 15


def test_one_payment_is_recorded(buyer, attestor, client):
    who, transaction = new_address(), client.transfer(client, 1).txn_hash
    assert not buyer("paid", transaction)["is_recorded"]
    assert buyer("record", who, 20_000, transaction, key=attestor)["result"]["amount"] == 20_000
    assert buyer("paid", transaction)["is_recorded"]
    assert not buyer("paid", transaction, "--chain-id", 8453)["is_recorded"]
    assert buyer("show", who)["records"]["attested"]["volume"] == 20_000


def test_a_payment_that_the_node_does_not_show_is_not_recorded(mistake, attestor):
    unknown = new_hash()
    assert f"no receipt for {unknown}" in mistake(5, "record", new_address(), 20_000, unknown, key=attestor)


def test_many_payments_are_recorded(buyer, attestor):
    who, hashes = new_address(), [new_hash(), new_hash()]
    payments = [
        {"transaction_hash": hash_, "payment": {"buyer": who, "amount": 5, "paid_at": 1_700_000_000, "position": 3}}
        for hash_ in hashes
    ]
    buyer("record-many", "-", stdin={"chain_id": 8453, "payments": payments}, key=attestor)
    assert buyer("paid", hashes[1], "--position", 3, "--chain-id", 8453)["is_recorded"]
    assert not buyer("paid", hashes[1], "--position", 4, "--chain-id", 8453)["is_recorded"]
    assert buyer("show", who)["records"]["attested"]["payments"] == 2


def test_votes_of_sellers_are_recorded(buyer, attestor):
    who, sellers = new_address(), [new_address(), new_address(), new_address()]
    buyer("vote", f"{who}:{sellers[0]}=90", key=attestor)
    buyer("vote", f"{who}:{sellers[1]}=0", f"{who}:{sellers[2]}=100", key=attestor)
    votes = [buyer("show", who, "--seller", seller)["vote_of_seller"] for seller in sellers]
    assert votes == [90, 0, 100]


def test_reviews_are_recorded(buyer, attestor):
    who = new_address()
    buyer("review", "-", stdin=[{"buyer": who, "reviews": 3, "review_sum": 240, "disputes": 1}], key=attestor)
    record = buyer("show", who)["records"]["attested"]
    assert (record["reviews"], record["review_sum"], record["disputes"]) == (3, 240, 1)


def test_a_root_is_anchored_and_a_state_verified(buyer, bilateral, with_buyers, anchorer):
    states = [a_state(), a_state()]
    tree = StateTree(states)
    epoch = buyer("root")["next_epoch"]
    root = "0x" + tree.root.hex()
    assert buyer("anchor", epoch, root, key=anchorer)["result"] == {"epoch": epoch, "root": root}
    assert buyer("root") == buyer("root", epoch) == {"epoch": epoch, "root": root, "next_epoch": epoch + 1}
    proof = ["0x" + content.hex() for content in tree.proof_of(states[0])]
    proven = {"state": fields_of(states[0]), "epoch": epoch, "proof": proof}
    assert buyer("verify", "-", stdin=proven)["is_anchored"]
    proven["state"]["score"] = 99
    ran = bilateral("buyer", "verify", "-", "--json", stdin=json.dumps(proven), **with_buyers)
    assert (ran.code, ran.json["is_anchored"]) == (1, False)


def test_a_credential_is_issued_and_checked(bilateral, with_buyers, attestor, client):
    gate, word = new_address(), "0x" + "5c" * 32
    for key, code in ((attestor, 0), (client, 1)):  # only the attestor's counts
        issue = ("buyer", "issue", new_address(), "--tier", "trusted", "--gate", gate, "--pseudonym", word)
        made = bilateral(*issue, key=key, **with_buyers)
        assert made.code == 0, made.err
        for options in ((), ("--gate", gate)):
            ran = bilateral("buyer", "credential", "-", "--json", *options, stdin=made.out, **with_buyers)
            assert (ran.code, ran.json["tier"], ran.json["is_valid"]) == (code, "trusted", code == 0)
            assert ran.json["pseudonym"] == word


@pytest.mark.parametrize(
    ("options", "reason"),
    [(("--gate", new_address()), "scope_mismatch"), (("--policy", "independent-1.0"), "policy_mismatch")],
    ids=["gate", "policy"],
)
def test_a_credential_for_another_gate_or_policy_is_refused(bilateral, with_buyers, attestor, options, reason):
    gate = new_address()
    issue = ("buyer", "issue", new_address(), "--tier", "new", "--gate", gate, "--pseudonym", "0x" + "5c" * 32)
    made = bilateral(*issue, key=attestor, **with_buyers)
    own = options if options[0] == "--gate" else (*options, "--gate", gate)
    ran = bilateral("buyer", "credential", "-", "--json", *own, stdin=made.out, **with_buyers)
    assert (ran.code, json.loads(ran.err)["reason"]) == (4, reason)


@pytest.mark.parametrize("place", [(), ("--gate", new_address(), "--scope", "0x" + "5c" * 32)])
def test_a_credential_names_one_place(bilateral, with_buyers, attestor, place):
    issue = ("buyer", "issue", new_address(), "--tier", "new", "--pseudonym", "0x" + "5c" * 32)
    ran = bilateral(*issue, *place, "--json", key=attestor, **with_buyers)
    assert (ran.code, "exactly one of --gate and --scope" in ran.err) == (3, True)


def test_a_role_is_handed_over_in_two_steps(buyer, attestor, client):
    buyer("nominate", "attestor", client.address, key=attestor)
    assert buyer("roles")["attestor"] == {"holder": attestor.address, "nominee": client.address}
    buyer("nominate", "attestor", key=attestor)
    assert buyer("roles")["attestor"] == {"holder": attestor.address, "nominee": None}
    buyer("nominate", "attestor", client.address, key=attestor)
    buyer("take-role", "attestor", key=client)
    assert buyer("roles")["attestor"] == {"holder": client.address, "nominee": None}
    buyer("nominate", "attestor", attestor.address, key=client)
    buyer("take-role", "attestor", key=attestor)


def test_the_tokens_are_shown(buyer, token):
    assert buyer("roles")["tokens"] == [token.address]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ([], "the file must be an object with the fields state, epoch, proof"),
        ({"state": {}, "epoch": 1}, "the file lacks the field proof"),
        ({"state": {}, "epoch": 1, "proof": [], "x": 1}, "the file has an unknown field: x"),
        ({"state": {}, "epoch": 1, "proof": "0x"}, "the field proof must be a JSON list"),
        ({"state": {}, "epoch": 1, "proof": ["5c"]}, "proof[0] must be hexadecimal, such as 0x5c1f"),
        ({"state": {}, "epoch": 1, "proof": []}, "state lacks the field buyer"),
        ({"state": [], "epoch": 1, "proof": []}, "state must be an object with the fields"),
    ],
    ids=["no-object", "missing", "unknown", "no-list", "no-hex", "empty", "list"],
)
def test_a_malformed_file_is_refused(mistake, content, sentence):
    assert sentence in mistake(3, "verify", "-", stdin=content)


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("score", "50", "state.score must be a whole number"),
        ("score", True, "state.score must be a whole number"),
        ("buyer", 1, "state.buyer must be a string"),
        ("tier", "gold", "state.tier must be one of new, verified, trusted, premium"),
        ("policy", "0x123", "state.policy must be hexadecimal"),
    ],
)
def test_a_malformed_field_is_named(mistake, field, value, sentence):
    content = {"state": fields_of(a_state()) | {field: value}, "epoch": 1, "proof": []}
    assert sentence in mistake(3, "verify", "-", stdin=content)


def test_a_file_that_is_not_json_is_refused(refused, with_buyers):
    error = refused(3, "buyer", "review", "-", stdin="{", **with_buyers)
    assert "the file is not JSON" in error["message"]


@pytest.mark.parametrize("vote", ["1=90", "0x1:0x2", "0x1:0x2=-1", "0x1:0x2=x"])
def test_a_malformed_vote_is_refused(mistake, attestor, vote):
    assert "votes must have the form BUYER:SELLER=SCORE" in mistake(3, "vote", vote, key=attestor)


def test_an_unknown_role_is_refused(mistake, attestor):
    assert "ROLE must be attestor or anchorer, not owner" in mistake(3, "take-role", "owner", key=attestor)


def test_an_unknown_tier_is_refused(mistake, attestor):
    sentence = "--tier must be one of new, verified, trusted, premium, not gold"
    place = ("--gate", new_address(), "--pseudonym", "0x" + "5c" * 32)
    assert sentence in mistake(3, "issue", new_address(), "--tier", "gold", *place, key=attestor)


def test_a_deployment_without_the_registry_is_named(refused):
    assert "buyers" in refused(8, "buyer", "show", new_address())["message"].lower()
