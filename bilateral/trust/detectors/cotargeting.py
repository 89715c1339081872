"""Co-targeting: accounts with a common source of funds or creation time judge a subject more often than by chance.

The test adjusts for how popular subjects are and how active groups are. A group that writes one in a hundred opinions
overall is expected to write one in a hundred about each subject. Popular agents, exchanges with many customers and
airdrops therefore do not look suspicious.

Anyone can flood one subject with opinions, which lowers every group's share of all opinions. Honest accounts with the
same source of funds would then seem to judge the same subjects too often. Therefore, the share is also computed with a
limit on each subject's opinions, and the larger share counts. A shared exchange is ignored, because it proves nothing.
"""

from dataclasses import dataclass
from typing import Final, Self, TypeAlias

import numpy as np

from bilateral.trust.detectors.base import Detector, puppetry
from bilateral.trust.features.context import Context, inflation_odds, unpaid_odds
from bilateral.trust.features.findings import Basis, Finding
from bilateral.trust.features.significance import adjusted, excess, fisher
from bilateral.trust.features.ties import FUNDER, Grouping
from bilateral.trust.tables.arrays import Floats, Ints, contained, group_sums, pairs, segments, unpaired
from bilateral.trust.tables.ledger import Ledger
from bilateral.trust.tables.opinions import KINDS, Kind

_USUAL: Final = 0.3
_DIGITS: Final = 2.0
_LEAST: Final = 0.15
"""How improbable (as a negative base-10 logarithm) a group's opinions must be: above `_USUAL` they are unusual; at
`_USUAL + _DIGITS` the group counts in full. A usual group has the weight `_LEAST`, so it is never flagged for
co-targeting alone."""

_PAID: Final = 0.4
"""The share of paid feedback from which a missing payment is informative. Below it, usual groups get more weight."""

_PAIR: Final = 2
"""The number of opinions up to which a group has less weight: two accounts that judge one subject prove little."""

_CROWD: Final = 100
"""The number of raters per subject, and of subjects per rater, that count in full towards a group's share.

Above this number, each rater or subject counts less.
"""

_PEERS: Final = 30
"""How many other raters a subject needs to show whom a group's neighbours rate. Larger crowds are sampled."""


_Limits: TypeAlias = tuple[Floats, Floats]
"""Two arrays: the weighted number of opinions by account and kind, in which crowds count less, and the totals."""


@dataclass(frozen=True)
class _Edges:
    """The distinct rater-subject pairs, sorted by subject, and each subject's kind."""

    subject: Ints
    rater: Ints
    kind: Ints

    @classmethod
    def of(cls, ledger: Ledger, first: Ints) -> Self:
        """Return the pairs, given the position of each pair's first opinion."""
        subject = ledger.opinions.subject[first]
        kind = ledger.subject_kind[subject].astype(np.int8) if len(subject) else np.zeros(0, np.int8)
        return cls(subject, ledger.opinions.rater[first], kind)


@dataclass(frozen=True)
class _Cells:
    """The group-subject pairs with at least two raters."""

    grouping: Grouping
    group: Ints
    subject: Ints
    count: Ints
    expected: Floats
    p_value: Floats


