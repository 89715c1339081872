"""Authorised feedback from the command line."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from eth_account import Account

from bilateral.core.signatures import Domain, FeedbackAuth, decode_feedback_auth, sign_feedback_auth
from tests.sdk.client.unreliable import UnreliableNode, answers, refuses

FAR = 2**256 - 1

pytestmark = pytest.mark.usefixtures("agent")


@pytest.fixture
def authorization(bilateral, owner, client):
    """An authorisation of the client for two feedbacks."""
    ran = bilateral("auth", "create", 1, client.address, "--count", 2, key=owner)
    assert (ran.code, ran.err) == (0, "")
    return ran.out.strip()


def test_an_authorisation_is_used_up_to_its_limit(done, refused, authorized, authorization, client):
    ran = done("auth", "give", 92, authorization, "--tag1", "quality", "--text", "good", key=client)
    assert (ran["result"]["score"], ran["result"]["tag1"], ran["result"]["client"]) == (92, "quality", client.address)
    done("auth", "give", 70, "-", key=client, stdin=authorization)
    assert tuple(authorized.getSummary(1)) == (2, 81)
    assert refused(4, "auth", "give", 70, authorization, key=client)["reason"] == "index_limit_reached"


def test_a_further_authorisation_needs_the_number_of_feedback(done, refused, authorization, owner, client):
    done("auth", "give", 92, authorization, key=client)
    error = refused(4, "auth", "create", 1, client.address, key=owner)
    assert (error["reason"], error["arguments"]["node_index"]) == ("index_mismatch", 1)
    assert "pass its number as --last-index; otherwise pass --index-limit" in error["message"]
    encoded = done("auth", "create", 1, client.address, "--last-index", 1, key=owner)
    assert encoded["index_limit"] == 2


def test_authorised_feedback_is_listed_and_averaged(done, bilateral, authorization, client):
    assert done("auth", "summary", 1) == {"agent": "31337:1", "count": 0, "average": None}
    done("auth", "give", 92, authorization, "--tag1", "quality", key=client)
    assert done("auth", "summary", 1) == {"agent": "31337:1", "count": 1, "average": "92"}
    (entry,) = done("auth", "list", 1)
    assert (entry["position"], entry["client"], entry["score"], entry["tag1"]) == (0, client.address, 92, "quality")
    assert done("auth", "list", 1, "--client", client.address, "--limit", 1) == [entry]
    assert done("auth", "list", 1, "--offset", 1) == []
    assert "quality" in bilateral("auth", "list", 1).out


def test_an_authorisation_is_taken_apart_without_a_node(done, authorization, client):
    shown = done("auth", "show", authorization, BILATERAL_RPC_URL=None)
    assert (shown["agent_id"], shown["client"], shown["index_limit"], shown["chain_id"]) == (
        "1",
        client.address,
        2,
        "31337",
    )
    assert shown["encoded"] == authorization
    assert shown.keys() == {"agent_id", "client", "index_limit", "expiry", "chain_id", "signature", "encoded"}


def test_a_node_tells_whether_the_owner_signed(done, authorization, owner):
    shown = done("auth", "show", "-", stdin=authorization)
    assert (shown["signer"], shown["owner"], shown["is_signed_by_owner"]) == (owner.address, owner.address, True)
    assert (shown["is_for_this_chain"], shown["is_expired"]) == (True, False)


def test_an_authorisation_that_somebody_else_signed_is_told_apart(done, authorized, owner, client, stranger):
    auth = FeedbackAuth(1, client.address, 1, 4, 31337)
    key = Account.from_key(stranger.private_key)
    encoded = sign_feedback_auth(auth, Domain(31337, authorized.address), key)
    shown = done("auth", "show", "0x" + encoded.hex())
    assert (shown["signer"], shown["owner"], shown["is_signed_by_owner"]) == (stranger.address, owner.address, False)
    assert shown["is_expired"] is True


@pytest.fixture
def owned_by(identity, authorized, owner, client):
    """Hands the agent to a contract; returns what authorises the client, signed by whom the test names."""

    def hand(contract, signer):
        identity.transferFrom(owner, contract, 1, sender=owner)
        auth = FeedbackAuth(1, client.address, 1, FAR, 31337)
        return sign_feedback_auth(auth, Domain(31337, authorized.address), Account.from_key(signer.private_key))

    return hand


@pytest.fixture
def verdict(done, bilateral, authorized, client):
    """Show an authorisation's signer, owner and validity. The registry agrees about the validity."""

    def show(encoded):
        shown = done("auth", "show", "0x" + encoded.hex())
        ran = bilateral("auth", "give", 92, "0x" + encoded.hex(), "--dry-run", key=client)
        assert (ran.code == 0) is bool(shown["is_signed_by_owner"])
        return shown["signer"], shown["owner"], shown["is_signed_by_owner"]

    return show


def test_an_owner_that_is_a_contract_has_signed_what_it_accepts(verdict, owned_by, contract_wallet, wallet_key):
    encoded = owned_by(contract_wallet, wallet_key)
    assert verdict(encoded) == (contract_wallet.address, contract_wallet.address, True)


def test_a_signature_that_no_account_could_make_is_for_the_contract_to_judge(verdict, owned_by, deployer, project):
    wallet = deployer.deploy(project.WalletAcceptsEverything)
    encoded = owned_by(wallet, deployer)
    for signature in (b"", b"\7" * 64, b"\7" * 65, b"\7" * 500):
        assert verdict(encoded[:160] + signature) == (wallet.address, wallet.address, True)


