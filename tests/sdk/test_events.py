"""Events made from logs: every field, every registry, and malformed logs."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import pytest
from eth_abi import decode, encode
from eth_abi.exceptions import DecodingError
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bilateral.core.contracts import Registry, selectors
from bilateral.core.contracts.logs import LogPosition, RawLog
from bilateral.core.errors import MalformedNodeAnswerError
from bilateral.core.events import (
    EVENTS,
    ApprovalForAll,
    ClientRated,
    MetadataSet,
    NewFeedback,
    Registered,
    Transfer,
    Undecodable,
    UndecodedLog,
    ValidatorRated,
)
from bilateral.core.events.decoder import decode_log, decode_logs, field_name, topic_of
from bilateral.core.text import ChainText
from tests.sdk.strategies import EVM_ADDRESS, addresses

POSITION = LogPosition(EVM_ADDRESS, 7, "0x" + "ab" * 32, "0x" + "cd" * 32, 3, 1_700_000_000)

ENTRY = {
    "address": EVM_ADDRESS.lower(),
    "topics": ["0x" + "AB" * 32, "0x" + "00" * 32],
    "data": "0x0102",
    "blockNumber": "0x7",
    "blockHash": "0x" + "ab" * 32,
    "transactionHash": "0x" + "CD" * 32,
    "transactionIndex": "0x0",
    "logIndex": "0x3",
    "blockTimestamp": "0x6553f100",
    "removed": False,
}

KNOWN = [(registry, event) for registry, events in EVENTS.items() for event in events]


def entry_of(registry, event):
    return selectors(registry, "event")[topic_of(registry, event)]


def logged_type(part):
    """The type as which an indexed parameter is logged: text as its hash."""
    return "bytes32" if part["indexed"] and part["type"] in ("string", "bytes") else part["type"]


def values_of(kind):
    if kind == "address":
        return addresses()
    if kind == "bool":
        return st.booleans()
    if kind == "string":
        return st.text(max_size=70)
    if kind == "bytes":
        return st.binary(max_size=70)
    if kind == "bytes32":
        return st.binary(min_size=32, max_size=32)
    bits = int(kind.lstrip("uint"))
    return st.integers(0, 2**bits - 1) if kind.startswith("u") else st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def raw_log(topics, data):
    return RawLog(POSITION, tuple(topics), data)


def given_feedback(**changes):
    """The data of a `NewFeedback`, of which some words are replaced by position."""
    types = ["uint64", "int128", "uint8", "string", "string", "string", "string", "bytes32"]
    data = bytearray(encode(types, [1, -32, 1, "starred", "", "", "data:,", bytes(32)]))
    for name, word in changes.items():
        at = 32 * int(name.removeprefix("word"))
        data[at : at + 32] = word if isinstance(word, bytes) else word.to_bytes(32)
    return bytes(data)


def feedback_log(data):
    topics = [topic_of(Registry.REPUTATION, NewFeedback), (5).to_bytes(32), bytes(32), keccak(text="starred")]
    return raw_log(topics, data)


# Every event of every registry


@pytest.mark.parametrize("registry", Registry)
def test_every_event_of_a_registry_has_a_type(registry):
    names = {entry["name"] for entry in selectors(registry, "event").values()}
    assert {event.abi_name for event in EVENTS[registry]} == names


@pytest.mark.parametrize(("registry", "event"), KNOWN)
def test_fields_are_named_after_the_parameters_of_the_event(registry, event):
    names = [field_name(part["name"]) for part in entry_of(registry, event)["inputs"]]
    assert [field.name for field in fields(event)] == ["position", *names]


@pytest.mark.parametrize(("registry", "event"), KNOWN)
@settings(max_examples=40)
@given(data=st.data())
def test_an_event_is_decoded_with_every_field(registry, event, data):
    parts = entry_of(registry, event)["inputs"]
    values = [data.draw(values_of(logged_type(part))) for part in parts]
    indexed = [
        encode([logged_type(part)], [value]) for part, value in zip(parts, values, strict=True) if part["indexed"]
    ]
    others = [(part["type"], value) for part, value in zip(parts, values, strict=True) if not part["indexed"]]
    log = raw_log([topic_of(registry, event), *indexed], encode(*zip(*others, strict=True)) if others else b"")
    assert decode_log(registry, log) == event(POSITION, *values)


def test_events_of_two_kinds_with_the_same_values_differ():
    assert ClientRated(POSITION, 1, 2, 3) != ValidatorRated(POSITION, 1, 2, 3)


def test_an_event_is_frozen():
    with pytest.raises(FrozenInstanceError):
        ClientRated(POSITION, 1, 2, 3).rating = 4


def test_a_real_transaction_is_decoded_whole(identity, owner, networks):
    receipt = identity.register("data:,", [("category", b"\xff\x00")], sender=owner)
    raw = networks.provider.make_request("eth_getTransactionReceipt", [receipt.txn_hash])
    logs = [RawLog.from_json(log) for log in raw["logs"]]
    at = [log.position for log in logs]
    nobody = "0x" + "00" * 20
    wallet = bytes.fromhex(owner.address[2:])
    events = list(decode_logs({identity.address: Registry.IDENTITY}, logs))
    assert [type(event).__name__ for event in events] == [event.abi_name for event in events]
    assert Transfer(at[0], nobody, owner.address, 1) in events
    by_type = {type(event): event for event in events}
    assert by_type[Registered].agent_uri == "data:,"
    assert (by_type[Registered].agent_id, by_type[Registered].owner) == (1, owner.address)
    assert {(event.metadata_key, event.metadata_value) for event in events if isinstance(event, MetadataSet)} == {
        ("category", b"\xff\x00"),
        ("agentWallet", wallet),
    }
    assert {(row.address, row.block_number, row.transaction_hash) for row in at} == {
        (identity.address, receipt.block_number, receipt.txn_hash)
    }
    assert [log.log_index for log in at] == list(range(len(at)))


# Text that is not text


def test_bytes_that_are_not_utf8_are_kept_beside_what_can_be_shown():
    types = ["uint64", "int128", "uint8", "bytes", "bytes", "bytes", "bytes", "bytes32"]
    data = encode(types, [1, 0, 0, b"\xff\xfetag", b"a\x00b", b"", b"\xed\xa0\x80" * 33_000, bytes(32)])
    event = decode_log(Registry.REPUTATION, feedback_log(data))
    assert event.tag1 == "\ufffd\ufffdtag"
    assert event.tag1.raw == b"\xff\xfetag"
    assert event.tag2 == "a\x00b"
    assert len(event.feedback_uri.raw) == 99_000
    assert not event.feedback_uri.is_valid


# Malformed and foreign logs


def test_a_log_without_topics_is_reported():
    log = raw_log([], b"\x01")
    problem = "IdentityRegistry has no event with this first topic"
    assert decode_log(Registry.IDENTITY, log) == UndecodedLog(log, Undecodable.UNKNOWN_EVENT, problem)


def test_an_event_of_another_registry_is_reported():
    log = feedback_log(given_feedback())
    assert decode_log(Registry.AUTHORIZED, log).reason == Undecodable.UNKNOWN_EVENT


def test_a_log_of_another_address_is_reported_in_its_place():
    log = feedback_log(given_feedback())
    (reported,) = decode_logs({}, [log])
    problem = f"no registry is at {EVM_ADDRESS}"
    assert reported == UndecodedLog(log, Undecodable.FOREIGN_ADDRESS, problem)
    assert reported.position == POSITION


@pytest.mark.parametrize("count", [1, 2, 3])
def test_another_number_of_topics_is_malformed(count):
    log = raw_log([*feedback_log(b"").topics[:count]], given_feedback())
    reported = decode_log(Registry.REPUTATION, log)
    assert (reported.reason, reported.problem) == (Undecodable.MALFORMED, f"{count} topics instead of 4")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "0 bytes of data, fewer than 256"),
        (given_feedback()[:255], "255 bytes of data, fewer than 256"),
        (given_feedback(word0=2**64), "0x10000000000000000 is out of range for uint64"),
        (given_feedback(word1=2**127), "0x80000000000000000000000000000000 is out of range for int128"),
        (given_feedback(word2=256), "0x100 is out of range for uint8"),
        (given_feedback(word3=255), "offset 255 is outside the 448 bytes of data"),
        (given_feedback(word3=417), "offset 417 is outside the 448 bytes of data"),
        (given_feedback(word3=2**256 - 1), f"offset {2**256 - 1} is outside the 448 bytes of data"),
        (given_feedback(word8=2**255), f"{2**255} bytes at 288 extend beyond the 448 bytes of data"),
        (given_feedback(word9=b"starred" + b"\x00" * 24 + b"\x01"), "the padding after the 7 bytes at 288 is not zero"),
    ],
)
def test_data_that_are_not_the_encoding_of_the_event_are_reported(data, problem):
    reported = decode_log(Registry.REPUTATION, feedback_log(data))
    assert (reported.reason, reported.problem) == (Undecodable.MALFORMED, problem)
    assert reported.log.data == data


@pytest.mark.parametrize(
    ("event", "at", "word"),
    [(Transfer, 2, 2**160), (Transfer, 1, 2**255), (ApprovalForAll, 2, 2**200)],
)
def test_an_address_of_more_than_160_bits_in_a_topic_is_malformed(event, at, word):
    count = 3 if event is ApprovalForAll else 4
    topics = [topic_of(Registry.IDENTITY, event), *[bytes(32)] * (count - 1)]
    topics[at] = word.to_bytes(32)
    data = bytes(32) if event is ApprovalForAll else b""
    reported = decode_log(Registry.IDENTITY, raw_log(topics, data))
    assert (reported.reason, reported.problem) == (Undecodable.MALFORMED, f"{word:#x} is out of range for address")


def test_a_bool_is_zero_or_one():
    topics = [topic_of(Registry.IDENTITY, ApprovalForAll), bytes(32), bytes(32)]
    decoded = [decode_log(Registry.IDENTITY, raw_log(topics, number.to_bytes(32))) for number in (0, 1, 2)]
    assert [decoded[0].is_approved, decoded[1].is_approved] == [False, True]
    assert decoded[2].problem == "0x2 is out of range for bool"


# eth-abi as the oracle


def by_eth_abi(event, parts, data):
    """The values that eth-abi's strict mode finds, text as bytes first; None if it refuses.

    It takes a last word that is cut for a shorter number, so data shorter than their head are refused here.
    """
    if len(data) < 32 * len(parts):
        return None
    types = [part["type"].replace("string", "bytes") for part in parts]
    try:
        values = decode(types, data)
    except (DecodingError, OverflowError):
        return None
    made = {"string": ChainText, "address": to_checksum_address}
    return [made.get(part["type"], lambda value: value)(entry) for part, entry in zip(parts, values, strict=True)]


def damaged(draw, data):
    """Data in which some bytes or words are replaced, and which may be cut or longer."""
    data = bytearray(data)
    for _ in range(draw(st.integers(0, 3))):
        if not data:
            break
        at = draw(st.integers(0, len(data) - 1))
        if draw(st.booleans()):
            data[at] = draw(st.sampled_from([0, 1, 0x1F, 0x20, 0x40, 0x7F, 0x80, 0xFF]))
        else:
            word = draw(st.sampled_from([0, 31, 32, 64, 256, len(data), len(data) - 32, 2**64, 2**255, 2**256 - 1]))
            data[at // 32 * 32 : at // 32 * 32 + 32] = max(word, 0).to_bytes(32)
    cut = draw(st.sampled_from([0, 0, 0, 1, 31, 32]))
    return bytes(data[: len(data) - cut]) + draw(st.sampled_from([b"", b"", b"\x00" * 32, b"\x01"]))


@pytest.mark.parametrize(
    ("registry", "event"), [(registry, event) for registry, event in KNOWN if registry != Registry.REPUTATION]
)
@given(data=st.data())
def test_exactly_what_eth_abi_accepts_is_decoded_with_the_same_values(registry, event, data):
    parts = entry_of(registry, event)["inputs"]
    topics = [bytes(32) for part in parts if part["indexed"]]
    others = [part for part in parts if not part["indexed"]]
    if not others:
        return
    values = [data.draw(values_of(part["type"])) for part in others]
    encoded = damaged(data.draw, encode([part["type"] for part in others], values))
    decoded = decode_log(registry, raw_log([topic_of(registry, event), *topics], encoded))
    expected = by_eth_abi(event, others, encoded)
    if expected is None:
        assert isinstance(decoded, UndecodedLog)
        assert decoded.reason == Undecodable.MALFORMED
    else:
        assert [getattr(decoded, field_name(part["name"])) for part in others] == expected


@given(
    registry=st.sampled_from(Registry),
    pick=st.integers(0),
    topics=st.lists(st.binary(min_size=32, max_size=32), max_size=3),
    data=st.binary(max_size=400),
)
@example(registry=Registry.AUTHORIZED, pick=0, topics=[bytes(32)] * 3, data=bytes(160))
def test_no_log_breaks_the_decoder(registry, pick, topics, data):
    event = EVENTS[registry][pick % len(EVENTS[registry])]
    log = raw_log([topic_of(registry, event), *topics], data)
    assert isinstance(decode_log(registry, log), (event, UndecodedLog))


# Logs as nodes write them


def test_a_log_is_read_with_its_place_in_the_chain():
    assert RawLog.from_json(ENTRY) == RawLog(POSITION, (b"\xab" * 32, bytes(32)), b"\x01\x02")


def test_a_node_may_leave_the_time_of_the_block_out():
    without = {name: value for name, value in ENTRY.items() if name != "blockTimestamp"}
    assert RawLog.from_json(without).position.block_timestamp is None


@pytest.mark.parametrize("time", ["now", "0x0", 0, -1, None, [1]])
def test_a_malformed_time_counts_as_left_out(time):
    assert RawLog.from_json(ENTRY | {"blockTimestamp": time}).position.block_timestamp is None


@pytest.mark.parametrize(
    "change",
    [
        {"address": "0x01"},
        {"address": None},
        {"topics": None},
        {"topics": "0x" + "00" * 32},
        {"topics": ["0x" + "00" * 31]},
        {"topics": ["0x" + "00" * 32] * 5},
        {"topics": [7]},
        {"data": "0x123"},
        {"data": "0x 12"},
        {"data": "12"},
        {"data": None},
        {"blockNumber": None},
        {"blockNumber": 7},
        {"blockNumber": "0x-1"},
        {"blockNumber": "0x1_0"},
        {"blockNumber": "0x" + "1" * 65},
        {"blockHash": None},
        {"transactionHash": "0x"},
        {"logIndex": "3"},
        {"removed": True},
    ],
)
def test_a_log_in_another_form_is_refused(change):
    with pytest.raises(MalformedNodeAnswerError, match="the node returned a log that"):
        RawLog.from_json(ENTRY | change)


@pytest.mark.parametrize(
    "name", [name for name in ENTRY if name not in ("transactionIndex", "blockTimestamp", "removed")]
)
def test_a_log_without_one_of_its_fields_is_refused(name):
    with pytest.raises(MalformedNodeAnswerError, match=f"KeyError: '{name}'"):
        RawLog.from_json({key: value for key, value in ENTRY.items() if key != name})
