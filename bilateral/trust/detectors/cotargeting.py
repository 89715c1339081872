"""Co-targeting: accounts with one source of funds, or born together, judge the same subject more than chance allows.

The test adjusts for popularity on both sides. If a group writes one in a hundred opinions, it is expected to write one
in a hundred about each subject. So a popular agent, an exchange's many customers and an airdrop are all expected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bilateral.trust.arrays import Floats, Ints, contained, group_sums, pairs
from bilateral.trust.detectors.base import Detector
from bilateral.trust.findings import Finding
from bilateral.trust.ledger import Kind
from bilateral.trust.significance import adjusted, excess

if TYPE_CHECKING:
    from bilateral.trust.context import Context
    from bilateral.trust.kinship import Grouping

_KINDS: Final = len(Kind)
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


@dataclass(frozen=True)
class _Pairs:
    """The distinct pairs of rater and subject, and their number by kind."""

    subject: Ints
    rater: Ints
    kind: Ints
    total: Ints


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
        opinions = context.ledger.opinions
        subject, rater = opinions.subject[context.pair], opinions.rater[context.pair]
        kind = context.ledger.subject_kind[subject] if len(subject) else np.zeros(0, np.int64)
        distinct = _Pairs(subject, rater, kind, np.bincount(kind, minlength=_KINDS))
        found, tests = [], 0
        for grouping in context.kin.groupings:
            cells, count = self._cells(context, grouping, distinct)
            found.append(cells)
            tests += count
        self.cells_ = tests
        q_values = adjusted(np.concatenate([cells.p_value for cells in found]), tests)
        findings, start = [], 0
        for cells in found:
            q_value = q_values[start : start + len(cells.p_value)]
            start += len(cells.p_value)
            chosen = np.flatnonzero(q_value < self.level)
            findings += self._of_groups(context, cells, chosen, q_value)
        return _without_repetitions(findings, self.limit)

    def _cells(self, context: Context, grouping: Grouping, distinct: _Pairs) -> tuple[_Cells, int]:
        """Count the raters of each group and subject, and test the counts."""
        group = grouping.group[distinct.rater]
        inside = group >= 0
        keys, counts = np.unique(pairs(distinct.subject[inside], group[inside], grouping.size), return_counts=True)
        by_group = np.bincount(group[inside] * _KINDS + distinct.kind[inside], minlength=grouping.size * _KINDS)
        tests = len(keys)
        many = counts > 1
        cell_subject, cell_group = keys[many] // max(grouping.size, 1), keys[many] % max(grouping.size, 1)
        counts = counts[many]
        cell_kind = context.ledger.subject_kind[cell_subject] if len(counts) else np.zeros(0, np.int64)
        written = by_group[cell_group * _KINDS + cell_kind]
        share = written / np.maximum(distinct.total[cell_kind], 1)
        expected = np.minimum(self.clustering, 1 / np.maximum(share, 1e-12)) * context.judged[cell_subject] * share
        p_value = excess(counts, expected)
        return _Cells(grouping, cell_group, cell_subject, counts, expected, p_value), tests

    def _of_groups(self, context: Context, cells: _Cells, chosen: Ints, q_value: Floats) -> list[Finding]:
        """Return one finding a group, over all subjects that it targets."""
        if not len(chosen):
            return []
        ledger, opinions = context.ledger, context.ledger.opinions
        wanted = np.sort(pairs(cells.subject[chosen], cells.group[chosen], cells.grouping.size))
        group = cells.grouping.group[opinions.rater]
        in_cell = (group >= 0) & contained(pairs(opinions.subject, np.maximum(group, 0), cells.grouping.size), wanted)
        rows = np.flatnonzero(in_cell)
        rows = rows[np.argsort(group[rows], kind="stable")]
        bounds = np.searchsorted(group[rows], np.unique(cells.group[chosen]))
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
                    weight=(1.0 if cells.grouping.is_control else 0.7) * (1.0 if hits > _PAIR else 0.4),
                    confidence=np.full(len(actors), confidence),
                    sentence=(
                        f"{len(actors)} accounts that share {cells.grouping.name} judge the same "
                        f"{len(subjects)} subject{'s' if len(subjects) > 1 else ''}."
                    ),
                )
            )
        return findings


def cells_by_funder(context: Context, clustering: float = 4.0) -> dict[tuple[int, str], tuple[int, float]]:
    """Return the raters of one agent with one funder, and their expected number, where there are at least two.

    Args:
        context: The ledger and what detectors share.
        clustering: The factor of `CoTargeting`.

    Returns:
        The count and the expectation by agent id and funder.
    """
    ledger, opinions = context.ledger, context.ledger.opinions
    rows = context.pair[opinions.kind[context.pair] == Kind.FEEDBACK]
    subject, rater = opinions.subject[rows].astype(np.int64), opinions.rater[rows]
    funder = ledger.funder[rater]
    known = funder >= 0
    keys, counts = np.unique(pairs(subject[known], funder[known], ledger.accounts), return_counts=True)
    agent, source = keys // ledger.accounts, keys % ledger.accounts
    share = np.bincount(funder[known], minlength=ledger.accounts)[source] / max(len(rows), 1)
    expected = np.minimum(clustering, 1 / share) * np.bincount(subject, minlength=ledger.subjects)[agent] * share
    return {
        (int(ledger.agent_ids[agent[n]]), ledger.addresses[int(source[n])].as_py()): (
            int(counts[n]),
            float(expected[n]),
        )
        for n in np.flatnonzero(counts > 1)
    }


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
