"""Read one block's logs from its receipts, which a node stores separately from its searchable logs.

The root in the header proves the receipts' order, and the address, topics and data of each log (Yellow Paper, 4.3.1). A
log's index follows from its position. The log indices and block hashes that nodes add to receipts are not proven.
"""

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import msgspec
from eth_hash.auto import keccak

from bilateral.core.errors import NODE_FAILURES
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.headers import Header, bloom_of
from bilateral.index.chain.logs import (
    BlockLogs,
    LogEntry,
    address_of,
    bytes_of,
    optional_quantity,
    small_quantity,
    word,
)
from bilateral.node import rlp

EMPTY_ROOT: Final = keccak(rlp.encode(b""))
"""The receipts root of a block without transactions."""

_AT_ONCE: Final = 100
"""The number of receipts to request per batch."""

_BRANCHES: Final = 16
_HASH_BYTES: Final = 32
_DEPOSIT: Final = 0x7E  # the type of deposit transactions on the OP Stack


class _ReceiptLog(msgspec.Struct, gc=False):
    """A log in a receipt: the fields that the root proves, and the index that the node reports."""

    address: str
    topics: list[str]
    data: str
    logIndex: Any = None  # noqa: N815  # the node's name
    transactionHash: Any = None  # noqa: N815


class _Receipt(msgspec.Struct, gc=False):
    """A receipt in JSON-RPC form."""

    logs: list[_ReceiptLog]
    type: Any = None
    status: Any = None
    root: Any = None
    cumulativeGasUsed: Any = None  # noqa: N815  # the node's names
    transactionHash: Any = None  # noqa: N815
    transactionIndex: Any = None  # noqa: N815
    depositNonce: Any = None  # noqa: N815
    depositReceiptVersion: Any = None  # noqa: N815

    def encoded(self) -> bytes:
        """Return the receipt in the encoding that the root covers (EIP-2718)."""
        logs = [
            (bytes_of(log.address), [bytes_of(topic) for topic in log.topics], bytes_of(log.data)) for log in self.logs
        ]
        bloom = bloom_of([item for address, topics, _ in logs for item in (address, *topics)])
        state = bytes_of(self.root) if isinstance(self.root, str) else self._number(self.status)
        values: list[Any] = [state, self._number(self.cumulativeGasUsed), bloom, logs]
        kind = optional_quantity(self.type) or 0
        if kind == _DEPOSIT and self.depositReceiptVersion is not None:
            values += [self._number(self.depositNonce), self._number(self.depositReceiptVersion)]
        return (bytes([kind]) if kind else b"") + rlp.encode(values)

    @staticmethod
    def _number(value: object) -> int:
        number = optional_quantity(value)
        if number is None:
            raise ValueError(value)
        return number


@dataclass
class BlockReceipts:
    """All logs in a block, in order.

    Attributes:
        header: The block's header.
        entries: The logs; their `logIndex` is the position in the block.
        positions: The position of each log within its transaction.
        counts_by_transaction: True if the node numbers logs by their position within the transaction.
        is_proven: True if the receipts match the receipts root in the header, which proves the logs' contents.
            Otherwise, they match the header's Bloom filter, which only proves that no log is missing.
    """

    header: Header
    entries: list[LogEntry] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    counts_by_transaction: bool = True
    is_proven: bool = True

    def of(self, contracts: Collection[str]) -> BlockLogs:
        """Return the logs of the given contracts, whose addresses are in checksum form.

        If the node counts logs per transaction, the node's own indices are used as long as they are in order, for
        consistency with the node's other responses.
        """
        block = self.header.block
        logs = BlockLogs(block.number, block.hash, block.time)
        chosen = [at for at, entry in enumerate(self.entries) if address_of(entry.address) in contracts]
        logs.entries = [self.entries[at] for at in chosen]
        stated = [self.positions[at] for at in chosen]
        is_ordered = all(before < after for before, after in pairwise(stated))
        logs.indices = stated if self.counts_by_transaction and is_ordered else chosen
        return logs

    def number(self, entries: list[LogEntry]) -> bool:
        """Set the block positions of logs from another RPC method. Return False if the receipts lack a log."""
        stated = self.positions if self.counts_by_transaction else range(len(self.entries))
        keys = zip(self.entries, stated, strict=True)
        places = {(entry.transactionHash, index): at for at, (entry, index) in enumerate(keys)}
        numbers = [places.get((entry.transactionHash.lower(), small_quantity(entry.logIndex))) for entry in entries]
        for entry, number in zip(entries, numbers, strict=True):
            if number is None:
                return False
            entry.logIndex, entry.transactionIndex = number, self.entries[number].transactionIndex
        return True


def read_receipts(endpoint: Endpoint, header: Header) -> BlockReceipts | None:
    """Read a block's receipts."""
    if header.receipts_root == EMPTY_ROOT:
        return BlockReceipts(header)
    try:
        receipts = _receipts_of(endpoint, header)
        if all(optional_quantity(receipt.transactionIndex) is not None for receipt in receipts):
            receipts.sort(key=lambda receipt: optional_quantity(receipt.transactionIndex) or 0)
        return _checked(header, receipts)
    except (*NODE_FAILURES, ValueError, TypeError):
        return None


