"""Trials of new agents: those with one source of funds take turns, so that registering many at once does not pay.

A trial costs buyers what one purchase costs. Somebody who cheats could register twelve agents for less than a dollar
and have each tried on the same day. With turns, the first must cheat before the second is tried, and buyers who have
been cheated rate. Sources whose other accounts spend money get as many turns at once as they have such accounts.
"""

from typing import Final

import numpy as np

from bilateral.core.values.decision import TRIAL
from bilateral.core.values.standing import SHARED_TRIAL, StandingReason
from bilateral.trust.features.context import Context
from bilateral.trust.features.ties import roots
from bilateral.trust.standing.evidence import Stayed
from bilateral.trust.tables.arrays import Floats, Ints, first_of

_TURN: Final = 7 * 86_400.0
"""The time of a turn. In `make market`, most new agents that sell at all are rated within a week; then the next one is
tried at once."""

_OF_OWNER: Final = 4
"""The agents of one owner that are tried at once. Honest sellers have several agents: in `make market`, one in ten has
two to five."""


def waiting(context: Context, cost: Floats, stayed: Stayed) -> dict[int, StandingReason]:
    """Return the reason of each agent that waits for its trial."""
    ledger, root = context.ledger, _sources(context)
    now = max(ledger.opinions.ts.max(initial=0.0), ledger.paid_at.max(initial=0.0))
    new = np.flatnonzero(cost < TRIAL)
    new = new[np.lexsort((ledger.registered[new], root[ledger.owner[new]]))]
    owner = ledger.owner[new].astype(np.int64)
    spent = np.bincount(stayed.payer, weights=stayed.amount, minlength=ledger.accounts)
    spenders = np.bincount(root[spent >= TRIAL], minlength=ledger.accounts)
    ahead = _ahead(root[owner], owner) // (1 + spenders[root[owner]])
    until = ledger.registered[new] + ahead * _TURN
    return {
        agent: StandingReason(SHARED_TRIAL, None, {"ahead": before, "until": int(end)})
        for agent, before, end in zip(new.tolist(), ahead.tolist(), until.tolist(), strict=True)
        if end > now and before
    }


def _sources(context: Context) -> Ints:
    """Return the source of funds of each account."""
    # The first sender counts, unless the account received more from others before it registered an agent. Anybody can
    # be the first to send dust to a fresh account.
    ledger, ties = context.ledger, context.ties
    registers = np.full(ledger.accounts, np.inf)
    np.minimum.at(registers, ledger.owner, ledger.registered)
    counts = (ledger.src >= 0) & (ledger.dst >= 0) & (ledger.src != ledger.dst)
    counts &= ledger.sent_at <= registers[np.maximum(ledger.dst, 0)]
    counts &= ledger.coin == ledger.coin[ledger.funding[np.maximum(ledger.dst, 0)]]  # as far as it compares
    source, target = ledger.src[counts], ledger.dst[counts]
    signed = np.where(ties.root[source] == ties.root[target], 1.0, -1.0) * ledger.sent[counts]
    is_main = np.bincount(target, weights=signed, minlength=ledger.accounts) >= 0
    return roots(np.where(is_main, ledger.funder, -1), ties.is_hub)


def _ahead(source: Ints, owner: Ints) -> Ints:
    """Return how many trials are before each agent's."""
    _, first, place = np.unique(owner, return_index=True, return_inverse=True)
    leads = np.zeros(len(owner), np.int64)
    leads[first] = 1
    count = np.cumsum(leads)
    starts = np.flatnonzero(first_of(source))
    of_source = np.repeat(count[starts], np.diff(np.append(starts, len(source))))
    order = np.argsort(place, kind="stable")
    own = np.empty(len(owner), np.int64)
    begins = np.flatnonzero(first_of(place[order]))
    own[order] = np.arange(len(owner)) - np.repeat(begins, np.diff(np.append(begins, len(owner))))
    return np.asarray(count[first][place] - of_source + own // _OF_OWNER)
