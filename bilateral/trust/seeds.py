"""Accounts that a reader might trust: long-time buyers from many sellers, who rate like others who paid.

A reader's own list of trusted accounts is the strongest protection measured (docs/decisions.md). The accounts proposed
here help to start one. Each proposal comes with supporting figures, and the reader has to confirm it.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from bilateral.core.errors import InvalidArgumentError
from bilateral.trust.engine import Engine
from bilateral.trust.features.context import Context
from bilateral.trust.scores.backing import backing
from bilateral.trust.standing.evidence import Stayed
from bilateral.trust.tables.arrays import (
    Floats,
    Ints,
    contained,
    distinct_keys,
    group_counts,
    group_sums,
    pairs,
    spans,
    unpaired,
)
from bilateral.trust.tables.opinions import Kind

_SELLERS: Final = 3
"""The minimum number of independent sellers that a proposed account paid, as for early buyers in `backing`."""

_DAYS: Final = 14.0
"""The minimum number of days between first and last purchase: most attackers prepare accounts for only a week."""

_WEIGHT: Final = 0.5
"""The minimum mean weight of the account's opinions according to `backing`: half of the full weight."""

_RATED: Final = 3
"""The minimum number of sellers rated by the account and by others who paid: two agreements may be chance."""

_APART: Final = 15.0
"""The maximum mean distance, in points, from other paying raters: about the deviation of an ordinary value."""

_DAY: Final = 86_400.0


@dataclass(frozen=True)
class Seed:
    """An account that a reader might trust.

    Attributes:
        address: The account.
        sellers: The number of independent sellers that the account paid.
        paid: The money that the account paid these sellers, minus money that came back, in units of the payment token.
        days: The number of days between the account's first and last purchases.
        rated: The number of sellers rated both by the account and by others who paid.
        apart: The mean distance, in points, between the account's ratings and those of others who paid.
    """

    address: str
    sellers: int
    paid: float
    days: float
    rated: int
    apart: float


def seeds(engine: Engine, count: int = 20) -> list[Seed]:
    """Propose accounts to trust, one per party, starting with those that paid the most independent sellers."""
    if count < 1:
        raise InvalidArgumentError(f"{count} proposals are too few: request at least 1")
    context, ledger = engine.context_, engine.context_.ledger
    size, hand = ledger.accounts, context.spending.hand
    stayed = Stayed.of(ledger, hand, engine.returned())
    buyers, _ = unpaired(distinct_keys(pairs(stayed.payer, stayed.seller, size)), size)
    sellers = group_counts(buyers.astype(np.int64), size)
    paid = np.bincount(stayed.payer, weights=stayed.amount, minlength=size)
    first, last = spans(stayed.paid_at, stayed.payer, size)
    days = np.where(sellers > 0, (last - first) / _DAY, 0.0)
    rated, apart, weight = _ratings(context)
    good = ~engine.suspicion_.flagged & (sellers >= _SELLERS) & (days >= _DAYS) & (weight >= _WEIGHT)
    chosen = np.flatnonzero(good & (rated >= _RATED) & (apart <= _APART))
    chosen = chosen[np.lexsort((chosen, -paid[chosen], -sellers[chosen]))]
    chosen = chosen[np.sort(np.unique(hand[chosen], return_index=True)[1])][:count]
    return [
        Seed(
            address=ledger.addresses[place].as_py(),
            sellers=int(sellers[place]),
            paid=float(paid[place]),
            days=float(days[place]),
            rated=int(rated[place]),
            apart=float(apart[place]),
        )
        for place in chosen.tolist()
    ]


def _ratings(context: Context) -> tuple[Ints, Floats, Floats]:
    """Return, by account, the rated sellers, the distance from others who paid, and the mean weight of opinions."""
    ledger, opinions, size = context.ledger, context.ledger.opinions, context.ledger.accounts
    rows = np.flatnonzero((opinions.kind == Kind.FEEDBACK) & np.isfinite(opinions.percent))
    rater, subject = opinions.rater[rows].astype(np.int64), opinions.subject[rows].astype(np.int64)
    weights = backing(context, rows)
    weight = group_sums(weights, rater, size) / np.maximum(group_counts(rater, size), 1)
    valid = (ledger.payer >= 0) & (ledger.paid_agent >= 0) & (ledger.amount > 0)
    bought = distinct_keys(pairs(ledger.paid_agent[valid], ledger.payer[valid], size))
    paying = contained(pairs(ledger.subject_agent[subject], rater, size), bought)
    keys, place = np.unique(pairs(subject[paying], rater[paying], size), return_inverse=True)
    values = group_sums(opinions.percent[rows][paying].astype(np.float64), place, len(keys))
    values /= np.maximum(group_counts(place, len(keys)), 1)
    subject, rater = (side.astype(np.int64) for side in unpaired(keys, size))
    raters = group_counts(subject, ledger.subjects)[subject]
    total = group_sums(values, subject, ledger.subjects)[subject]
    shared = raters > 1
    distance = np.abs(values - (total - values) / np.maximum(raters - 1, 1))[shared]
    rated = group_counts(rater[shared], size)
    return rated, group_sums(distance, rater[shared], size) / np.maximum(rated, 1), weight
