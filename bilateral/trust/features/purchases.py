"""Purchases: what a client paid an agent in a day, regardless of the number of payments.

An additional payment costs 20,000 gas with Permit2, and a claim from a channel costs less, so the number of payments
proves nothing. Comparing daily sums also treats buyers of metered services, who pay per use, like other buyers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from bilateral.trust.tables.arrays import Floats, Ints, first_of, lexical_order, pairs
from bilateral.trust.tables.ledger import Ledger

DAY: Final = 86400.0


def starts_of_days(keys: Ints, times: Floats) -> Ints:
    """Return the position of the first row for each key and day. The rows must be ordered by key and time."""
    return np.flatnonzero(first_of(keys) | first_of(np.floor(times / DAY)))


@dataclass(frozen=True)
class Purchases:
    """Payments added up, and sorted, by agent, client and day. Payments with unknown accounts are left out.

    Attributes:
        paid_at: The time of each purchase's first payment.
    """

    agent: Ints
    client: Ints
    amount: Floats
    paid_at: Floats

    @classmethod
    def of(cls, ledger: Ledger) -> Purchases:
        """Add up payments."""
        rows = np.flatnonzero((ledger.payer >= 0) & (ledger.paid_agent >= 0))
        keys, paid_at = pairs(ledger.paid_agent[rows], ledger.payer[rows], ledger.accounts), ledger.paid_at[rows]
        order = lexical_order(paid_at, keys)
        rows, keys, paid_at = rows[order], keys[order], paid_at[order]
        starts = starts_of_days(keys, paid_at)
        first = rows[starts]
        amount = np.add.reduceat(ledger.amount[rows], starts)
        return cls(ledger.paid_agent[first], ledger.payer[first], amount, paid_at[starts])
