"""Blocks: closed circles of accounts that rate each other or the same rarely rated subjects.

Friends who trade with each other look the same in the graph of ratings. A block therefore counts only to the extent
that something else is odd: its opinions are unpaid or far from other raters' opinions, or its accounts are young.

Anyone can copy an honest account's opinions, or praise that account in return. An account therefore counts as a member
only if it followed other members: it rated a subject after another member had, or after a member had rated its agent.
"""

from typing import Final

import numpy as np
from scipy import sparse, stats
from scipy.sparse.csgraph import connected_components

from bilateral.trust.detectors.base import Detector
from bilateral.trust.features.context import Context, inflation_odds, unpaid_odds
from bilateral.trust.features.findings import Finding
from bilateral.trust.features.sharing import Sharing, sharing
from bilateral.trust.features.significance import adjusted, excess, fisher
from bilateral.trust.tables.arrays import Flags, Floats, Ints, contained, distinct_keys, first_of, pairs
from bilateral.trust.tables.ledger import Ledger
from bilateral.trust.tables.opinions import Kind

_RAREST: Final = 8
"""The maximum number of raters for a subject to be so rare that two raters are unlikely to share it by chance."""

_FAMILIES: Final = 4
_COMMON: Final = 2
"""The factors that correct p-values: half of the false discovery rate goes to shared subjects, a quarter to mutual
praise, and a quarter to cycles."""


