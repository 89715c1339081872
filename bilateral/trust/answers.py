"""Answers: open ratings that follow the counterpart's feedback so soon that they may answer it.

A rating that was sealed before either side saw the other's cannot be one. So pairs that seal need no such mark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bilateral.trust.arrays import Flags, Floats, Ints, distinct_keys, pairs
from bilateral.trust.opinions import Kind

if TYPE_CHECKING:
    from bilateral.trust.ledger import Ledger

ANSWER_SECONDS: Final = 86_400
"""A day, as in the pages and lists of the index."""

_TIME_BITS: Final = 32
"""Bits of a time in Unix seconds, until the year 2106."""


def answers(ledger: Ledger, ratings: Ints) -> Flags:
    """Mark open ratings of clients within a day after feedback of the client on an agent of the server's owner.

    Args:
        ledger: The opinions, sorted.
        ratings: The places of ratings of clients among them.
    """
    opinions, size = ledger.opinions, ledger.accounts
    spoken = np.flatnonzero((opinions.kind == Kind.FEEDBACK) | (opinions.kind == Kind.CONSTANT_TAG))
    keys = pairs(opinions.rater[spoken], ledger.subject_account[opinions.subject[spoken]], size)
    known = distinct_keys(keys)
    if not len(known):
        return np.zeros(len(ratings), np.bool_)
    moments = np.sort(_moments(np.searchsorted(known, keys), opinions.ts[spoken]))
    client = ledger.subject_account[opinions.subject[ratings]]
    wanted = pairs(client, opinions.rater[ratings], size)
    places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    rated = _moments(places, opinions.ts[ratings])
    last = moments[np.maximum(np.searchsorted(moments, rated, side="right") - 1, 0)]
    is_soon = (last <= rated) & (last >= rated - ANSWER_SECONDS) & (last >> _TIME_BITS == places)
    marked: Flags = (known[places] == wanted) & is_soon & ~opinions.blind[ratings]
    return marked


def _moments(places: Ints, times: Floats) -> Ints:
    """Return numbers that are sorted by place, and then by time."""
    return (places.astype(np.int64) << _TIME_BITS) + times.astype(np.int64)
