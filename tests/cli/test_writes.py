"""Commands show the result of a write, its transaction, and every error after it was sent."""

from __future__ import annotations

import json
import re
import signal
import textwrap

import pytest

from bilateral.cli.errors import ExitCode
from tests.helpers import logged
from tests.sdk.client.unreliable import UnreliableNode, times
from tests.waiting import wait_until

pytestmark = pytest.mark.usefixtures("agent")

DIGEST = "0x" + "07" * 32


def fields_of(table):
    """The fields that a table shows, by name."""
    return dict(re.findall(r"^ *(\w+(?: \w+)*)  +(\S.*)$", table, re.MULTILINE))


@pytest.fixture
def shown(bilateral, chain):
    """Runs a write that must succeed: the fields that people see, and those of the event that it logged."""

    def run(*arguments, **settings):
        ran = bilateral(*arguments, **settings)
        assert ran.code == 0
        sent = ran.err.removeprefix("sent ").strip()
        fields = fields_of(ran.out)
        assert fields["transaction"] == sent
        ((_, event),) = logged(chain.provider.get_receipt(sent))
        return fields, event

    return run


@pytest.mark.parametrize(
    ("option", "amount", "problem"),
    [
        ("--max-fee-per-gas", "0.000000001", "the limit of 1: "),
        ("--max-cost", "0.000000000000000002", "the limit of 2: "),
    ],
)
def test_a_fee_above_the_limit_is_not_signed(refused, client, option, amount, problem):
    before = client.nonce
    error = refused(4, "feedback", "give", 1, 87, option, amount, key=client)
    assert (error["reason"], problem in error["message"], option in error["message"]) == ("fee_limit", True, True)
    assert client.nonce == before


def test_a_fee_within_the_limits_is_signed(done, client):
    ran = done("feedback", "give", 1, 87, "--max-fee-per-gas", "100", "--max-cost", "0.5", key=client)
    assert ran["result"]["value"] == "87"


@pytest.mark.parametrize("amount", ["", "x", "1e3", "0x1", " 1", "0.0000000001", "1" * 61])
def test_a_malformed_limit_is_refused(refused, client, amount):
    error = refused(3, "feedback", "give", 1, 87, "--max-fee-per-gas", amount, key=client)
    assert (error["reason"], "--max-fee-per-gas must be a non-negative number" in error["message"]) == (
        "invalid_argument",
        True,
    )


def test_an_answers_hash_is_the_documents(shown, reputation, owner, client):
    reputation.giveFeedback(1, 87, 0, "", "", "", "", bytes(32), sender=client)
    fields, event = shown("feedback", "respond", f"31337:1:{client.address}:0", "--text", "sorry", key=owner)
    assert fields["file hash"] == "0x" + event["responseHash"].hex()


def test_an_authorised_feedbacks_hash_is_the_documents(bilateral, shown, owner, client):
    authorization = bilateral("auth", "create", 1, client.address, key=owner).out.strip()
    fields, event = shown("auth", "give", 92, authorization, "--text", "good", key=client)
    assert fields["file hash"] == "0x" + event["filehash"].hex()


def test_a_validations_hash_is_the_evidences(shown, validation, owner, validator):
    validation.validationRequest(validator, 1, "ipfs://work", DIGEST, sender=owner)
    evidence = "0x" + "08" * 32
    options = ["--uri", "ipfs://proof", "--hash", evidence]
    fields, event = shown("validation", "respond", DIGEST, 100, *options, key=validator)
    assert fields["hash"] == "0x" + event["responseHash"].hex() == evidence


@pytest.fixture
def node(environment):
    """A node that misbehaves as a test wants it to."""
    with UnreliableNode(environment["BILATERAL_RPC_URL"]) as running:
        yield running


@pytest.fixture
def assistant(identity, owner, approved):
    """May act for the agent until that is handed on."""
    identity.approve(approved, 1, sender=owner)
    return approved


@pytest.fixture
def overtaken(start, assistant, stalled, chain, identity, owner, stranger):
    """Starts a write that is accepted when it is sent, and refused in its block; its hash, and how it ended.

    Meanwhile the owner, who pays more, has handed the agent on.
    """

    def run(*options):
        process = start("agent", "set-uri", "1", "https://agent.example", *options, key=assistant)
        wait_until(lambda: stalled() == 1)
        (pending,) = pending_of(chain, assistant)
        chain.provider.make_request(
            "eth_sendTransaction",
            [
                {
                    "from": owner.address,
                    "to": identity.address,
                    "data": identity.transferFrom.encode_input(owner, stranger, 1).to_0x_hex(),
                    "maxFeePerGas": hex(10**12),
                    "maxPriorityFeePerGas": hex(10**12),
                }
            ],
        )
        chain.provider.make_request("anvil_mine", [])
        out, err = process.communicate(timeout=120)
        assert (process.returncode, out) == (ExitCode.REFUSED, "")
        return pending, err

    return run


def pending_of(chain, account):
    """The hashes of an account's transactions that are in no block, in the order of their nonces."""
    content = chain.provider.make_request("txpool_content", [])["pending"]
    (transaction,) = [sent for sender, sent in content.items() if sender.lower() == account.address.lower()]
    return [transaction[nonce]["hash"] for nonce in sorted(transaction, key=int)]


def without_logs(_, forward):
    """Takes the events out of a receipt."""
    answer = forward()
    if answer["result"]:
        answer["result"]["logs"] = []
    return answer


def test_a_refusal_in_a_block_names_the_transaction_to_machines(overtaken):
    sent, err = overtaken("--json")
    error = json.loads(err)
    assert error["reason"] == "not_authorized"
    assert error["transaction"] == sent
    assert sent in error["message"]


