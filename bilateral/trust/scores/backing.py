"""The backing of raters: what they bought from others, from sellers whom early buyers trust.

A payment to the rated itself costs its owner nothing, because the money comes back. Money that went to sellers whom
unconnected buyers pay as well is lost. So a rater weighs as far as it bought from such sellers, shared among all whom
it rates. It is SybilRank's walk in two rounds on a graph with two sides: who is paid is not thereby trusted to rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from bilateral.trust.features.context import Context
from bilateral.trust.tables.arrays import (
    Flags,
    Floats,
    Groups,
    Ints,
    group_counts,
    group_sums,
    lexical_order,
    look_up,
    pairs,
    unpaired,
)
from bilateral.trust.tables.ledger import Ledger
from bilateral.trust.tables.opinions import Kind

_DAY: Final = 86_400.0
_RETURNED: Final = 0.5
"""The share of a client's money that comes back from which a purchase backs nothing. Cashback and refunds are less."""

_EARLY: Final = 0.2
"""The share of payers, by their first payments, from whom trust starts. An attacker rarely comes before its market."""

_SELLERS: Final = 3
"""The sellers that such a payer paid: one who tries a market out pays several, a rater of one seller does not."""

_ROUNDS: Final = 2
"""Rounds from early buyers to sellers and on. With each round more trust leaks into rings that buy a little from
others: with three, `make market` lost twice as much to fraud, and with five four times as much."""

_CLIENTS: Final = 2.0
"""The trusted buyers, each with all that it buys, from which a seller is trusted wholly. Buyers share their trust among
their sellers, so that a ring of nine cannot share that of one purchase nine times."""

_BOUGHT: Final = 1.0
"""The usual purchases from trusted sellers that a full voice needs."""

_RATED: Final = 1.0
"""The usual purchases for each rated subject below which a rater's voice gets smaller. Honest buyers rate fewer
subjects than they buy from; raters for hire rate more."""

_UNPAID: Final = 0.3
"""The weight of a backed rater's opinion without a payment to the rated."""

_UNBACKED: Final = 0.05
"""The weight of a paid opinion of a rater without backing. It orders newcomers; twenty of them make one voice."""

_ENOUGH: Final = 3.0
"""The backed voices about a seller from which those without backing count nothing. A rival's fresh accounts, each of
which buys once, then cannot slander a seller whom others know."""

_GIFT: Final = 0.5
"""The part of a usual payment from which a gift may have paid for an opinion."""

_GIFT_TIME: Final = 7 * _DAY
"""The time before an opinion in which such a gift counts. A rival cannot know who will rate within a week."""

_BAD: Final = 50.0
"""The rating below which a seller's buyers were cheated, so that their payments trust nobody."""


@dataclass(frozen=True)
class _Purchases:
    """Purchases by pairs of client and hand of the seller."""

    # keys: The pairs of seller and client, ascending.
    # client, seller: Their ends.
    # share: The part of a usual payment that stayed, at most 1: a fortune backs no more than a purchase.
    # usual: The usual payment of a pair.

    keys: Ints
    client: Ints
    seller: Ints
    share: Floats
    usual: float


def backing(context: Context, rows: Ints, hand: Ints) -> Floats:
    """Return the weight of some opinions by what their raters bought from others, from 0 to 1."""
    ledger, opinions, size = context.ledger, context.ledger.opinions, context.ledger.accounts
    bought = _purchases(context, hand)
    rater = opinions.rater[rows].astype(np.int64)
    subject = opinions.subject[rows].astype(np.int64)
    seller = hand[ledger.subject_account[subject]]
    is_own = hand[rater] == seller
    own, rated = _of_pairs(context, rows, hand, bought)
    by_seller, gift_groups = Groups.by(seller, size), _GiftGroups.of(context, rows, bought.usual)
    spent = np.maximum(group_sums(bought.share, bought.client, size), 1.0)
    trust, buys = _first_trust(context.ledger, bought), own > 0
    good: Floats = np.ones(size)
    weight: Floats = np.zeros(len(rows))
    feedback, percent = opinions.kind[rows] == Kind.FEEDBACK, opinions.percent[rows]
    for _ in range(_ROUNDS):
        reached = group_sums((bought.share * trust[bought.client]) / spent[bought.client], bought.seller, size)
        sellers = np.minimum(reached / _CLIENTS, 1.0) * good
        backed = group_sums(bought.share * sellers[bought.seller], bought.client, size)
        trust = np.minimum(backed / _BOUGHT, 1.0)
        backed_by_rest = np.maximum(backed[rater] - own * sellers[seller], 0.0)
        weight = np.minimum(backed_by_rest / np.maximum(_BOUGHT, _RATED * rated[rater]), 1.0)
        weight *= _UNPAID + (1 - _UNPAID) * buys
        backed_by_seller = by_seller.sums(np.where(is_own, 0.0, weight))
        weight += buys * (_UNBACKED * np.maximum(1 - backed_by_seller / _ENOUGH, 0.0))[seller]
        weight = gift_groups.shared(np.where(is_own, 0.0, np.minimum(weight, 1.0)))
        good = _good(by_seller, percent, np.where(feedback, weight, 0.0))
    return weight


