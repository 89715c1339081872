"""Block headers, and what a header's hash proves (Yellow Paper, 4.3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import or_
from typing import Any, Final

from eth_hash.auto import keccak

from bilateral.core.contracts import Registry, selectors
from bilateral.core.errors import MalformedNodeAnswerError
from bilateral.index.chain.endpoint import HeaderEntry
from bilateral.index.chain.logs import BlockLogs, amount, bytes_of, quantity, word
from bilateral.index.log.batches import Block
from bilateral.node import rlp

BLOOM_BYTES: Final = 256  # 2,048 bits (Yellow Paper, section 4.3.1)
_BITS: Final = 2047  # masks the number of a bit among 2,048
_SPARSE_BITS: Final = _BITS // 8
"""The maximum number of bits set in a useful Bloom filter. With an eighth of all bits set, one in 500 unrelated topics
matches by chance."""

_EVERYBODYS: Final = frozenset({"Transfer", "Approval", "ApprovalForAll", "MetadataUpdate"})
"""Events that other tokens also emit, so nearly every block's Bloom filter matches them."""


@lru_cache(maxsize=1 << 13)  # hashing costs more than the rest of the check, and blocks share agents and accounts
def _mask(item: bytes) -> int:
    digest = keccak(item)
    return reduce(or_, (1 << (int.from_bytes(digest[at : at + 2]) & _BITS) for at in (0, 2, 4)))


def bloom_of(items: Iterable[bytes]) -> bytes:
    """Return the Bloom filter for exactly the given addresses and topics."""
    return reduce(or_, map(_mask, items), 0).to_bytes(BLOOM_BYTES)


def is_sparse(bloom: bytes | None) -> bool:
    """Return True if a Bloom filter has so few bits set that it rarely matches by chance."""
    return bloom is not None and int.from_bytes(bloom).bit_count() <= _SPARSE_BITS


class Announcements:
    """The registries' logs whose existence the Bloom filters in block headers indicate.

    Args:
        registries: The registries, by checksummed address.
    """

    def __init__(self, registries: Mapping[str, Registry]) -> None:
        self._items = [
            (
                address,
                _mask(bytes.fromhex(address[2:])),
                [
                    ("0x" + topic.hex(), _mask(topic))
                    for topic, entry in selectors(registry, "event").items()
                    if entry["name"] not in _EVERYBODYS
                ],
            )
            for address, registry in registries.items()
        ]

    def are_missing(self, bloom: bytes | None, logs: BlockLogs | None, *, is_thorough: bool) -> bool:
        """Check whether a block's filter indicates logs that an endpoint did not return.

        A filter may indicate logs that do not exist but never misses an existing one, so True must be verified.
        """
        if bloom is None:
            return False
        asks_topics = is_thorough or is_sparse(bloom)
        addresses = logs.addresses() if logs else ()
        logged = {topic.lower() for entry in logs.entries for topic in entry.topics[:1]} if logs else set[str]()
        return any(
            address not in addresses or (asks_topics and not logged.issuperset(topics))
            for address, topics in self._announced(bloom)
        )

    def are_hidden(self, bloom: bytes | None, logs: BlockLogs, *, is_thorough: bool) -> bool:
        """Check whether a block's filter excludes logs that were returned. If so, the filter or a log is wrong."""
        if bloom is None:
            return False
        bits = int.from_bytes(bloom)
        texts = {topic for entry in logs.entries for topic in entry.topics[: None if is_thorough else 1]}
        masks = (_mask(bytes.fromhex(text[2:])) for text in (*logs.addresses(), *texts))
        return any(bits & mask != mask for mask in masks)

    def are_proven(self, bloom: bytes | None, logs: BlockLogs | None) -> bool:
        """Check whether a filter indicates a registry for which no log was returned, and one of that registry's events.

        With a sparse filter, this happens by chance in at most one in 10,000 blocks. Other filters prove nothing.
        """
        if bloom is None or not is_sparse(bloom):
            return False
        addresses = logs.addresses() if logs else ()
        return any(address not in addresses and topics for address, topics in self._announced(bloom))

    def _announced(self, bloom: bytes) -> Iterator[tuple[str, list[str]]]:
        """Yield the registries that a filter indicates, each with the event topics that the filter also indicates."""
        bits = int.from_bytes(bloom)
        for address, mask, topics in self._items:
            if bits & mask == mask:
                yield address, [topic for topic, of in topics if bits & of == of]


_NUMBERS: Final = frozenset(
    {"difficulty", "number", "gasLimit", "gasUsed", "baseFeePerGas", "blobGasUsed", "excessBlobGas"}
)
_COVERED: Final = (
    *("parentHash", "sha3Uncles", "miner", "stateRoot", "transactionsRoot", "receiptsRoot", "logsBloom", "difficulty"),
    *("number", "gasLimit", "gasUsed", "timestamp", "extraData", "mixHash", "nonce"),
)
_LATER: Final = (
    *("baseFeePerGas", "withdrawalsRoot", "blobGasUsed", "excessBlobGas", "parentBeaconBlockRoot", "requestsHash"),
)
"""Header fields added in London, Shanghai, Cancun and Prague. Headers without them are older or from another chain."""


@dataclass(frozen=True, slots=True)
class Header:
    """A block's header.

    Attributes:
        parent_hash: The hash of the previous block.
        bloom: The Bloom filter for log addresses and topics; None if the node omits it or if it is not 256 bytes long.
        receipts_root: The root of the block's receipts; None if the node omits it.
        transactions: The hashes of the block's transactions, in lower case; empty if the node omits them.
        entry: The header as the node returned it.
    """

    block: Block
    parent_hash: bytes
    bloom: bytes | None
    receipts_root: bytes | None
    transactions: tuple[str, ...]
    entry: HeaderEntry

    @classmethod
    def of(cls, entry: HeaderEntry) -> Header:
        """Read a header."""
        block = Block(quantity(entry.number), word(entry.hash), quantity(entry.timestamp))
        bloom = _optional_bytes(entry.logsBloom, BLOOM_BYTES)
        root = _optional_bytes(entry.receiptsRoot, len(block.hash))
        hashes = entry.transactions if isinstance(entry.transactions, list) else []
        texts = tuple([text.lower() for text in hashes if isinstance(text, str)])
        return cls(block, word(entry.parentHash), bloom, root, texts, entry)

    def is_sealed(self, time: int | None = None) -> bool:
        """Check that hashing the header as on Ethereum yields the stated hash, which proves all fields of the header.

        The check always fails on chains that compute block hashes differently.
        """
        try:
            items: list[Any] = [_item(self.entry, name) for name in _COVERED]
            items += [_item(self.entry, name) for name in _LATER if getattr(self.entry, name) is not None]
        except (TypeError, MalformedNodeAnswerError):
            return False
        items[_COVERED.index("timestamp")] = self.block.time if time is None else time
        return keccak(rlp.encode(items)) == self.block.hash


def _item(entry: HeaderEntry, name: str) -> bytes | int:
    value = getattr(entry, name)
    if name == "timestamp":
        return 0
    if name in _NUMBERS:
        return value if isinstance(value, int) else amount(value)
    return bytes_of(value)


def _optional_bytes(value: object, length: int) -> bytes | None:
    """Parse bytes that a node may omit or write in any form; None if they cannot be parsed."""
    try:
        content = bytes_of(value) if isinstance(value, str) else b""
    except MalformedNodeAnswerError:
        return None
    return content if len(content) == length else None
