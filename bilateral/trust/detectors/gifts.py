"""Gifts: transfers that leave the receiver better off, except first funds, refunds, cashback and dust (tiny sums)."""

from typing import Final

import numpy as np

from bilateral.trust.features.context import Context
from bilateral.trust.tables.arrays import (
    Flags,
    Floats,
    Ints,
    contained_pairs,
    distinct_keys,
    group_sums,
    lexical_order,
    pairs,
)
from bilateral.trust.tables.ledger import Ledger

_NET: Final = 1.05
"""A rater gains if it receives more than this multiple of what it paid, which allows for fees and rounding."""

_DUST: Final = 4.0
"""An amount counts as dust, too small to bribe anyone, if its logarithm is this many spreads below the median."""


FAVOURABLE: Final = 50.0
"""The percentage below which an opinion does not promote its subject."""

_ENOUGH: Final = 5
_NEAR: Final = 12.0
"""Gifts count as refunds if `_ENOUGH` other raters praise the subject at most `_NEAR` points less than recipients."""

_YOUNG: Final = 0.2
"""The share of raters that count as the youngest. Their praise proves nothing: creating an account takes a minute."""


def gifts_of(ledger: Ledger) -> Ints:
    """Return the transfers that make a receiver gain, sorted by sender and receiver, without first funds and dust.

    A receiver gains if payments and transfers from the sender exceed those to the sender. Refunds and cashback are
    therefore not gifts.
    """
    inside = ledger.comparable & (ledger.src != ledger.dst)
    gift = inside & (ledger.funder[np.maximum(ledger.dst, 0)] != ledger.src)
    gift &= _usual(np.where(ledger.coin < 0, ledger.sent, 0.0))
    rows = np.flatnonzero(gift)
    keys = pairs(ledger.src[rows], ledger.dst[rows], ledger.accounts)
    order = lexical_order(keys)
    rows, keys = rows[order], keys[order]
    gift_pairs = distinct_keys(keys)
    paid = (ledger.payer >= 0) & (ledger.payee >= 0) & (ledger.payer != ledger.payee)
    giver = np.concatenate([ledger.payee[paid], ledger.dst[inside]])
    receiver = np.concatenate([ledger.payer[paid], ledger.src[inside]])
    amount = np.concatenate([ledger.amount[paid], ledger.sent[inside]])
    answers = np.flatnonzero(contained_pairs(giver, receiver, gift_pairs, ledger.accounts))
    answered = np.searchsorted(gift_pairs, pairs(giver[answers], receiver[answers], ledger.accounts))
    gave = group_sums(amount[answers], answered, len(gift_pairs))
    place = np.searchsorted(gift_pairs, keys)
    got = group_sums(ledger.sent[rows], place, len(gift_pairs))
    return rows[(got > _NET * gave)[place]]


def moving(context: Context, rows: Ints) -> Flags:
    """Mark opinions by raters who received gifts, unless other raters' equally high praise suggests refunds.

    The median of these raters' highest opinions is compared with other raters' opinions, so a few low opinions cannot
    hide bought praise. Other raters count only if they paid or judge several subjects, and are not among the youngest
    raters.
    """
    opinions, size = context.ledger.opinions, context.ledger.subjects
    if not len(rows):
        return np.zeros(0, bool)
    rest = np.flatnonzero(context.supported & np.isin(opinions.subject, opinions.subject[rows]))
    rest = rest[(opinions.percent[rest] >= FAVOURABLE) & (context.youth[rest] > _YOUNG)]
    rated, pairs_of_rest = (
        pairs(opinions.subject[selected], opinions.rater[selected], context.ledger.accounts)
        for selected in (rows, rest)
    )
    rest = rest[~np.isin(pairs_of_rest, rated)]
    subject, percent = opinions.subject[rest], opinions.percent[rest]
    count = np.bincount(subject, minlength=size)
    usual = group_sums(percent.astype(np.float64), subject, size) / np.maximum(count, 1)
    praise = np.nan_to_num(opinions.percent[rows].astype(np.float64), nan=100.0)
    order = np.lexsort((praise, rated))
    highest = order[np.append(np.diff(rated[order]) != 0, True)[: len(order)]]
    refunds = (count >= _ENOUGH) & (_medians(praise[highest], opinions.subject[rows[highest]], size) - usual <= _NEAR)
    return ~refunds[opinions.subject[rows]]


def _medians(values: Floats, group: Ints, size: int) -> Floats:
    """Return the upper median of the values in each group; 0 for an empty group."""
    order, count = np.lexsort((values, group)), np.bincount(group, minlength=size)
    out, some = np.zeros(size), np.flatnonzero(count)
    out[some] = values[order[(np.cumsum(count) - count + count // 2)[some]]]
    return out


def _usual(amounts: Floats) -> Flags:
    """Mark the amounts that are not dust, which anyone can send to make two accounts look related."""
    positive = amounts > 0
    if not positive.any():
        return positive
    logs = np.log(np.where(positive, amounts, 1.0))
    middle = np.median(logs[positive])
    spread = 1.4826 * np.median(np.abs(logs[positive] - middle)) + 0.5
    usual: Flags = positive & (logs > middle - _DUST * spread)
    return usual
