"""Links between a rater and the account it rates: an owner, a wallet, a common funder, or money sent to the rater.

The rated account is reported as gaining only if it made the link itself: it owns the rater, funded or paid it, made it
its operator, or sent money back to their common funder. Money sent to the rated account by the rater or a stranger
proves nothing about the rated account, because anyone can send money, even as the first funds of a new account. In that
case, the link affects the rated account's rank but never flags it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from bilateral.trust.detectors.base import Detector, puppetry
from bilateral.trust.detectors.gifts import FAVOURABLE, gifts_of, moving
from bilateral.trust.features.context import Context
from bilateral.trust.features.findings import Basis, Finding, Part
from bilateral.trust.features.significance import adjusted, excess, fisher
from bilateral.trust.features.signs import MOST
from bilateral.trust.tables.arrays import Flags, Floats, Ints, contained, contained_pairs, pairs, segments, unpaired
from bilateral.trust.tables.ledger import Ledger
from bilateral.trust.tables.opinions import Kind

_RATER: Final = frozenset({"rater"})
_RATED: Final = frozenset({"rated"})
_GIFT: Final = "rated an account that had sent them money"
_SOURCE: Final = "rated an account with the same source of funds"

_FEW: Final = 3
"""The maximum number of a group's linked opinions that count toward the usual number, so attackers cannot raise it."""

_LONE: Final = 0.4
"""The weight of a single opinion between accounts with the same source of funds: friends buy from each other."""

_WEAK: Final = 0.5
"""The false discovery rate below which a link affects the ranking. Such a link alone does not flag anyone."""


@dataclass(frozen=True)
class _Link:
    """A kind of link, and the opinions to which it may apply."""

    # sentence: What the raters did, as a sentence.
    # linked: Marks the opinions that have the link.
    # group: The group in which each opinion is counted.
    # own: Marks the opinions whose rated account created the link itself.
    # certain: True if the link needs no test.
    # by_rated: True if the rated account alone creates the link, possibly without the rater's involvement.
    # funds: The accounts whose first funds create the link: raters, rated accounts, or both.

    sentence: str
    linked: Flags
    group: Ints
    own: Flags
    certain: bool = False
    by_rated: bool = False
    funds: frozenset[str] = frozenset()

    def at(self, is_usable: Flags, start: int) -> _LinkedRows:
        """Return the usable opinions that have the link, with positions offset by `start`."""
        rows = np.flatnonzero(self.linked & is_usable)
        group = self.group[rows].astype(np.int64)
        return _LinkedRows(self.sentence, rows + start, group, self.own[rows], self.certain, self.by_rated, self.funds)


@dataclass(frozen=True)
class _LinkedRows:
    """The positions of the opinions that have one kind of link, with the other attributes of `_Link`."""

    sentence: str
    rows: Ints
    group: Ints
    own: Flags
    certain: bool
    by_rated: bool
    funds: frozenset[str]

    def only(self, is_usable: Flags) -> _LinkedRows:
        """Return only the usable opinions."""
        return replace(self, rows=self.rows[is_usable], group=self.group[is_usable], own=self.own[is_usable])

    @classmethod
    def joined(cls, parts: Sequence[_LinkedRows]) -> _LinkedRows:
        """Join the opinions found in several segments."""
        rows, group, own = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("rows", "group", "own")
        )
        first = parts[0]
        return cls(first.sentence, rows, group, own, first.certain, first.by_rated, first.funds)


