"""Rows for the event tables, built directly from logs.

Most logs are plain: their text is UTF-8 without NUL, and their data is exactly their event's ABI encoding. Functions
generated from the ABI decode plain logs in a third of the time that creating log and event objects takes. These
functions decline all other logs, which `bilateral.core.events` decodes. That module handles every case and is the
reference in tests.
"""

import struct
from binascii import unhexlify
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache, lru_cache
from typing import Any, Final, TypeAlias

from sqlalchemy import Table, Text

from bilateral.core.contracts import Registry, selectors
from bilateral.core.contracts.logs import RawLog
from bilateral.core.events import EVENTS, Event, UndecodedLog
from bilateral.core.events.decoder import decode_logs
from bilateral.core.identifiers import checksummed
from bilateral.index.chain.logs import BlockLogs, LogEntry, address_of, hash_of
from bilateral.index.log import tables as schema
from bilateral.index.log.rows import Row
from bilateral.index.log.text import is_exact, storable

Reader: TypeAlias = Callable[[Sequence[str], str], Row]
"""A function that decodes a log's topics and data to column values, or raises one of the errors in `_DECLINED`."""

_Plan: TypeAlias = tuple[str, Mapping[str, tuple[Callable[[Row], None], Reader]]]


_DECLINED: Final = (ValueError, struct.error)
_WORD: Final = 32  # bytes in a word of the contract ABI


class Extraction:
    """Converts logs from one chain to rows.

    Args:
        registries: The registries, by checksummed address.
    """

    def __init__(self, chain_id: int, registries: Mapping[str, Registry]) -> None:
        self._chain_id = chain_id
        self._registries = registries

    def rows(self, blocks: Iterable[BlockLogs]) -> dict[Table, list[Row]]:
        """Return a row for each log."""
        chain_id = self._chain_id
        rows_of: dict[Table, list[Row]] = defaultdict(list)
        plans: dict[str, _Plan] = {}
        for block in blocks:
            number, hash_, time, transaction = block.number, block.hash, block.time, ""
            for index, entry in zip(block.indices, block.entries, strict=True):
                if entry.transactionHash != transaction:
                    transaction = entry.transactionHash
                    transaction_hash = hash_of(transaction)
                address, topics = entry.address, entry.topics
                if address not in plans:
                    plans[address] = self._plan(address, rows_of)
                registry, readers = plans[address]
                try:
                    add, read = readers[topics[0]]
                    values = read(topics, entry.data)
                except (KeyError, IndexError, *_DECLINED):
                    table, values = self._read_carefully(entry)
                    add = rows_of[table].append
                add((chain_id, number, index, hash_, time, transaction_hash, registry, *values))
        return {table: rows for table, rows in rows_of.items() if rows}

    def _plan(self, address: str, rows: Mapping[Table, list[Row]]) -> _Plan:
        """Return a registry's checksummed address and, by first topic, the functions that add rows and read values."""
        registry = address_of(address)
        readers = _readers(self._registries[registry])
        return registry, {topic: (rows[table].append, read) for topic, (table, read) in readers.items()}

    def _read_carefully(self, entry: LogEntry) -> tuple[Table, Row]:
        log = entry.raw()
        (event,) = decode_logs(self._registries, [log])
        return careful_values(log, event)


def careful_values(log: RawLog, event: Event | UndecodedLog) -> tuple[Table, Row]:
    """Return the table for a log, and the log's values for all columns after the position columns."""
    if isinstance(event, UndecodedLog):
        return schema.undecodable_log, (b"".join(log.topics), log.data, event.problem)
    table = schema.EVENT_TABLES[type(event)]
    row, raw, has_text = [], None, False
    for field in fields(event)[1:]:
        value = getattr(event, field.name)
        if isinstance(table.c[field.name].type, Text):
            has_text, raw = True, raw if is_exact(value) else log.data
            value = storable(value)
        row.append(value)
    return table, (*row, raw) if has_text else tuple(row)


@cache
def _readers(registry: Registry) -> Mapping[str, tuple[Table, Reader]]:
    types = {event.abi_name: event for event in EVENTS[registry]}
    return {
        "0x" + topic.hex(): (schema.EVENT_TABLES[types[entry["name"]]], _reader(entry))
        for topic, entry in selectors(registry, "event").items()
        if entry["name"] in types
    }


