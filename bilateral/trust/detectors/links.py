"""Links between rater and rated: the owner, the wallet, one funder, or money from the rated to the rater.

The rated gains, and is named so, only if it made the link itself: it owns the rater, funded or paid it, made it its
operator, or sent money back to the funder that both have. Money from the rater or a stranger to the rated proves
nothing about the rated, because anybody can send it, also as the first money that a fresh account gets. Then the rated
is ranked and never flagged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bilateral.trust.arrays import Flags, Floats, Ints, contained, pairs
from bilateral.trust.detectors.base import Detector
from bilateral.trust.findings import Finding
from bilateral.trust.ledger import Kind
from bilateral.trust.significance import adjusted, excess, fisher

if TYPE_CHECKING:
    from bilateral.trust.context import Context
    from bilateral.trust.ledger import Ledger

_FAVOURABLE: Final = 50.0
"""Opinions below this percentage promote nobody."""


_WEAK: Final = 0.5
"""The false discovery rate up to which a link helps the ranking. It flags nobody by itself."""

_DUST: Final = 4.0
"""The spreads below the middle logarithm of amounts from which money is dust, which bribes nobody."""


@dataclass(frozen=True)
class _Link:
    """One kind of link.

    Attributes:
        sentence: The deed of the raters.
        linked: Marks the opinions that have the link.
        group: The group in which each opinion is counted.
        own: Marks the opinions whose rated account made the link itself.
        certain: True if the link needs no test.
    """

    sentence: str
    linked: Flags
    group: Ints
    own: Flags
    certain: bool = False


class Links(Detector):
    """Looks for opinions of accounts that the rated controls or pays."""

    name = "links"
    reads = frozenset({"agents", "feedback", "ratings", "validations", "payments", "transfers"})

    def __init__(self, level: float = 0.01, limit: int = 5000) -> None:
        """Set the parameters.

        Args:
            level: The false discovery rate.
            limit: The largest number of findings.
        """
        self.level = level
        self.limit = limit

    def _find(self, context: Context) -> list[Finding]:
        ledger, opinions = context.ledger, context.ledger.opinions
        if not len(opinions):
            return []
        rater = opinions.rater.astype(np.int64)
        account = _answering(ledger, rater)
        favourable = ~(opinions.percent < _FAVOURABLE) & (opinions.kind != Kind.CONSTANT_TAG) & (account >= 0)
        account = np.maximum(account, 0)
        tested = []
        for link in self._links(context, rater, account):
            rows = np.flatnonzero(link.linked & favourable)
            if len(rows):
                tested.append((link, *_tests(context, rows, link, account)))
        if not tested:
            return []
        q_values = adjusted(np.concatenate([p_values for *_, p_values in tested]))
        findings, start = [], 0
        for link, parts, statistics, _ in tested:
            for place in np.flatnonzero(q_values[start : start + len(parts)] < _WEAK):
                q_value = float(q_values[start + place])
                findings.append(self._finding((rater, account), link, parts[place], q_value, statistics[place]))
            start += len(parts)
        return sorted(findings, key=lambda one: -one.strength)[: self.limit]

    def _links(self, context: Context, rater: Ints, account: Ints) -> list[_Link]:
        """Return each kind of link."""
        ledger, kin = context.ledger, context.kin
        agent = ledger.subject_agent[ledger.opinions.subject]
        same_owner = account == ledger.subject_account[ledger.opinions.subject]  # the wallet and operators are its own
        wallet = np.where((agent >= 0) & same_owner, ledger.wallet[np.maximum(agent, 0)], account)
        funder = np.where(kin.is_hub[np.maximum(ledger.funder, 0)], -1, ledger.funder)
        shared = funder[rater]
        gifts = (ledger.src >= 0) & (ledger.dst >= 0) & (ledger.src != ledger.dst)
        gifts &= ledger.funder[np.maximum(ledger.dst, 0)] != ledger.src
        gifts &= _usual(ledger.sent)
        given = np.unique(pairs(ledger.src[gifts], ledger.dst[gifts], ledger.accounts))
        to_rater = contained(pairs(account, rater, ledger.accounts), given)
        to_rater |= contained(pairs(wallet, rater, ledger.accounts), given)
        itself = (rater == account) | (rater == wallet)
        hub = kin.is_hub[account] | kin.is_hub[rater]
        own = to_rater | kin.acknowledged[account]
        own |= (shared >= 0) & ((shared == account) | (shared == wallet))
        same = kin.root[rater] == kin.root[account]
        return [
            _Link("judge what they own themselves", itself, account, itself, certain=True),
            _Link(
                "judge the account that funded them",
                (shared >= 0) & ((shared == account) | (shared == wallet)),
                account,
                own,
            ),
            _Link("judge an account that they funded", (funder[account] == rater) & ~itself, account, own),
            _Link(
                "judge an account of their own funder",
                (shared >= 0) & (shared == funder[account]) & ~itself,
                shared,
                own,
            ),
            _Link("judge an account of their own source of funds", same & ~itself & ~hub, kin.root[rater], own),
            _Link("judge an account that sent them money", to_rater & ~itself & ~hub, account, own),
            _Link(
                "judge an account that made them its operator",
                _operated(context, rater, agent) & same_owner & ~itself,
                account,
                np.ones(len(rater), bool),
            ),
        ]

    def _finding(self, ends: tuple[Ints, Ints], link: _Link, part: Ints, q_value: float, statistic: str) -> Finding:
        rater, account = ends
        actors = np.unique(rater[part])
        gaining = np.unique(account[part][link.own[part]])
        others = np.setdiff1d(account[part], gaining)
        return Finding(
            detector=self.name,
            statistic=statistic,
            q_value=q_value,
            actors=actors,
            beneficiaries=gaining,
            subjects=others,
            tied=others,
            opinions=part,
            sentence=f"{len(actors)} account{'s' if len(actors) > 1 else ''} {link.sentence}, {len(part)} times.",
        )


def _answering(ledger: Ledger, rater: Ints) -> Ints:
    """Return the account that answers for the rated of each opinion, as of its time; -1 if unknown.

    A rater that lends its agent to another account while it praises it, and takes it back, answers for it all along.
    """
    opinions = ledger.opinions
    agent = ledger.subject_agent[opinions.subject]
    account = ledger.holdings.at(agent, opinions.ts, ledger.subject_account[opinions.subject].astype(np.int64))
    return np.where(ledger.holdings.took_back(agent, rater, opinions.ts), rater, account)


def _tests(context: Context, rows: Ints, link: _Link, account: Ints) -> tuple[list[Ints], list[str], Floats]:
    """Test, for one kind of link, each group's number of linked opinions; return the groups, statistics and values."""
    ledger, opinions = context.ledger, context.ledger.opinions
    received = np.bincount(account[context.pair], minlength=ledger.accounts)
    written = np.bincount(opinions.rater[context.pair], minlength=ledger.accounts)
    total = max(len(context.pair), 1)
    rows = rows[np.argsort(link.group[rows], kind="stable")]
    parts = np.split(rows, np.flatnonzero(np.diff(link.group[rows])) + 1)
    counts, expected = np.zeros(len(parts)), np.zeros(len(parts))
    for place, part in enumerate(parts):
        raters, rated = np.unique(opinions.rater[part]), np.unique(account[part])
        counts[place] = len(np.unique(pairs(opinions.rater[part], opinions.subject[part], ledger.subjects)))
        expected[place] = 2 * written[raters].sum() * received[rated].sum() / total
    cheap = np.array([float(np.median(context.risk[part])) for part in parts])
    p_values = fisher(np.array([excess(counts, expected), np.minimum(cheap, 1.0)]))
    if link.certain:
        p_values = np.full(len(parts), 1e-9)
    statistics = [f"{counts[n]:.0f} linked opinions, {expected[n]:.3g} expected" for n in range(len(parts))]
    return parts, statistics, p_values


def _usual(amounts: Floats) -> Flags:
    """Mark the amounts that are not dust. Anybody can send dust to anybody, to make both look related."""
    positive = amounts > 0
    if not positive.any():
        return positive
    logs = np.log(np.where(positive, amounts, 1.0))
    middle = np.median(logs[positive])
    spread = 1.4826 * np.median(np.abs(logs[positive] - middle)) + 0.5
    usual: Flags = positive & (logs > middle - _DUST * spread)
    return usual


def _operated(context: Context, rater: Ints, agent: Ints) -> Flags:
    """Mark the opinions of accounts that are or were operators of the rated agent."""
    ledger = context.ledger
    return (agent >= 0) & contained(pairs(np.maximum(agent, 0), rater, ledger.accounts), ledger.operated)
