"""Wash payments: money that returns to the payer, so a proof of payment costs nothing.

A return is a transfer from the agent's wallet or owner to the payer or the payer's funder, directly or through one
intermediate account, after the payment. A return to a payer who complained is a refund, which is not evidence against
anyone. A payment in the other direction counts as a return only if the amounts are equal, because trading partners also
pay each other, but different sums.

Honest agents also give refunds and cashback. A client therefore counts only if most of its money came back, and an
agent's share of such clients is compared with the shares of other agents in the market.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from bilateral.trust.detectors.base import Detector
from bilateral.trust.features.context import MOSTLY, Context
from bilateral.trust.features.findings import Basis, Finding, Part
from bilateral.trust.features.purchases import DAY, starts_of_days
from bilateral.trust.features.significance import adjusted, usual_shares
from bilateral.trust.tables.arrays import (
    Flags,
    Floats,
    Ints,
    contained,
    contained_pairs,
    group_counts,
    lexical_order,
    pairs,
    unpaired,
)
from bilateral.trust.tables.ledger import Ledger
from bilateral.trust.tables.opinions import Kind
from bilateral.trust.tables.searches import Keyed, first_reaching

_WEEK: Final = 7 * DAY
_NEAR: Final = 0.05
"""The maximum share of an amount that may be lost to fees and rounding."""

_EQUAL: Final = 0.01
"""The share by which amounts that count as equal may differ."""

_EVERY: Final = slice(None)

_LEAST: Final = 0.1
_MOST: Final = 1.5
"""The minimum share of a payment for a transfer to count as its return, and the maximum size of the transfer relative
to all payments between the two accounts. Without the maximum, a supplier could frame an agent by paying it small sums:
the agent's purchases from the supplier would look like returns."""


_CLIENTS: Final = 2
"""For a finding, the minimum number of clients whose money came back. A single return may be a refund."""

_LOW: Final = 50.0
"""The percentage below which feedback is a complaint."""

_STEPS: Final = 5_000_000
"""The maximum number of pairs of an incoming and an outgoing transfer to examine. Above it, the accounts with the most
pairs are skipped. Without a limit, two million transfers through a few thousand accounts would take gigabytes."""


@dataclass(frozen=True)
class _Moves:
    """Movements of money: sender and receiver as one key, the amount, the time, and the underlying transfers."""

    keys: Ints
    sent: Floats
    times: Floats
    transfers: Ints


