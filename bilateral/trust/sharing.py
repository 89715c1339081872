"""Raters that share rare subjects: the pairs of them, and how many subjects chance lets them share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy import sparse

from bilateral.trust.arrays import Floats, Ints

_PAIRS: Final = 20_000_000
"""Pairs of raters that are compared at most. Beyond that, only the rarest subjects count: all of one size, or none."""

_ROWS: Final = 50_000
"""Raters whose pairs with all others are held at once."""

_MANY: Final = 500
"""Subjects from which a rater judges so many that it shares some with everybody."""


@dataclass(frozen=True)
class Sharing:
    """Pairs of raters that share at least two subjects.

    Attributes:
        left, right: The two raters of each pair.
        count: The number of subjects that they share.
        expected: The number that they share at random.
        raters: The number of raters that were compared.
    """

    left: Ints
    right: Ints
    count: Ints
    expected: Floats
    raters: int


def sharing(rater: Ints, subject: Ints, sizes: tuple[int, int], most: int) -> Sharing:
    """Return the pairs of raters that share several rare subjects.

    Args:
        rater: The rater of each distinct pair of rater and subject.
        subject: The subject of each.
        sizes: The numbers of accounts and of subjects.
        most: The number of raters up to which a subject is rare.
    """
    accounts, subjects = sizes
    nothing = np.zeros(0, np.int64)
    judged = np.bincount(subject, minlength=subjects)
    several = np.sort(judged[judged > 1])
    allowed = int(np.searchsorted(np.cumsum(several.astype(np.float64) ** 2), _PAIRS, side="right"))
    cap = min(int(several[allowed]) - 1, most) if allowed < len(several) else most
    written = np.bincount(rater, minlength=accounts)
    usable = (judged[subject] > 1) & (judged[subject] <= cap) & (written[rater] > 1) & (written[rater] <= _MANY)
    if not usable.any():
        return Sharing(nothing, nothing, nothing, np.zeros(0), 0)
    active, codes = np.unique(rater[usable], return_inverse=True)
    matrix = sparse.csr_matrix((np.ones(usable.sum(), np.int32), (codes, subject[usable])), (len(active), subjects))
    left, right, count = _common(matrix)
    degree = np.asarray(matrix.sum(axis=1)).ravel().astype(np.float64)
    rare = np.bincount(subject[usable], minlength=subjects).astype(np.float64)
    meeting = (rare * np.maximum(rare - 1, 0)).sum() / max(rare.sum(), 1) ** 2
    return Sharing(active[left], active[right], count, degree[left] * degree[right] * meeting, len(active))


def _common(matrix: Any) -> tuple[Ints, Ints, Ints]:
    """Return the pairs of rows that share several columns, and their number. Rows are taken in stretches."""
    other = matrix.T.tocsr()
    parts = []
    for start in range(0, matrix.shape[0], _ROWS):
        shared = (matrix[start : start + _ROWS] @ other).tocoo()
        many = (shared.data > 1) & (shared.col > shared.row + start)
        parts.append(tuple(np.asarray(part[many], np.int32) for part in (shared.row + start, shared.col, shared.data)))
    left, right, count = (np.concatenate([part[place] for part in parts]) for place in range(3))
    return left, right, count
