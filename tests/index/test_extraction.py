"""The functions made from the ABI read every plain log as the strict decoder does, and decline all others."""

from __future__ import annotations

import random

import pytest

from bilateral.core.contracts import Registry
from bilateral.core.errors import MalformedNodeAnswerError
from bilateral.core.events.decoder import decode_logs
from bilateral.index.chain.extraction import Extraction, careful_values
from bilateral.index.chain.logs import LogEntry, grouped
from simulation.events import ADDRESSES, Generator, Log, encoded

REGISTRIES = {address: registry for registry, address in ADDRESSES.items()}
BLOCK_HASH, TRANSACTION = "0x" + "b1" * 32, "0x" + "7a" * 32


def entries(logs):
    return [
        LogEntry(
            address=log.address.lower(),
            topics=["0x" + topic.hex() for topic in log.topics],
            data="0x" + log.data.hex(),
            blockNumber="0x7",
            blockHash=BLOCK_HASH,
            transactionHash=TRANSACTION,
            logIndex=hex(index),
            blockTimestamp="0x5",
        )
        for index, log in enumerate(logs)
    ]


def careful_rows(logs):
    """Return the rows that the strict decoder makes."""
    rows_of = {}
    for entry in entries(logs):
        log = entry.raw()
        (event,) = decode_logs(REGISTRIES, [log])
        table, values = careful_values(log, event)
        place = (1, 7, log.position.log_index, bytes.fromhex(BLOCK_HASH[2:]), 5, bytes.fromhex(TRANSACTION[2:]))
        rows_of.setdefault(table, []).append((*place, log.position.address, *values))
    return rows_of


def rows(logs, extraction=None):
    return (extraction or Extraction(1, REGISTRIES)).rows(grouped("node", entries(logs), list(REGISTRIES), 7, 7))


def damaged(numbers, log):
    """Change a log somewhere: a byte, a word, its length or its topics."""
    data = bytearray(log.data)
    kind = numbers.randrange(6)
    if kind == 0 and data:
        data[numbers.randrange(len(data))] = numbers.choice((0, 1, 32, 128, 255))
    elif kind == 1 and data:
        at = 32 * numbers.randrange(len(data) // 32 + 1)
        data[at : at + 32] = numbers.choice((b"\xff" * 32, bytes(32), len(data[32:]).to_bytes(32), b"\0" * 31 + b"@"))
    elif kind == 2:
        del data[numbers.randrange(len(data) + 1) :]
    elif kind == 3:
        data += numbers.randbytes(numbers.choice((1, 31, 32, 64)))
    elif kind == 4:
        at = numbers.randrange(len(log.topics)) if log.topics else 0
        return Log(log.address, (*log.topics[:at], numbers.randbytes(32), *log.topics[at + 1 :])[:4], log.data)
    else:
        return Log(log.address, log.topics[: numbers.randrange(len(log.topics) + 1)], log.data)
    return Log(log.address, log.topics, bytes(data))


@pytest.mark.parametrize("seed", range(3))
def test_damaged_logs_become_the_rows_that_the_strict_decoder_makes(seed):
    numbers = random.Random(seed)  # noqa: S311  # reproducible, not secret
    logs = [damaged(numbers, log) for log in Generator(seed, hostile=0.05).logs(1_500)]
    assert rows(logs) == careful_rows(logs)


def test_plain_logs_are_not_declined(monkeypatch):
    monkeypatch.setattr(Extraction, "_read_carefully", lambda *_: pytest.fail("declined"))
    logs = Generator(seed=4, hostile=0).logs(1_000)
    assert sum(map(len, rows(logs).values())) == len(logs)


@pytest.mark.parametrize(
    ("arguments", "is_plain"),
    [
        ((2**64 - 1, 2**127 - 1, 255, b"tag"), True),
        ((2**64 - 1, -(2**127), 0, "é€".encode()), True),
        ((1, 1, 0, b"\xff"), False),
        ((1, 1, 0, b"a\0"), False),
    ],
)
def test_numbers_at_their_limits_are_plain_and_unstorable_text_is_not(arguments, is_plain, monkeypatch):
    index, value, decimals, tag = arguments
    values = (2**256 - 1, "0x" + "a1" * 20, index, value, decimals, bytes(32), tag, b"", b"", b"", bytes(32))
    logs = [encoded(Registry.BIDIRECTIONAL, "NewFeedback", *values)]
    expected = careful_rows(logs)
    declined, careful = [], Extraction._read_carefully
    monkeypatch.setattr(Extraction, "_read_carefully", lambda self, log: declined.append(log) or careful(self, log))
    assert rows(logs) == expected
    assert bool(declined) is not is_plain


@pytest.mark.parametrize(
    "fields",
    [
        {"data": "0x0"},
        {"data": "0x 1"},
        {"data": "0xé0"},
        {"topics": ["0x" + "zz" * 32]},
        {"data": "1234"},
        {"transactionHash": "0x" + "zz" * 32},
    ],
)
def test_invalid_hexadecimal_is_refused(fields):
    (entry,) = entries([Generator(seed=4).logs(1)[0]])
    for name, value in fields.items():
        setattr(entry, name, value)
    with pytest.raises(MalformedNodeAnswerError, match="the node returned malformed"):
        Extraction(1, REGISTRIES).rows(grouped("node", [entry], list(REGISTRIES), 7, 7))
