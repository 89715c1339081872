"""Headers of blocks, and what their hashes prove (Yellow Paper, 4.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import rlp
from eth_utils.crypto import keccak

from bilateral.core.errors import MalformedNodeAnswerError
from bilateral.index.chain.bloom import BLOOM_BYTES
from bilateral.index.chain.endpoint import HeaderEntry
from bilateral.index.chain.logs import bytes_of
from bilateral.index.chain.quantities import amount, quantity, word
from bilateral.index.log.batches import Block

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
"""Fields of headers since London, Shanghai, Cancun and Prague. A header without them is older, or of another chain."""


@dataclass(frozen=True, slots=True)
class Header:
    """A block's header.

    Attributes:
        parent_hash: The hash of the block before it.
        bloom: Its filter of addresses and topics of logs; None if the node does not give it, or none of 256 bytes.
        receipts_root: The root of its receipts; None if the node does not give it.
        transactions: The hashes of its transactions, in lower case; empty if the node does not give them.
        entry: The header as the node gives it.
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
        """Check that the hash is that of the header, as Ethereum makes it, so that all its fields are proven.

        Chains that make their hashes in other ways have no such header.
        """
        try:
            items: list[Any] = [_item(self.entry, name) for name in _COVERED]
            items += [_item(self.entry, name) for name in _LATER if getattr(self.entry, name) is not None]
        except (TypeError, MalformedNodeAnswerError):
            return False
        items[_COVERED.index("timestamp")] = self.block.time if time is None else time
        return bool(keccak(rlp.encode(items)) == self.block.hash)


def _item(entry: HeaderEntry, name: str) -> bytes | int:
    """Return a field as the hash covers it."""
    value = getattr(entry, name)
    if name == "timestamp":
        return 0
    if name in _NUMBERS:
        return value if isinstance(value, int) else amount(value)
    return bytes_of(value)


def _optional_bytes(value: object, length: int) -> bytes | None:
    """Read bytes that a node may omit or write in any form; None if they cannot be read."""
    try:
        content = bytes_of(value) if isinstance(value, str) else b""
    except MalformedNodeAnswerError:
        return None
    return content if len(content) == length else None
