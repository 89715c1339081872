"""The backing of opinions: what their raters spent with sellers other than the one that they rate.

Neither gifts that a rater receives nor ratings by other accounts reduce the weight of its opinions. A seller can reduce
the weight by returning half of a purchase.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from bilateral.core.values.decision import LEAST_RATING
from bilateral.trust.features.context import Context
from bilateral.trust.tables.arrays import Floats, Ints, group_counts

_BOUGHT: Final = 3.0
"""The number of usual purchases from trusted sellers needed for full weight, or one per rated subject if that is more.
Honest buyers rate fewer sellers than they buy from; raters for hire rate more."""

_BOUGHT_BEFORE: Final = 2.0
"""The number of purchases needed for a bad opinion. Only purchases at least `_NOTICE` before the opinion count."""

_UNPAID: Final = 0.3
"""The factor for the weight of an opinion if its rater did not pay the rated account."""

_NOTICE: Final = 86_400.0
_OF_MARKET: Final = 0.03
"""How long before a bad opinion its rater must have bought elsewhere, at most this share of the market's age. Slander
is planned, so its money is spent all at once; most honest buyers who complain have been buying for weeks."""


def backing(context: Context, rows: Ints) -> Floats:
    """Return the weight of some opinions, from 0 to 1, based on what their raters bought from other sellers."""
    ledger, opinions, spending = context.ledger, context.ledger.opinions, context.spending
    rater, rated = opinions.rater[rows], ledger.subject_account[opinions.subject[rows]]
    subjects = group_counts(opinions.rater[context.pair], ledger.accounts)
    spent = spending.elsewhere(rater, rated)
    is_bad = opinions.percent[rows] < LEAST_RATING
    bad = np.flatnonzero(is_bad)
    times = ledger.paid_at[ledger.payer >= 0]
    notice = min(_NOTICE, _OF_MARKET * float(np.ptp(times))) if len(times) else 0.0
    spent[bad] = spending.elsewhere_before(rater[bad], rated[bad], opinions.ts[rows[bad]] - notice)
    weight = np.minimum(spent / np.maximum(np.where(is_bad, _BOUGHT_BEFORE, _BOUGHT), subjects[rater]), 1.0)
    weight *= np.where(context.paid[rows], 1.0, _UNPAID)
    return np.where(spending.hand[rater] == spending.hand[rated], 0.0, weight)
