"""Small array operations shared by several detectors: groups, counts, joins, and percentiles."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.floating[Any]]
Flags = npt.NDArray[np.bool_]

_PIECE: Final = 65_536
"""The number of rows converted per batch, whose groups and values fit into the cache (half a megabyte each). Converting
a million rows in one batch takes three times as long as adding them up."""

_RUN: Final = 8
"""The mean run length from which aggregating runs first is faster: one run takes as long as several rows."""

_WORD: Final = 63
"""The number of bits in the largest integer."""

_SEGMENT: Final = 1_000_000
"""The number of rows per batch for intermediate results that need many times as much memory as the rows."""


def pairs(left: Ints, right: Ints, size: int) -> Ints:
    """Return one 64-bit key per pair of codes."""
    return left.astype(np.int64) * np.int64(max(size, 1)) + right


def unpaired(keys: Ints, size: int) -> tuple[Ints, Ints]:
    """Return the two codes in each key created by `pairs`."""
    left, right = np.divmod(keys, np.int64(max(size, 1)))
    return left, right


def group_sums(values: Floats | Flags, groups: Ints, size: int) -> Floats:
    """Return the sum of values by group."""
    out = np.zeros(size)
    for start in range(0, len(groups), _PIECE):  # `numpy.bincount` would copy both as 64-bit numbers
        part = slice(start, start + _PIECE)
        np.add.at(out, groups[part].astype(np.intp, copy=False), np.asarray(values[part], np.float64))
    return out


def spans(values: Floats, groups: Ints, size: int) -> tuple[Floats, Floats]:
    """Return the smallest and the largest value by group; infinity and minus infinity for an empty group."""
    first, last = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(first, groups, values)
    np.maximum.at(last, groups, values)
    return first, last


def group_counts(groups: Ints, size: int) -> Ints:
    """Return the number of rows by group."""
    out = np.zeros(size, np.int64)
    for start in range(0, len(groups), _PIECE):
        np.add.at(out, groups[start : start + _PIECE].astype(np.intp, copy=False), 1)
    return out


@dataclass(frozen=True)
class Groups:
    """The groups of some rows. Group sizes are counted once for all aggregations.

    Rows of one group are often adjacent, such as opinions about one subject. If so, each run of rows is aggregated
    first, which takes a quarter of the time.

    Attributes:
        of: The group of each row, numbered from 0.
        count: The number of rows of each group.
        starts: The first row of each run of rows in the same group; None if runs are short.
    """

    of: Ints
    count: Ints
    starts: Ints | None

    @classmethod
    def by(cls, groups: Ints, size: int) -> Self:
        """Count the rows of each group."""
        starts = np.flatnonzero(first_of(groups))
        if len(starts) * _RUN > len(groups):
            return cls(groups, group_counts(groups, size), None)
        count = np.zeros(size, np.int64)
        np.add.at(count, groups[starts], np.diff(starts, append=len(groups)))
        return cls(groups, count, starts)

    def sums(self, values: Floats | Flags) -> Floats:
        """Return the sum of values by group."""
        if self.starts is None:
            return group_sums(values, self.of, len(self.count))
        runs = np.add.reduceat(values, self.starts, dtype=np.float64)
        return group_sums(runs, self.of[self.starts], len(self.count))

    def mean(self, values: Floats | Flags) -> Floats:
        """Return the mean of values by group; nan for an empty group."""
        return np.where(self.count > 0, self.sums(values) / np.maximum(self.count, 1), np.nan)

    def top(self, values: Floats | Flags) -> Floats:
        """Return the largest value by group in single precision; nan for an empty group."""
        out, of = np.full(len(self.count), -np.inf, np.float32), self.of
        if self.starts is not None:
            values, of = np.maximum.reduceat(values, self.starts), of[self.starts]
        for start in range(0, len(of), _PIECE):
            part = slice(start, start + _PIECE)
            np.maximum.at(out, of[part].astype(np.intp, copy=False), np.asarray(values[part], np.float32))
        out[np.isneginf(out)] = np.nan
        return out

    def least(self, values: Floats) -> Floats:
        """Return the smallest value by group in single precision; nan for an empty group."""
        return -self.top(-values)

    def except_own(self, values: Floats, prior: Floats | float) -> Floats:
        """Return the mean of the other values in each row's group, with a prior that counts as one value."""
        out = self.sums(values)[self.of]
        out -= values
        out += prior
        out /= self.count[self.of]
        return out


def distinct_keys(keys: Ints) -> Ints:
    """Return the distinct keys in ascending order. `numpy.unique` hashes keys, which takes a hundred times as long."""
    ordered = np.sort(keys)
    firsts: Ints = ordered[first_of(ordered)]
    return firsts


def lexical_order(*keys: npt.NDArray[Any]) -> Ints:
    """Return the order of rows by keys, with the last key primary as in `numpy.lexsort`, but in a fifth of the time."""
    order = np.arange(len(keys[0]))
    for number, key in enumerate(keys):
        column = np.take(key, order) if number else key  # takes a fraction of the time of `key[order]`
        if (column[1:] < column[:-1]).any():
            order = np.take(order, _stable_order(column))
    return order


