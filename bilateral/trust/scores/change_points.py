"""Change points: how probable it is that no turn of a subject has made an opinion outdated.

A subject is as good as ever, or it turned once. Before and after, its opinions lie around a quality of its own. Some
are failed jobs, and some are from raters who call everything excellent, so neither alone shows a turn. To believe in a
bad agent's past costs the reader more than to forget a good agent's past, so the odds are set high.
"""

from typing import Final

import numpy as np

from bilateral.trust.tables.arrays import Flags, Floats, Ints, first_of, segments

_GRID: Final = np.linspace(0.0, 100.0, 21, dtype=np.float32)
"""The qualities that a subject may have."""

_SPREAD: Final = 12.0
"""The standard deviation of opinions about one quality."""

_FAILED: Final = (0.04, 35.0)
"""The share of failed jobs, and the highest value that they get."""

_PRAISED: Final = (0.10, 75.0)
"""The share of raters who call everything excellent, and the lowest value that they give."""

_DOWN: Final = 0.9
_UP: Final = 0.002
"""The prior weights of a turn for the worse and for the better. False praise looks like the latter."""

_SMALLEST: Final = 12.0
"""The smallest change of quality that is a turn."""

_CLEAR: Final = 1.0
"""The standard errors by which means before and after must differ, for a place to be looked at closely."""

_CERTAIN: Final = 60.0
"""The logarithm of odds beyond which more of it says no more."""

_LENGTH: Final = 100_000
"""Opinions that are looked at together: each takes some numbers for each quality."""


def persistence(subject: Ints, percent: Floats, weight: Floats, raters_weight: Floats, minimum: float) -> Floats:
    """Return the probability that an opinion is of the present subject: that it has not turned since."""
    out = np.ones(len(percent), np.float32)
    for segment in segments(subject, _LENGTH):
        doubtful = _doubtful(subject[segment], percent[segment], weight[segment], raters_weight[segment], minimum)
        rows = np.flatnonzero(doubtful) + segment.start
        if len(rows):
            out[rows] = _current(subject[rows], percent[rows], weight[rows], raters_weight[rows], minimum)
    return out


def _doubtful(subject: Ints, percent: Floats, weight: Floats, raters_weight: Floats, minimum: float) -> Flags:
    """Mark the opinions about subjects whose means before and after some place differ clearly."""
    starts, ends = _bounds(subject)
    count, total, raters = (_sums(values) for values in (weight, weight * percent, raters_weight))
    place = np.arange(len(subject))
    left, right = count[place] - count[starts], count[ends] - count[place]
    before = (total[place] - total[starts]) / np.maximum(left, 1e-9)
    after = (total[ends] - total[place]) / np.maximum(right, 1e-9)
    step = np.abs(before - after)
    error = _SPREAD * np.sqrt(1 / np.maximum(left, 1e-9) + 1 / np.maximum(right, 1e-9))
    clear = (
        (place > starts) & (raters[ends] - raters[place] >= minimum) & (step > _SMALLEST / 2) & (step > _CLEAR * error)
    )
    changed: Flags = np.logical_or.reduceat(clear, np.flatnonzero(first_of(subject)))
    return np.repeat(changed, np.diff(np.append(np.flatnonzero(first_of(subject)), len(subject))))


def _current(subject: Ints, percent: Floats, weight: Floats, raters_weight: Floats, minimum: float) -> Floats:
    """Return the probability of each opinion that its subject has not turned since."""
    starts, ends = _bounds(subject)
    place = np.arange(len(subject))
    sums = np.zeros((len(_GRID), len(subject) + 1))  # a row for each quality, over all of which sums are quick
    np.cumsum(weight * _logarithms(percent), axis=1, dtype=np.float64, out=sums[:, 1:])
    first = np.flatnonzero(first_of(subject))
    sizes = np.diff(np.append(first, len(subject)))
    (before, usual), (after, present) = (
        _weighed(part) for part in (sums[:, :-1] - sums[:, starts], sums[:, ends] - sums[:, :-1])
    )
    every, _ = _weighed(sums[:, ends[first]] - sums[:, first])
    odds, step = before + after - np.repeat(every, sizes), usual - present
    prior = np.where(step >= _SMALLEST, _DOWN, np.where(step <= -_SMALLEST, _UP, 0.0))
    possible = (place > starts) & (_outlier_weight(percent, raters_weight, usual, step, ends) >= minimum)
    turned = np.where(possible, prior * np.exp(np.minimum(odds, _CERTAIN)) / np.maximum(ends - starts - 1, 1), 0.0)
    until = np.concatenate([np.cumsum(part) for part in np.split(turned, first[1:])])
    whole = np.repeat(until[first + sizes - 1], sizes) + (1 - _DOWN - _UP)
    return np.asarray((until + (1 - _DOWN - _UP)) / whole)


def _outlier_weight(percent: Floats, raters_weight: Floats, usual: Floats, step: Floats, ends: Ints) -> Floats:
    """Return the weight of raters, since each place, whose last opinion lies as far off the usual as a turn does."""
    # One failed job, or one slander, then makes no turn together with usual opinions.
    place, width = np.arange(len(percent)), _GRID[1] - _GRID[0]
    below = np.zeros((len(_GRID), len(percent) + 1))
    np.cumsum(raters_weight * (percent < _GRID[:, None]), axis=1, dtype=np.float64, out=below[:, 1:])
    count = _sums(raters_weight)
    low, high = np.floor((usual - _SMALLEST) / width), np.ceil((usual + _SMALLEST) / width)
    low, high = (np.clip(bound, 0, len(_GRID) - 1).astype(np.int64) for bound in (low, high))
    above = count[ends] - count[place] - (below[high, ends] - below[high, place])
    return np.asarray(np.where(step > 0, below[low, ends] - below[low, place], above))


def _bounds(subject: Ints) -> tuple[Ints, Ints]:
    """Return, for each row, the first row of its subject and the row after the last."""
    first = np.flatnonzero(first_of(subject))
    sizes = np.diff(np.append(first, len(subject)))
    return np.repeat(first, sizes), np.repeat(first + sizes, sizes)


def _sums(values: Floats) -> Floats:
    """Return the sums of the values before each place, and of all."""
    return np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])


def _logarithms(percent: Floats) -> Floats:
    """Return the logarithm of the density of values, in a row for each quality."""
    values = np.clip(percent, 0, 100).astype(np.float32)
    usual = np.exp(-0.5 * ((values - _GRID[:, None]) / _SPREAD) ** 2) / (_SPREAD * np.sqrt(2 * np.pi))
    failed = _FAILED[0] / _FAILED[1] * (values <= _FAILED[1])
    praised = _PRAISED[0] / (100 - _PRAISED[1]) * (values >= _PRAISED[1])
    return np.asarray(np.log((1 - _FAILED[0] - _PRAISED[0]) * usual + (failed + praised) + 1e-5))


def _weighed(sums: Floats) -> tuple[Floats, Floats]:
    """Return the logarithm of the mean probability of some opinions, over all qualities, and the expected quality."""
    top = sums.max(axis=0)
    sums -= top
    share = np.exp(sums, out=sums)
    total = share.sum(axis=0)
    share *= _GRID[:, None]
    return top + np.log(total / len(_GRID)), share.sum(axis=0) / total