def test_a_refusal_in_a_block_names_the_transaction_to_people(overtaken):
    sent, err = overtaken()
    first, second = err.splitlines()
    assert first == f"sent {sent}"
    assert second.startswith("error: the registry rejected the call: ")
    assert second.endswith(f" (sent: {sent})")


def test_a_refusal_before_sending_names_no_transaction(refused, bilateral, stranger):
    error = refused(4, "agent", "set-uri", 1, "https://agent.example", key=stranger)
    assert (error["reason"], error["transaction"]) == ("not_authorized", None)
    assert "sent" not in bilateral("agent", "set-uri", 1, "https://agent.example", key=stranger).err


def test_an_answer_that_no_registry_gives_names_the_transaction(refused, chain, node, client):
    node.interference["eth_getTransactionReceipt"] = without_logs
    error = refused(8, "feedback", "give", 1, 87, key=client, BILATERAL_RPC_URL=node.url)
    sent = chain.blocks[-1].transactions[0].txn_hash.to_0x_hex()
    assert (error["reason"], error["transaction"], error["arguments"]) == ("unexpected_answer", sent, {})


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["people", "machines"])
def test_an_answer_that_says_what_cannot_be_names_the_transaction_to_each(bilateral, chain, node, client, options):
    """The event has 19 decimals, as if somebody had typed them. No message may take the hash for a key."""

    def with_19_decimals(_, forward):
        answer = forward()
        for log in answer["result"]["logs"]:
            words = textwrap.wrap(log["data"][2:], 64)
            words[2] = f"{19:064x}"  # after the index and the value
            log["data"] = "0x" + "".join(words)
        return answer

    node.interference["eth_getTransactionReceipt"] = with_19_decimals
    ran = bilateral("feedback", "give", 1, 87, *options, key=client, BILATERAL_RPC_URL=node.url)
    sent = chain.blocks[-1].transactions[0].txn_hash.to_0x_hex()
    assert (ran.code != 0, ran.out) == (True, "")
    *_, told = ran.err.splitlines()
    assert sent in (json.loads(told)["message"] if options else told)
    assert not options or json.loads(told)["transaction"] == sent


@pytest.fixture
def measured(tmp_path):
    path = tmp_path / "measured.json"
    tags = ("uptime", "successRate", "responseTime")
    path.write_text(json.dumps([{"agent": "1", "tag": tag, "value": "99"} for tag in tags]))
    return path


@pytest.mark.usefixtures("stalled")
def test_a_timeout_of_signals_names_all_transactions(refused, bilateral, chain, measured, client):
    options = ["signals", "publish", measured, "--timeout", "0.1"]
    error = refused(9, *options, "--period", "A", key=client)
    hashes = pending_of(chain, client)
    assert len(hashes) == 3
    assert error["reason"] == "transaction_pending"
    assert error["transaction"] == error["arguments"]["hash"] == hashes[0]
    assert error["arguments"]["hashes"] == hashes
    assert all(sent in error["message"] for sent in hashes)
    chain.provider.make_request("anvil_mine", [])
    ran = bilateral(*options, "--period", "B", key=client)
    *_, told = ran.err.splitlines()
    assert len(set(re.findall("0x[0-9a-f]{64}", told))) == 3


def test_signals_of_which_one_is_refused_name_it_and_all_that_was_sent(refused, node, measured, client):
    asked = []

    def without_later_logs(parameters, forward):
        asked.extend(parameters)
        return forward() if parameters == asked[:1] else without_logs(parameters, forward)

    node.interference["eth_getTransactionReceipt"] = without_later_logs
    error = refused(8, "signals", "publish", measured, key=client, BILATERAL_RPC_URL=node.url)
    assert error["reason"] == "unexpected_answer"
    assert error["transaction"] == error["arguments"]["hashes"][1]
    assert len(error["arguments"]["hashes"]) == 3


@pytest.mark.parametrize("taken", [1, 2, 3])
def test_an_interruption_of_signals_names_all_hashes(start, stalled, chain, node, measured, client, taken):
    """The node takes the last of them, and does not say so."""
    silent = times(taken - 1, lambda _, forward: forward(), then=lambda _, forward: forward() and None)
    node.interference["eth_sendRawTransaction"] = silent
    process = start("signals", "publish", measured, "--json", key=client, BILATERAL_RPC_URL=node.url)
    wait_until(lambda: stalled() == taken)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (ExitCode.INTERRUPTED, "")
    error, hashes = json.loads(err), pending_of(chain, client)
    assert (error["reason"], sorted(error["arguments"]["hashes"])) == ("interrupted", sorted(hashes))
    assert error["transaction"] == (hashes[0] if taken == 1 else None)
    assert error["arguments"].keys() == {"hashes"}
    assert all(error["message"].count(sent) == 1 for sent in hashes)
    assert f"Transaction {hashes[-1]} may have been sent." in error["message"]


@pytest.mark.usefixtures("stalled")
def test_signals_of_which_one_may_have_been_sent_name_it_among_all(refused, chain, node, measured, client):
    """The node takes the second, fails to say so, and fails to look it up."""
    node.interference["eth_sendRawTransaction"] = times(
        1, lambda _, forward: forward(), then=lambda _, forward: forward() and 500
    )
    node.interference["eth_getTransactionByHash"] = lambda *_: 500
    error = refused(9, "signals", "publish", measured, key=client, BILATERAL_RPC_URL=node.url)
    hashes = pending_of(chain, client)
    assert len(hashes) == 2
    assert (error["reason"], error["transaction"]) == ("batch_interrupted", hashes[1])
    assert error["arguments"] == {"hashes": hashes, "missing": 2}