def _of_pairs(context: Context, rows: Ints, hand: Ints, bought: _Purchases) -> tuple[Floats, Ints]:
    """Return what the rater of each opinion bought from the rated, and the number of subjects of each rater."""
    ledger, opinions, size = context.ledger, context.ledger.opinions, context.ledger.accounts
    pair = context.pair_of[rows]
    is_counted = np.zeros(len(context.pair), bool)
    is_counted[pair] = True
    first_opinions = context.pair[is_counted]  # in their order each search begins near the one before
    rater = opinions.rater[first_opinions].astype(np.int64)
    own = np.zeros(len(is_counted))
    own[is_counted] = look_up(
        pairs(hand[ledger.subject_account[opinions.subject[first_opinions]]], rater, size), bought.keys, bought.share
    )
    return own[pair], group_counts(rater, size)


def _purchases(context: Context, hand: Ints) -> _Purchases:
    """Add up what clients paid to sellers of another hand, less what came back."""
    money, size = context.money, context.ledger.accounts
    receiver, sender = unpaired(money.keys, size)
    paid = money.amount - money.gifts
    some = paid > 0
    sender, receiver, paid = sender[some].astype(np.int64), receiver[some].astype(np.int64), paid[some]
    back = money.between(receiver, sender, gifts=True)
    seller = hand[receiver]
    other = hand[sender] != seller
    keys, place = np.unique(pairs(seller[other], sender[other], size), return_inverse=True)
    amount, returned = (np.bincount(place, weights=values[other], minlength=len(keys)) for values in (paid, back))
    usual = float(np.median(amount)) if len(keys) else 1.0
    left = np.where(returned < _RETURNED * amount, amount - returned, 0.0)
    seller, client = unpaired(keys, size)
    return _Purchases(keys, client.astype(np.int64), seller.astype(np.int64), np.minimum(left / usual, 1.0), usual)


def _first_trust(ledger: Ledger, bought: _Purchases) -> Floats:
    """Return 1 for the early payers of several sellers, or for all early payers if there are none."""
    size = ledger.accounts
    first = np.full(size, np.inf)
    paid = (ledger.payer >= 0) & (ledger.amount > 0)
    np.minimum.at(first, ledger.payer[paid], ledger.paid_at[paid])
    several = (group_counts(bought.client[bought.share > 0], size) >= _SELLERS) & np.isfinite(first)
    payers = np.flatnonzero(several if several.any() else np.isfinite(first))
    out = np.zeros(size)
    if len(payers):
        out[payers[first[payers] <= np.quantile(first[payers], _EARLY)]] = 1.0
    return out


def _good(by_seller: Groups, percent: Floats, weight: Floats) -> Floats:
    """Return 0 for the sellers that backed raters rate badly, by account: their buyers were cheated, and trust none."""
    mass, total = by_seller.sums(weight), by_seller.sums(weight * percent)
    bad: Flags = (mass >= 1.0) & (total < _BAD * mass)
    return np.where(bad, 0.0, 1.0)


@dataclass(frozen=True)
class _GiftGroups:
    """Groups of raters of one subject that one account gave money before: together they have one voice."""

    # row: The row of each membership.
    # size: The number of groups.

    row: Ints
    group: Ints
    size: int

    @classmethod
    def of(cls, context: Context, rows: Ints, usual: float) -> _GiftGroups:
        """Find who gave the raters of some opinions money shortly before. Exchanges tie nobody."""
        ledger, ties, opinions = context.ledger, context.ties, context.ledger.opinions
        size = ledger.accounts
        moved = ledger.comparable & (ledger.sent >= _GIFT * usual)
        moved[ledger.funding[ledger.funding >= 0]] = False  # a new account has no backing yet
        moved &= ~ties.is_hub[np.maximum(ledger.src, 0)] & ~ties.is_hub[np.maximum(ledger.dst, 0)]
        source, target = ledger.src[moved].astype(np.int64), ledger.dst[moved].astype(np.int64)
        times = ledger.sent_at[moved]
        strange = np.flatnonzero(context.money.between(target, source) <= 0)  # a seller returns money to its clients
        order = strange[lexical_order(times[strange], target[strange])]
        source, target, times = source[order], target[order], times[order]
        # One ascending number for account and time, so that a search finds the gifts of a segment of time.
        start = min(float(times.min(initial=np.inf)), float(opinions.ts.min(initial=np.inf))) - 2 * _GIFT_TIME
        span = max(float(times.max(initial=start)), float(opinions.ts.max(initial=start))) - start + _DAY
        receives = np.zeros(size, bool)
        receives[target] = True
        gifted = np.flatnonzero(receives[opinions.rater[rows]])
        at = opinions.rater[rows[gifted]].astype(np.int64) * span + (opinions.ts[rows[gifted]] - start)
        gift_keys = target * span + (times - start)
        low, high = np.searchsorted(gift_keys, at - _GIFT_TIME), np.searchsorted(gift_keys, at)
        count = high - low
        row = np.repeat(np.arange(len(gifted)), count)
        giver = source[np.arange(len(row)) + (high - np.cumsum(count))[row]] if len(row) else row
        row = gifted[row]
        keys, group = np.unique(pairs(opinions.subject[rows[row]], giver, size), return_inverse=True)
        return cls(row, group, len(keys))

    def shared(self, weight: Floats) -> Floats:
        """Return weights of which each group together has one at most."""
        if not self.size:
            return weight
        total = np.bincount(self.group, weights=weight[self.row], minlength=self.size)
        part = np.ones(len(weight))
        np.minimum.at(part, self.row, 1 / np.maximum(total[self.group], 1.0))
        return weight * part
