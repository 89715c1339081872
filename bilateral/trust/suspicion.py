"""Suspicion: one ranking of accounts from all findings, with the findings as its parts.

The parts of different detectors add up, because they rest on different evidence. Within a detector only the strongest
finding of an account counts. A subject of a finding gets nothing for it: anybody can praise or slander anybody. Below
the threshold, the ranking is by weak signs, which see these parts as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from bilateral.trust.arrays import Flags, Floats, Ints, group_sums
from bilateral.trust.kinship import FUNDER
from bilateral.trust.opinions import Kind
from bilateral.trust.signs import MOST, weak_signs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilateral.trust.context import Context
    from bilateral.trust.findings import Finding

THRESHOLD: Final = 2.0
"""The suspicion from which an account is flagged: digits of the false discovery rate."""

_OF_ONE_HAND: Final = (FUNDER, "one funder and one amount")
"""Groupings that taint all their members. A common ancestor may be an honest account that sold coins once."""

GUILTY: Final = 99.0
"""The suspicion of an account that people found guilty, whatever its findings."""

_RANKED: Final = 1.9
"""The most that an account gets for ties by others. They rank it, as a sign that weak signs see, and never flag it."""

RANKING: Final = ("praised by flagged", "tied by others", "weak signs")
"""The parts of a suspicion that rank an account and never flag it."""

_CLUSTER: Final = 1.0
"""The strength from which a finding joins its members into a cluster."""


@dataclass(frozen=True)
class Suspicion:
    """The result of all findings together.

    Attributes:
        total: The suspicion of each account: the sum of all parts if it is flagged, else weak signs alone.
        unranked: The suspicion by findings alone. It decides about flags.
        parts: The share of each detector in it, by name.
        odd: The weak signs of each account, whatever empty accounts do. Opinions of the odd count less.
        flagged: Marks the accounts that the engine flags.
        cluster: The cluster of each flagged account; -1 for the others.
        row: The probability of each opinion that it is false.
        own: Marks the opinions in findings by which the account that they are about gains, by an act of its own.
    """

    total: Floats
    unranked: Floats
    parts: dict[str, Floats]
    odd: Floats
    flagged: Flags
    cluster: Ints
    row: Floats
    own: Flags


def suspicion(
    context: Context,
    findings: Sequence[Finding],
    verdicts: dict[int, bool],
    threshold: float = THRESHOLD,
    *,
    learned: bool = True,
) -> Suspicion:
    """Combine findings.

    Args:
        context: The ledger and what detectors share.
        findings: The findings of all detectors.
        verdicts: The accounts that people reviewed; true for guilty. They override all findings.
        threshold: The suspicion from which an account is flagged.
        learned: Weigh weak signs, too.
    """
    size = context.ledger.accounts
    parts: dict[str, Floats] = {}
    tied = np.zeros(size)
    for finding in findings:
        part = parts.setdefault(finding.detector, np.zeros(size))
        confidence = 1.0 if finding.confidence is None else finding.confidence
        np.maximum.at(part, finding.actors, finding.strength * confidence)
        np.maximum.at(part, finding.beneficiaries, 0.9 * finding.strength)
        np.maximum.at(tied, finding.tied, 0.9 * finding.strength)
    total = np.sum(list(parts.values()), axis=0) if parts else np.zeros(size)
    kin = _kin(context, total, threshold)
    parts["kin of flagged"] = np.where(context.kin.acknowledged, kin, 0.0)
    total = total + parts["kin of flagged"]
    row = _false_rows(context, findings, total, threshold)
    parts["praised by flagged"] = _praised(context, row)
    parts["tied by others"] = np.minimum(np.maximum(tied, np.where(context.kin.acknowledged, 0.0, kin)), _RANKED)
    parts["weak signs"], odd = weak_signs(context, parts, total) if learned else (np.zeros(size), np.zeros(size))
    for account in verdicts:
        parts["weak signs"][account] = odd[account] = 0.0
    unranked = total.copy()  # (total + ranked) - ranked would be smaller at times, by rounding
    weak = parts["weak signs"]
    every = unranked + parts["praised by flagged"] + parts["tied by others"]
    ranked = np.where(weak > 0, weak, np.minimum(every, MOST))
    total = np.where(unranked >= threshold, every + weak, ranked)
    for account, guilty in verdicts.items():
        unranked[account] = total[account] = GUILTY if guilty else 0.0
    if verdicts:
        innocent = np.array([account for account, guilty in verdicts.items() if not guilty], np.int64)
        row[np.isin(context.ledger.opinions.rater, innocent)] = 0.0
        guilty_ones = np.array([account for account, guilty in verdicts.items() if guilty], np.int64)
        row[np.isin(context.ledger.opinions.rater, guilty_ones)] = 1.0
    flagged = unranked >= threshold
    clusters = _clusters(findings, flagged, size)
    return Suspicion(total, unranked, parts, odd, flagged, clusters, row, _own(context, findings))


def _kin(context: Context, total: Floats, threshold: float) -> Floats:
    """Return what accounts get for groups of common control in which most are flagged."""
    out = np.zeros(len(total))
    active = np.zeros(len(total), bool)
    active[context.ledger.opinions.rater] = True
    active[context.ledger.owner] = True
    for grouping in context.kin.groupings:
        if grouping.name not in _OF_ONE_HAND or not grouping.size:
            continue
        inside = (grouping.group >= 0) & active
        group = grouping.group[inside]
        members = np.bincount(group, minlength=grouping.size)
        over = total[inside] >= threshold
        guilty = np.bincount(group[over], minlength=grouping.size)
        mean = group_sums(np.where(over, np.minimum(total[inside], 12.0), 0.0), group, grouping.size) / np.maximum(
            guilty, 1
        )
        share = guilty / np.maximum(members, 1)
        tainted = (guilty >= 3) & (share >= 0.5) & (members <= 500)  # noqa: PLR2004
        value = np.where(tainted, 0.5 * share * mean, 0.0)
        value = np.where(share >= 0.8, value, np.minimum(value, 0.95 * threshold))  # noqa: PLR2004
        out[inside] = np.maximum(out[inside], value[group])
    return np.where(total >= threshold, 0.0, out)


def _false_rows(context: Context, findings: Sequence[Finding], total: Floats, threshold: float) -> Floats:
    """Return the probability of each opinion that it is false."""
    opinions = context.ledger.opinions
    row = np.zeros(len(opinions))
    certainty = np.clip(total / (2 * threshold), 0.0, 1.0)
    for finding in findings:
        if finding.weight == 0:
            continue
        rows = finding.opinions
        claimed = np.clip(finding.strength / (2 * threshold), 0.0, 1.0)
        actor = np.isin(opinions.rater[rows], finding.actors)
        value = np.maximum(claimed, certainty[opinions.rater[rows]] * min(1.0, 2 * claimed))
        np.maximum.at(row, rows, np.where(actor, value, 0.0))
    return row


def _own(context: Context, findings: Sequence[Finding]) -> Flags:
    """Mark the opinions that a finding ties to the account that they are about, by an act of this account."""
    ledger, opinions = context.ledger, context.ledger.opinions
    out = np.zeros(len(opinions), bool)
    for finding in findings:
        if len(finding.beneficiaries):
            account = ledger.subject_account[opinions.subject[finding.opinions]]
            out[finding.opinions[np.isin(account, finding.beneficiaries)]] = True
    return out


def _praised(context: Context, row: Floats) -> Floats:
    """Return what owners and clients get whose praise is mostly false. It ranks them, and never flags them."""
    ledger, opinions = context.ledger, context.ledger.opinions
    praise = (opinions.percent >= 60) & (opinions.kind != Kind.CONSTANT_TAG)  # noqa: PLR2004
    subject = opinions.subject[praise]
    false = group_sums(row[praise], subject, ledger.subjects)
    count = np.bincount(subject, minlength=ledger.subjects)
    share = np.where(false >= 2, false / np.maximum(count, 1), 0.0)  # noqa: PLR2004
    out = np.zeros(ledger.accounts)
    np.maximum.at(out, ledger.subject_account, np.where(share > 0.5, 2.0 * share - 0.2, 0.0))  # noqa: PLR2004
    return out


def _clusters(findings: Sequence[Finding], flagged: Flags, size: int) -> Ints:
    """Join the flagged accounts of each strong finding."""
    left, right = [], []
    for finding in findings:
        if finding.strength < _CLUSTER:
            continue
        members = np.concatenate([finding.actors, finding.beneficiaries])
        members = members[flagged[members]]
        if len(members) > 1:
            left.append(np.full(len(members) - 1, members[0]))
            right.append(members[1:])
    out = np.full(size, -1, np.int64)
    if left:
        edges = (np.concatenate(left), np.concatenate(right))
        graph = sparse.csr_matrix((np.ones(len(edges[0])), edges), (size, size))
        _, label = connected_components(graph, directed=False)
        inside = np.unique(np.concatenate(edges))
        out[inside] = label[inside]
    return out
