"""The backing of opinions: what their raters spent with others than the rated.

Neither gifts that a rater receives nor what others rate take weight from its opinions. A seller that returns half of a
purchase does.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from bilateral.trust.features.context import Context
from bilateral.trust.tables.arrays import Floats, Ints, group_counts

_BOUGHT: Final = 3.0
"""The usual purchases from trusted sellers that a full voice needs, or one for each rated subject if these are more.
Honest buyers rate fewer subjects than they buy from; raters for hire rate more."""

_UNPAID: Final = 0.3
"""The weight of a backed rater's opinion without a payment to the rated."""


def backing(context: Context, rows: Ints) -> Floats:
    """Return the weight of some opinions by what their raters bought from others, from 0 to 1."""
    ledger, opinions, spending = context.ledger, context.ledger.opinions, context.spending
    rater, rated = opinions.rater[rows], ledger.subject_account[opinions.subject[rows]]
    subjects = group_counts(opinions.rater[context.pair], ledger.accounts)
    spent = spending.elsewhere(rater, rated)
    weight = np.minimum(spent / np.maximum(_BOUGHT, subjects[rater]), 1.0)
    weight *= np.where(context.paid[rows], 1.0, _UNPAID)
    return np.where(spending.hand[rater] == spending.hand[rated], 0.0, weight)
