"""Spending: what accounts paid to sellers that early, independent buyers trust, measured in usual purchases.

A payment to one's own seller costs only a fee, because the money comes back. Money paid to sellers that unrelated
buyers also pay is gone. Only such spending, which is expensive to fake, backs an opinion. However large a purchase is,
it counts as at most one usual purchase.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from bilateral.trust.features.money import Money
from bilateral.trust.tables.arrays import Flags, Floats, Ints, group_counts, group_sums, look_up, pairs, spans, unpaired
from bilateral.trust.tables.ledger import Ledger

_RETURNED: Final = 0.5
"""If at least this share of a client's money comes back, a purchase does not count. Cashback is a smaller share."""

_EARLY: Final = 0.2
"""An early payer is among this share of payers, by their first payments, and within this share of the time since the
market's first payment. Attackers are rarely the first to pay; accounts that they add later affect the first share, but
not the second."""

_SELLERS: Final = 3
"""The number of sellers that an early payer must have paid: honest newcomers to a market try several."""

_CLIENTS: Final = 2.0
"""The number of usual purchases by early buyers at which a seller is fully trusted, so at least two are needed."""

_EVIDENCE: Final = 5.0
"""The number of usual purchases from a seller that count as evidence, for each usual purchase by an early buyer. An
attacker's own seller that served a few early buyers well is therefore weak evidence, no matter how many of the
attacker's accounts pay it. With two, hardly anything counted in the first weeks: on days 10 to 20 of `make market`, 13
% of the demand found no seller with a sufficient limit; with five, only 5 % did."""


@dataclass(frozen=True)
class Spending:
    """Purchases, by client and by the party behind the seller.

    Attributes:
        keys: The seller-client pairs, encoded by `pairs`, in ascending order.
        value: The number of usual purchases that each pair is worth: at most 1, less if the seller is not fully
            trusted.
        of_client: The sum of `value` by client.
        evidence: The part of `value` that is evidence of spending.
        evidence_of_client: The sum of `evidence` by client.
        usual: The usual payment of a pair, in units of the payment token.
        is_early: Marks the early payers of several sellers.
        hand: The party behind each account: its source of funds if the account acknowledged it, or else the account
            itself.
        since: The time of the first payment of each pair.
    """

    keys: Ints
    value: Floats
    of_client: Floats
    evidence: Floats
    evidence_of_client: Floats
    usual: float
    is_early: Flags
    hand: Ints
    since: Floats

    @classmethod
    def of(cls, ledger: Ledger, money: Money, hand: Ints) -> Spending:
        """Sum what clients paid to sellers of other parties, minus what came back."""
        size = ledger.accounts
        receiver, sender = unpaired(money.keys, size)
        paid = money.amount - money.gifts
        some = paid > 0
        sender, receiver, paid = sender[some].astype(np.int64), receiver[some].astype(np.int64), paid[some]
        back = money.between(receiver, sender, gifts=True)
        seller = hand[receiver]
        other = hand[sender] != seller
        keys, place = np.unique(pairs(seller[other], sender[other], size), return_inverse=True)
        amount, returned = (np.bincount(place, weights=values[other], minlength=len(keys)) for values in (paid, back))
        since, _ = spans(money.paid_at[some][other], place, len(keys))
        left = np.where(returned < _RETURNED * amount, amount - returned, 0.0)
        seller, client = (side.astype(np.int64) for side in unpaired(keys, size))
        is_early = _early(ledger, client[left > 0])
        early = left[is_early[client] & (left > 0)]
        usual = float(np.median(early)) if len(early) else 1.0
        share = np.minimum(left / usual, 1.0)
        reached = group_sums(is_early[client] * share, seller, size)
        value = share * np.minimum(reached / _CLIENTS, 1.0)[seller]
        sold = np.maximum(group_sums(share, seller, size), 1e-9)
        evidence = value * np.minimum(_EVIDENCE * reached / sold, 1.0)[seller]
        of_client, evidence_of_client = (group_sums(values, client, size) for values in (value, evidence))
        return cls(keys, value, of_client, evidence, evidence_of_client, usual, is_early, hand, since)

    def elsewhere(self, client: Ints, seller: Ints) -> Floats:
        """Return what each client spent with sellers other than a given one. Clients and sellers are accounts."""
        return self._without(self.value, self.of_client, client, seller)

    def elsewhere_before(self, client: Ints, seller: Ints, ts: Floats) -> Floats:
        """Return what each client had spent elsewhere by a time, counting each seller from the first payment to it."""
        if not len(self.keys):
            return np.zeros(len(client))
        client, begin = client.astype(np.int64), float(self.since.min())
        steps = int(self.since.max() - begin) + 2
        at = (self.keys % len(self.hand)).astype(np.int64) * steps + (self.since - begin).astype(np.int64)
        order = np.argsort(at)
        total, at = np.concatenate([[0.0], np.cumsum(self.value[order])]), at[order]
        until = client * steps + np.clip(ts - begin, -1, steps - 2).astype(np.int64)
        spent = total[np.searchsorted(at, until, "right")] - total[np.searchsorted(at, client * steps)]
        own = pairs(self.hand[seller], client, len(self.hand))
        earlier = look_up(own, self.keys, self.since) <= ts
        out: Floats = np.maximum(spent - earlier * look_up(own, self.keys, self.value), 0.0)
        return out

    def evidence_elsewhere(self, client: Ints, seller: Ints) -> Floats:
        """Return the part of what each client spent elsewhere that is evidence."""
        return self._without(self.evidence, self.evidence_of_client, client, seller)

    def _without(self, values: Floats, of_client: Floats, client: Ints, seller: Ints) -> Floats:
        own = look_up(pairs(self.hand[seller], client, len(self.hand)), self.keys, values)
        return np.maximum(of_client[client] - own, 0.0)


def _early(ledger: Ledger, client: Ints) -> Flags:
    """Mark the early payers of several sellers or, if there are none, all early payers."""
    size = ledger.accounts
    first = np.full(size, np.inf)
    paid = (ledger.payer >= 0) & (ledger.amount > 0)
    np.minimum.at(first, ledger.payer[paid], ledger.paid_at[paid])
    several = (group_counts(client, size) >= _SELLERS) & np.isfinite(first)
    payers = np.flatnonzero(several if several.any() else np.isfinite(first))
    out = np.zeros(size, bool)
    if len(payers):
        begin, end = float(first[payers].min()), float(ledger.paid_at.max())
        until = min(float(np.quantile(first[payers], _EARLY)), begin + _EARLY * (end - begin))
        out[payers[first[payers] <= until]] = True
    return out
