"""Logs in the form of JSON-RPC, checked, in the order of the chain, and grouped by block.

They are decoded straight from the node's texts, see `extraction`, because an object a log would cost as much time as
its decoding.
"""

from __future__ import annotations

from binascii import unhexlify
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from bilateral.contracts.logs import LogPosition, RawLog
from bilateral.errors import MalformedNodeAnswerError
from bilateral.identifiers import checksummed
from bilateral.index.chain.quantities import small_quantity, word
from bilateral.index.errors import EndpointLiesError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

Word = Annotated[str, msgspec.Meta(min_length=66, max_length=66)]
"""32 bytes as text: 0x and 64 digits."""

_MAX_LOG_INDEX: Final = 2**31 - 1  # the greatest number of an INTEGER of PostgreSQL
_MAX_KNOWN: Final = 1024
"""The spellings of addresses to remember: a foreign endpoint must not fill the memory."""


class LogEntry(msgspec.Struct, gc=False):
    """A log in the form of JSON-RPC."""

    address: str
    topics: Annotated[list[Word], msgspec.Meta(max_length=4)]
    data: str
    blockNumber: str  # noqa: N815  # the node's name
    blockHash: Word  # noqa: N815
    transactionHash: Word  # noqa: N815
    logIndex: str  # noqa: N815
    blockTimestamp: str | None = None  # noqa: N815
    removed: bool = False

    def raw(self) -> RawLog:
        """Return the log with its values.

        Raises:
            MalformedNodeAnswerError: Its data or its topics are not hexadecimal digits.
        """
        position = LogPosition(
            address_of(self.address),
            small_quantity(self.blockNumber),
            "0x" + hash_of(self.blockHash).hex(),
            "0x" + hash_of(self.transactionHash).hex(),
            small_quantity(self.logIndex),
            None if self.blockTimestamp is None else small_quantity(self.blockTimestamp),
        )
        return RawLog(position, tuple([word(topic) for topic in self.topics]), bytes_of(self.data))


@dataclass(slots=True)
class BlockLogs:
    """The logs of one block.

    Attributes:
        number: The block's number.
        hash: Its hash, 32 bytes.
        time: Its time in Unix seconds; None as long as nobody said it.
        entries: The logs, in their order.
        indices: The index of each among all logs of the block.
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
        """Yield for each log what two endpoints must agree on: all but the block's time, which not all say."""
        for index, entry in zip(self.indices, self.entries, strict=True):
            topics = tuple([topic.lower() for topic in entry.topics])
            origin = entry.address.lower(), entry.transactionHash.lower()
            yield self.number, self.hash, index, *origin, topics, entry.data.lower()


def grouped(name: str, entries: list[LogEntry], wanted: Collection[str], first: int, last: int) -> list[BlockLogs]:
    """Check the logs of an answer, and group them by block.

    Args:
        name: The endpoint's name, for messages.
        entries: The logs; they are sorted if they are in another order than the chain's.
        wanted: The contracts whose logs were asked for, in checksum form.
        first: The first block that was asked for.
        last: The last block that was asked for.

    Returns:
        The blocks with logs, in their order.

    Raises:
        MalformedNodeAnswerError: A log cannot be read, or is not in the chain any more.
        EndpointLiesError: A log was not asked for, is there twice, or is of another block than its neighbours.
    """
    try:
        try:
            return _grouped(name, entries, wanted, first, last)
        except _DisorderError:
            entries.sort(key=lambda entry: (small_quantity(entry.blockNumber), small_quantity(entry.logIndex)))
            return _grouped(name, entries, wanted, first, last)
    except _DisorderError as problem:
        raise EndpointLiesError(name, str(problem)) from None
    except ValueError as problem:
        raise MalformedNodeAnswerError(f"{name} answers with a log that cannot be read: {problem}") from None


class _DisorderError(Exception):
    """Logs are not in the order of the chain, or one of them is there twice."""


def _grouped(name: str, entries: list[LogEntry], wanted: Collection[str], first: int, last: int) -> list[BlockLogs]:
    """Check logs, and group them by block.

    Raises:
        _DisorderError: They are not in order.
    """
    blocks: list[BlockLogs] = []
    known: set[str] = set()
    block, number_text, hash_text, time_text, previous = BlockLogs(-1, b"", None), "", "", None, -1
    for entry in entries:
        if entry.address not in known:
            if address_of(entry.address) not in wanted:
                raise EndpointLiesError(name, f"it gives a log of {entry.address[:80]} in block {entry.blockNumber}")
            known.add(entry.address)
        if entry.blockNumber != number_text:
            before, block = block, _block_of(entry)
            number_text, hash_text, time_text, previous = entry.blockNumber, entry.blockHash, entry.blockTimestamp, -1
            if not first <= block.number <= last:
                raise EndpointLiesError(name, f"it gives a log of {entry.address} in block {block.number}")
            if block.number <= before.number:
                raise _DisorderError(f"it writes the number of block {block.number} in two ways")
            blocks.append(block)
        elif entry.blockHash != hash_text:
            raise EndpointLiesError(name, f"it gives logs of two blocks with the number {block.number}")
        if entry.blockTimestamp != time_text or entry.removed:
            raise ValueError(f"it was removed, or block {block.number} has two times")
        index = small_quantity(entry.logIndex)
        if not previous < index <= _MAX_LOG_INDEX:
            raise _DisorderError(f"it gives log {index} of block {block.number} twice")
        previous = index
        block.entries.append(entry)
        block.indices.append(index)
    return blocks


def _block_of(entry: LogEntry) -> BlockLogs:
    """Return the block of a log, still without logs."""
    time = None if entry.blockTimestamp is None else small_quantity(entry.blockTimestamp)
    return BlockLogs(small_quantity(entry.blockNumber), hash_of(entry.blockHash), time)


_ADDRESSES: dict[str, str] = {}


def address_of(text: str) -> str:
    """Return an address in checksum form. The registries' few addresses are remembered.

    Raises:
        ValueError: The text is not an address.
    """
    known = _ADDRESSES.get(text)
    if known is None:
        known = checksummed(text)
        if len(_ADDRESSES) < _MAX_KNOWN:
            _ADDRESSES[text] = known
    return known


def bytes_of(text: str) -> bytes:
    """Read bytes of any length.

    Raises:
        MalformedNodeAnswerError: The text is not 0x and pairs of hexadecimal digits.
    """
    try:
        if text[:2] == "0x":
            return unhexlify(text[2:])
    except ValueError:
        pass
    raise MalformedNodeAnswerError("the node answers with another form of bytes")


hash_of = lru_cache(maxsize=1 << 10)(word)
"""Reads 32 bytes, and remembers them: the logs of a transaction share its hash."""