class Blocks(Detector):
    """Detects blocks (shared subjects), mutual praise and cycles."""

    name = "blocks"

    def __init__(self, level: float = 0.01, clustering: float = 6.0, limit: int = 2000) -> None:
        self.level = level
        self.clustering = clustering
        self.limit = limit

    def _find(self, context: Context) -> list[Finding]:
        ledger, opinions = context.ledger, context.ledger.opinions
        rows = context.pair[opinions.kind[context.pair] != Kind.CONSTANT_TAG]
        if not len(rows):
            return []
        size = ledger.accounts, ledger.subjects
        rarest = sharing(opinions.rater[rows], opinions.subject[rows], size, _RAREST)
        common, tests = zip(*(self._together(shared) for shared in (rarest, context.sharing)), strict=True)
        first, second, p_values = _joined(*common)
        together = first, second, adjusted(p_values, sum(tests), _COMMON)
        left, right, q_value = _joined(self._mutual(context.ledger, rows), together)
        cycles = self._cycles(context.ledger, rows)
        findings = []
        components = _components(left, right, q_value, ledger.accounts)
        of_component = np.full(ledger.accounts, -1, np.int32)
        for number, (members, _) in enumerate(components):
            of_component[members] = number
        own_rows = rows[of_component[opinions.rater[rows]] >= 0]
        label = of_component[opinions.rater[own_rows]]
        own_rows = own_rows[np.argsort(label, kind="stable")]
        bounds = np.cumsum(np.bincount(label, minlength=len(components)))[:-1]
        for number, own in enumerate(np.split(own_rows, bounds) if components else []):
            members, strongest = components[number]
            subject = opinions.subject[own]
            _, inverse, shared = np.unique(subject, return_inverse=True, return_counts=True)
            inside = of_component[ledger.subject_account[subject]] == number
            chosen = own[(shared[inverse] > 1) | inside]
            findings.append(self._finding(context, members, chosen, strongest, "rated each other or the same accounts"))
        for members, chosen, q_of_cycle in cycles:
            findings.append(self._finding(context, members, chosen, q_of_cycle, "rated each other in a circle"))
        return sorted(findings, key=lambda finding: -finding.strength)[: self.limit]

    def _mutual(self, ledger: Ledger, rows: Ints) -> tuple[Ints, Ints, Floats]:
        """Return the pairs of accounts that judge each other, with corrected p-values."""
        opinions = ledger.opinions
        feedback = rows[opinions.kind[rows] == Kind.FEEDBACK]
        account = ledger.subject_account[opinions.subject[feedback]].astype(np.int32)
        rater = opinions.rater[feedback]
        out = np.bincount(rater, minlength=ledger.accounts)
        into = np.bincount(account, minlength=ledger.accounts)
        both = (rater != account) & (out[account] > 0) & (into[rater] > 0)  # pairs cannot be mutual otherwise
        forth = distinct_keys(pairs(rater[both], account[both].astype(np.int64), ledger.accounts))
        left, right = forth // max(ledger.accounts, 1), forth % max(ledger.accounts, 1)
        mutual = contained(pairs(right, left, ledger.accounts), forth) & (left < right)
        left, right = left[mutual], right[mutual]
        total = max(len(feedback), 1)
        forward = np.minimum(self.clustering * out[left] * into[right] / total, 1.0)
        backward = np.minimum(self.clustering * out[right] * into[left] / total, 1.0)
        chosen = forward * backward < 0.1  # noqa: PLR2004  # the circle as a whole is tested below
        left, right = left[chosen], right[chosen]
        circle = np.arange(ledger.accounts, dtype=np.int32)
        if len(left):
            graph = sparse.csr_matrix((np.ones(len(left)), (left, right)), (ledger.accounts,) * 2)
            circle = connected_components(graph, directed=False)[1]
        inside = circle[rater] == circle[account]
        internal = np.bincount(circle[rater[inside & (rater != account)]], minlength=ledger.accounts)
        written = np.bincount(circle[rater], minlength=ledger.accounts)
        received = np.bincount(circle[account], minlength=ledger.accounts)
        circles = np.unique(circle[left])
        expected = self.clustering * written[circles] * received[circles] / total
        q_value = np.ones(ledger.accounts)
        tests = max(len(circles), int((internal > 0).sum()))
        q_value[circles] = adjusted(excess(internal[circles], expected), tests, _FAMILIES)
        return left, right, q_value[circle[left]]

    def _together(self, shared: Sharing) -> tuple[tuple[Ints, Ints, Floats], int]:
        """Return the rater pairs that share several rare subjects, with p-values, and the number of tests."""
        p_values = excess(shared.count, self.clustering * shared.expected)
        # There are more tests than raters, but fewer than pairs: only pairs that share a rare subject are compared.
        return (shared.left, shared.right, p_values), int(shared.raters**1.5)

    def _cycles(self, ledger: Ledger, rows: Ints) -> list[tuple[Ints, Ints, float]]:
        """Return cycles of favourable feedback among accounts that rate few accounts and are rated by few."""
        opinions = ledger.opinions
        feedback = rows[(opinions.kind[rows] == Kind.FEEDBACK) & (opinions.percent[rows] > 50)]  # noqa: PLR2004
        account = ledger.subject_account[opinions.subject[feedback]].astype(np.int32)
        rater = opinions.rater[feedback]
        into = np.bincount(account, minlength=ledger.accounts)
        out = np.bincount(rater, minlength=ledger.accounts)
        blocks: list[tuple[Ints, Ints]] = []
        p_values: list[float] = []
        for most in (2, 4):
            small = (into > 0) & (out > 0) & (into <= most) & (out <= most + 2)
            edge = small[rater] & small[account] & (rater != account)
            if not edge.any():
                continue
            size = max(int(small.sum()), 1)
            branching = min(edge.sum() / size, 0.95)
            graph = sparse.csr_matrix((np.ones(edge.sum()), (rater[edge], account[edge])), (ledger.accounts,) * 2)
            _, label = connected_components(graph, directed=True, connection="strong")
            counts = np.bincount(label)
            inside = np.flatnonzero((label[rater] == label[account]) & (counts[label[rater]] > 2))  # noqa: PLR2004
            inside = inside[np.argsort(label[rater[inside]], kind="stable")]
            parts = np.split(inside, np.flatnonzero(np.diff(label[rater[inside]])) + 1) if len(inside) else []
            for part in parts:
                members = np.unique(rater[part])  # each member has an edge to another member
                blocks.append((members, feedback[part]))
                p_values.append(float(np.clip(branching ** len(members) / (1 - branching), 1e-12, 1.0)))
        q_values = adjusted(np.array(p_values), families=_FAMILIES)
        return [(*block, float(q_value)) for block, q_value in zip(blocks, q_values, strict=True)]

    def _finding(self, context: Context, members: Ints, rows: Ints, q_value: float, text: str) -> Finding:
        ledger, opinions = context.ledger, context.ledger.opinions
        unpaid, inflated = unpaid_odds(context, rows), inflation_odds(context, rows)
        young = _youth_odds(context, rows)
        odds = float(fisher(np.array([unpaid, inflated, young])))
        weight = float(np.clip((-np.log10(odds) - 1.5) / 4.5, 0.0, 1.0))
        inside = np.zeros(ledger.accounts, bool)
        inside[members] = True
        account = ledger.subject_account[opinions.subject[rows]]
        acts = np.union1d(_followers(context.ledger, rows, inside), np.setdiff1d(members, opinions.rater[rows]))
        members, copied = np.intersect1d(members, acts), np.setdiff1d(members, acts)
        inside[copied] = False
        return Finding(
            detector=self.name,
            statistic=f"unpaid p={unpaid:.2g}, distance to others p={inflated:.2g}, youth p={young:.2g}",
            q_value=q_value,
            actors=members,
            beneficiaries=np.unique(account[inside[account]]),
            subjects=np.union1d(account[~inside[account]], copied),
            tied=copied,
            opinions=rows,
            weight=weight,
            sentence=f"{len(members) + len(copied)} accounts {text}, {len(rows)} times.",
        )


