"""Gaps: thin raters of a subject say something else than the raters who judge others as well.

Newcomers judge as others do, on the average. If those with little to lose all lie above or below, they have a reason.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import stats

from bilateral.trust.arrays import Floats, Ints, group_sums
from bilateral.trust.context import THIN
from bilateral.trust.detectors.base import Trial
from bilateral.trust.findings import Finding, Part
from bilateral.trust.significance import SMALLEST

if TYPE_CHECKING:
    from bilateral.trust.context import Context

_FEWEST: Final = 3
"""The number of raters on each side from which a mean says something."""

_SMALLEST: Final = 15.0
"""The gap in points from which a difference matters, however certain it is."""

_PAID: Final = 0.3
"""The share of the blame that a rater gets who paid."""


def gaps(context: Context, rows: Ints, level: float) -> tuple[list[Trial], int]:
    """Test each subject for a difference between its thin raters and the others; return also the number of tests.

    The test is that of Welch, with the deviation of each side drawn towards that of all opinions.

    Args:
        context: The ledger and what detectors share.
        rows: The opinions to look at, sorted by subject, one a pair of rater and subject.
        level: The false discovery rate.
    """
    ledger, opinions = context.ledger, context.ledger.opinions
    rows = rows[np.isfinite(opinions.percent[rows])]
    if not len(rows):
        return [], 0
    subject, percent = opinions.subject[rows], opinions.percent[rows].astype(np.float64)
    thin = context.activity[opinions.rater[rows]] <= THIN
    sides = [_moments(subject[side], percent[side], ledger.subjects) for side in (thin, ~thin)]
    (count, mean, variance), (others, usual, spread) = sides
    tested = np.flatnonzero((count >= _FEWEST) & (others >= _FEWEST))
    if not len(tested):
        return [], 0
    prior = float(np.average(np.concatenate([variance[tested], spread[tested]]))) + 25.0
    error = np.zeros(len(tested))
    for number, squares in ((count[tested], variance[tested]), (others[tested], spread[tested])):
        error += (number * squares + 4 * prior) / (number + 4) / number
    gap = mean[tested] - usual[tested]
    freedom = np.minimum(count[tested], others[tested]) + 3
    p_values = np.maximum(2 * stats.t.sf(np.abs(gap) / np.sqrt(error), freedom), SMALLEST)
    p_values = np.where(np.abs(gap) < _SMALLEST, 1.0, p_values)

    def finding(place: int, q_value: float) -> Finding:
        number = int(tested[place])
        start, stop = np.searchsorted(subject, [number, number + 1])
        beyond = (percent[start:stop] - usual[number]) * np.sign(gap[place]) > _SMALLEST
        chosen = rows[start:stop][thin[start:stop] & beyond]
        direction = "better" if gap[place] > 0 else "worse"
        return Finding(
            detector="lockstep",
            statistic=f"mean {mean[number]:.0f} of {count[number]:.0f} thin raters, {usual[number]:.0f} of "
            f"{others[number]:.0f} others",
            q_value=q_value,
            actors=np.unique(opinions.rater[chosen]),
            subjects=np.array([ledger.subject_account[number]]),
            opinions=chosen,
            passive=frozenset({Part.ACTOR}),
            weight=0.5,
            confidence=share_of_blame(context, chosen),
            sentence=(
                f"{len(chosen)} raters who judge hardly anything else find one subject {abs(gap[place]):.0f} points "
                f"{direction} than others do."
            ),
        )

    likely = np.flatnonzero(p_values < level)
    return [Trial(float(p_values[n]), level, partial(finding, int(n))) for n in likely], len(tested)


def share_of_blame(context: Context, rows: Ints) -> Floats:
    """Return, for each distinct rater of some opinions, its share of the blame: less if it paid for one of them.

    Args:
        context: The ledger and what detectors share.
        rows: Positions of opinions.
    """
    raters, inverse = np.unique(context.ledger.opinions.rater[rows], return_inverse=True)
    paid = np.bincount(inverse, weights=context.paid[rows], minlength=len(raters)) > 0
    return np.where(paid, _PAID, 1.0)


def _moments(groups: Ints, values: Floats, size: int) -> tuple[Floats, Floats, Floats]:
    """Return the number, the mean and the variance of the values of each group."""
    count = np.bincount(groups, minlength=size).astype(np.float64)
    usual = np.maximum(count, 1)
    mean = group_sums(values, groups, size) / usual
    return count, mean, np.maximum(group_sums(values**2, groups, size) / usual - mean**2, 0.0)
