"""Gifts: transfers by which the receiver gains, beside first funds, refunds, cashback and dust."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bilateral.trust.arrays import Flags, Floats, Ints, contained, distinct_keys, group_sums, lexical_order, pairs

if TYPE_CHECKING:
    from bilateral.trust.ledger import Ledger

_NET: Final = 1.05
"""The multiple of its own payments that a rater must get back to gain. Fees and rounding take the rest."""

_DUST: Final = 4.0
"""The spreads below the middle logarithm of amounts from which money is dust, which bribes nobody."""


def gifts_of(ledger: Ledger) -> Ints:
    """Return the transfers beside first funds and dust by which a receiver gains, sorted by sender and receiver.

    It gains if it gets more than it gave the sender, by payments and transfers. So refunds and cashback are not gifts.

    Args:
        ledger: The coded tables.
    """
    inside = (ledger.src >= 0) & (ledger.dst >= 0) & (ledger.src != ledger.dst)
    gift = inside & (ledger.funder[np.maximum(ledger.dst, 0)] != ledger.src) & _usual(ledger.sent)
    rows = np.flatnonzero(gift)
    keys = pairs(ledger.src[rows], ledger.dst[rows], ledger.accounts)
    order = lexical_order(keys)
    rows, keys = rows[order], keys[order]
    known = distinct_keys(keys)
    paid = (ledger.payer >= 0) & (ledger.payee >= 0) & (ledger.payer != ledger.payee)
    back = np.concatenate(
        [
            pairs(ledger.payee[paid], ledger.payer[paid], ledger.accounts),
            pairs(ledger.dst[inside], ledger.src[inside], ledger.accounts),
        ]
    )
    amount = np.concatenate([ledger.amount[paid], ledger.sent[inside]])
    answers = contained(back, known)
    gave = group_sums(amount[answers], np.searchsorted(known, back[answers]), len(known))
    place = np.searchsorted(known, keys)
    got = group_sums(ledger.sent[rows], place, len(known))
    return rows[(got > _NET * gave)[place]]


def _usual(amounts: Floats) -> Flags:
    """Mark the amounts that are not dust. Anybody can send dust to anybody, to make both look related."""
    positive = amounts > 0
    if not positive.any():
        return positive
    logs = np.log(np.where(positive, amounts, 1.0))
    middle = np.median(logs[positive])
    spread = 1.4826 * np.median(np.abs(logs[positive] - middle)) + 0.5
    usual: Flags = positive & (logs > middle - _DUST * spread)
    return usual