class Links(Detector):
    """Detects opinions by accounts that the rated account controls or pays."""

    name = "links"

    def __init__(self, level: float = 0.01, limit: int = 5000) -> None:
        self.level = level
        self.limit = limit

    def _find(self, context: Context) -> list[Finding]:
        ledger, opinions = context.ledger, context.ledger.opinions
        if not len(opinions):
            return []
        account = np.empty(len(opinions), np.int32)
        sent, gathered = gifts_of(ledger), []
        gifts = pairs(ledger.src[sent], ledger.dst[sent], ledger.accounts)
        for segment in segments(opinions.subject):
            answering = _answering(ledger, segment)
            is_usable = ~(opinions.percent[segment] < FAVOURABLE) & (opinions.kind[segment] != Kind.CONSTANT_TAG)
            account[segment] = answering
            links = self._links(context, segment, account[segment].astype(np.int64), gifts)
            gathered.append([link.at(is_usable, segment.start) for link in links])
        tested = []
        for parts_of_link in zip(*gathered, strict=True):
            link = _LinkedRows.joined(parts_of_link)
            if link.sentence == _GIFT:
                link = link.only(moving(context, link.rows))
            if len(link.rows):
                tested.append((link, *_tests(context, link, account)))
        if not tested:
            return []
        q_values = _corrected([(link, p_values) for link, *_, p_values in tested], _tied(context, account, gifts))
        findings, start = [], 0
        for link, parts, statistics, _ in tested:
            for place in np.flatnonzero(q_values[start : start + len(parts)] < _WEAK):
                q_value = float(q_values[start + place])
                moved = _transfers(context, link, link.rows[parts[place]], account, (sent, gifts))
                ends = opinions.rater, account
                finding = self._finding(ends, link, parts[place], q_value, statistics[place], moved)
                if link.funds:
                    lone = 1.0 if len(parts[place]) > 1 else _LONE
                    finding = replace(finding, weight=lone * puppetry(context, finding.actors, finding.opinions))
                findings.append(finding)
            start += len(parts)
        return sorted(findings, key=lambda finding: -finding.strength)[: self.limit]

    def _links(self, context: Context, segment: slice, account: Ints, gifts: Ints) -> list[_Link]:
        """Return every kind of link in a segment of opinions."""
        ledger, ties = context.ledger, context.ties
        rater, subject = ledger.opinions.rater[segment].astype(np.int64), ledger.opinions.subject[segment]
        agent = ledger.subject_agent[subject]
        same_owner = account == ledger.subject_account[subject]  # the agent's wallet and operators belong to its owner
        wallet = np.where((agent >= 0) & same_owner, ledger.wallet[np.maximum(agent, 0)], account)
        funder = np.where(ties.is_hub[np.maximum(ties.funder, 0)], -1, ties.funder)
        shared = funder[rater]
        to_rater = contained_pairs(account, rater, gifts, ledger.accounts)
        to_rater |= contained_pairs(wallet, rater, gifts, ledger.accounts)
        itself = (rater == account) | (rater == wallet)
        hub = ties.is_hub[account] | ties.is_hub[rater]
        own = to_rater | ties.acknowledged[account]
        same = ties.root[rater] == ties.root[account]
        child = (shared >= 0) & ((shared == account) | (shared == wallet))
        own |= child
        parent, sibling = funder[account] == rater, (shared >= 0) & (shared == funder[account])
        return [
            _Link("rated agents or accounts of their own", itself, account, itself, certain=True),
            _Link("rated the account that funded them", child, account, own, funds=_RATER),
            _Link("rated an account that they funded", parent & ~itself, account, own, funds=_RATED),
            _Link("rated an account with the same funder", sibling & ~itself, shared, own, funds=_RATER | _RATED),
            _Link(
                _SOURCE,
                same & ~(child | parent | sibling) & ~itself & ~hub,
                ties.root[rater],
                own,
                funds=_RATER | _RATED,
            ),
            _Link(_GIFT, to_rater & ~itself & ~hub, account, own, by_rated=True),
            _Link(
                "rated an account that had made them its operator",
                _operated(context.ledger, rater, agent) & same_owner & ~itself,
                account,
                np.ones(len(rater), bool),
                by_rated=True,
            ),
        ]

    def _finding(  # noqa: PLR0913, PLR0917
        self, ends: tuple[Ints, Ints], link: _LinkedRows, part: Ints, q_value: float, statistic: str, moved: Ints
    ) -> Finding:
        rater, account = ends
        own, part = link.own[part], link.rows[part]
        actors = np.unique(rater[part])
        gaining = np.unique(account[part][own])
        untied = np.setdiff1d(account[part], gaining)
        return Finding(
            detector=self.name,
            statistic=statistic,
            q_value=q_value,
            actors=actors,
            beneficiaries=gaining,
            subjects=untied,
            tied=untied,
            opinions=part,
            transfers=moved,
            basis=Basis.MONEY if link.sentence == _GIFT else Basis.CONTROL,
            is_fact=link.certain,
            passive=frozenset({Part.ACTOR}) if link.by_rated else frozenset(),
            sentence=f"Accounts {link.sentence}: {len(actors)} account{'s' if len(actors) > 1 else ''}, {len(part)} "
            f"opinion{'s' if len(part) > 1 else ''}.",
        )