def blocks_unlike_receipts(
    endpoint: Endpoint, blocks: Sequence[BlockLogs], contracts: Collection[str]
) -> set[int] | None:
    """Compare blocks' logs with their transactions' receipts, which are small and which nodes store separately.

    Returns:
        The numbers of the blocks that differ; None if the endpoint returns no receipts.
    """
    pairs = list(
        dict.fromkeys((block.number, entry.transactionHash.lower()) for block in blocks for entry in block.entries)
    )
    expected: set[tuple[Any, ...]] = set()
    try:
        for start in range(0, len(pairs), _AT_ONCE):
            part, kind = pairs[start : start + _AT_ONCE], _Receipt | None
            receipts = endpoint.each("eth_getTransactionReceipt", [(hash_,) for _, hash_ in part], kind)  # type: ignore[arg-type]
            for pair, receipt in zip(part, receipts, strict=True):
                if receipt is None:
                    return None
                for log in receipt.logs:
                    if address_of(log.address) in contracts:
                        expected.add((*pair, optional_quantity(log.logIndex), log.address, *log.topics, log.data))
    except (*NODE_FAILURES, ValueError):
        return None
    stated = {
        (block.number, entry.transactionHash.lower(), index, entry.address, *entry.topics, entry.data)
        for block in blocks
        for entry, index in zip(block.entries, block.indices, strict=True)
    }
    return {row[0] for row in _in_lower_case(expected - stated) ^ _in_lower_case(stated - expected)}


def _in_lower_case(rows: Iterable[tuple[Any, ...]]) -> set[tuple[Any, ...]]:
    return {(*row[:3], *map(str.lower, row[3:])) for row in rows}


def _receipts_of(endpoint: Endpoint, header: Header) -> list[_Receipt]:
    kind = list[_Receipt] | None
    with suppress(*NODE_FAILURES):
        receipts: list[_Receipt] | None = endpoint.request("eth_getBlockReceipts", (hex(header.block.number),), kind)  # type: ignore[arg-type]
        if receipts is not None:
            return receipts
    if not header.transactions:
        raise ValueError(header.block.number)
    return endpoint.each("eth_getTransactionReceipt", [(hash_,) for hash_ in header.transactions], _Receipt)


def _checked(header: Header, receipts: Sequence[_Receipt]) -> BlockReceipts | None:
    items = [bytes_of(text) for receipt in receipts for log in receipt.logs for text in (log.address, *log.topics)]
    is_proven = header.receipts_root is not None and _root(receipts) == header.receipts_root
    if not (is_proven or bloom_of(items) == header.bloom or not (receipts or header.transactions)):
        return None
    logs = BlockReceipts(header, is_proven=is_proven)
    block, hashes = header.block, header.transactions
    for at, receipt in enumerate(receipts):
        for position, log in enumerate(receipt.logs):
            stated_hash = receipt.transactionHash or log.transactionHash
            hash_ = hashes[at] if len(hashes) == len(receipts) else "0x" + word(stated_hash).hex()
            entry = LogEntry(
                *(log.address, log.topics, log.data, block.number, "0x" + block.hash.hex(), hash_),
                logIndex=len(logs.entries),
                transactionIndex=at,
            )
            logs.entries.append(entry)
            logs.positions.append(position)
            logs.counts_by_transaction &= optional_quantity(log.logIndex) == position
    return logs


def _root(receipts: Sequence[_Receipt]) -> bytes | None:
    """Return the root of the receipts' tree; None if a receipt lacks a field that the root covers."""
    try:
        leaves = sorted((rlp.encode(at).hex(), receipt.encoded()) for at, receipt in enumerate(receipts))
    except (*NODE_FAILURES, ValueError, TypeError):
        return None
    return keccak(rlp.encode(_node(leaves, 0))) if leaves else EMPTY_ROOT


def _node(leaves: Sequence[tuple[str, bytes]], depth: int) -> list[Any]:
    """Return a node of a Merkle Patricia tree (Yellow Paper, appendix D) with `depth` nibbles above it."""
    # The keys are nibbles in ascending order, and no key is a prefix of another.
    if len(leaves) == 1:
        return [_path(leaves[0][0][depth:], 2), leaves[0][1]]
    ends = zip(leaves[0][0][depth:], leaves[-1][0][depth:], strict=False)
    if shared := next(at for at, (low, high) in enumerate(ends) if low != high):
        return [_path(leaves[0][0][depth : depth + shared], 0), _reference(_node(leaves, depth + shared))]
    branches: list[Any] = [b""] * (_BRANCHES + 1)
    for digit in range(_BRANCHES):
        if below := [leaf for leaf in leaves if leaf[0][depth] == f"{digit:x}"]:
            branches[digit] = _reference(_node(below, depth + 1))
    return branches


def _path(nibbles: str, flag: int) -> bytes:
    is_odd = len(nibbles) % 2
    return bytes.fromhex(f"{flag + is_odd:x}{'' if is_odd else '0'}{nibbles}")


def _reference(node: list[Any]) -> Any:
    encoded = rlp.encode(node)
    return node if len(encoded) < _HASH_BYTES else keccak(encoded)
