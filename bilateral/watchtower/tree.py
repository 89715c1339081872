"""The Merkle tree of a period's measurements (RFC 6962, SHA-256), whose root the watchtower puts on chain.

A leaf is hashed as its canonical JSON (RFC 8785): names in order, no spaces. Its numbers are integers.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import zip_longest
from typing import Any


def encode_leaf(leaf: Mapping[str, Any]) -> bytes:
    """Return the bytes of a leaf."""
    return json.dumps(leaf, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


class MerkleTree:
    """The tree of some leaves.

    Args:
        leaves: The bytes of each, at least one.
    """

    def __init__(self, leaves: Iterable[bytes]) -> None:
        self._levels: list[Sequence[bytes]] = [[sha256(b"\0" + leaf).digest() for leaf in leaves]]
        while len(level := self._levels[-1]) > 1:
            pairs = zip_longest(level[::2], level[1::2])
            # A node without a neighbour goes up unchanged.
            self._levels.append(
                [left if right is None else sha256(b"\1" + left + right).digest() for left, right in pairs]
            )

    @property
    def root(self) -> bytes:
        """The 32 bytes that commit to all leaves."""
        return self._levels[-1][0]

    def path(self, number: int) -> list[str]:
        """Return the neighbours from a leaf to the root: `L` or `R` for the side where each stands, and its hash."""
        path = []
        for level in self._levels[:-1]:
            neighbour = number ^ 1
            if neighbour < len(level):
                path.append(("L" if neighbour < number else "R") + level[neighbour].hex())
            number //= 2
        return path
