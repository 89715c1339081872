"""Change points: the time from which a subject is judged differently, such as a good agent that turns.

A fixed half-life forgets what is still true. A change point forgets only what no longer is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import stats

from bilateral.trust.arrays import Flags, Floats, Ints, stretches
from bilateral.trust.detectors.base import Detector
from bilateral.trust.findings import Finding
from bilateral.trust.opinions import Kind
from bilateral.trust.significance import adjusted

if TYPE_CHECKING:
    from bilateral.trust.context import Context

_SIDE: Final = 2
_ROUNDS: Final = 3
_CLIP: Final = 30.0
_SMALLEST: Final = 12.0


def segments(subject: Ints, values: Floats, level: float = 1e-4) -> Ints:
    """Return the start of the last segment of each subject's values.

    Args:
        subject: The subject of each value, ascending; values of a subject are in order of time.
        values: Percentages.
        level: The p-value, corrected for the places at which a change may lie.

    Returns:
        For each value, 0 before the last change and 1 from there on; 1 for subjects without a change.
    """
    last = np.ones(len(values), np.int8)
    for stretch in stretches(subject):
        own, percent = subject[stretch], values[stretch]
        current = np.ones(len(own), bool)
        for _ in range(_ROUNDS):
            split = _split(own[current], percent[current], level)
            if split.all():
                break
            current[np.flatnonzero(current)[~split]] = False
        last[stretch] = current
    return last


def _split(subject: Ints, values: Floats, level: float) -> Flags:
    """Mark the values from the strongest change of their subject on; all values of subjects without one."""
    count = len(values)
    if not count:
        return np.zeros(0, bool)
    starts = np.flatnonzero(np.concatenate([[True], subject[1:] != subject[:-1]]))
    sizes = np.diff(np.concatenate([starts, [count]]))
    middle = np.repeat(_medians(values, starts, sizes), sizes)
    residual = np.clip(values - middle, -_CLIP, _CLIP)
    total = np.concatenate([[0.0], np.cumsum(residual)])
    squares = np.concatenate([[0.0], np.cumsum(residual**2)])
    begin, size = np.repeat(starts, sizes), np.repeat(sizes, sizes)
    place = np.arange(count)
    left = place - begin
    right = size - left
    usable = (left >= _SIDE) & (right >= _SIDE)
    if not usable.any():
        return np.ones(count, bool)
    end = begin + size
    mean_left = (total[place] - total[begin]) / np.maximum(left, 1)
    mean_right = (total[end] - total[place]) / np.maximum(right, 1)
    within = squares[end] - squares[begin] - left * mean_left**2 - right * mean_right**2
    spread = np.sqrt((np.maximum(within, 0) + 4 * 100.0) / (size + 2))  # a prior of four opinions with deviation 10
    score = np.abs(mean_left - mean_right) / (spread * np.sqrt(1 / np.maximum(left, 1) + 1 / right))
    score = np.where(usable & (np.abs(mean_left - mean_right) > _SMALLEST), score, 0.0)
    best = np.maximum.reduceat(score, starts)
    p_value = 2 * stats.t.sf(best, np.maximum(sizes, 3)) * sizes
    changed = p_value < level
    first = np.full(len(starts), count)
    at_best = np.flatnonzero((score == np.repeat(best, sizes)) & (score > 0))
    number = np.repeat(np.arange(len(starts)), sizes)[at_best]
    first[number[::-1]] = at_best[::-1]
    return ~np.repeat(changed, sizes) | (place >= np.repeat(np.where(changed, first, 0), sizes))


def _medians(values: Floats, starts: Ints, sizes: Ints) -> Floats:
    """Return the median of each run of values."""
    runs = np.repeat(np.arange(len(starts)), sizes)
    ordered = values[np.lexsort((values, runs))]
    return np.asarray((ordered[starts + (sizes - 1) // 2] + ordered[starts + sizes // 2]) / 2, np.float64)


class ChangePoints(Detector):
    """Looks for agents whose feedback drops for good.

    Attributes:
        recent_: For each opinion, whether it lies in the last segment of its subject.
    """

    name = "change points"
    reads = frozenset({"agents", "feedback", "ratings", "validations"})

    def __init__(self, level: float = 1e-4) -> None:
        """Set the parameter.

        Args:
            level: The p-value of a change, corrected for its place.
        """
        self.level = level

    def _find(self, context: Context) -> list[Finding]:
        ledger, opinions = context.ledger, context.ledger.opinions
        self.recent_ = np.ones(len(opinions), bool)
        rows = np.flatnonzero(np.isfinite(opinions.percent))
        if not len(rows):
            return []
        subject, percent = opinions.subject[rows], opinions.percent[rows].astype(np.float64)
        recent = segments(subject, percent, self.level).astype(bool)
        self.recent_[rows] = recent
        before = np.bincount(subject[~recent], minlength=ledger.subjects)
        old = np.bincount(subject[~recent], weights=percent[~recent], minlength=ledger.subjects)
        after = np.bincount(subject[recent], minlength=ledger.subjects)
        new = np.bincount(subject[recent], weights=percent[recent], minlength=ledger.subjects)
        findings = []
        turned = np.flatnonzero((before > 0) & (ledger.subject_kind == Kind.FEEDBACK))
        q_values = adjusted(np.full(len(turned), self.level), int((after > 0).sum()))
        for number, q_value in zip(turned, q_values, strict=True):
            mean_old, mean_new = old[number] / before[number], new[number] / after[number]
            if mean_new >= mean_old:
                continue
            start, stop = np.searchsorted(subject, [number, number + 1])
            findings.append(
                Finding(
                    detector=self.name,
                    statistic=f"mean {mean_old:.0f} before, {mean_new:.0f} after, {after[number]} opinions since",
                    q_value=float(min(q_value, 1.0)),
                    actors=np.zeros(0, np.int64),
                    subjects=np.array([ledger.subject_account[number]]),
                    opinions=rows[start:stop][recent[start:stop]],
                    weight=0.0,
                    sentence=(
                        f"Agent {int(ledger.agent_ids[ledger.subject_agent[number]])} is judged "
                        f"{mean_old - mean_new:.0f} points lower in its last {after[number]} feedbacks than in the "
                        f"{before[number]} before."
                    ),
                )
            )
        return findings