def _stable_order(column: npt.NDArray[Any]) -> Ints:
    # Numpy sorts numbers with vector instructions, which is many times as fast as sorting positions. Each key is
    # therefore packed with its position. If bits are short, the lowest are dropped, and ties are sorted again.
    keys, bits = _ordinal(column), len(column).bit_length()
    lost = max(0, (int(keys.max()) - int(keys.min())).bit_length() + bits - _WORD)
    keys >>= lost
    keys -= keys.min()
    keys <<= bits
    keys |= np.arange(len(column))
    keys.sort()
    place: Ints = keys & ((1 << bits) - 1)
    if lost:
        ordered = np.take(column, place)
        keys >>= bits
        alike = np.unique(keys[1:][ordered[1:] < ordered[:-1]])
        rows = np.flatnonzero(contained(keys, alike)) if len(alike) else alike
        place[rows] = place[rows][np.lexsort((ordered[rows], keys[rows]))]
    return place


def _ordinal(column: npt.NDArray[Any]) -> Ints:
    """Return 64-bit integers in the order of a column's values. Except for the sign, floats' bits already sort."""
    if column.dtype.kind != "f":
        return column.astype(np.int64)
    width = np.dtype(f"i{column.dtype.itemsize}")
    keys: Ints = (column + column.dtype.type(0)).view(width).astype(np.int64)  # adding 0 turns -0 into 0
    negative = np.flatnonzero(keys < 0)
    keys[negative] = ~keys[negative] ^ (-1 << (8 * width.itemsize - 1))
    return keys


def dense(keys: Ints, least: int = 1) -> tuple[Ints, int]:
    """Renumber keys from 0, in order; set negative keys, and keys with fewer than `least` rows, to -1."""
    out = np.full(len(keys), -1, np.int64)
    rows = np.flatnonzero(keys >= 0)
    rows = rows[lexical_order(keys[rows])]
    starts = np.flatnonzero(first_of(keys[rows]))
    sizes = np.diff(starts, append=len(rows))
    is_large = sizes >= least
    out[rows] = np.repeat(np.where(is_large, np.cumsum(is_large) - 1, -1), sizes)
    return out, int(is_large.sum())


def runs(groups: Ints, times: Floats, gap: float) -> Ints:
    """Split each group into runs without pauses longer than `gap`."""
    out = np.full(len(groups), -1, np.int64)
    rows = np.flatnonzero(groups >= 0)
    if not len(rows):
        return out
    order = rows[lexical_order(times[rows], groups[rows])]
    starts = np.ones(len(order), bool)
    starts[1:] = (np.diff(groups[order]) != 0) | (np.diff(times[order]) > gap)
    out[order] = np.cumsum(starts) - 1
    return out


def percentiles(values: Floats, weights: Floats | None = None) -> Floats:
    """Return, for each row, the share of rows whose value is no larger than that row's, in (0, 1]."""
    if not len(values):
        return np.zeros(0)
    order = lexical_order(values)
    ordered = np.take(values, order)
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    below = last + 1 if weights is None else np.cumsum(weights[order])[last]
    out = np.empty(len(values))
    out[order] = np.repeat(below / below[-1], np.diff(last, prepend=-1))
    return out


def first_of(order_keys: Ints | Floats) -> Flags:
    """Mark the first row of each run of equal keys."""
    out = np.ones(len(order_keys), bool)
    out[1:] = order_keys[1:] != order_keys[:-1]
    return out


def look_up(queries: Ints, keys: Ints, values: Floats) -> Floats:
    """Return the value of each query; 0 for queries without a key."""
    if not len(keys):
        return np.zeros(len(queries))
    place = np.minimum(np.searchsorted(keys, queries), len(keys) - 1)
    matched: Floats = np.take(values, place) * (np.take(keys, place) == queries)
    return matched


def contained(keys: Ints, among: Ints) -> Flags:
    """Mark the keys that also occur in another array."""
    if not len(among):
        return np.zeros(len(keys), bool)
    places = np.minimum(np.searchsorted(among, keys), len(among) - 1)
    is_member: Flags = among[places] == keys
    return is_member


def contained_pairs(left: Ints, right: Ints, among: Ints, size: int) -> Flags:
    """Mark the pairs that also occur in another array. Only pairs whose left code occurs there are looked up."""
    is_contained = np.zeros(len(left), bool)
    if len(among):
        occurs = np.zeros(size, bool)
        occurs[among // size] = True
        for start in range(0, len(left), _SEGMENT):
            rows = start + np.flatnonzero(occurs[left[start : start + _SEGMENT]])
            is_contained[rows] = contained(pairs(left[rows], right[rows], size), among)
    return is_contained


def segments(groups: Ints, length: int = _SEGMENT) -> Iterator[slice]:
    """Yield slices of about the same length from sorted groups; each slice ends at the end of a group."""
    start = 0
    while start < len(groups):
        last = min(start + length, len(groups)) - 1
        stop = int(np.searchsorted(groups, groups[last], side="right"))
        yield slice(start, stop)
        start = stop
