"""Wash payments: money that comes back to whoever paid, so that a proof of payment costs nothing.

A return is a transfer from the agent's wallet or owner to the payer or to the payer's funder, at once or through one
account between, after the payment. Payments in both directions are a return only if the amounts are equal: people who
trade with each other pay each other, but not the same sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bilateral.trust.arrays import Flags, Floats, Ints, contained, pairs
from bilateral.trust.detectors.base import Detector
from bilateral.trust.findings import Finding
from bilateral.trust.opinions import Kind
from bilateral.trust.significance import adjusted, excess

if TYPE_CHECKING:
    from bilateral.trust.context import Context
    from bilateral.trust.ledger import Ledger

DAY: Final = 86400.0
_NEAR: Final = 0.05
"""The share of an amount that fees and rounding take."""


_EVERY: Final = slice(None)

_LEAST: Final = 0.1
_MOST: Final = 1.5
"""The least part of a payment that counts as its return, and the most of all payments. An agent that pays others for
what it buys from them sends other sums. Otherwise a supplier could frame it by a few small payments of its accounts."""


@dataclass(frozen=True)
class _Moves:
    """Moves of money: the pair of ends as a key, the amount and the time of each, and its transfers in columns."""

    keys: Ints
    sent: Floats
    times: Floats
    transfers: Ints


class WashPayments(Detector):
    """Looks for payments whose money returns.

    Attributes:
        returned_: Marks each payment whose money returns.
    """

    name = "wash payments"
    reads = frozenset({"agents", "feedback", "payments", "transfers"})

    def __init__(self, level: float = 0.01, within: float = 30 * DAY, limit: int = 2000) -> None:
        """Set the parameters.

        Args:
            level: The false discovery rate.
            within: The longest time from a payment to its return, in seconds.
            limit: The largest number of findings.
        """
        self.level = level
        self.within = within
        self.limit = limit

    def _find(self, context: Context) -> list[Finding]:
        ledger = context.ledger
        agent = ledger.paid_agent
        inside = (ledger.payer >= 0) & (agent >= 0)
        self.returned_ = np.zeros(len(agent), bool)
        if not inside.any():
            return []
        returns = self._returned(context) & inside
        self.returned_ = returns
        count = np.bincount(agent[returns], minlength=ledger.agents)
        expected = self._expected(context)
        candidates = np.flatnonzero(count)
        back = np.flatnonzero(returns)
        parts = np.split(back[np.argsort(agent[back], kind="stable")], np.cumsum(count[candidates])[:-1])
        q_values = adjusted(excess(count[candidates], expected[candidates]), int((expected > 0).sum()))
        return [
            self._finding(context, int(candidates[place]), parts[place], float(q_values[place]), expected)
            for place in np.argsort(q_values)[: self.limit]
            if q_values[place] < self.level
        ]

    def _returned(self, context: Context) -> Flags:
        """Mark the payments whose money returns in one step, in two, or as an equal payment."""
        ledger = context.ledger
        src, dst, sent, at, rows = _moves(ledger)
        direct = _Moves(pairs(src, dst, ledger.accounts), sent, at, rows[:, None])
        self._by: dict[int, Ints] = {}
        out = np.zeros(len(ledger.payer), bool)
        payers = [ledger.payer, _own_funder(context)[np.maximum(ledger.payer, 0)]]
        receivers = [ledger.payee, _holder(ledger)]
        for receiver in receivers:
            for payer in payers:
                usable = (receiver >= 0) & (payer >= 0) & (receiver != payer)
                out |= self._after(direct, pairs(receiver, payer, ledger.accounts), usable, ledger)
        steps = _two_steps(context, self.within)
        for receiver in receivers:
            usable = (receiver >= 0) & (ledger.payer >= 0) & (receiver != ledger.payer)
            out |= self._after(steps, pairs(receiver, ledger.payer, ledger.accounts), usable, ledger)
        return out | _equal_payments(ledger)

    def _after(self, moves: _Moves, wanted: Ints, usable: Flags, ledger: Ledger) -> Flags:
        """Mark the payments that a move between wanted accounts follows within the time, of a fitting amount.

        A move returns at least a tenth of the payment, and not much more than all that was paid between the two.
        """
        found = np.zeros(len(wanted), bool)
        rows = np.flatnonzero(usable & contained(wanted, np.unique(moves.keys)))
        if not len(rows):
            return found
        order = np.lexsort((moves.times, moves.keys))
        keys, sent, times = moves.keys[order], moves.sent[order], moves.times[order]
        _, number = np.unique(wanted[rows], return_inverse=True)
        paid = np.bincount(number, weights=ledger.amount[rows])[number]
        low = np.searchsorted(keys, wanted[rows], side="left")
        high = np.searchsorted(keys, wanted[rows], side="right")
        for place in np.flatnonzero(high > low):
            row, inside = rows[place], slice(low[place], high[place])
            pause = times[inside] - ledger.paid_at[row]
            fitting = (sent[inside] >= _LEAST * ledger.amount[row]) & (sent[inside] <= _MOST * paid[place])
            fitting &= (pause >= 0) & (pause <= self.within)
            if fitting.any():
                found[row] = True
                self._by.setdefault(int(row), moves.transfers[order[low[place] + int(np.argmax(fitting))]])
        return found

    def _expected(self, context: Context) -> Floats:
        """Return the number of payments of each agent that would be followed by such a transfer at random."""
        ledger = context.ledger
        funded = ledger.funder[np.maximum(ledger.dst, 0)] == ledger.src
        free = (ledger.src >= 0) & (ledger.dst >= 0) & ~funded
        out = np.bincount(ledger.src[free], minlength=ledger.accounts)
        paid = np.bincount(ledger.paid_agent[ledger.paid_agent >= 0], minlength=ledger.agents)
        senders = out[ledger.owner] + np.where(ledger.wallet != ledger.owner, out[np.maximum(ledger.wallet, 0)], 0)
        at_random = paid * (senders + 0.2) * 4 / max(ledger.accounts, 1)
        return np.where(paid > 0, np.maximum(at_random, 1e-4), 0.0)

    def _finding(self, context: Context, agent: int, payments: Ints, q_value: float, expected: Floats) -> Finding:
        ledger, opinions = context.ledger, context.ledger.opinions
        holders, nothing = np.unique(_holder(ledger, payments)), np.zeros(0, np.int64)
        actors = np.unique(ledger.payer[payments])
        start, stop = np.searchsorted(opinions.subject, [agent, agent + 1])
        rows = np.arange(start, stop)[np.isin(opinions.rater[start:stop], actors)]
        writers = np.unique(opinions.rater[rows[opinions.kind[rows] == Kind.FEEDBACK]])
        return Finding(
            detector=self.name,
            statistic=f"{len(payments)} payments return, {expected[agent]:.3g} expected",
            q_value=q_value,
            actors=writers,
            beneficiaries=holders[holders >= 0].astype(np.int64),
            opinions=rows,
            payments=payments,
            transfers=np.unique(np.concatenate([nothing, *(self._by.get(n, nothing) for n in payments.tolist())])),
            weight=1.0 if len(payments) > 1 else 0.6,
            sentence=(
                f"{len(payments)} payments of {len(actors)} accounts to agent {int(ledger.agent_ids[agent])} come back "
                "to the payer."
            ),
        )


def _moves(ledger: Ledger) -> tuple[Ints, Ints, Floats, Floats, Ints]:
    """Return the transfers between two accounts: their ends, amounts, times and positions."""
    rows = np.flatnonzero((ledger.src >= 0) & (ledger.dst >= 0) & (ledger.src != ledger.dst))
    src, dst = ledger.src[rows].astype(np.int64), ledger.dst[rows].astype(np.int64)
    return src, dst, ledger.sent[rows], ledger.sent_at[rows], rows


def _holder(ledger: Ledger, payments: Ints | slice = _EVERY) -> Ints:
    """Return the account that held the agent of each payment when it was paid; -1 if unknown."""
    if not ledger.agents:
        return ledger.payee[payments]
    agent = ledger.paid_agent[payments]
    return ledger.holdings.at(agent, ledger.paid_at[payments], ledger.owner[np.maximum(agent, 0)])


def _own_funder(context: Context) -> Ints:
    """Return the funder of each account, unless it is an exchange."""
    funder = context.ledger.funder
    return np.where((funder >= 0) & ~context.kin.is_hub[np.maximum(funder, 0)], funder, -1)


def _two_steps(context: Context, within: float) -> _Moves:
    """Return the transfers that pass on what an account that is not an exchange received shortly before."""
    src, dst, sent, at, rows = _moves(context.ledger)
    order = np.argsort(src, kind="stable")
    out_src, out_dst, out_sent, out_at = src[order], dst[order], sent[order], at[order]
    low, high = np.searchsorted(out_src, dst), np.searchsorted(out_src, dst, side="right")
    fan = np.where(context.kin.is_hub[dst], 0, high - low) if len(dst) else np.zeros(0, np.int64)
    fan = np.where(fan > 64, 0, fan)  # noqa: PLR2004  # as many outputs show an exchange
    first = np.repeat(np.arange(len(src)), fan)
    second = np.repeat(low - np.concatenate([[0], np.cumsum(fan)[:-1]]), fan) + np.arange(fan.sum())
    ratio = out_sent[second] / np.maximum(sent[first], 1e-12)
    pause = out_at[second] - at[first]
    chosen = (pause >= 0) & (pause <= within) & (ratio > 0.3) & (ratio < 1 + _NEAR)  # noqa: PLR2004
    chosen &= out_dst[second] != src[first]
    keys = pairs(src[first][chosen], out_dst[second][chosen], context.ledger.accounts)
    both = np.column_stack([rows[first[chosen]], rows[order][second[chosen]]])
    return _Moves(keys, out_sent[second][chosen], out_at[second][chosen], both)


def _equal_payments(ledger: Ledger) -> Flags:
    """Mark the payments that a payment of the same sum in the other direction follows within a week."""
    out = np.zeros(len(ledger.payer), bool)
    owner = _holder(ledger)
    usable = np.flatnonzero((ledger.payer >= 0) & (owner >= 0) & (ledger.payer != owner) & (ledger.amount > 0))
    forth = pairs(ledger.payer[usable], owner[usable], ledger.accounts)
    back = pairs(owner[usable], ledger.payer[usable], ledger.accounts)
    order = np.argsort(forth, kind="stable")
    low, high = np.searchsorted(forth[order], back), np.searchsorted(forth[order], back, side="right")
    for place in np.flatnonzero(high > low):
        here = usable[place]
        others = usable[order[low[place] : high[place]]]
        pause = ledger.paid_at[others] - ledger.paid_at[here]
        difference = np.abs(ledger.amount[others] - ledger.amount[here])
        matching = (np.abs(pause) <= 7 * DAY) & (difference <= ledger.amount[here] * (_NEAR / 5))
        out[here] = bool(matching.any())
    return out