# All words of a log are unpacked at once: some as 32 bytes, the others as zeros followed by a number. All zeros are
# compared at once. For texts and bytes, the word is the position after the words at which to read them.
_WHOLE: Final = {"uint256": "number(w{0})", "bytes32": "w{0}", "address": "address(w{0})", "int128": "signed(w{0})"}
_PARTS: Final = {
    "uint64": ("24sQ", 24, "w{0}"),
    "uint24": ("28sL", 28, "below(w{0}, 1 << 24)"),
    "uint16": ("30sH", 30, "w{0}"),
    "int8": ("31sB", 31, "below(w{0}, 1 << 7)"),
    "uint8": ("31sB", 31, "w{0}"),
    "bool": ("31sB", 31, "bool(below(w{0}, 2))"),
    "string": ("24sQ", 24, "tail{0}"),
    "bytes": ("24sQ", 24, "tail{0}"),
}
_TAIL: Final = """
    start = w{0} + {topic_bytes}
    end = start + number(raw[start - 32 : start])
    padded = end + (start - end) % 32
    if w{0} < {head} or padded > len(raw) or raw[end:padded] != ZEROS[padded - end]:
        raise ValueError
    tail{0} = raw[start:end]"""
_TEXT: Final = """.decode()
    if NUL in tail{0}:
        raise ValueError"""


def _reader(entry: Mapping[str, Any]) -> Reader:
    namespace: dict[str, Any] = dict(_NAMES)
    exec(_source_of_reader(entry), namespace)  # noqa: S102  # the source is made of the types in our own ABIs
    reader: Reader = namespace["read"]
    return reader


def _source_of_reader(entry: Mapping[str, Any]) -> str:
    words, zeros, tails = [], [], []
    values: dict[int, str] = {}
    indexed = [at for at, part in enumerate(entry["inputs"]) if part["indexed"]]
    plain = [at for at, part in enumerate(entry["inputs"]) if not part["indexed"]]
    topic_bytes, head = _WORD * (len(indexed) + 1), _WORD * len(plain)
    layout = ""
    for at in (*indexed, *plain):
        kind = entry["inputs"][at]["type"]
        kind = "bytes32" if at in indexed and kind in ("string", "bytes") else kind
        words.append(f"w{at}")
        if kind in _WHOLE:
            layout += "32s"
            values[at] = _WHOLE[kind].format(at)
            continue
        part_layout, length, values[at] = _PARTS[kind][0], _PARTS[kind][1], _PARTS[kind][2].format(at)
        layout += part_layout
        words.insert(-1, f"z{at}")
        zeros.append((f"z{at}", length))
        if kind in ("string", "bytes"):
            tails.append((_TAIL + _TEXT * (kind == "string")).format(at, topic_bytes=topic_bytes, head=head))
    topics = "".join(f", t{number}" for number in range(len(indexed)))
    joined = " + ".join([*(f"t{number}[2:]" for number in range(len(indexed))), "data[2:]"])
    has_text = any(part["type"] == "string" for part in entry["inputs"])
    lines = [
        f"unpack = Struct('>{layout}').unpack_from",
        "def read(topics, data):",
        f"    _{topics}, = topics",
        "    if data[:2] != '0x':",
        "        raise ValueError",
        f"    raw = unhexlify({joined})",
        f"    {', '.join(words)}, = unpack(raw)",
    ]
    if zeros:
        lines += [f"    if {' + '.join(name for name, _ in zeros)} != {bytes(sum(length for _, length in zeros))!r}:"]
        lines += ["        raise ValueError"]
    results = [values[at] for at in sorted(values)] + (["None"] if has_text else [])
    return "\n".join([*lines, *tails, f"    return ({', '.join(results)},)"])


def _below(number: int, limit: int) -> int:
    """Return a number if it is below a limit; otherwise, raise an error, so that the strict decoder is used."""
    if number >= limit:
        raise ValueError
    return number


@lru_cache(maxsize=1 << 16)  # computing a checksum costs more than all else, and a few addresses emit most events
def _address(word: bytes) -> str:
    if any(word[:12]):
        raise ValueError
    return checksummed("0x" + word[12:].hex())


def _signed(word: bytes) -> int:
    number = int.from_bytes(word, signed=True)
    if not -(1 << 127) <= number < 1 << 127:
        raise ValueError
    return number


_NAMES: Final = {
    "NUL": "\0",
    "Struct": struct.Struct,
    "ZEROS": [bytes(length) for length in range(_WORD)],
    "address": _address,
    "below": _below,
    "number": int.from_bytes,
    "signed": _signed,
    "unhexlify": unhexlify,
}