class CoTargeting(Detector):
    """Tests whether groups of related accounts judge the same subjects too often.

    Attributes:
        cells_: The number of group-subject pairs tested.
    """

    name = "co-targeting"

    def __init__(self, level: float = 0.01, clustering: float = 4.0, limit: int = 5000) -> None:
        self.level = level
        self.clustering = clustering
        self.limit = limit

    def _find(self, context: Context) -> list[Finding]:
        edges = _Edges.of(context.ledger, context.pair)
        discovered, tests = [], 0
        crowded = max(context.judged.max(initial=0), context.activity.max(initial=0)) > _CROWD
        limits = _limits(context, edges) if crowded else None
        for grouping in context.ties.groupings:
            if grouping.only_ranks:
                continue
            cells, count = self._cells(context, grouping, edges, limits)
            discovered.append(cells)
            tests += count
        del limits
        self.cells_ = tests
        q_values = adjusted(np.concatenate([cells.p_value for cells in discovered]), tests)
        start = 0
        for cells in discovered:  # only a few cells remain, so their neighbours can be examined
            chosen = np.flatnonzero(q_values[start : start + len(cells.p_value)] < self.level)
            start += len(cells.p_value)
            cells.expected[chosen] = np.maximum(
                cells.expected[chosen], self.clustering * _near(context, cells, edges, chosen)
            )
            cells.p_value[chosen] = excess(cells.count[chosen], cells.expected[chosen])
        q_values = adjusted(np.concatenate([cells.p_value for cells in discovered]), tests)
        findings, start = [], 0
        for cells in discovered:
            q_value = q_values[start : start + len(cells.p_value)]
            start += len(cells.p_value)
            chosen = np.flatnonzero(q_value < self.level)
            findings += self._of_groups(context, cells, chosen, q_value)
        return _without_repetitions(findings, self.limit)

    def _cells(self, context: Context, grouping: Grouping, edges: _Edges, limits: _Limits | None) -> tuple[_Cells, int]:
        """Count the raters for each group and subject, and test the counts."""
        group = _without_exchanges(context, grouping)
        subject, own, count, tests, written = _counts(edges, group, grouping.size)
        kind = context.ledger.subject_kind[subject] if len(count) else np.zeros(0, np.int64)
        total = np.bincount(edges.kind, minlength=KINDS)
        share = written[own * KINDS + kind] / np.maximum(total[kind], 1)
        if limits is not None:
            share = np.maximum(share, _limited(limits, group, grouping.size)[own * KINDS + kind])
        clustering = np.minimum(self.clustering, 1 / np.maximum(share, 1e-12))
        expected = clustering * context.judged[subject] * share
        return _Cells(grouping, own, subject, count, expected, excess(count, expected)), tests

    def _of_groups(self, context: Context, cells: _Cells, chosen: Ints, q_value: Floats) -> list[Finding]:
        """Return one finding per group, covering all subjects that the group targets."""
        if not len(chosen):
            return []
        ledger, opinions = context.ledger, context.ledger.opinions
        significant_pairs = np.sort(pairs(cells.subject[chosen], cells.group[chosen], cells.grouping.size))
        rows = np.flatnonzero(np.isin(opinions.subject, cells.subject[chosen]))
        group = cells.grouping.group[opinions.rater[rows]]
        inside = (group >= 0) & contained(
            pairs(opinions.subject[rows], np.maximum(group, 0), cells.grouping.size), significant_pairs
        )
        rows, group = rows[inside], group[inside]
        order = np.argsort(group, kind="stable")
        rows, group = rows[order], group[order]
        bounds = np.searchsorted(group, np.unique(cells.group[chosen]))
        by_group = group_sums(cells.expected[chosen], cells.group[chosen], cells.grouping.size)
        findings = []
        for number, positions in zip(np.unique(cells.group[chosen]), np.split(rows, bounds[1:]), strict=True):
            of_group = chosen[cells.group[chosen] == number]
            best = of_group[np.argmin(q_value[of_group])]
            actors = np.unique(opinions.rater[positions])
            subjects = np.unique(ledger.subject_account[cells.subject[of_group]])
            hits = int(cells.count[of_group].sum())
            confidence = float(np.clip(1 - by_group[number] / hits, 0, 1))
            findings.append(
                Finding(
                    detector=self.name,
                    statistic=f"{cells.count[best]} raters of one subject, {cells.expected[best]:.3g} expected",
                    q_value=float(q_value[best]),
                    actors=actors,
                    subjects=subjects,
                    opinions=positions,
                    transfers=context.ties.joining(cells.grouping, actors),
                    weight=(1.0 if cells.grouping.is_control else 0.7)
                    * (1.0 if hits > _PAIR else 0.4)
                    * _oddness(context, positions)
                    * puppetry(context, actors, positions),
                    basis=Basis.CONTROL,
                    confidence=np.full(len(actors), confidence),
                    sentence=(
                        f"{len(actors)} accounts that share {cells.grouping.label} rated the same {len(subjects)} "
                        f"account{'s' if len(subjects) > 1 else ''}, {len(positions)} times."
                    ),
                )
            )
        return findings


def _counts(edges: _Edges, group: Ints, size: int) -> tuple[Ints, Ints, Ints, int, Ints]:
    """Count the raters for each subject-group pair, processing a segment of subjects at a time to limit memory use."""
    parts: list[Ints] = [np.zeros(0, np.int64)]
    counts: list[Ints] = [np.zeros(0, np.int64)]
    tests, written = 0, np.zeros(size * KINDS, np.int64)
    for segment in segments(edges.subject):
        own = group[edges.rater[segment]].astype(np.int64)
        inside = np.flatnonzero(own >= 0)
        own, subject = own[inside], edges.subject[segment][inside]
        keys, count = np.unique(pairs(subject, own, size), return_counts=True)
        np.add.at(written, own * KINDS + edges.kind[segment][inside], 1)
        tests += len(keys)
        parts.append(keys[count > 1])
        counts.append(count[count > 1])
    return *unpaired(np.concatenate(parts), size), np.concatenate(counts), tests, written


