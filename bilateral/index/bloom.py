"""The filter of a block's header that tells which addresses and topics its logs may have (Yellow Paper, 4.3.1)."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from eth_utils.crypto import keccak

BLOOM_BYTES: Final = 256
_BITS: Final = 2047


@lru_cache(maxsize=256)
def _mask(item: bytes) -> int:
    """Return the three bits that an address or topic sets."""
    digest = keccak(item)
    mask = 0
    for at in (0, 2, 4):
        mask |= 1 << (int.from_bytes(digest[at : at + 2]) & _BITS)
    return mask


def may_hold(bloom: bytes, item: bytes) -> bool:
    """Check whether logs with an address or a topic may be in a block.

    Args:
        bloom: The filter, 256 bytes; one of another length filters nothing.
        item: The address, 20 bytes, or the topic, 32 bytes.

    Returns:
        False only if there is none.
    """
    mask = _mask(item)
    return len(bloom) != BLOOM_BYTES or int.from_bytes(bloom) & mask == mask