def test_an_owner_that_is_a_contract_has_not_signed_what_it_refuses(verdict, owned_by, contract_wallet, stranger):
    encoded = owned_by(contract_wallet, stranger)
    assert verdict(encoded) == (stranger.address, contract_wallet.address, False)


@pytest.mark.parametrize(
    "misdeed", ["WalletRefuses", "WalletReverts", "WalletReturnsShortData", "WalletReturnsDirtyMagic"]
)
def test_an_owner_that_does_not_answer_yes_has_signed_nothing(
    verdict, owned_by, deployer, project, wallet_key, misdeed
):
    wallet = deployer.deploy(getattr(project, misdeed))
    assert verdict(owned_by(wallet, wallet_key)) == (wallet_key.address, wallet.address, False)


def test_an_owner_that_says_more_than_yes_has_signed(verdict, owned_by, deployer, project):
    wallet = deployer.deploy(project.WalletReturnsTooMuch)
    assert verdict(owned_by(wallet, deployer)) == (wallet.address, wallet.address, True)


def test_of_an_owner_that_burns_all_gas_nothing_is_known(verdict, owned_by, deployer, project, wallet_key):
    wallet = deployer.deploy(project.WalletBurnsGas)
    encoded = owned_by(wallet, wallet_key)
    assert verdict(encoded) == (wallet_key.address, wallet.address, None)


@pytest.fixture
def answering(environment, contract_wallet):
    """Makes a node that answers in some way what the wallet is asked; its URL."""
    with UnreliableNode(environment["BILATERAL_RPC_URL"]) as node:

        def make(answer):
            def interfere(parameters, forward):
                is_asked = parameters[0]["to"] == contract_wallet.address
                return answer(parameters, forward) if is_asked else forward()

            node.interference["eth_call"] = interfere
            return node.url

        yield make


def test_a_node_that_fails_leaves_the_signature_unchecked(done, answering, owned_by, contract_wallet, wallet_key):
    url = answering(refuses("limit exceeded", -32005))
    shown = done("auth", "show", "0x" + owned_by(contract_wallet, wallet_key).hex(), BILATERAL_RPC_URL=url)
    assert (shown["signer"], shown["is_signed_by_owner"]) == (wallet_key.address, None)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(lambda *_: 500, "node_unreachable"), (answers("yes"), "malformed_node_answer")],
    ids=["fails", "answers nonsense"],
)
def test_a_node_that_fails_while_the_owner_is_asked_is_an_error(
    refused, answering, owned_by, contract_wallet, wallet_key, answer, reason
):
    encoded = "0x" + owned_by(contract_wallet, wallet_key).hex()
    error = refused(5, "auth", "show", encoded, BILATERAL_RPC_URL=answering(answer))
    assert (error["reason"], error["arguments"], error["transaction"]) == (reason, {}, None)


def test_a_delegated_owner_signs_by_its_key_and_by_its_contract(
    verdict, chain, deployer, project, authorization, authorized, owner, client, wallet_key
):
    """An account with code by EIP-7702."""
    wallet = deployer.deploy(project.MockWallet, wallet_key)
    chain.provider.set_code(owner.address, bytes.fromhex("ef0100" + wallet.address[2:]))
    auth = FeedbackAuth(1, client.address, 1, FAR, 31337)
    by_contract = sign_feedback_auth(auth, Domain(31337, authorized.address), Account.from_key(wallet_key.private_key))
    for encoded in (bytes.fromhex(authorization[2:]), by_contract):
        assert verdict(encoded) == (owner.address, owner.address, True)


def test_only_the_owner_authorises(refused, client, stranger):
    error = refused(4, "auth", "create", 1, client.address, key=stranger)
    assert error["reason"] == "not_agent_owner"


def test_limit_and_expiry_are_as_asked_for(done, chain, owner, client):
    expiry = chain.pending_timestamp + 1000
    shown = done("auth", "create", 1, client.address, "--index-limit", 7, "--expiry", expiry, key=owner)
    assert (shown["index_limit"], shown["expiry"]) == (7, f"{datetime.fromtimestamp(expiry, UTC):%Y-%m-%dT%H:%M:%SZ}")
    auth, _ = decode_feedback_auth(bytes.fromhex(shown["encoded"][2:]))
    assert (auth.index_limit, auth.expiry) == (7, expiry)


@pytest.mark.parametrize(
    ("expiry", "shown"), [(253402300799, "9999-12-31T23:59:59Z"), (253402300800, "253402300800"), (FAR, str(FAR))]
)
def test_an_expiry_is_a_time_as_far_as_calendars_reach(done, authorized, owner, client, expiry, shown):
    auth = FeedbackAuth(1, client.address, 1, expiry, 31337)
    encoded = sign_feedback_auth(auth, Domain(31337, authorized.address), Account.from_key(owner.private_key))
    for options in ({}, {"BILATERAL_RPC_URL": None}):
        assert done("auth", "show", "0x" + encoded.hex(), **options)["expiry"] == shown


@pytest.mark.parametrize("text", ["0x12", "zz", "0x" + "ff" * 225], ids=["short", "no digits", "no address"])
def test_an_invalid_authorisation_is_refused(refused, client, text):
    for arguments in (["auth", "show", text], ["auth", "give", 92, text]):
        error = refused(3, *arguments, key=client)
        assert error["reason"] in ("invalid_argument", "malformed_authorization")
