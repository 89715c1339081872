"""Logs in JSON-RPC form: checked, in chain order, and grouped by block.

Logs are decoded directly from the node's text (see `extraction`), because creating an object for each log would take as
long as decoding the log.
"""

import re
from binascii import unhexlify
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any, Final

import msgspec

from bilateral.core.contracts.logs import LogPosition, RawLog
from bilateral.core.errors import MalformedNodeAnswerError
from bilateral.core.identifiers import checksummed
from bilateral.index.errors import EndpointLiesError

_QUANTITY: Final = re.compile(r"0x[0-9a-fA-F]{1,64}")
_WORD: Final = re.compile(r"0x[0-9a-fA-F]{64}")
_MAX_NUMBER: Final = 2**63 - 1  # the largest BIGINT


def quantity(value: str | int) -> int:
    """Parse a number: 0x and hexadecimal digits, padded or not, or a JSON number, which some nodes send."""
    number = value if isinstance(value, int) else int(value, 16) if _QUANTITY.fullmatch(value) else -1
    if not 0 <= number <= _MAX_NUMBER:
        text = repr(value)[:80]
        raise MalformedNodeAnswerError(f"the node returned {text} instead of a number of at most 63 bits")
    return number


def optional_quantity(value: object) -> int | None:
    """Parse a number that a node may omit or write in any form. Return None if it cannot be parsed."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    try:
        return quantity(value)
    except MalformedNodeAnswerError:
        return None


def amount(text: str) -> int:
    """Parse a number of up to 256 bits, such as a balance."""
    if not _QUANTITY.fullmatch(text):
        raise MalformedNodeAnswerError(f"the node returned {text[:80]!r} instead of a number of at most 256 bits")
    return int(text, 16)


small_quantity = lru_cache(maxsize=1 << 12)(quantity)
"""Parses a number as `quantity` does, and caches the result, because many logs have the same block, time or index."""


def word(text: str) -> bytes:
    """Parse 32 bytes."""
    if not _WORD.fullmatch(text):
        raise MalformedNodeAnswerError("the node returned malformed data instead of a 32-byte hash or topic")
    return unhexlify(text[2:])


Word = Annotated[str, msgspec.Meta(min_length=66, max_length=66)]
"""32 bytes as text: 0x and 64 hexadecimal digits."""

_MAX_LOG_INDEX: Final = 2**31 - 1  # the largest INTEGER in PostgreSQL
_IN_CHAIN: Final = (False, None, 0, "", "false", "0x0")
"""Values of `removed` that nodes send for logs that are in the chain."""


class LogEntry(msgspec.Struct, gc=False):
    """A log in JSON-RPC form."""

    address: str
    topics: Annotated[list[Word], msgspec.Meta(max_length=4)]
    data: str
    blockNumber: str | int  # noqa: N815  # the node's name
    blockHash: Word  # noqa: N815
    transactionHash: Word  # noqa: N815
    logIndex: str | int  # noqa: N815
    # Nodes omit these hints or send them in many forms, so stored data never relies on them.
    blockTimestamp: Any = None  # noqa: N815
    transactionIndex: Any = None  # noqa: N815
    removed: Any = False

    def raw(self) -> RawLog:
        """Return the log as the SDK represents it, including its position."""
        position = LogPosition(
            address_of(self.address),
            small_quantity(self.blockNumber),
            "0x" + hash_of(self.blockHash).hex(),
            "0x" + hash_of(self.transactionHash).hex(),
            small_quantity(self.logIndex),
            _time_hint(self),
        )
        return RawLog(position, tuple([word(topic) for topic in self.topics]), bytes_of(self.data))


@dataclass(slots=True)
class BlockLogs:
    """The logs of one block.

    Attributes:
        number: The block's number.
        hash: The block's 32-byte hash.
        time: The block's time in Unix seconds. Until the header is read, this is the time stated in the logs; None if
            they state no time.
        entries: The logs, in order.
        indices: The index of each log among all logs in the block.
    """

    number: int
    hash: bytes
    time: int | None
    entries: list[LogEntry] = field(default_factory=list)
    indices: list[int] = field(default_factory=list)

    def addresses(self) -> set[str]:
        """Return the contracts that emitted the logs, in checksum form."""
        return {address_of(text) for text in {entry.address for entry in self.entries}}

    def contents(self) -> Iterator[tuple[Any, ...]]:
        """Yield the fields of each log on which two endpoints must agree, except the block time, which is optional."""
        for index, entry in zip(self.indices, self.entries, strict=True):
            topics = tuple([topic.lower() for topic in entry.topics])
            origin = entry.address.lower(), entry.transactionHash.lower()
            yield self.number, self.hash, index, *origin, topics, entry.data.lower()


def grouped(name: str, entries: list[LogEntry], contracts: Collection[str], first: int, last: int) -> list[BlockLogs]:
    """Check the logs in a response, and group them by block."""
    try:
        try:
            return _grouped(name, entries, contracts, first, last)
        except UnnumberedLogsError:
            entries.sort(key=_place_of)
            return _grouped(name, entries, contracts, first, last)
    except UnnumberedLogsError as problem:
        places = Counter(
            (small_quantity(entry.blockNumber), small_quantity(entry.logIndex), entry.transactionHash.lower())
            for entry in entries
        )
        for (number, index, _), count in places.items():
            if count > 1:
                raise EndpointLiesError(name, f"log {index} of block {number} was returned twice") from None
        raise problem from None
    except ValueError as problem:
        raise MalformedNodeAnswerError(f"{name} returned a log that cannot be decoded: {problem}") from None


class UnnumberedLogsError(Exception):
    """Log indices repeat or contradict the transaction order, for example because the node counts logs per transaction.

    Attributes:
        block: The number of the block.
    """

    def __init__(self, block: int) -> None:
        super().__init__(block)
        self.block = block


def _place_of(entry: LogEntry) -> tuple[int, int, int]:
    transaction = optional_quantity(entry.transactionIndex) or 0
    return small_quantity(entry.blockNumber), transaction, small_quantity(entry.logIndex)


def _grouped(name: str, entries: list[LogEntry], contracts: Collection[str], first: int, last: int) -> list[BlockLogs]:
    blocks: list[BlockLogs] = []
    checked: set[str] = set()
    block, number_text, hash_text, before, transaction_text = BlockLogs(-1, b"", None), None, "", (-1, -1), None
    for entry in entries:
        if entry.address not in checked:
            checked.add(_requested(name, entry, contracts))
        if entry.blockNumber != number_text:
            number, number_text = small_quantity(entry.blockNumber), entry.blockNumber
            if not first <= number <= last:
                raise EndpointLiesError(name, f"block {number} has an unrequested log from {entry.address}")
            if number != block.number:  # otherwise, it is the same number with padding
                if number < block.number:
                    raise UnnumberedLogsError(number)
                block = BlockLogs(number, hash_of(entry.blockHash), _time_hint(entry))
                hash_text, before, transaction_text = entry.blockHash, (-1, -1), None
                blocks.append(block)
        if entry.blockHash != hash_text and hash_of(entry.blockHash) != block.hash:
            raise EndpointLiesError(name, f"the logs are from two blocks with the number {block.number}")
        transaction = before[0]
        if entry.transactionIndex != transaction_text:
            transaction_text = entry.transactionIndex
            stated = optional_quantity(transaction_text)
            transaction = transaction if stated is None else stated
        index = _index_of(entry, block.number)
        if transaction < before[0] or index <= before[1]:
            raise UnnumberedLogsError(block.number)
        before = transaction, index
        block.entries.append(entry)
        block.indices.append(index)
    return blocks


def _requested(name: str, entry: LogEntry, contracts: Collection[str]) -> str:
    """Return a log's address as the node sent it, after checking that the contract's logs were requested."""
    if address_of(entry.address) not in contracts:
        raise EndpointLiesError(name, f"block {entry.blockNumber} has an unrequested log from {entry.address[:80]}")
    return entry.address


def _index_of(entry: LogEntry, block: int) -> int:
    if entry.removed not in _IN_CHAIN:
        raise ValueError(f"block {block} has a log that a reorganisation removed")
    if (index := small_quantity(entry.logIndex)) > _MAX_LOG_INDEX:
        raise ValueError(f"log index {index} of block {block} exceeds {_MAX_LOG_INDEX}")
    return index


def _time_hint(entry: LogEntry) -> int | None:
    """Return the block time that a log contains, or None if there is none. Some nodes send 0 instead of omitting it."""
    return optional_quantity(entry.blockTimestamp) or None


def bytes_of(text: str) -> bytes:
    """Parse bytes of any length."""
    try:
        if text[:2] == "0x":
            return unhexlify(text[2:])
    except ValueError:
        pass
    raise MalformedNodeAnswerError("the node returned malformed bytes")


address_of = lru_cache(maxsize=1 << 10)(checksummed)
"""Returns an address in checksum form, and caches the result, because there are only a few registry addresses."""

hash_of = lru_cache(maxsize=1 << 10)(word)
"""Parses 32 bytes, and caches the result, because all logs of a transaction state the same transaction hash."""