class WashPayments(Detector):
    """Detects payments whose money returns.

    Attributes:
        returned_: Marks each payment whose money returns.
    """

    name = "wash payments"

    def __init__(self, level: float = 0.01, within: float = 30 * DAY, limit: int = 2000) -> None:
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
        self.returned_ = self._returned(context) & inside
        rows = np.flatnonzero(inside & ~_refunded(ledger, self.returned_))
        keys, client = np.unique(pairs(agent[rows], ledger.payer[rows], ledger.accounts), return_inverse=True)
        paid = ledger.amount[rows]
        answered = np.bincount(client, weights=np.where(self._answers[rows] >= 0, paid, 0.0))
        back = (answered > 0) & (answered >= MOSTLY * np.bincount(client, weights=paid))
        back[client[self._share[rows] >= MOSTLY]] = True
        sold_by = unpaired(keys, ledger.accounts)[0]
        clients, washed = group_counts(sold_by, ledger.agents), group_counts(sold_by[back], ledger.agents)
        returns = rows[back[client] & self.returned_[rows]]
        candidates = np.flatnonzero(washed >= _CLIENTS)
        chance = usual_shares(washed, clients).excess(washed[candidates], clients[candidates])
        q_values = adjusted(chance, int((clients > 0).sum()))
        order = returns[np.argsort(agent[returns], kind="stable")]
        bounds = np.searchsorted(agent[order], [candidates, candidates + 1])
        findings = []
        for place in np.argsort(q_values)[: self.limit]:
            if q_values[place] < self.level:
                number, own = int(candidates[place]), order[slice(*bounds[:, place])]
                findings.append(
                    self._finding(context.ledger, number, own, float(q_values[place]), int(clients[number]))
                )
        del self._by, self._share, self._answers, self._equal, self._bounds  # these arrays are as long as the payments
        return findings

    def _returned(self, context: Context) -> Flags:
        """Mark the payments whose money returns in one step, in two steps, or as an equal payment."""
        ledger = context.ledger
        src, dst, sent, at, rows = _moves(ledger)
        direct = _sorted(_Moves(pairs(src, dst, ledger.accounts), sent, at, rows[:, None]))
        self._by: dict[int, Ints] = {}
        funder = _own_funder(context)[np.maximum(ledger.payer, 0)]
        steps = _sorted(_two_steps(context, self.within))
        out, self._share = np.zeros(len(ledger.payer), bool), np.zeros(len(ledger.payer), np.float32)
        holder = _holder(ledger)
        for receiver, other in ((ledger.payee, ledger.payee >= 0), (holder, (holder >= 0) & (holder != ledger.payee))):
            farther = np.zeros(len(ledger.payer), np.float32)
            for moves, payer in ((direct, ledger.payer), (direct, funder), (steps, ledger.payer)):
                rows, share = self._after(moves, (receiver, payer), other & (payer >= 0) & (receiver != payer), ledger)
                out[rows] = True
                if moves is direct and payer is ledger.payer:
                    self._share[rows] += share
                else:  # a return in two steps may go to the payer's funder
                    farther[rows] = np.maximum(farther[rows], share)
            self._share += farther
        self._answers, self._equal, self._bounds = _equal_sums(ledger)
        return out | (self._answers >= 0)

    def _after(self, moves: _Moves, ends: tuple[Ints, Ints], usable: Flags, ledger: Ledger) -> tuple[Ints, Floats]:
        """Return the payments after which money moved back between two accounts, and the share that came back."""
        # A return is at least a tenth of the payment, and not much more than the total of the payments between the two
        # accounts. The share is relative to all money between them, so cashback and single refunds remain small.
        rows = np.flatnonzero(usable)
        source, target = (end[rows] for end in ends)
        rows = rows[contained_pairs(source, target, moves.keys, ledger.accounts)]
        if not len(rows):
            return rows, np.zeros(0)
        queries, number = np.unique(pairs(ends[0][rows], ends[1][rows], ledger.accounts), return_inverse=True)
        paid = np.bincount(number, weights=ledger.amount[rows])
        low, high = (np.searchsorted(moves.keys, queries, side=side) for side in ("left", "right"))
        group = np.repeat(np.arange(len(queries)), high - low)
        places = np.arange(len(group)) + (high - np.cumsum(high - low))[group]
        fitting = moves.sent[places] <= _MOST * paid[group]
        group, places = group[fitting], places[fitting]
        back = np.bincount(group, weights=moves.sent[places], minlength=len(queries)) / np.maximum(paid, 1e-12)
        amount, share = ledger.amount[rows], np.minimum(back, 1.0)[number]
        first = first_reaching(
            Keyed(group, moves.times[places], moves.sent[places]), Keyed(number, ledger.paid_at[rows], _LEAST * amount)
        )
        rows, share, places = rows[first >= 0], share[first >= 0], places[first[first >= 0]]
        soon = moves.times[places] - ledger.paid_at[rows] <= self.within
        for row, place in zip(rows[soon].tolist(), places[soon].tolist(), strict=True):
            self._by.setdefault(row, moves.transfers[place])
        return rows[soon], share[soon]

    def _finding(self, ledger: Ledger, agent: int, payments: Ints, q_value: float, clients: int) -> Finding:
        opinions = ledger.opinions
        holders, nothing = np.unique(_holder(ledger, payments)), np.zeros(0, np.int64)
        actors, answers = np.unique(ledger.payer[payments]), np.unique(self._answers[payments])
        equal_sums = [self._equal[slice(*self._bounds[place : place + 2])] for place in answers[answers >= 0].tolist()]
        start, stop = np.searchsorted(opinions.subject, [agent, agent + 1])
        rows = np.arange(start, stop)[np.isin(opinions.rater[start:stop], actors)]
        writers = np.unique(opinions.rater[rows[opinions.kind[rows] == Kind.FEEDBACK]])
        return Finding(
            detector=self.name,
            statistic=f"most of the money of {len(actors)} of {clients} paying clients returns",
            q_value=q_value,
            actors=writers,
            beneficiaries=holders[holders >= 0].astype(np.int64),
            basis=Basis.MONEY,
            passive=frozenset({Part.ACTOR, Part.BENEFICIARY}),  # either side can be drawn into it by the other
            opinions=rows,
            payments=np.unique(np.concatenate([payments, *equal_sums])),
            transfers=np.unique(np.concatenate([nothing, *(self._by.get(n, nothing) for n in payments.tolist())])),
            sentence=(
                f"{len(payments)} payment{'s' if len(payments) > 1 else ''} from {len(actors)} account"
                f"{'s' if len(actors) > 1 else ''} to agent {int(ledger.agent_ids[agent])} went back to the payer."
            ),
        )


