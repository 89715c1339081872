"""Scores of trees that are kept from one analysis to the next: the same codes have the same score."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bilateral.trust.arrays import Flags, Floats, Ints

if TYPE_CHECKING:
    from collections.abc import Callable

_ROWS: Final = 16_384
"""Accounts whose codes are compared at once: all of theirs fit into a cache of 2.5 MB."""


@dataclass
class Scored:
    """The codes of accounts and their scores, as of the last analysis. They take 160 bytes an account.

    A score is only taken over where all codes are equal. So a wrong guess of who was who costs time, and nothing else.

    Attributes:
        addresses: The address of each account.
        chosen: The accounts that have codes.
        codes: The code of each feature, in rows, of each of them.
        scores: Their scores, by model.
    """

    addresses: pa.Array = field(default_factory=lambda: pa.array([], pa.string()))
    chosen: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    codes: Ints = field(default_factory=lambda: np.zeros((0, 0), np.uint8))
    scores: dict[str, Floats] = field(default_factory=dict)

    def places(self, addresses: pa.Array, chosen: Ints) -> Ints:
        """Return where the codes of accounts were; any place for new ones.

        Args:
            addresses: The address of each account.
            chosen: The accounts that have codes now.
        """
        place = np.zeros(len(self.addresses) + 1, np.int64)
        place[self.chosen] = np.arange(len(self.chosen))
        before = np.asarray(pc.fill_null(pc.index_in(addresses, self.addresses), len(self.addresses)))
        return np.asarray(place[before[chosen]])

    def changed(self, codes: Ints, row: int, places: Ints) -> Flags:
        """Mark the accounts whose codes were others.

        Args:
            codes: Some rows of codes.
            row: The number of the first of these rows.
            places: The result of `places`.
        """
        out = np.ones(codes.shape[1], bool)
        for start in range(0, codes.shape[1] if len(self.chosen) else 0, _ROWS):
            part = slice(start, start + _ROWS)
            out[part] = (codes[:, part] != self.codes[row : row + len(codes), places[part]]).any(axis=0)
        return out

    def score(self, name: str, codes: Ints, places: Ints, changed: Flags, score: Callable[[Ints], Floats]) -> Floats:
        """Return the scores of accounts, of which only those with new codes are computed.

        Args:
            name: The name of the model.
            codes: The codes that it looks at, in rows, of each account.
            places: The result of `places`.
            changed: Marks the accounts that have new codes.
            score: Computes the scores of codes.
        """
        if changed.all():
            return score(codes)
        out = self.scores[name][places]
        out[changed] = score(codes[:, changed])
        return out
