"""Pairs of raters that share rare subjects, and how many subjects they would share by chance."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from bilateral.trust.tables.arrays import Floats, Ints, first_of, group_counts, pairs, segments, unpaired

_PAIRS: Final = 20_000_000
"""The maximum number of rater pairs to compare. Above it, the subjects with the most raters are left out."""

_ROWS: Final = 50_000
"""The number of opinions whose raters are paired in one batch."""

_MANY: Final = 500
"""The number of subjects above which a rater is ignored, because it shares some with almost every rater."""


@dataclass(frozen=True)
class Sharing:
    """Rater pairs that share at least two subjects.

    Attributes:
        left, right: The two raters of each pair.
        count: The number of subjects that the two raters share.
        expected: The number of subjects that the two raters would share by chance.
        raters: The number of raters that were compared.
    """

    left: Ints
    right: Ints
    count: Ints
    expected: Floats
    raters: int


def sharing(rater: Ints, subject: Ints, sizes: tuple[int, int], most: int) -> Sharing:
    """Return the rater pairs that share several rare subjects."""
    accounts, subjects = sizes
    nothing = np.zeros(0, np.int64)
    judged = np.bincount(subject, minlength=subjects)
    several = np.sort(judged[judged > 1])
    allowed = int(np.searchsorted(np.cumsum(several.astype(np.float64) ** 2), _PAIRS, side="right"))
    cap = min(int(several[allowed]) - 1, most) if allowed < len(several) else most
    written = np.bincount(rater, minlength=accounts)
    usable = np.flatnonzero(
        (judged[subject] > 1) & (judged[subject] <= cap) & (written[rater] > 1) & (written[rater] <= _MANY)
    )
    if not len(usable):
        return Sharing(nothing, nothing, nothing, np.zeros(0), 0)
    rater, subject = rater[usable], subject[usable]
    left, right, count = _common(rater, subject, accounts)
    degree, rare = group_counts(rater, accounts), group_counts(subject, subjects).astype(np.float64)
    meeting = (rare * np.maximum(rare - 1, 0)).sum() / max(rare.sum(), 1) ** 2
    expected = degree[left].astype(np.float64) * degree[right] * meeting
    return Sharing(left, right, count, expected, int((degree > 0).sum()))


def _common(rater: Ints, subject: Ints, size: int) -> tuple[Ints, Ints, Ints]:
    """Return the rater pairs that share several subjects, and the number of subjects that each pair shares."""
    parts = []
    for segment in segments(subject, _ROWS):
        own, starts = rater[segment], np.flatnonzero(first_of(subject[segment]))
        sizes = np.diff(starts, append=len(own))
        later = np.repeat(starts + sizes, sizes) - np.arange(len(own)) - 1  # the subject's later raters
        first = np.repeat(np.arange(len(own)), later)
        second = np.arange(len(first)) + np.repeat(np.arange(len(own)) + 1 - np.cumsum(later) + later, later)
        parts.append(pairs(np.take(own, first), np.take(own, second), size))
    keys = np.concatenate(parts)
    keys.sort()
    starts = np.flatnonzero(first_of(keys))
    count = np.diff(starts, append=len(keys))
    several = np.flatnonzero(count > 1)
    left, right = unpaired(keys[starts[several]], size)
    return left.astype(np.int32), right.astype(np.int32), count[several]
