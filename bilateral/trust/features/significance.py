"""Tail probabilities of counts, and corrections for multiple tests."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import stats

from bilateral.trust.tables.arrays import Floats, Ints

SMALLEST = 1e-300
"""The smallest p-value that is distinguished from zero."""


def excess(observed: Ints | Floats, expected: Floats) -> Floats:
    """Return the probability of a count at least as large as observed, if counts follow a Poisson distribution."""
    tail = stats.poisson.sf(np.asarray(observed) - 1, np.maximum(expected, 1e-12))
    return np.maximum(np.asarray(tail, np.float64), SMALLEST)


def share(observed: Ints | Floats, trials: Ints | Floats, probability: Floats | float) -> Floats:
    """Return the probability of at least this many successes if trials are independent."""
    tail = stats.binom.sf(np.asarray(observed) - 1, np.asarray(trials), np.clip(probability, 1e-9, 1.0))
    return np.maximum(np.asarray(tail, np.float64), SMALLEST)


@dataclass(frozen=True)
class Shares:
    """The shares that are usual among a market's groups, as a beta distribution.

    Attributes:
        alpha, beta: The distribution's parameters.
    """

    alpha: float
    beta: float

    def excess(self, observed: Ints, trials: Ints) -> Floats:
        """Return the probability that a group has at least this many occurrences."""
        tail = stats.betabinom.sf(np.asarray(observed) - 1, np.asarray(trials), self.alpha, self.beta)
        return np.maximum(np.asarray(tail, np.float64), SMALLEST)


def usual_shares(observed: Ints, trials: Ints) -> Shares:
    """Learn the usual shares of a market from its groups.

    The highest shares are left out, so that the actions of a few attackers do not count as usual. Because a few groups
    say little, `_ASSUMED` groups with a low share are added.
    """
    telling = trials >= _TELLING
    shares = np.sort(observed[telling] / trials[telling])
    shares = shares[: int(len(shares) * (1 - _EXTREME))]
    mean = (shares.sum() + _ASSUMED * _LITTLE) / (len(shares) + _ASSUMED)
    spread = float((((shares - mean) ** 2).sum() + _ASSUMED * _LITTLE**2) / (len(shares) + _ASSUMED))
    size = float(np.clip(mean * (1 - mean) / spread - 1, *_SIZES))
    return Shares(mean * size, (1 - mean) * size)


_TELLING: Final = 5
"""The minimum number of trials for a group's share to be meaningful."""

_EXTREME: Final = 0.02
"""The share of groups, starting with the highest shares, to ignore when estimating what is usual."""

_SIZES: Final = (3.0, 10.0)
"""The minimum and maximum weight of the usual shares, in trials. A higher maximum would report every unusual shop."""

_ASSUMED: Final = 20
_LITTLE: Final = 0.01
"""The number of assumed groups to add, and their share."""


def adjusted(p_values: Floats, tests: int | None = None, families: int = 1) -> Floats:
    """Correct p-values for many tests (Benjamini and Hochberg 1995).

    A detector with several families of tests also corrects each family for the number of families (Bonferroni).
    """
    count = len(p_values)
    if not count:
        return np.zeros(0)
    order = np.argsort(p_values)
    scaled = p_values[order] * (families * max(tests or 0, count)) / np.arange(1, count + 1)
    out = np.empty(count)
    out[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return np.maximum(out, SMALLEST)


def fisher(p_values: Floats, axis: int = 0) -> Floats:
    """Combine independent p-values into one (Fisher 1925)."""
    statistic = -2 * np.log(np.maximum(p_values, SMALLEST)).sum(axis=axis)
    tail = np.asarray(stats.chi2.sf(statistic, 2 * p_values.shape[axis]), np.float64)
    return np.maximum(tail, SMALLEST)


def strength(q_values: Floats) -> Floats:
    """Return the negative base-10 logarithms of adjusted p-values."""
    return np.asarray(-np.log10(np.maximum(q_values, SMALLEST)), np.float64)
