"""Change points: how likely it is that an opinion is not slander, and that its subject has not changed since.

The model assumes that a subject's quality either never changed, or changed once (a turn). Before and after the turn,
opinions about the subject are centred on different qualities. Some opinions are about failed jobs, and some are by
raters who call everything excellent, so neither kind alone indicates a turn. Trusting a bad agent's past costs the
reader more than forgetting a good agent's past, so the odds favour a turn for the worse.

Bad opinions may also be slander. An attacker can buy opinions, but cannot silence other raters: in a turn, bad opinions
replace the good ones that usual customers would write, while slander comes on top of them. A turn is therefore believed
only to the extent that good opinions are missing; slander beyond that has no effect.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

import numpy as np

from bilateral.trust.tables.arrays import Flags, Floats, Ints, first_of, segments

_GRID: Final = np.linspace(0.0, 100.0, 21, dtype=np.float32)
"""The qualities that a subject may have."""

_SPREAD: Final = 12.0
"""The standard deviation of opinions about a subject of constant quality."""

_FAILED: Final = (0.04, 35.0)
"""The share of jobs that fail, and the highest value of opinions about failed jobs."""

_PRAISED: Final = (0.10, 75.0)
"""The share of raters who call everything excellent, and the lowest value that they assign."""

_DOWN: Final = 0.9
_UP: Final = 0.002
"""The prior weights of a turn for the worse and of a turn for the better, which false praise resembles."""

_SMALLEST: Final = 12.0
"""The smallest change of quality that counts as a turn."""

_SLANDER: Final = 0.12
"""The odds of slander versus a turn, per usual rater who previously called the subject good, while opinions arrive at
the usual rate. A long record makes a sudden turn improbable, and makes slander worthwhile."""

_SILENCE: Final = 2.0
_REFUTES: Final = 3.0
"""The log odds in favour of a turn for each missing good opinion, and against it for each good opinion that is present.
The probabilities alone imply 1 and 2.3, but only two thirds of opinions count here, because the others are about
smaller purchases. In the market of `tests.trust.attacks`, sellers with 26 to 70 raters have a lower bound below 50 four
days after a turn, whereas a few hours of slander cost them a tenth of a point."""

_DAY: Final = 86_400.0

_CLEAR: Final = 1.0
"""The number of standard errors by which means before and after a position must differ for closer examination."""

_CERTAIN: Final = 60.0
"""The limit for log odds, above and below zero."""

_LENGTH: Final = 100_000
"""The number of opinions per batch. Each opinion needs several numbers for each quality."""


@dataclass(frozen=True)
class Voices:
    """Opinions, ordered by subject and time.

    Attributes:
        subject: The opinions' subjects.
        percent: The opinions' values.
        at: The opinions' times.
        weight: The opinions' weights, relative to a usual opinion.
        last_weight: The rater's weight at the rater's last opinion about a subject; 0 at the rater's other opinions.
        is_alike: Marks the opinions whose raters paid at least half of what the subject's critics paid on average.
    """

    subject: Ints
    percent: Floats
    at: Floats
    weight: Floats
    last_weight: Floats
    is_alike: Flags

    def __getitem__(self, rows: Ints | slice) -> Voices:
        """Return a selection of the opinions."""
        return Voices(*(getattr(self, field.name)[rows] for field in fields(self)))


def persistence(voices: Voices, minimum: float, now: float) -> tuple[Floats, Floats]:
    """Return the probabilities that an opinion is still valid for its subject and that, if bad, it is not slander."""
    current, genuine = np.ones((2, len(voices.subject)), np.float32)
    for segment in segments(voices.subject, _LENGTH):
        rows = np.flatnonzero(_doubtful(voices[segment], minimum)) + segment.start
        if len(rows):
            current[rows], genuine[rows] = _explained(voices[rows], minimum, now)
    return current, genuine


def _doubtful(voices: Voices, minimum: float) -> Flags:
    """Mark the opinions about subjects whose means before and after some position differ clearly."""
    subject, weight = voices.subject, voices.weight
    starts, ends = _bounds(subject)
    count, total, raters = (_sums(values) for values in (weight, weight * voices.percent, voices.last_weight))
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


def _explained(voices: Voices, minimum: float, now: float) -> tuple[Floats, Floats]:
    """Return the probabilities that each opinion's subject has not changed since, and that it is not slander."""
    subject, percent, weight = voices.subject, voices.percent, voices.weight
    starts, ends = _bounds(subject)
    place = np.arange(len(subject))
    sums = np.zeros((len(_GRID), len(subject) + 1))  # a row for each quality, because sums over all qualities are fast
    np.cumsum(weight * _logarithms(percent), axis=1, dtype=np.float64, out=sums[:, 1:])
    first = np.flatnonzero(first_of(subject))
    sizes = np.diff(np.append(first, len(subject)))
    (before, usual), (after, present) = (
        _weighed(part) for part in (sums[:, :-1] - sums[:, starts], sums[:, ends] - sums[:, :-1])
    )
    every, _ = _weighed(sums[:, ends[first]] - sums[:, first])
    odds, step = before + after - np.repeat(every, sizes), usual - present
    prior = np.where(step >= _SMALLEST, _DOWN, np.where(step <= -_SMALLEST, _UP, 0.0))
    changed, _ = _weights_since(percent, voices.last_weight, usual, step, ends)
    _, unchanged = _weights_since(percent, voices.last_weight * voices.is_alike, usual, step, ends)
    possible = (place > starts) & (changed >= minimum)
    turned = np.where(possible, prior * np.exp(np.minimum(odds, _CERTAIN)) / np.maximum(ends - starts - 1, 1), 0.0)
    whole = np.repeat(np.add.reduceat(turned, first) + (1 - _DOWN - _UP), sizes)
    alike = _sums(weight * voices.is_alike)
    history, middle = alike[place] - alike[starts], starts + (place - starts) // 2
    # Use the slower of two rates, so that neither a burst of praise nor an old fashion makes a usual week look silent.
    rate = np.minimum(
        *((alike[place] - alike[since]) / np.maximum(voices.at - voices.at[since], _DAY) for since in (starts, middle))
    )
    expected = rate * (now - voices.at)
    burst = np.maximum(changed / (expected + 1), 1.0)
    slander = _SLANDER * history * burst * np.exp(np.minimum(_REFUTES * unchanged - _SILENCE * expected, _CERTAIN))
    slander = np.where(step > 0, slander / (1 + slander), 0.0)
    # Apart from the usual failed jobs, at most as many bad opinions are genuine as good opinions are missing.
    missing = np.maximum(expected - unchanged, 0.0) + _FAILED[0] * expected
    excess = 1 - np.minimum(missing / np.maximum(changed, 1e-9), 1.0)
    since, false = (
        np.concatenate([np.cumsum(part) for part in np.split(values, first[1:])])
        for values in (turned * (1 - slander), turned * slander * excess)
    )
    return 1 - (np.repeat(since[first + sizes - 1], sizes) - since) / whole, 1 - false / whole


