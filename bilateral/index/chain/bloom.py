"""The filter of a block's header that tells which addresses and topics its logs may have (Yellow Paper, 4.3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from eth_utils.crypto import keccak

from bilateral.core.contracts import Registry, selectors
from bilateral.index.chain.logs import BlockLogs

BLOOM_BYTES: Final = 256  # 2,048 bits (Yellow Paper, section 4.3.1)
_BITS: Final = 2047  # the mask of a bit's number among 2,048
_SPARSE_BITS: Final = _BITS // 8
"""Set bits up to which a filter says much: an eighth of them announces one foreign topic in 500."""

_EVERYBODYS: Final = frozenset({"Transfer", "Approval", "ApprovalForAll", "MetadataUpdate"})
"""Events of other tokens too: nearly every block's filter announces them."""


@lru_cache(maxsize=256)
def _mask(item: bytes) -> int:
    """Return the three bits that an address or topic sets."""
    digest = keccak(item)
    mask = 0
    for at in (0, 2, 4):
        mask |= 1 << (int.from_bytes(digest[at : at + 2]) & _BITS)
    return mask


def bloom_of(items: Iterable[bytes]) -> bytes:
    """Return the filter that announces some addresses and topics, and nothing else."""
    bits = 0
    for item in items:
        bits |= _mask(item)
    return bits.to_bytes(BLOOM_BYTES)


def is_sparse(bloom: bytes | None) -> bool:
    """Return True if a filter announces little by chance."""
    return bloom is not None and int.from_bytes(bloom).bit_count() <= _SPARSE_BITS


class Announcements:
    """The logs of some registries that filters announce.

    Args:
        registries: The registry at each address, in checksum form.
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
        """Check whether a block's filter announces logs that an endpoint did not give.

        The filter may announce logs that do not exist, but never hides one. So True asks for a second look.
        """
        if bloom is None or len(bloom) != BLOOM_BYTES:
            return False
        bits = int.from_bytes(bloom)
        asks_topics = is_thorough or bits.bit_count() <= _SPARSE_BITS
        addresses = logs.addresses() if logs else ()
        logged = {topic.lower() for entry in logs.entries for topic in entry.topics[:1]} if logs else set()
        for address, mask, topics in self._items:
            if bits & mask != mask:
                continue
            if address not in addresses:
                return True
            if asks_topics and any(bits & of == of and topic not in logged for topic, of in topics):
                return True
        return False

    def are_hidden(self, bloom: bytes | None, logs: BlockLogs, *, is_thorough: bool) -> bool:
        """Check whether a block's filter does not announce logs that an endpoint gave: then one of them is false."""
        if bloom is None or len(bloom) != BLOOM_BYTES:
            return False
        bits = int.from_bytes(bloom)
        texts = {topic for entry in logs.entries for topic in entry.topics[: None if is_thorough else 1]}
        masks = (_mask(bytes.fromhex(text[2:])) for text in (*logs.addresses(), *texts))
        return any(bits & mask != mask for mask in masks)

    def are_proven(self, bloom: bytes | None, logs: BlockLogs | None) -> bool:
        """Check whether a filter announces a registry of which no log came, together with one of its events.

        In a sparse filter that happens by chance in one of 10,000 blocks at most. Other filters prove nothing.
        """
        bits = int.from_bytes(bloom) if bloom is not None and is_sparse(bloom) else 0
        addresses = logs.addresses() if logs else ()
        return any(
            bits & mask == mask and address not in addresses and any(bits & of == of for _, of in topics)
            for address, mask, topics in self._items
        )
