"""Lockstep: one subject's raters are mostly young, non-paying accounts with few opinions, or arrive in one burst.

Each opinion is ranked among all opinions by how little its rater risks: a young account that wrote few other opinions
and did not pay risks the least. A subject is reported if too many of its raters have the lowest ranks; a single
newcomer is never enough. A rater that paid is more likely to be an honest newcomer, and gets a smaller share of the
blame for the group.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np
from scipy import special, stats

from bilateral.trust.detectors.base import Detector, Trial, discoveries
from bilateral.trust.features.context import THIN, Context, inflation_odds, unpaid_odds
from bilateral.trust.features.findings import Finding, Part
from bilateral.trust.features.significance import SMALLEST, excess, fisher, share
from bilateral.trust.tables.arrays import Floats, Ints, first_of, group_sums, percentiles, segments
from bilateral.trust.tables.opinions import Kind

_PRAISE: Final = 60.0
"""The minimum percentage at which an opinion is praise: bought opinions are above the middle of the scale."""

_RECORDED: Final = 0.2
"""The minimum share of paid feedback at which payments count as recorded in this market."""

_EXCESS: Final = 2.5
"""The minimum factor by which a number must exceed its expected value to matter, however significant the excess is."""

_TELLING: Final = 100
"""The maximum effective number of raters of one subject. Newcomers arrive at popular subjects together, so several
hundred count as a hundred independent ones."""

_BUSY: Final = 100
"""The number of one rater's opinions that count in full when opinions are ranked. Above this number, each counts
less."""

_MARGIN: Final = 1.001
"""A safety factor for expected numbers that covers any rounding error."""

_SHARES: Final = (0.01, 0.03, 0.1, 0.2)
_SIZES: Final = (4, 8, 16, 32)


_FEWEST: Final = 3
"""The minimum number of raters in each of two groups to compare their means."""

_SMALLEST: Final = 15.0
"""The minimum difference in points that matters, however significant the difference is."""

_UNPAID: Final = 0.08
"""The weight of findings about unpaid opinions. It keeps their strength below 1, the minimum for a second kind of
evidence. Otherwise, customers of a free service who also sent gifts to buyers of their own agents would be held back:
0.4 % of the good sellers in attack-free markets of 10,000 accounts."""

_PAID: Final = 0.3
"""The share of the blame that a rater gets if it paid."""


class Lockstep(Detector):
    """Tests for new raters with few opinions, unpaid praise, and bursts."""

    name = "lockstep"

    def __init__(self, level: float = 0.01, limit: int = 5000) -> None:
        self.level = level
        self.limit = limit

    def _find(self, context: Context) -> list[Finding]:
        opinions = context.ledger.opinions
        rows = context.pair[opinions.kind[context.pair] != Kind.CONSTANT_TAG]
        if len(rows) < 50:  # noqa: PLR2004  # ranks among fewer mean little
            return []
        rank = _ranks(context, rows)
        families = (
            self._thin(context, rows, rank),
            self._bursts(context, rows),
            self._unpaid(context, rows),
            gaps(context, rows, self.level),
        )
        tests = [test for family, _ in families for test in family]
        findings = discoveries(tests, sum(number for _, number in families))
        return sorted(findings, key=lambda finding: -finding.strength)[: self.limit]

    def _thin(self, context: Context, rows: Ints, rank: Floats) -> tuple[list[Trial], int]:
        """Test each subject for too many raters with the lowest ranks."""
        ledger, opinions = context.ledger, context.ledger.opinions
        subject = opinions.subject[rows]
        judged = np.bincount(subject, minlength=ledger.subjects)
        counts = np.array([np.bincount(subject[rank <= part], minlength=ledger.subjects) for part in _SHARES])
        candidates = np.flatnonzero((counts >= 3).any(axis=0))  # noqa: PLR2004  # fewer cannot be told from chance
        parts = np.array(_SHARES)[:, None]
        p_values = share(*effective(counts[:, candidates], judged[candidates]), 1.3 * parts)
        few = counts[:, candidates] < np.maximum(3, _EXCESS * parts * judged[candidates])
        p_values[few] = 1.0
        best = p_values.argmin(axis=0)
        p_value = np.minimum(p_values.min(axis=0) * len(_SHARES), 1.0)

        def finding(place: int, q_value: float) -> Finding:
            number, part = int(candidates[place]), float(_SHARES[best[place]])
            start, stop = np.searchsorted(subject, [number, number + 1])
            chosen = rows[start:stop][rank[start:stop] <= part]
            expected = part * judged[number]
            return Finding(
                detector=self.name,
                statistic=f"{len(chosen)} of {judged[number]} raters are among the {part:.0%} youngest, "
                f"{expected:.3g} expected",
                q_value=q_value,
                actors=np.unique(opinions.rater[chosen]),
                subjects=np.array([ledger.subject_account[number]]),
                opinions=chosen,
                passive=frozenset({Part.ACTOR}),
                weight=0.8 * _oddness(context, chosen),
                confidence=np.clip(1 - expected / len(chosen), 0, 1) * share_of_blame(context, chosen),
                sentence=(
                    f"{len(chosen)} of {judged[number]} raters of one account are new accounts with few other opinions."
                ),
            )

        return self._likely(p_value, self.level, finding), int((judged > 0).sum())

    def _likely(self, p_value: Floats, level: float, finding: Callable[[int, float], Finding]) -> list[Trial]:
        """Return the tests that can lead to a finding, in ascending order of p-value."""
        places = np.argsort(p_value, kind="stable")[: self.limit]
        return [Trial(float(p_value[n]), level, partial(finding, int(n))) for n in places if p_value[n] < level]

    def _unpaid(self, context: Context, rows: Ints) -> tuple[list[Trial], int]:
        """Test owners for praise that is hardly ever paid. Because free services exist, this alone proves nothing."""
        ledger, opinions = context.ledger, context.ledger.opinions
        praise = rows[(opinions.kind[rows] == Kind.FEEDBACK) & (opinions.percent[rows] >= _PRAISE)]
        base = float(context.paid[praise].mean()) if len(praise) else 0.0
        if base < _RECORDED:
            return [], 0
        owner = ledger.subject_account[opinions.subject[praise]]
        order = np.argsort(owner, kind="stable")
        praise, owner = praise[order], owner[order]
        count = np.bincount(owner, minlength=ledger.accounts)
        unpaid = np.bincount(owner[~context.paid[praise]], minlength=ledger.accounts)
        clear = unpaid >= np.maximum(4, (1 - base / 4) * count)  # a smaller number may be due to chance
        candidates = np.flatnonzero(clear)
        p_values = share(unpaid[candidates], count[candidates], 1 - base)

        def finding(place: int, q_value: float) -> Finding:
            account = int(candidates[place])
            start, stop = np.searchsorted(owner, [account, account + 1])
            chosen = praise[start:stop][~context.paid[praise[start:stop]]]
            return Finding(
                detector=self.name,
                statistic=f"{unpaid[account]} of {count[account]} are unpaid, {1 - base:.0%} is usual",
                q_value=q_value,
                actors=np.unique(opinions.rater[chosen]),
                subjects=np.array([account]),
                opinions=chosen,
                passive=frozenset({Part.ACTOR}),
                weight=_UNPAID,
                sentence=(
                    f"{unpaid[account]} of {count[account]} good ratings of one owner's agents lack the usual payment."
                ),
            )

        return self._likely(p_values, 10 * self.level, finding), int((count > 0).sum())

    def _bursts(self, context: Context, rows: Ints) -> tuple[list[Trial], int]:
        """Test each subject for too many raters within a short time."""
        ledger, opinions = context.ledger, context.ledger.opinions
        order = np.sort(rows)  # opinions are sorted by subject and time
        subject, times = opinions.subject[order], opinions.ts[order]
        judged = np.bincount(subject, minlength=ledger.subjects)
        start = np.full(ledger.subjects, np.inf)
        np.minimum.at(start, subject, times)
        agent, stop = ledger.subject_agent, np.append(ledger.until, np.inf)  # the last position stands for clients
        start = np.minimum(start, np.append(ledger.registered, np.inf)[agent])
        length = np.maximum(np.minimum(times.max(), stop[agent]) - start, 1.0)
        most = self.level / 10 / len(_SIZES)
        best = [_densest(subject, times, segment, judged, length, most) for segment in segments(subject)]
        place, size_of, p_value = (np.concatenate([part[n] for part in best]) for n in range(3))
        smallest = np.minimum(p_value * len(_SIZES), 1.0)

        def finding(row: int, q_value: float) -> Finding:
            number = int(subject[place[row]])
            members = order[place[row] : place[row] + size_of[row]]
            reach = opinions.ts[members].max() - opinions.ts[members].min()
            low, high = np.searchsorted(subject, [number, number + 1])
            inside = (times[low:high] >= opinions.ts[members].min() - reach) & (
                times[low:high] <= opinions.ts[members].max() + reach
            )
            members = order[low:high][inside]
            members = members[np.lexsort((opinions.rater[members], opinions.ts[members]))]
            together = f"{len(members)} of {judged[number]} raters"
            span = _duration(float(opinions.ts[members].max() - opinions.ts[members].min()))
            thin = float((context.activity[opinions.rater[members]] <= THIN).mean())
            return Finding(
                detector=self.name,
                statistic=f"{together} within {span}",
                q_value=q_value,
                actors=np.unique(opinions.rater[members]),
                subjects=np.array([ledger.subject_account[number]]),
                opinions=members,
                passive=frozenset({Part.ACTOR}),
                weight=(0.2 + 0.5 * thin) * _oddness(context, members),
                confidence=share_of_blame(context, members),
                sentence=f"{together} of one account rated it within {span}.",
            )

        return self._likely(smallest, self.level / 10, finding), int((judged > 0).sum())


def _ranks(context: Context, rows: Ints) -> Floats:
    """For each opinion, return the share of opinions whose raters risk no more. Busy raters count less."""
    # Without the limit, one busy old account could make every honest newcomer rank among the youngest raters.
    activity, rater = context.activity, context.ledger.opinions.rater[rows]
    if activity.max(initial=0) <= _BUSY:
        return context.youth[rows]
    return percentiles(context.youth[rows], np.minimum(1.0, _BUSY / activity[rater]))


def effective(counts: Ints, judged: Ints) -> tuple[Ints, Ints]:
    """Reduce large numbers of young raters and of all raters, for a test that assumes independent raters."""
    trials = np.where(judged > _TELLING, _TELLING, judged)
    return counts * trials // judged, trials


def _densest(  # noqa: PLR0913, PLR0917
    subject: Ints, times: Floats, segment: slice, judged: Ints, length: Floats, most: float
) -> tuple[Ints, Ints, Floats]:
    """Return the least probable window of each subject: its first position, its number of opinions, and its p-value."""
    # Skip windows that cannot be improbable enough, because computing a p-value is slow.
    own, at = subject[segment], times[segment]
    numbers, within = np.unique(own, return_inverse=True)
    smallest, place = np.full(len(numbers), np.inf), np.zeros(len(numbers), np.int64)
    size_of = np.ones(len(numbers), np.int64)
    for size in _SIZES:
        first = np.flatnonzero(own[: max(len(own) - size + 1, 0)] == own[size - 1 :])
        if not len(first):
            continue
        number = own[first]
        window = at[first + size - 1] - at[first] + 60.0
        expected = np.asarray(3 * judged[number] * np.minimum(window / length[number], 1.0), np.float64)
        # A subject has as many windows as raters, so the tail probability of each must be below a fraction of `most`.
        likely = np.flatnonzero(expected <= _MARGIN * special.gammaincinv(size - 1, most / size))
        first, number, expected = first[likely], number[likely], expected[likely]
        if not len(first):
            continue
        p_value = np.minimum(judged[number] * excess(np.full(len(first), size - 1), expected), 1.0)
        starts = np.flatnonzero(first_of(number))
        least = np.minimum.reduceat(p_value, starts)
        group = within[first[starts]]
        better = least < smallest[group]
        at_least = np.flatnonzero(p_value == np.repeat(least, np.diff(np.append(starts, len(first)))))
        earliest = first[at_least[first_of(number[at_least])]]
        group = group[better]
        smallest[group], place[group], size_of[group] = least[better], earliest[better] + segment.start, size
    tested = np.isfinite(smallest)
    return place[tested], size_of[tested], smallest[tested]


def _duration(seconds: float) -> str:
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds > length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} seconds"


def _oddness(context: Context, rows: Ints) -> float:
    """Return how odd opinions are regardless of their times, from 0.12 to 1: unpaid, or unlike other opinions."""
    # A launch also brings many newcomers at once, but they pay, and their opinions agree with those of other raters.
    odds = float(fisher(np.array([unpaid_odds(context, rows), inflation_odds(context, rows)])))
    return float(np.clip((-np.log10(odds) - 1.0) / 2.0, 0.12, 1.0))


def gaps(context: Context, rows: Ints, level: float) -> tuple[list[Trial], int]:
    """Test whether raters with few opinions rate a subject differently from others; also return the number of tests.

    This is Welch's test, with each group's deviation shrunk towards that of all opinions.
    """
    ledger, opinions = context.ledger, context.ledger.opinions
    rows = rows[np.isfinite(opinions.percent[rows])]
    if not len(rows):
        return [], 0
    subject, percent = opinions.subject[rows], opinions.percent[rows].astype(np.float64)
    thin = context.activity[opinions.rater[rows]] <= THIN
    sides = [_statistics(subject[side], percent[side], ledger.subjects) for side in (thin, ~thin)]
    (count, mean, variance), (usual_count, usual, spread) = sides
    tested = np.flatnonzero((count >= _FEWEST) & (usual_count >= _FEWEST))
    if not len(tested):
        return [], 0
    prior = float(np.average(np.concatenate([variance[tested], spread[tested]]))) + 25.0
    error = np.zeros(len(tested))
    for number, squares in ((count[tested], variance[tested]), (usual_count[tested], spread[tested])):
        error += (number * squares + 4 * prior) / (number + 4) / number
    gap = mean[tested] - usual[tested]
    freedom = np.minimum(count[tested], usual_count[tested]) + 3
    p_values = np.maximum(2 * stats.t.sf(np.abs(gap) / np.sqrt(error), freedom), SMALLEST)
    p_values = np.where(np.abs(gap) < _SMALLEST, 1.0, p_values)

    def finding(place: int, q_value: float) -> Finding:
        number = int(tested[place])
        start, stop = np.searchsorted(subject, [number, number + 1])
        is_far = (percent[start:stop] - usual[number]) * np.sign(gap[place]) > _SMALLEST
        chosen = rows[start:stop][thin[start:stop] & is_far]
        direction = "better" if gap[place] > 0 else "worse"
        return Finding(
            detector="lockstep",
            statistic=f"mean {mean[number]:.0f} of {count[number]:.0f} thin raters, {usual[number]:.0f} of "
            f"{usual_count[number]:.0f} others",
            q_value=q_value,
            actors=np.unique(opinions.rater[chosen]),
            subjects=np.array([ledger.subject_account[number]]),
            opinions=chosen,
            passive=frozenset({Part.ACTOR}),
            weight=0.5,
            confidence=share_of_blame(context, chosen),
            sentence=(
                f"{len(chosen)} raters who rated hardly anything else rated one account {abs(gap[place]):.0f} points "
                f"{direction} than others did."
            ),
        )

    likely = np.flatnonzero(p_values < level)
    return [Trial(float(p_values[n]), level, partial(finding, int(n))) for n in likely], len(tested)


def share_of_blame(context: Context, rows: Ints) -> Floats:
    """Return each distinct rater's share of the blame for some opinions, which is smaller if the rater paid."""
    raters, inverse = np.unique(context.ledger.opinions.rater[rows], return_inverse=True)
    paid = np.bincount(inverse, weights=context.paid[rows], minlength=len(raters)) > 0
    return np.where(paid, _PAID, 1.0)


def _statistics(groups: Ints, values: Floats, size: int) -> tuple[Floats, Floats, Floats]:
    count = np.bincount(groups, minlength=size).astype(np.float64)
    usual = np.maximum(count, 1)
    mean = group_sums(values, groups, size) / usual
    return count, mean, np.maximum(group_sums(values**2, groups, size) / usual - mean**2, 0.0)
