"""The cost of evidence: the money that somebody would have spent to fake the ratings of a subject.

A payment to the subject itself costs its owner nothing but a fee, because the money comes back. Money that a rater paid
to others is gone, if it stayed there. One rater can praise many subjects for the same money, so they share it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from bilateral.trust.tables.arrays import Flags, Floats, Ints, distinct_keys, group_sums, look_up, pairs, unpaired
from bilateral.trust.tables.ledger import Ledger
from bilateral.trust.tables.opinions import Kind

ACT: Final = 0.01
"""The price of a transaction, in units of the payment token. It is the order of a feedback's gas on the layer-2 chains
with canonical registries; `docs/gas.md` has the gas."""

MONTH: Final = 0.05
"""The price of an account's age for each 30 days. Attackers can prepare accounts, so age alone is nearly free."""

_OLDEST: Final = 12.0
"""The months up to which age counts. An account is made once and can wait for any time."""

_MONTH_SECONDS: Final = 30 * 86400.0
_GOOD: Final = 50.0
"""The percentage from which an opinion is praise."""


@dataclass(frozen=True)
class Stayed:
    """Payments whose money stayed with the seller.

    Attributes:
        payer: The accounts that paid.
        agent: The agents that they paid.
        seller: The hand of each seller.
        paid_at: The times.
    """

    payer: Ints
    agent: Ints
    seller: Ints
    amount: Floats
    paid_at: Floats

    @classmethod
    def of(cls, ledger: Ledger, hand: Ints, returned: Flags) -> Stayed:
        """Choose the payments of strangers to known agents that did not come back."""
        inside = (ledger.payer >= 0) & (ledger.paid_agent >= 0) & (ledger.amount > 0) & ~returned
        payer, agent = ledger.payer[inside].astype(np.int64), ledger.paid_agent[inside].astype(np.int64)
        seller = hand[ledger.owner[agent]] if len(agent) else agent
        amount, paid_at = ledger.amount[inside], ledger.paid_at[inside]
        strange = hand[payer] != seller if len(payer) else np.zeros(0, bool)
        return cls(payer[strange], agent[strange], seller[strange], amount[strange], paid_at[strange])


def costs_of_servers(ledger: Ledger, rows: Ints, hand: Ints, stayed: Stayed, born: Floats) -> Floats:
    """Return what it would have cost to fake the praise of each agent, in units of the payment token."""
    opinions, size = ledger.opinions, ledger.accounts
    praise = rows[(opinions.kind[rows] == Kind.FEEDBACK) & (opinions.percent[rows] >= _GOOD)]
    if not len(praise):
        return np.zeros(ledger.agents)
    keys = distinct_keys(pairs(ledger.subject_agent[opinions.subject[praise]], opinions.rater[praise], size))
    agent, rater = unpaired(keys, size)
    agent, rater = agent.astype(np.int64), rater.astype(np.int64)
    praised = np.maximum(np.bincount(rater, minlength=size), 1)
    spent = np.bincount(stayed.payer, weights=stayed.amount, minlength=size)
    # A rater's payments to the hand that it praises went to that hand, and cost it nothing.
    paid_pairs, where = np.unique(pairs(stayed.seller, stayed.payer, size), return_inverse=True)
    by_pair = group_sums(stayed.amount, where, len(paid_pairs))
    # The seller is the left code: raters ascend by agent, so that each search begins near the one before.
    own = look_up(pairs(hand[ledger.owner[agent]], rater, size), paid_pairs, by_pair)
    last = float(opinions.ts.max(initial=0.0))
    age = np.clip((last - born[rater]) / _MONTH_SECONDS, 0.0, _OLDEST)
    cost = ((spent[rater] - own) + MONTH * age) / praised[rater] + 2 * ACT
    return group_sums(np.maximum(cost, 0.0), agent, ledger.agents)


def costs_of_clients(ledger: Ledger, rows: Ints, stayed: Stayed) -> Floats:
    """Return what it would have cost to fake the ratings of each account as a client.

    A client's own payments to strangers are its evidence. Servers that rate it cost a transaction each.
    """
    opinions, size = ledger.opinions, ledger.accounts
    chosen = rows[opinions.kind[rows] == Kind.CLIENT_RATING]
    spent: Floats = np.bincount(stayed.payer, weights=stayed.amount, minlength=size).astype(np.float64)
    if not len(chosen):
        return spent
    account = ledger.subject_account[opinions.subject[chosen]]
    keys = distinct_keys(pairs(account, opinions.rater[chosen], size))
    return spent + 2 * ACT * np.bincount(unpaired(keys, size)[0].astype(np.int64), minlength=size)