def _weights_since(
    percent: Floats, raters_weight: Floats, usual: Floats, step: Floats, ends: Ints
) -> tuple[Floats, Floats]:
    """Return the weights, from each position on, of raters whose last opinion differs by a turn, and of all others."""
    # This keeps one failed job or one slander from looking like a turn together with usual opinions.
    place, width = np.arange(len(percent)), _GRID[1] - _GRID[0]
    below = np.zeros((len(_GRID), len(percent) + 1))
    np.cumsum(raters_weight * (percent < _GRID[:, None]), axis=1, dtype=np.float64, out=below[:, 1:])
    count = _sums(raters_weight)
    low, high = np.floor((usual - _SMALLEST) / width), np.ceil((usual + _SMALLEST) / width)
    low, high = (np.clip(bound, 0, len(_GRID) - 1).astype(np.int64) for bound in (low, high))
    every = count[ends] - count[place]
    above = every - (below[high, ends] - below[high, place])
    changed = np.where(step > 0, below[low, ends] - below[low, place], above)
    return changed, every - changed


def _bounds(subject: Ints) -> tuple[Ints, Ints]:
    """Return, for each row, the first row of its subject and the row after the last."""
    first = np.flatnonzero(first_of(subject))
    sizes = np.diff(np.append(first, len(subject)))
    return np.repeat(first, sizes), np.repeat(first + sizes, sizes)


def _sums(values: Floats) -> Floats:
    """Return the sums of the values before each position, followed by the sum of all values."""
    return np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])


def _logarithms(percent: Floats) -> Floats:
    """Return the log density of values, in one row per quality."""
    values = np.clip(percent, 0, 100).astype(np.float32)
    usual = np.exp(-0.5 * ((values - _GRID[:, None]) / _SPREAD) ** 2) / (_SPREAD * np.sqrt(2 * np.pi))
    failed = _FAILED[0] / _FAILED[1] * (values <= _FAILED[1])
    praised = _PRAISED[0] / (100 - _PRAISED[1]) * (values >= _PRAISED[1])
    return np.asarray(np.log((1 - _FAILED[0] - _PRAISED[0]) * usual + (failed + praised) + 1e-5))


def _weighed(sums: Floats) -> tuple[Floats, Floats]:
    """Return the log of the mean probability of some opinions over all qualities, and the expected quality."""
    top = sums.max(axis=0)
    sums -= top
    share = np.exp(sums, out=sums)
    total = share.sum(axis=0)
    share *= _GRID[:, None]
    return top + np.log(total / len(_GRID)), share.sum(axis=0) / total