def _moves(ledger: Ledger) -> tuple[Ints, Ints, Floats, Floats, Ints]:
    """Return the transfers between two accounts that may return payments: their ends, amounts, times and positions."""
    rows = np.flatnonzero(ledger.comparable & (ledger.src != ledger.dst))
    src, dst = ledger.src[rows].astype(np.int64), ledger.dst[rows].astype(np.int64)
    return src, dst, ledger.sent[rows], ledger.sent_at[rows], rows


def _sorted(moves: _Moves) -> _Moves:
    order = lexical_order(moves.times, moves.keys)
    return _Moves(moves.keys[order], moves.sent[order], moves.times[order], moves.transfers[order])


def _holder(ledger: Ledger, payments: Ints | slice = _EVERY) -> Ints:
    """For each payment, return the account that held the paid agent at the time."""
    if not ledger.agents:
        return ledger.payee[payments]
    return ledger.owner[np.maximum(ledger.paid_agent[payments], 0)]


def _refunded(ledger: Ledger, returned: Flags) -> Flags:
    """Mark the returned payments that are refunds: each payer may have refunds on as many days as it has complaints."""
    # A complaint is low feedback about the agent by a payer that never praised it and whom its owner did not rate well.
    opinions, size = ledger.opinions, ledger.accounts
    pays = np.zeros(size, bool)
    pays[ledger.payer[returned]] = True
    reviews = np.flatnonzero((opinions.kind == Kind.FEEDBACK) & pays[opinions.rater] & np.isfinite(opinions.percent))
    about = pairs(ledger.subject_agent[opinions.subject[reviews]], opinions.rater[reviews], size)
    low = opinions.percent[reviews] < _LOW
    complaints, count = np.unique(about[low], return_counts=True)
    content = np.isin(complaints, about[~low])
    rated = np.flatnonzero((opinions.kind == Kind.CLIENT_RATING) & (opinions.percent >= _LOW))
    agent, client = unpaired(complaints, size)
    liked = pairs(opinions.rater[rated], ledger.subject_account[opinions.subject[rated]], size)
    content |= np.isin(pairs(ledger.owner[agent], client, size), liked)
    complaints, count = complaints[~content], count[~content]
    rows = np.flatnonzero(returned)
    rows = rows[np.lexsort((ledger.paid_at[rows], ledger.payer[rows], ledger.paid_agent[rows]))]
    paid = pairs(ledger.paid_agent[rows], ledger.payer[rows], size)
    days = np.searchsorted(starts_of_days(paid, ledger.paid_at[rows]), np.arange(len(rows)), side="right")
    place = days - days[np.searchsorted(paid, paid)]
    is_refund = contained(paid, complaints)
    is_refund[is_refund] = place[is_refund] < count[np.searchsorted(complaints, paid[is_refund])]
    out = np.zeros(len(returned), bool)
    out[rows[is_refund]] = True
    return out


def _own_funder(context: Context) -> Ints:
    """Return the funder of each account, unless the funder is an exchange."""
    funder = context.ties.funder
    return np.where((funder >= 0) & ~context.ties.is_hub[np.maximum(funder, 0)], funder, -1)


