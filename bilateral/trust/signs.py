"""Weak signs: what is odd about an account beside all findings. They rank accounts that no finding names.

An opinion is odd if its rater is young, judges few others, did not pay, and gives an extreme value. An account is
ranked by its oddest opinion, and by the company of that opinion: the others about the same subject. An owner is ranked
by the praise of its agents. All of it may be chance, or the doing of others, so it flags nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bilateral.trust.arrays import Floats, group_sums
from bilateral.trust.opinions import Kind

if TYPE_CHECKING:
    from bilateral.trust.context import Context

_MOST: Final = 0.1
"""The suspicion of the oddest account: a twentieth of the threshold. A finding that is weaker says hardly anything."""

_ODDEST: Final = 6.0
"""The oddness of one opinion from which more of it says no more."""

_PRAISE: Final = 60.0


def weak_signs(context: Context) -> Floats:
    """Return the suspicion of each account by weak signs: its rank among those who judge or are judged.

    Args:
        context: The ledger and what detectors share.
    """
    ledger, opinions = context.ledger, context.ledger.opinions
    rows = context.pair[opinions.kind[context.pair] != Kind.CONSTANT_TAG]
    out = np.zeros(ledger.accounts)
    if not len(rows):
        return out
    subject, rater = opinions.subject[rows], opinions.rater[rows]
    odd = np.minimum(-np.log(np.maximum(context.risk[rows], 1e-9)), _ODDEST) - 1  # 0 for usual ones, on the average
    total = group_sums(odd, subject, ledger.subjects)[subject]
    others = np.maximum(np.bincount(subject, minlength=ledger.subjects)[subject] - 1, 1)
    highest = np.full(ledger.accounts, -np.inf)
    np.maximum.at(highest, rater, odd + (total - odd) / np.sqrt(others))
    praise = (opinions.kind[rows] == Kind.FEEDBACK) & (opinions.percent[rows] >= _PRAISE)
    count = np.bincount(subject[praise], minlength=ledger.subjects)
    company = group_sums(odd[praise], subject[praise], ledger.subjects) / np.sqrt(np.maximum(count, 1))
    np.maximum.at(highest, ledger.subject_account, np.where(count > 0, company, -np.inf))
    known = np.flatnonzero(np.isfinite(highest))
    place = np.unique(highest[known], return_inverse=True)[1]
    out[known] = _MOST * place / max(place.max(), 1)
    return out