def _near(context: Context, cells: _Cells, edges: _Edges, chosen: Ints) -> Floats:
    """Return how many members of each group would rate its subject if they chose subjects as their neighbours do."""
    # Accounts meet within a city, trade or platform. Neighbours are the other raters of the members' other subjects, if
    # each has too many raters for an attacker to have created all of them.
    group = cells.grouping.group
    out = np.zeros(len(chosen))
    is_tested = np.zeros(cells.grouping.size + 1, bool)
    is_tested[cells.group[chosen]] = True
    own = np.flatnonzero(is_tested[group[edges.rater]] & (group[edges.rater] >= 0))
    own = own[np.argsort(group[edges.rater[own]], kind="stable")]
    bounds = np.searchsorted(group[edges.rater[own]], cells.group[chosen])
    stops = np.searchsorted(group[edges.rater[own]], cells.group[chosen], side="right")
    for place, cell in enumerate(chosen.tolist()):
        subject = int(cells.subject[cell])
        rows = own[bounds[place] : stops[place]]
        rows = rows[edges.kind[rows] == context.ledger.subject_kind[subject]]
        visited, visits = np.unique(edges.subject[rows][edges.subject[rows] != subject], return_counts=True)
        first, last = (np.searchsorted(edges.subject, visited, side=side) for side in ("left", "right"))
        popular = last - first - visits >= _PEERS
        hits = written = 0.0
        for start, stop, weight in zip(first[popular], last[popular], visits[popular], strict=True):
            peers = edges.rater[start : stop : max(1, (stop - start) // _PEERS)].astype(np.int64)
            peers = peers[group[peers] != cells.group[cell]]
            low, high = np.searchsorted(edges.subject, [subject, subject + 1])
            met = contained(peers, edges.rater[low:high].astype(np.int64))
            hits += weight * met.mean() if len(peers) else 0.0
            written += weight * context.activity[peers].mean() if len(peers) else 0.0
        out[place] = len(rows) * hits / max(written, 1.0)
    return out


def _oddness(context: Context, rows: Ints) -> float:
    """Return how odd a group's opinions are, from `_LEAST` to 1: unpaid, or far from other opinions."""
    # A company funds its staff from one account, and they use the same tools, but they pay and agree with other raters.
    # The fewer payments are recorded, the harder it is to distinguish staff from attackers, so the group counts more.
    if not (context.ledger.opinions.kind[rows] == Kind.FEEDBACK).any():
        return 1.0
    odds = fisher(np.array([unpaid_odds(context, rows), inflation_odds(context, rows)]))
    least = max(_LEAST, 1 - context.paid_share / _PAID)
    return float(np.clip((-np.log10(odds) - _USUAL) / _DIGITS, least, 1.0))


def _without_exchanges(context: Context, grouping: Grouping) -> Ints:
    """Return each account's group; -1 for accounts whose only connection to the group is an exchange."""
    if grouping.name != FUNDER:
        return grouping.group
    return np.where(context.ties.is_hub[np.maximum(context.ties.funder, 0)], -1, grouping.group)


def _limits(context: Context, edges: _Edges) -> _Limits:
    """Return each rater's number of opinions by kind, limited per subject and per rater, and the totals."""
    of_subject, of_rater = (
        np.minimum(1.0, _CROWD / np.maximum(count, 1)) for count in (context.judged, context.activity)
    )
    written = np.zeros(KINDS * context.ledger.accounts)
    for segment in segments(edges.subject):
        subject, rater = edges.subject[segment], edges.rater[segment]
        counts = np.minimum(of_subject[subject], of_rater[rater])
        np.add.at(written, rater.astype(np.int64) * KINDS + edges.kind[segment], counts)
    return written, written.reshape(-1, KINDS).sum(axis=0)


def _limited(limits: _Limits, group: Ints, size: int) -> Floats:
    """Return each group's share of the opinions of each kind, with a limit on the opinions about each subject."""
    (limited, total), inside = limits, np.flatnonzero(group >= 0)
    keys = group[inside][:, None] * KINDS + np.arange(KINDS)
    written = group_sums(limited.reshape(-1, KINDS)[inside].ravel(), keys.ravel(), size * KINDS)
    shares: Floats = written / np.tile(np.maximum(total, 1.0), size)
    return shares


def _without_repetitions(findings: list[Finding], limit: int) -> list[Finding]:
    """Drop findings whose rows are mostly covered by stronger findings."""
    distinct: list[Finding] = []
    covered: set[int] = set()
    for finding in sorted(findings, key=lambda finding: (finding.q_value, len(finding.opinions))):
        rows = set(finding.opinions.tolist())
        if len(rows - covered) > 0.2 * len(rows):
            distinct.append(finding)
            covered |= rows
        if len(distinct) >= limit:
            break
    return distinct
