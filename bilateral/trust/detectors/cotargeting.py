"""Co-targeting: accounts with one source of funds, or born together, judge the same subject more than chance allows.

The test adjusts for popularity on both sides. If a group writes one in a hundred opinions, it is expected to write one
in a hundred about each subject. So a popular agent, an exchange's many customers and an airdrop are all expected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bilateral.trust.arrays import Floats, Ints, contained, group_sums, pairs
from bilateral.trust.context import edges_of
from bilateral.trust.detectors.base import Detector
from bilateral.trust.findings import Finding
from bilateral.trust.kinship import COLLECTOR
from bilateral.trust.significance import adjusted, excess
from bilateral.trust.steps import KINDS

if TYPE_CHECKING:
    from bilateral.trust.context import Context
    from bilateral.trust.kinship import Grouping
    from bilateral.trust.steps import Edges

_PAIR: Final = 2
"""Two accounts that meet once prove little."""


@dataclass(frozen=True)
class _Cells:
    """The pairs of group and subject with at least two raters."""

    grouping: Grouping
    group: Ints
    subject: Ints
    count: Ints
    expected: Floats
    p_value: Floats


class CoTargeting(Detector):
    """Tests each group of kin accounts against each subject.

    Attributes:
        cells_: The number of tests.
    """

    name = "co-targeting"
    reads = frozenset({"agents", "feedback", "ratings", "validations", "payments", "transfers"})

    def __init__(self, level: float = 0.01, clustering: float = 4.0, limit: int = 5000) -> None:
        """Set the parameters.

        Args:
            level: The false discovery rate.
            clustering: The factor by which honest accounts of one community meet more often than at random.
            limit: The largest number of findings.
        """
        self.level = level
        self.clustering = clustering
        self.limit = limit

    def _find(self, context: Context) -> list[Finding]:
        edges = edges_of(context.ledger, context.pair)
        found, tests = [], 0
        for grouping in context.kin.groupings:
            cells, count = self._cells(context, grouping, edges)
            found.append(cells)
            tests += count
        del edges
        self.cells_ = tests
        q_values = adjusted(np.concatenate([cells.p_value for cells in found]), tests)
        findings, start = [], 0
        for cells in found:
            q_value = q_values[start : start + len(cells.p_value)]
            start += len(cells.p_value)
            chosen = np.flatnonzero(q_value < self.level)
            findings += self._of_groups(context, cells, chosen, q_value)
        return _without_repetitions(findings, self.limit)

    def _cells(self, context: Context, grouping: Grouping, edges: Edges) -> tuple[_Cells, int]:
        """Count the raters of each group and subject, and test the counts."""
        found = context.steps.cells(context.ledger, edges, grouping.group, grouping.size)
        kind = context.ledger.subject_kind[found.subject] if len(found.count) else np.zeros(0, np.int64)
        total = np.bincount(edges.kind, minlength=KINDS)
        share = found.written[found.group * KINDS + kind] / np.maximum(total[kind], 1)
        clustering = np.minimum(self.clustering, 1 / np.maximum(share, 1e-12))
        expected = clustering * context.judged[found.subject] * share
        p_value = excess(found.count, expected)
        return _Cells(grouping, found.group, found.subject, found.count, expected, p_value), found.tests

    def _of_groups(self, context: Context, cells: _Cells, chosen: Ints, q_value: Floats) -> list[Finding]:
        """Return one finding a group, over all subjects that it targets."""
        if not len(chosen):
            return []
        ledger, opinions = context.ledger, context.ledger.opinions
        wanted = np.sort(pairs(cells.subject[chosen], cells.group[chosen], cells.grouping.size))
        rows = np.flatnonzero(np.isin(opinions.subject, cells.subject[chosen]))
        group = cells.grouping.group[opinions.rater[rows]]
        inside = (group >= 0) & contained(
            pairs(opinions.subject[rows], np.maximum(group, 0), cells.grouping.size), wanted
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
                    transfers=_transfers(context, cells.grouping, actors),
                    weight=(1.0 if cells.grouping.is_control else 0.7) * (1.0 if hits > _PAIR else 0.4),
                    confidence=np.full(len(actors), confidence),
                    sentence=(
                        f"{len(actors)} accounts that share {cells.grouping.name} judge the same "
                        f"{len(subjects)} subject{'s' if len(subjects) > 1 else ''}."
                    ),
                )
            )
        return findings


def _transfers(context: Context, grouping: Grouping, actors: Ints) -> Ints:
    """Return the transfers that put accounts into a group: their first funds, or their payments to a collector."""
    ledger = context.ledger
    if not grouping.is_control:
        return np.zeros(0, np.int64)
    if grouping.name == COLLECTOR:
        rows = np.flatnonzero(np.isin(ledger.src, actors))
        collected: Ints = rows[ledger.dst[rows] == context.kin.collector[ledger.src[rows]]]
        return collected
    funding = ledger.funding[actors]
    return np.sort(funding[funding >= 0]).astype(np.int64)


def _without_repetitions(findings: list[Finding], limit: int) -> list[Finding]:
    """Leave out findings whose rows stronger ones cover already."""
    kept: list[Finding] = []
    covered: set[int] = set()
    for finding in sorted(findings, key=lambda one: (one.q_value, len(one.opinions))):
        rows = set(finding.opinions.tolist())
        if len(rows - covered) > 0.2 * len(rows):
            kept.append(finding)
            covered |= rows
        if len(kept) >= limit:
            break
    return kept
