"""Batched searches within groups of rows, for the first row with a large enough key and value."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bilateral.trust.tables.arrays import Floats, Ints


@dataclass(frozen=True)
class Keyed:
    """Rows to search, or searches for rows.

    Attributes:
        key: The key of each row, or the minimum key that a search accepts.
        value: The value of each row, or the minimum value that a search accepts.
    """

    group: Ints
    key: Floats
    value: Floats


def first_reaching(rows: Keyed, searches: Keyed) -> Ints:
    """Return, for each search, the first row in its group that reaches its key and value; -1 if there is none.

    Whatever the group sizes, the running time grows like that of sorting, not like the product of rows and searches.
    """
    place = _reaching(rows.value, _places(rows, searches), searches.value)
    exists = place < len(rows.group)
    exists[exists] = rows.group[place[exists]] == searches.group[exists]
    return np.where(exists, place, -1)


def first_equal(rows: Sequence[Ints], searches: Sequence[Ints]) -> Ints:
    """Return, for each search, the first row that equals it in all columns; -1 if there is none."""
    size = len(rows[0])
    codes = np.zeros(size + len(searches[0]), np.int64)
    for own, query in zip(rows, searches, strict=True):
        column = np.concatenate([own, query]).astype(np.int64) + 1
        codes = np.unique(codes * (column.max(initial=0) + 1) + column, return_inverse=True)[1]
    first = np.full(codes.max(initial=-1) + 1, -1)
    first[codes[:size][::-1]] = np.arange(size)[::-1]
    positions: Ints = first[codes[size:]]
    return positions


def _places(rows: Keyed, searches: Keyed) -> Ints:
    """Return the number of rows that precede each search in the order of group and key."""
    is_row = np.repeat([0, 1], [len(searches.group), len(rows.group)])
    keys = np.concatenate([searches.key, rows.key])
    order = np.lexsort((is_row, keys, np.concatenate([searches.group, rows.group])))
    before = np.empty(len(order), np.int64)
    before[order] = np.cumsum(is_row[order])
    return before[: len(searches.group)]


def _reaching(values: Floats, starts: Ints, least: Floats) -> Ints:
    """From each start, return the first position with a large enough value; the number of values if there is none."""
    # The values form a binary tree of blocks, with the maximum of each block. A search proceeds from its start through
    # blocks of growing size to the first that contains a large enough value, and then descends into it.
    maxima = np.full(1 << len(values).bit_length(), np.inf)  # the entry after the last value ends each search
    maxima[: len(values)] = values
    levels = [maxima]
    while len(levels[-1]) > 1:
        levels.append(np.maximum(levels[-1][::2], levels[-1][1::2]))
    place = starts.copy()
    height = np.full(len(place), len(levels) - 1)
    for level, maxima in enumerate(levels[:-1]):
        right = np.flatnonzero((height > level) & ((place >> level) & 1 == 1))  # left blocks are part of a larger block
        reached = maxima[place[right] >> level] >= least[right]
        height[right[reached]] = level
        place[right[~reached]] += 1 << level
    for level in range(len(levels) - 2, -1, -1):
        inside = np.flatnonzero(height > level)
        missed = levels[level][place[inside] >> level] < least[inside]
        place[inside[missed]] += 1 << level
    return place
