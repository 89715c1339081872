"""Money between accounts: the part that stayed with its receiver, and the trust that follows this money.

An opinion costs its rater what the rater spent and did not get back. Accounts of one party can pay each other at no
cost, so only money that reached other parties and stayed there counts: the attacker no longer controls it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import sparse

from bilateral.trust.tables.arrays import (
    Flags,
    Floats,
    Ints,
    first_of,
    group_counts,
    group_sums,
    lexical_order,
    look_up,
    pairs,
    spans,
    unpaired,
)
from bilateral.trust.tables.ledger import Ledger

_EARLY: Final = 0.2
"""The share of payers, those who paid first, from which trust starts. Attackers are rarely the first to pay."""

_SELLERS: Final = 3
"""The number of sellers that a payer must have paid for trust to start from it."""

_ROUNDS: Final = 10
"""The number of rounds in the walk: few, so that trust does not spread into barely linked regions (SybilRank)."""

_RESTART: Final = 0.1
"""The share of trust that restarts in each round, as in EigenTrust: small, so that the walk reaches far."""


@dataclass(frozen=True)
class Money:
    """Money between pairs of accounts. A wallet's money counts as its owner's, and exchanges are left out.

    Attributes:
        keys: The receiver-sender pairs, encoded by `pairs`, in ascending order. Opinions are sorted by rated account,
            so each search for what raters paid starts near the previous one.
        amount: The money that each pair's sender sent to the receiver.
        gifts: The part of the money that did not pay for any service.
        paid_at: The time of each pair's first payment; infinity if there is none.
        size: The number of accounts.
    """

    keys: Ints
    amount: Floats
    gifts: Floats
    paid_at: Floats
    size: int

    @classmethod
    def of(cls, ledger: Ledger, hub: Flags) -> Money:
        """Sum up payments and transfers."""
        hand = np.arange(ledger.accounts)
        has_wallet = ledger.wallet >= 0
        hand[ledger.wallet[has_wallet]] = ledger.owner[has_wallet]
        hand[ledger.owner] = ledger.owner
        paid = (ledger.payer >= 0) & (ledger.payee >= 0)
        agent = ledger.paid_agent[paid]
        server = ledger.payee[paid].astype(np.int64)
        if ledger.agents:
            server = np.where(agent >= 0, ledger.owner[np.maximum(agent, 0)], hand[server])
        moved = ledger.comparable
        moved &= ledger.funder[np.maximum(ledger.dst, 0)] != ledger.src
        moved &= ~hub[np.maximum(ledger.src, 0)] & ~hub[np.maximum(ledger.dst, 0)]
        sender = hand[np.concatenate([ledger.payer[paid], ledger.src[moved]])]
        receiver = np.concatenate([server, hand[ledger.dst[moved]]])
        amount = np.concatenate([ledger.amount[paid], ledger.sent[moved]])
        other = sender != receiver
        keys = pairs(receiver[other], sender[other], ledger.accounts)
        order = lexical_order(keys)
        keys, amount = keys[order], amount[other][order]
        gifts = np.where((np.arange(len(sender)) >= paid.sum())[other][order], amount, 0.0)
        times = np.concatenate([ledger.paid_at[paid], np.full(len(ledger.src[moved]), np.inf)])[other][order]
        first = first_of(keys)
        place, count = np.cumsum(first) - 1, int(first.sum())
        paid_at, _ = spans(times, place, count)
        sums = group_sums(amount, place, count), group_sums(gifts, place, count)
        return cls(keys[first], *sums, paid_at, ledger.accounts)

    def between(self, sender: Ints, receiver: Ints, *, gifts: bool = False) -> Floats:
        """Return the money that each sender sent to its receiver."""
        some = self.gifts > 0 if gifts else slice(None)
        keys, values = self.keys[some], (self.gifts if gifts else self.amount)[some]
        gets = np.zeros(self.size, bool)
        gets[unpaired(keys, self.size)[0]] = True
        rows = np.flatnonzero(gets[receiver])  # few accounts receive gifts, or money from accounts that they pay
        out = np.zeros(len(receiver))
        out[rows] = look_up(pairs(receiver[rows], sender[rows], self.size), keys, values)
        return out

    def retained_money(self) -> tuple[Ints, Ints, Floats]:
        """Return the pairs whose receiver kept money, and the money kept: what it received minus what it sent back."""
        receiver, sender = unpaired(self.keys, self.size)
        left = self.amount - self.between(receiver, sender)
        some = left > 0
        return sender[some], receiver[some], left[some]


def walked(ledger: Ledger, retained: tuple[Ints, Ints, Floats]) -> Floats:
    """Return how much trust reaches each paying or paid account through its ties; nan for other accounts.

    Trust starts from early payers of several sellers, and follows money that stayed with its receiver, in both
    directions.
    """
    size = ledger.accounts
    sender, receiver, left = retained
    out = np.full(size, np.nan)
    if not len(left):
        return out
    weight = np.minimum(left / np.median(left), 1.0)  # dust ties nobody, and a fortune ties no more than a purchase
    starts = np.searchsorted(receiver, np.arange(size + 1))
    graph = sparse.csr_matrix((weight, sender, starts), (size, size))  # stays in the order of receivers
    ties = group_sums(weight, receiver, size) + group_sums(weight, sender, size)
    first = np.full(size, np.inf)
    paid = ledger.payer >= 0
    np.minimum.at(first, ledger.payer[paid], ledger.paid_at[paid])
    payers = np.flatnonzero((group_counts(sender, size) >= _SELLERS) & np.isfinite(first))
    if not len(payers):
        return out
    seeds = payers[first[payers] <= np.quantile(first[payers], _EARLY)]
    start = np.zeros(size)
    start[seeds] = ties[seeds] / ties[seeds].sum()
    share = np.divide(1.0, ties, out=np.zeros(size), where=ties > 0)
    trust = start
    for _ in range(_ROUNDS):
        sent = trust * share
        trust = (1 - _RESTART) * (graph @ sent + graph.T @ sent) + _RESTART * start
    tied = ties > 0
    out[tied] = np.log(np.maximum(trust[tied] * share[tied], 1e-12) * ties.sum())
    return out