def _transfers(context: Context, link: _LinkedRows, rows: Ints, account: Ints, gifts: tuple[Ints, Ints]) -> Ints:
    """Return the transfers that link some opinions' raters to the rated accounts."""
    ledger = context.ledger
    rater, rated = ledger.opinions.rater[rows], account[rows].astype(np.int64)
    if link.sentence == _GIFT:
        agent = ledger.subject_agent[ledger.opinions.subject[rows]]
        wallet = np.where(agent >= 0, ledger.wallet[np.maximum(agent, 0)], rated).astype(np.int64)
        queries = np.unique(np.concatenate([pairs(side, rater, ledger.accounts) for side in (rated, wallet)]))
        low, high = (np.searchsorted(gifts[1], queries, side=side) for side in ("left", "right"))
        return np.concatenate([np.zeros(0, np.int64), *(gifts[0][a:b] for a, b in zip(low, high, strict=True))])
    funded = [account for name, account in (("rater", rater), ("rated", rated)) if name in link.funds]
    funding = context.ties.funding[np.unique(np.concatenate(funded))] if funded else np.zeros(0, np.int64)
    return np.sort(funding[funding >= 0]).astype(np.int64)


def _answering(ledger: Ledger, segment: slice) -> Ints:
    """Return the account responsible for each opinion's subject."""
    # A rater that lends its agent out, praises it and takes it back is responsible for it the whole time.
    opinions = ledger.opinions
    subject, rater, ts = opinions.subject[segment], opinions.rater[segment].astype(np.int64), opinions.ts[segment]
    agent = ledger.subject_agent[subject]
    number = np.where(agent >= 0, ledger.identity[np.maximum(agent, 0)], -1)
    return np.where(ledger.holdings.took_back(number, rater, ts), rater, ledger.subject_account[subject])


def _tests(context: Context, link: _LinkedRows, account: Ints) -> tuple[list[Ints], list[str], Floats]:
    """Test each group's number of linked opinions, and return positions by group, statistics and p-values."""
    # Accounts with a common source of funds are expected to judge each other as often as other accounts judge them. All
    # of them count, including those that never judged another, because a small exchange's customers sometimes do. If
    # the raters' own opinions counted as usual, a ring would look usual in a small market, especially a large ring.
    ledger, opinions = context.ledger, context.ledger.opinions
    received = np.bincount(account[context.pair], minlength=ledger.accounts)
    written = np.bincount(opinions.rater[context.pair], minlength=ledger.accounts)
    total = max(len(context.pair), 1)
    by_funds, of_funds = _by_funds(context, link, written), _by_funds(context, link, received, rated=True)
    order = np.argsort(link.group, kind="stable")
    parts: list[Ints] = np.split(order, np.flatnonzero(np.diff(link.group[order])) + 1)
    counts, expected, judgements, cheap = (np.zeros(len(parts)) for _ in range(4))
    for place, part in enumerate(parts):
        rows = link.rows[part]
        raters, rated = np.unique(opinions.rater[rows]), np.unique(account[rows])
        counts[place] = len(np.unique(pairs(opinions.rater[rows], opinions.subject[rows], ledger.subjects)))
        judgements[place], group = received[rated].sum(), link.group[part[0]]
        of_raters = max(written[raters].sum(), by_funds[group])
        by_rest = (max(judgements[place], of_funds[group]) - counts[place]) / max(total - of_raters, 1)
        expected[place] = 2 * of_raters * min(by_rest, 1.0)
        cheap[place] = np.median(context.risk[rows])
    usual = np.minimum(counts, _FEW).sum() / total
    expected = np.maximum(expected, usual * judgements)
    p_values = fisher(np.array([excess(counts, expected), np.minimum(cheap, 1.0)]))
    if link.certain:
        p_values = np.full(len(parts), 1e-9)
    statistics = [f"{counts[n]:.0f} linked opinions, {expected[n]:.3g} expected" for n in range(len(parts))]
    return parts, statistics, p_values


