"""Suspicion: a ranking of accounts by all evidence and, separately, the accounts that are held back (flagged).

A wrong rank does little harm, but wrongly holding an account back does a lot. Learned weak signs therefore only rank
accounts. An account is held back by evidence of two independent kinds, by a fact, or by strong evidence of common
control, which causes few false discoveries even in large markets. Within a kind, only the strongest finding
counts. Being the subject of a finding does not count, because anyone can praise or slander anyone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from bilateral.trust.detectors.wash import WashPayments
from bilateral.trust.features.context import Context
from bilateral.trust.features.findings import Basis, Finding, Part
from bilateral.trust.features.signs import MOST, RankReasons, weak_signs
from bilateral.trust.features.ties import FUNDER
from bilateral.trust.tables.arrays import Flags, Floats, Ints, group_sums
from bilateral.trust.tables.ledger import Ledger
from bilateral.trust.tables.opinions import Opinions

THRESHOLD: Final = 2.0
"""The total strength (negative base-10 logarithm) of all kinds of evidence at which an account is held back."""

_SECOND: Final = 1.0
"""The strength that the second kind of evidence needs."""

_CONTROL: Final = 3.0
_WEAK_SECOND: Final = 0.5
"""The strength of control evidence at which a strength of 0.5 in a second kind suffices. In a small market, ten
accounts that one funder created to praise itself reach 3.3 for control and 0.6 for opinions, and cannot reach more."""

_ALONE: Final = {Basis.CONTROL: 4.0, Basis.ANSWERS: 4.0, Basis.REVIEWS: THRESHOLD}
"""The strength at which one kind of evidence suffices. These kinds are based on the accounts' own actions, not on
market habits such as refunds, cashback and free services. In attack-free markets of 40,000 accounts, none of them
exceeds a strength of 2."""

_EVERY_AGENT: Final = 4.0
"""The strength at which all agents of a held-back owner are held back, not only those named in findings."""

_OF_ONE_HAND: Final = (FUNDER, "one funder and one amount")
"""The groupings that taint all members. A more distant common source may just have sold coins, so it does not."""

GUILTY: Final = 99.0
"""The suspicion of an account that reviewers found guilty, regardless of its findings."""

_MOST_DIGITS: Final = 4.0
"""The maximum strength of findings combined with weak signs, as log odds."""

_BELOW: Final = 0.95
"""The maximum suspicion that findings give an account without holding it back, as a share of the threshold."""

RANKING: Final = ("tied by others", "weak signs")
"""The parts of a suspicion that rank an account and never hold it back."""

_CLUSTER: Final = 1.0
"""The strength at which a finding joins its members into a cluster."""


@dataclass(frozen=True)
class Suspicion:
    """The combined result of all findings.

    Attributes:
        total: Each account's suspicion: the sum of all parts if the account is held back; otherwise, only the parts
            that affect the ranking.
        unranked: The suspicion from findings alone, which is below the threshold for accounts that are not held back.
        parts: Each detector's share of the suspicion, by name.
        odd: How odd each account's weak signs are, not counting floods of empty accounts. Odd accounts' opinions count
            less.
        flagged: Marks the accounts that are held back.
        withheld: Marks the subjects that are held back with the account responsible for them.
        cluster: The cluster of each flagged account; -1 for other accounts.
        row: The probability that each opinion is false.
        reasons: The weak signs that moved the highest ranks; None if there are none.
        own: Marks the opinions in findings whose raters the rated account tied to itself by its own action.
    """

    total: Floats
    unranked: Floats
    parts: dict[str, Floats]
    odd: Floats
    flagged: Flags
    withheld: Flags
    cluster: Ints
    row: Floats
    own: Flags
    reasons: RankReasons | None = None


def suspicion(
    context: Context,
    findings: Sequence[Finding],
    verdicts: dict[int, bool],
    threshold: float = THRESHOLD,
    *,
    learned: bool = True,
) -> Suspicion:
    """Combine all findings into one suspicion per account."""
    size = context.ledger.accounts
    parts: dict[str, Floats] = {}
    kinds: dict[Basis, Floats] = {basis: np.zeros(size) for basis in Basis}
    own: dict[Basis, Floats] = {basis: np.zeros(size) for basis in Basis}
    tied, facts = np.zeros(size), np.zeros(size)
    for finding in findings:
        part = parts.setdefault(finding.detector, np.zeros(size))
        confidence = 1.0 if finding.confidence is None else finding.confidence
        for role, accounts, digits in (
            (Part.ACTOR, finding.actors, finding.strength * confidence),
            (Part.BENEFICIARY, finding.beneficiaries, 0.9 * finding.strength),
        ):
            active = [] if role in finding.passive else [own[finding.basis]]
            for values in (part, kinds[finding.basis], *active, *([facts] if finding.is_fact else [])):
                np.maximum.at(values, accounts, digits)
        if finding.basis == Basis.REVIEWS:  # the learned signs already cover other ties
            np.maximum.at(tied, finding.tied, 0.9 * finding.strength)
    _of_company(findings, kinds)
    total, is_withheld = _evidence(kinds, own, facts, threshold)
    ties = _of_groups(context, total, is_withheld, threshold)
    parts["kin of flagged"] = np.where(context.ties.acknowledged & ~is_withheld, ties, 0.0)
    for evidence in (kinds, own):
        evidence[Basis.CONTROL] = np.maximum(evidence[Basis.CONTROL], parts["kin of flagged"])
    total, is_withheld = _evidence(kinds, own, facts, threshold)
    row = _false_rows(context.ledger.opinions, findings, total, threshold)
    parts["tied by others"] = np.minimum(tied, MOST)
    parts["weak signs"], odd, reasons = (
        weak_signs(context, np.minimum(total, _MOST_DIGITS)) if learned else (np.zeros(size), np.zeros(size), None)
    )
    for account in verdicts:
        parts["weak signs"][account] = odd[account] = 0.0
    all_parts = np.sum(list(parts.values()), axis=0)
    ranked = np.maximum(parts["weak signs"] if learned else np.minimum(total, MOST), parts["tied by others"])
    unranked = np.where(is_withheld, np.maximum(total, threshold), np.minimum(total, _BELOW * threshold))
    total = np.where(is_withheld, np.maximum(all_parts, threshold), ranked)
    for account, guilty in verdicts.items():
        unranked[account] = total[account] = GUILTY if guilty else 0.0
        is_withheld[account] = guilty
    if verdicts:
        innocent = np.array([account for account, guilty in verdicts.items() if not guilty], np.int64)
        row[np.isin(context.ledger.opinions.rater, innocent)] = 0.0
        guilty_ones = np.array([account for account, guilty in verdicts.items() if guilty], np.int64)
        row[np.isin(context.ledger.opinions.rater, guilty_ones)] = 1.0
    return Suspicion(
        total=total,
        unranked=unranked,
        parts=parts,
        odd=odd,
        flagged=is_withheld,
        withheld=_withheld(context.ledger, findings, unranked, is_withheld),
        cluster=_clusters(findings, is_withheld, size),
        row=row,
        own=_own(context.ledger, findings),
        reasons=reasons,
    )


def _of_company(findings: Sequence[Finding], kinds: dict[Basis, Floats]) -> None:
    """Assign to accounts that control their raters the other kinds of evidence that most of these raters have."""
    # An account that funds its raters is responsible for them. Nobody else can make an account fund anyone.
    before = {basis: digits.copy() for basis, digits in kinds.items()}
    for finding in findings:
        gains = finding.basis == Basis.CONTROL and len(finding.beneficiaries) and len(finding.actors)
        if gains and finding.strength >= _SECOND:
            for basis, digits in before.items():
                if basis != finding.basis:
                    usual = 0.9 * float(np.median(digits[finding.actors]))
                    np.maximum.at(kinds[basis], finding.beneficiaries, usual)


def _evidence(
    kinds: dict[Basis, Floats], own: dict[Basis, Floats], facts: Floats, threshold: float
) -> tuple[Floats, Flags]:
    """Return the total strength of all kinds of evidence, and mark the accounts that this evidence holds back."""
    # At least one kind must be based on the account's own actions. Otherwise, an attacker could frame a rival by buying
    # from it, getting the money back, and praising it.
    digits = np.sort(np.array(list(kinds.values())), axis=0)
    total, second = digits.sum(axis=0), min(_SECOND, threshold)
    acted = np.max(list(own.values()), axis=0) >= second
    is_withheld = (facts >= threshold) | (acted & (digits[-2] >= second) & (total >= threshold))
    is_withheld |= (own[Basis.CONTROL] >= min(_CONTROL, 2 * threshold)) & (digits[-2] >= min(_WEAK_SECOND, second))
    for basis, limit in _ALONE.items():
        is_withheld |= own[basis] >= min(limit, 2 * threshold)
    return total, is_withheld


def _withheld(ledger: Ledger, findings: Sequence[Finding], unranked: Floats, is_withheld: Flags) -> Flags:
    """Mark the held-back subjects of held-back accounts: those in findings or, given strong evidence, all."""
    is_targeted = np.zeros(ledger.subjects, bool)
    for finding in findings:
        if finding.weight > 0:
            is_targeted[ledger.opinions.subject[finding.opinions]] = True
            agent = ledger.paid_agent[finding.payments]
            is_targeted[agent[agent >= 0]] = True
    account = ledger.subject_account
    client = ledger.subject_agent < 0
    return is_withheld[account] & (client | is_targeted | (unranked[account] >= _EVERY_AGENT))


def _of_groups(context: Context, total: Floats, is_withheld: Flags, threshold: float) -> Floats:
    """Return accounts' suspicion from groups under common control in which most members are held back."""
    out = np.zeros(len(total))
    active = context.ledger.acting
    for grouping in context.ties.groupings:
        if grouping.name not in _OF_ONE_HAND or not grouping.size:
            continue
        inside = (grouping.group >= 0) & active
        group = grouping.group[inside]
        members = np.bincount(group, minlength=grouping.size)
        over = is_withheld[inside]
        guilty = np.bincount(group[over], minlength=grouping.size)
        mean = group_sums(np.where(over, np.minimum(total[inside], 12.0), 0.0), group, grouping.size) / np.maximum(
            guilty, 1
        )
        share = guilty / np.maximum(members, 1)
        tainted = (guilty >= 3) & (share >= 0.5) & (members <= 500)  # noqa: PLR2004
        value = np.where(tainted, 0.5 * share * mean, 0.0)
        value = np.where(share >= 0.8, value, np.minimum(value, 0.95 * threshold))  # noqa: PLR2004
        out[inside] = np.maximum(out[inside], value[group])
    return out


def _false_rows(opinions: Opinions, findings: Sequence[Finding], total: Floats, threshold: float) -> Floats:
    """Return the probability that each opinion is false."""
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


def _own(ledger: Ledger, findings: Sequence[Finding]) -> Flags:
    """Mark the opinions in findings whose raters the rated account tied to itself by its own action."""
    # Returning money to a client that asks for it does not influence the client's opinions, so returns create no tie.
    opinions = ledger.opinions
    out = np.zeros(len(opinions), bool)
    for finding in findings:
        if len(finding.beneficiaries) and finding.detector != WashPayments.name:
            account = ledger.subject_account[opinions.subject[finding.opinions]]
            out[finding.opinions[np.isin(account, finding.beneficiaries)]] = True
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
