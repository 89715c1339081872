"""Calls and answers in ABI form, against real registries with hostile data."""

from __future__ import annotations

import ape
import pytest
from eth_abi import encode
from eth_utils.crypto import keccak
from hypothesis import given
from hypothesis import strategies as st

from bilateral.core.contracts import Registry
from bilateral.core.contracts.codec import decode_result, encode_call
from bilateral.core.contracts.logs import RawLog
from bilateral.core.errors import UnexpectedAnswerError
from bilateral.core.events import NewFeedback
from bilateral.core.events.decoder import decode_log
from bilateral.core.text import ChainText
from tests.sdk.strategies import EVM_ADDRESS

GIVE = "giveFeedback"
READ = "readFeedback"
READ_ALL = "readAllFeedback"

HUGE_TAG = 20_000
"""Length in bytes of about the longest tag that fits a transaction's gas."""

HOSTILE = [
    b"",
    b"starred",
    "très bien 🐍".encode(),
    b"\x00",
    b"a\x00b",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"half \xc3",
    b"\x1b[2J\x1b]0;owned\x07",
    "\u202egnp.exe".encode(),
    b"<script>alert(1)</script>",
    b"http://169.254.169.254/latest/meta-data",
    b"x" * 40,
]


def send(account, contract, data):
    """Send raw data, as any client may."""
    web3 = ape.chain.provider._web3
    request = {"from": account.address, "to": contract.address, "data": "0x" + data.hex(), "gas": hex(2**24)}
    sent = web3.provider.make_request("eth_sendTransaction", [request])["result"]
    web3.eth.wait_for_transaction_receipt(sent, timeout=60, poll_latency=0.01)
    receipt = web3.provider.make_request("eth_getTransactionReceipt", [sent])["result"]
    assert receipt["status"] == "0x1"
    return receipt


def ask(contract, registry, signature, *arguments):
    request = {"to": contract.address, "data": "0x" + encode_call(registry, signature, arguments).hex()}
    answer = ape.chain.provider._web3.provider.make_request("eth_call", [request, "latest"])["result"]
    return decode_result(registry, signature, bytes.fromhex(answer[2:]))


def feedback(tag1, tag2=b"", uri=b""):
    """Encode a call of `giveFeedback` with any bytes as text."""
    selector = encode_call(Registry.REPUTATION, GIVE, [1, 0, 0, "", "", "", "", bytes(32)])[:4]
    types = ["uint256", "int128", "uint8", "bytes", "bytes", "bytes", "bytes", "bytes32"]
    return selector + encode(types, [1, -32, 1, tag1, tag2, b"", uri, bytes(32)])


def logged(receipt):
    return [decode_log(Registry.REPUTATION, RawLog.from_json(log)) for log in receipt["logs"]]


@pytest.fixture
def agent(identity, owner):
    identity.register("data:,", sender=owner)


@pytest.mark.usefixtures("agent")
@pytest.mark.parametrize("tag", HOSTILE)
def test_any_bytes_in_a_tag_are_read(reputation, client, tag):
    receipt = send(client, reputation, feedback(tag, tag, tag))
    value, decimals, tag1, tag2, revoked = ask(reputation, Registry.REPUTATION, READ, 1, client.address, 1)
    assert (value, decimals, revoked) == (-32, 1, False)
    assert tag1 == tag2 == tag.decode(errors="replace")
    assert tag1.raw == tag
    assert tag1.printable.isprintable()
    (event,) = logged(receipt)
    assert isinstance(event, NewFeedback)
    assert (event.feedback_uri.raw, event.value) == (tag, -32)


@pytest.mark.usefixtures("agent")
def test_one_hostile_entry_does_not_block_the_others(reputation, client, other_client):
    send(client, reputation, feedback(b"\xff" * HUGE_TAG))
    send(other_client, reputation, feedback(b"starred", b"finance"))
    clients, indexes, values, decimals, tag1s, tag2s, revoked = ask(
        reputation, Registry.REPUTATION, READ_ALL, 1, [], "", "", True
    )
    assert clients == [client.address, other_client.address]
    assert (indexes, values, decimals, revoked) == ([1, 1], [-32, -32], [1, 1], [False, False])
    assert [tag.is_valid for tag in tag1s] == [False, True]
    assert len(tag1s[0].raw) == HUGE_TAG
    assert tag2s == ["", "finance"]


@pytest.mark.usefixtures("agent")
def test_a_text_of_100_kilobytes_in_an_event_is_read(reputation, client):
    (event,) = logged(send(client, reputation, feedback(b"", uri=b"\xff" * 100_000)))
    assert len(event.feedback_uri.raw) == 100_000
    assert not event.feedback_uri.is_valid


@pytest.mark.usefixtures("agent")
def test_an_event_is_decoded_with_every_field(reputation, client):
    receipt = reputation.giveFeedback(1, 87, 0, "starred", "", "https://e", "data:,", b"\x01" * 32, sender=client)
    raw = ape.chain.provider._web3.provider.make_request("eth_getTransactionReceipt", [receipt.txn_hash])["result"]
    (event,) = logged(raw)
    assert event == NewFeedback(
        position=event.position,
        agent_id=1,
        client_address=client.address,
        feedback_index=1,
        value=87,
        value_decimals=0,
        indexed_tag1=keccak(text="starred"),
        tag1="starred",
        tag2="",
        endpoint="https://e",
        feedback_uri="data:,",
        feedback_hash=b"\x01" * 32,
    )
    assert (event.position.address, event.position.transaction_hash) == (reputation.address, receipt.txn_hash)


def test_a_struct_is_decoded_by_the_names_of_its_fields(identity, owner):
    identity.newAgent("agent.example", owner.address, sender=owner)
    (info,) = ask(identity, Registry.IDENTITY, "getAgent", 1)
    assert info == {"agentId": 1, "agentDomain": "agent.example", "agentAddress": owner.address}


def test_an_address_without_a_registry_is_named(stranger):
    with pytest.raises(
        UnexpectedAnswerError, match=r"ReputationRegistry returned the result of readFeedback .*\(0 bytes\)"
    ):
        ask(stranger, Registry.REPUTATION, READ, 1, EVM_ADDRESS, 1)


@given(st.binary(max_size=300))
def test_no_answer_breaks_the_decoder(data):
    try:
        values = decode_result(Registry.REPUTATION, READ_ALL, data)
    except UnexpectedAnswerError as error:
        assert error.reason == "unexpected_answer"
    else:
        assert len(values) == 7


@given(st.binary())
def test_any_bytes_become_text_with_a_validity_flag(raw):
    text = ChainText(raw)
    assert text.raw == raw
    assert text.is_valid == (text.encode() == raw)
    assert text.printable.isprintable()


def test_the_replacement_character_itself_is_valid():
    assert ChainText("\ufffd".encode()).is_valid
    assert not ChainText(b"\xff").is_valid