def _by_funds(context: Context, link: _LinkedRows, counts: Ints, *, rated: bool = False) -> Ints:
    """Return the sum of counts over accounts with the same source of funds; 0 if the link does not depend on funds."""
    if not link.funds >= (_RATER | _RATED if rated else _RATER):
        return np.zeros_like(counts)
    source = context.ties.root if link.sentence == _SOURCE else context.ties.funder
    valid = source >= 0
    return np.bincount(source[valid], weights=counts[valid], minlength=len(counts)).astype(np.int64)


def _corrected(tested: Sequence[tuple[_LinkedRows, Floats]], number: int) -> Floats:
    """Correct the p-values of all links together, except those of certain links, which need no test."""
    # A link that is not significant among all tied accounts still affects the ranking if it is significant among the
    # tied accounts that judged each other, because judging a tied account is rare and seldom honest.
    q_values = np.concatenate([p_values for _, p_values in tested])
    uncertain = np.repeat([not link.certain for link, _ in tested], [len(p_values) for _, p_values in tested])
    among_all, alone = adjusted(q_values[uncertain], number), np.maximum(adjusted(q_values[uncertain]), 10.0**-MOST)
    q_values[uncertain] = np.minimum(among_all, alone)
    return q_values


def _tied(context: Context, account: Ints, gifts: Ints) -> int:
    """Return the number of groups that link a rater to a rated account, whether or not the rater judged it."""
    ledger, ties, size = context.ledger, context.ties, context.ledger.accounts
    rates, rated = np.zeros(size, bool), np.zeros(size, bool)
    rates[ledger.opinions.rater] = rated[account] = True
    paying = rated.copy()  # the wallet pays on behalf of the responsible account
    paying[ledger.wallet[rated[ledger.owner] & (ledger.wallet >= 0)]] = True
    parent = np.maximum(ties.funder, 0)
    funded = (ties.funder >= 0) & ~ties.is_hub[parent]
    children, downward, upward = funded & rates, funded & rated & rates[parent], funded & rates & rated[parent]
    siblings = _pairs_by(parent, children, funded & rated, size)
    root, hub = ties.root, ties.is_hub
    direct = np.bincount(root[downward], minlength=size) + np.bincount(root[upward], minlength=size)
    direct += np.bincount(root, weights=siblings, minlength=size).astype(np.int64)
    farther = _pairs_by(root, rates & ~hub, rated & ~hub, size) - direct
    sender, receiver = unpaired(np.unique(gifts), size)
    is_paid = paying[sender] & rates[receiver] & ~hub[sender] & ~hub[receiver]
    agent, operator = unpaired(ledger.operated, size)
    operated = np.unique(ledger.owner[agent[rates[operator] & rated[ledger.owner[agent]]]])
    funders = len(np.intersect1d(parent[children], np.flatnonzero(paying)))
    return int(funders + downward.sum() + (siblings > 0).sum() + (farther > 0).sum() + is_paid.sum() + len(operated))


def _pairs_by(group: Ints, rates: Flags, rated: Flags, size: int) -> Ints:
    raters, counterparts, both = (np.bincount(group[flags], minlength=size) for flags in (rates, rated, rates & rated))
    return raters * counterparts - both


def _operated(ledger: Ledger, rater: Ints, agent: Ints) -> Flags:
    """Mark the opinions by accounts that are or were operators of the rated agent."""
    return (agent >= 0) & contained(pairs(np.maximum(agent, 0), rater, ledger.accounts), ledger.operated)