def _two_steps(context: Context, within: float) -> _Moves:
    """Return the transfers with which an account, other than an exchange, forwards money that it has just received."""
    src, dst, sent, at, rows = _moves(context.ledger)
    order = lexical_order(src)
    out_dst, out_sent, out_at = dst[order], sent[order], at[order]
    sends = np.bincount(src, minlength=context.ledger.accounts)
    low = (np.cumsum(sends) - sends)[dst]
    fan = np.where(context.ties.is_hub[dst], 0, sends[dst])
    fan = np.where(fan > 64, 0, fan)  # noqa: PLR2004  # as many outputs show an exchange
    fan = np.where(_affordable(np.bincount(dst, weights=fan, minlength=context.ledger.accounts))[dst], fan, 0)
    first = np.repeat(np.arange(len(src)), fan)
    second = np.repeat(low - np.concatenate([[0], np.cumsum(fan)[:-1]]), fan) + np.arange(fan.sum())
    ratio = out_sent[second] / np.maximum(sent[first], 1e-12)
    pause = out_at[second] - at[first]
    chosen = (pause >= 0) & (pause <= within) & (ratio > 0.3) & (ratio < 1 + _NEAR)  # noqa: PLR2004
    chosen &= out_dst[second] != src[first]
    keys = pairs(src[first][chosen], out_dst[second][chosen], context.ledger.accounts)
    both = np.column_stack([rows[first[chosen]], rows[order][second[chosen]]])
    return _Moves(keys, out_sent[second][chosen], out_at[second][chosen], both)


def _affordable(steps: Floats | Ints) -> Flags:
    """Mark the accounts with the fewest pairs of incoming and outgoing transfers, up to `_STEPS` pairs in total."""
    order = np.argsort(steps, kind="stable")
    out = np.zeros(len(steps), bool)
    out[order] = np.cumsum(steps[order]) <= _STEPS
    return out


def _equal_sums(ledger: Ledger) -> tuple[Ints, Ints, Ints]:
    """Return each payment's equal daily sum in the other direction (-1 if none), the payments by sum, and bounds."""
    out = np.full(len(ledger.payer), -1, np.int64)
    owner = _holder(ledger)
    usable = np.flatnonzero((ledger.payer >= 0) & (owner >= 0) & (ledger.payer != owner) & (ledger.amount > 0))
    forth = pairs(ledger.payer[usable], owner[usable], ledger.accounts)
    back = pairs(owner[usable], ledger.payer[usable], ledger.accounts)
    mutual = contained(back, np.sort(forth))
    usable, forth, back = usable[mutual], forth[mutual], back[mutual]
    order = lexical_order(ledger.paid_at[usable], forth)
    usable, forth, back = usable[order], forth[order], back[order]
    starts = starts_of_days(forth, ledger.paid_at[usable])
    amount, paid_at = np.add.reduceat(ledger.amount[usable], starts), ledger.paid_at[usable[starts]]
    forth, back = forth[starts], back[starts]
    week = np.floor(paid_at / _WEEK)
    directions = np.unique(np.concatenate([forth, back]), return_inverse=True)[1].reshape(2, -1)
    weeks = np.unique(np.concatenate([week - 1, week, week + 1]), return_inverse=True)[1].reshape(3, -1)
    size = int(weeks.max(initial=0)) + 1
    group = pairs(directions[0], weeks[1], size)
    order = np.lexsort((amount, group))
    best = np.full(len(starts), len(starts))
    # In the previous week, payments from a certain time on match; in the same week, all; in the next, those before it.
    for other, sign in zip(weeks, (1.0, 0.0, -1.0), strict=True):
        rows = Keyed(group[order], amount[order], sign * paid_at[order])
        queries = Keyed(pairs(directions[1], other, size), amount - _EQUAL * amount, sign * paid_at - _WEEK)
        first = first_reaching(rows, queries)
        positions, answer = np.flatnonzero(first >= 0), order[first[first >= 0]]
        same = np.abs(amount[answer] - amount[positions]) <= amount[positions] * _EQUAL
        best[positions[same]] = np.minimum(best[positions[same]], answer[same])
    bounds = np.append(starts, len(usable))
    out[usable] = np.repeat(np.where(best < len(starts), best, -1), np.diff(bounds))
    return out, usable, bounds