def _followers(ledger: Ledger, rows: Ints, inside: Flags) -> Ints:
    """Return the members that rated a subject after another member had, or after a member had rated their agent."""
    opinions = ledger.opinions
    subject, rater, at = opinions.subject[rows], opinions.rater[rows], opinions.ts[rows]
    order = np.lexsort((at, subject))
    first = np.zeros(len(rows), bool)
    first[order[first_of(subject[order])]] = True
    leader = np.full(ledger.subjects, -1, np.int64)
    leader[subject[first]] = rater[first]
    since = np.full(ledger.accounts, np.inf)
    np.minimum.at(since, ledger.subject_account[subject], at)
    followed = (leader[subject] != rater) | (since[rater] < at)
    return np.unique(rater[followed & inside[rater]])


def _youth_odds(context: Context, rows: Ints) -> float:
    """Return the probability that the raters would be this young by chance. Each rater counts once."""
    raters, inverse = np.unique(context.ledger.opinions.rater[rows], return_inverse=True)
    if not len(raters):
        return 1.0
    youngest = np.ones(len(raters))
    np.minimum.at(youngest, inverse, context.freshness[rows])
    number = np.bincount(inverse)
    smallest = 1 - (1 - np.minimum(youngest, 1 - 1e-9)) ** number
    return float(stats.chi2.sf(-2 * np.log(np.maximum(smallest, 1e-12)).sum(), 2 * len(raters)))


def _joined(*parts: tuple[Ints, Ints, Floats]) -> tuple[Ints, Ints, Floats]:
    left, right, value = (np.concatenate([part[place] for part in parts]) for place in range(3))
    return left, right, value


def _components(left: Ints, right: Ints, q_value: Floats, size: int, level: float = 0.05) -> list[tuple[Ints, float]]:
    """Return the connected groups of significant pairs, with each group's smallest p-value."""
    chosen: Flags = q_value < level
    if not chosen.any():
        return []
    graph = sparse.csr_matrix((np.ones(chosen.sum()), (left[chosen], right[chosen])), (size, size))
    _, label = connected_components(graph, directed=False)
    members = np.unique(np.concatenate([left[chosen], right[chosen]]))
    order = members[np.argsort(label[members], kind="stable")]
    parts = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    strongest = np.ones(size)
    np.minimum.at(strongest, label[left[chosen]], q_value[chosen])
    return [(np.sort(part), float(strongest[label[part[0]]])) for part in parts]
