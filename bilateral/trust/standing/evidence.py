"""The cost of evidence: what raters who praise an agent spent with other sellers that early buyers trust.

At most one usual purchase per seller counts (`features.spending`). A rater can praise many agents with the same money,
so the money is divided among those agents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from bilateral.trust.features.context import Context
from bilateral.trust.tables.arrays import Flags, Floats, Ints, distinct_keys, group_sums, pairs, unpaired
from bilateral.trust.tables.ledger import Ledger
from bilateral.trust.tables.opinions import Kind

_GOOD: Final = 50.0
"""The minimum percentage at which an opinion is praise."""

_MOST: Final = 0.75
"""The maximum number of usual purchases that opinions from one source of funds are worth. A rater who bought a lot
elsewhere can be bribed for little more than the price of a purchase, and extra accounts cost only gas."""


@dataclass(frozen=True)
class Stayed:
    """Payments whose money stayed with the seller.

    Attributes:
        payer: The accounts that paid.
        agent: The agents that were paid.
        seller: The parties behind the sellers.
        paid_at: The times of the payments.
    """

    payer: Ints
    agent: Ints
    seller: Ints
    amount: Floats
    paid_at: Floats

    @classmethod
    def of(cls, ledger: Ledger, hand: Ints, returned: Flags) -> Stayed:
        """Select the payments to known agents that came from other parties and did not come back."""
        inside = (ledger.payer >= 0) & (ledger.paid_agent >= 0) & (ledger.amount > 0) & ~returned
        payer, agent = ledger.payer[inside].astype(np.int64), ledger.paid_agent[inside].astype(np.int64)
        seller = hand[ledger.owner[agent]] if len(agent) else agent
        amount, paid_at = ledger.amount[inside], ledger.paid_at[inside]
        strange = hand[payer] != seller if len(payer) else np.zeros(0, bool)
        return cls(payer[strange], agent[strange], seller[strange], amount[strange], paid_at[strange])


def costs_of_servers(context: Context, rows: Ints) -> Floats:
    """Return what those who praise each agent spent elsewhere, in units of the payment token."""
    ledger, opinions, size = context.ledger, context.ledger.opinions, context.ledger.accounts
    praise = rows[(opinions.kind[rows] == Kind.FEEDBACK) & (opinions.percent[rows] >= _GOOD)]
    if not len(praise):
        return np.zeros(ledger.agents)
    keys = distinct_keys(pairs(ledger.subject_agent[opinions.subject[praise]], opinions.rater[praise], size))
    agent, rater = (side.astype(np.int64) for side in unpaired(keys, size))
    spent = context.spending.evidence_elsewhere(rater, ledger.owner[agent]) / np.bincount(rater, minlength=size)[rater]
    # In a market with few purchases, an exchange looks like an attacker's wallet, but funds most honest buyers.
    source = context.ties.root[rater] if context.ties.independence.any() else rater
    voices, place = np.unique(pairs(agent, source, size), return_inverse=True)
    of_source = np.minimum(group_sums(spent, place, len(voices)), _MOST)
    return group_sums(context.spending.usual * of_source, unpaired(voices, size)[0], ledger.agents)
