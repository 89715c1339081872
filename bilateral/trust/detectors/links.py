"""Links between rater and rated: the owner, the wallet, one funder, or money from the rated to the rater.

An attacker cannot make others fund an account, or send money from them, so these links also name who gains. A gift from
the rater to the rated proves nothing, because anybody can send one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bilateral.trust.arrays import Flags, Ints, contained, pairs
from bilateral.trust.detectors.base import Detector
from bilateral.trust.findings import Finding
from bilateral.trust.ledger import Kind
from bilateral.trust.significance import adjusted, excess, fisher

if TYPE_CHECKING:
    from bilateral.trust.context import Context

_FAVOURABLE: Final = 50.0
"""Opinions below this percentage promote nobody."""


_ITSELF: Final = "judge what they own themselves"


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
        account = ledger.subject_account[opinions.subject].astype(np.int64)
        rater = opinions.rater.astype(np.int64)
        favourable = ~(opinions.percent < _FAVOURABLE) & (opinions.kind != Kind.CONSTANT_TAG)
        findings: list[Finding] = []
        for sentence, linked, group in self._links(context, rater, account):
            rows = np.flatnonzero(linked & favourable)
            findings += self._of_link(context, rows, group[rows], sentence, certain=sentence == _ITSELF)
        return sorted(findings, key=lambda one: -one.strength)[: self.limit]

    def _links(self, context: Context, rater: Ints, account: Ints) -> list[tuple[str, Flags, Ints]]:
        """Return each kind of link, the opinions that have it, and the group that they are counted in."""
        ledger, kin = context.ledger, context.kin
        agent = ledger.subject_agent[ledger.opinions.subject]
        wallet = np.where(agent >= 0, ledger.wallet[np.maximum(agent, 0)], account)
        funder = np.where(kin.is_hub[np.maximum(ledger.funder, 0)], -1, ledger.funder)
        shared = funder[rater]
        gifts = (ledger.src >= 0) & (ledger.dst >= 0) & (ledger.src != ledger.dst)
        gifts &= ledger.funder[np.maximum(ledger.dst, 0)] != ledger.src
        given = np.unique(pairs(ledger.src[gifts], ledger.dst[gifts], ledger.accounts))
        to_rater = contained(pairs(account, rater, ledger.accounts), given)
        to_rater |= contained(pairs(wallet, rater, ledger.accounts), given)
        itself = (rater == account) | (rater == wallet)
        hub = kin.is_hub[account] | kin.is_hub[rater]
        return [
            (_ITSELF, itself, account),
            ("judge the account that funded them", (shared >= 0) & ((shared == account) | (shared == wallet)), account),
            ("judge an account that they funded", (funder[account] == rater) & ~itself, account),
            ("judge an account of their own funder", (shared >= 0) & (shared == funder[account]) & ~itself, shared),
            (
                "judge an account of their own source of funds",
                (kin.root[rater] == kin.root[account]) & ~itself & ~hub,
                kin.root[rater],
            ),
            ("judge an account that sent them money", to_rater & ~itself & ~hub, account),
        ]

    def _of_link(self, context: Context, rows: Ints, group: Ints, sentence: str, *, certain: bool) -> list[Finding]:
        """Test, for one kind of link, each group's number of linked opinions."""
        if not len(rows):
            return []
        ledger, opinions = context.ledger, context.ledger.opinions
        account = ledger.subject_account[opinions.subject]
        received = np.bincount(account[context.pair], minlength=ledger.accounts)
        written = np.bincount(opinions.rater[context.pair], minlength=ledger.accounts)
        total = max(len(context.pair), 1)
        order = np.argsort(group, kind="stable")
        rows, group = rows[order], group[order]
        parts = np.split(rows, np.flatnonzero(np.diff(group)) + 1)
        counts, expected = np.zeros(len(parts)), np.zeros(len(parts))
        for place, part in enumerate(parts):
            raters, rated = np.unique(opinions.rater[part]), np.unique(account[part])
            counts[place] = len(np.unique(pairs(opinions.rater[part], opinions.subject[part], ledger.subjects)))
            expected[place] = 2 * written[raters].sum() * received[rated].sum() / total
        cheap = np.array([float(np.median(context.risk[part])) for part in parts])
        p_values = fisher(np.array([excess(counts, expected), np.minimum(cheap, 1.0)]))
        if certain:
            p_values = np.full(len(parts), 1e-9)
        q_values = adjusted(p_values, len(parts))
        findings = []
        for number in np.flatnonzero(q_values < 0.05):  # noqa: PLR2004  # weak links help the ranking only
            part = parts[number]
            actors, gaining = np.unique(opinions.rater[part]), np.unique(account[part])
            findings.append(
                Finding(
                    detector=self.name,
                    statistic=f"{counts[number]:.0f} linked opinions, {expected[number]:.3g} expected",
                    q_value=float(q_values[number]),
                    actors=actors,
                    beneficiaries=gaining,
                    opinions=part,
                    sentence=f"{len(actors)} account{'s' if len(actors) > 1 else ''} {sentence}, {len(part)} times.",
                )
            )
        return findings
