"""Groups of accounts that may have the same owner, based on their first funds and on time.

Paying an account does not show who controls it, because customers pay too. Neither does money that an account receives
after its first action, because anyone can send money.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from bilateral.trust.features.exchanges import Purchases, exchanges
from bilateral.trust.tables.arrays import Flags, Floats, Ints, dense, first_of, lexical_order, pairs, runs, unpaired
from bilateral.trust.tables.ledger import Ledger

DEPTH: Final = 8
"""The number of funding steps that are traced back."""

FUNDER: Final = "one funder"
"""The name of the grouping by first funds only, regardless of time and amount."""

COLLECTOR: Final = "one collector of their money"
"""The name of the grouping by where money ends up. It affects only ranks, as escrows and bridges also collect money."""

_SENDERS: Final = 150
"""The maximum number of accounts that send to one collector."""

_SHARED: Final = 2
"""The minimum number of accounts in a group."""

_DUST: Final = 10.0
"""An account's source of funds is its first sender, unless another sent this many times as much before its first
action. Gifts are usually smaller, so framing an account costs more than its initial funds."""

HOUR: Final = 3600.0
DAY: Final = 86400.0


_RUNS: Final = {
    "one funder within an hour": "one funder, with pauses of an hour at most,",
    "one funder within a day": "one funder, with pauses of six hours at most,",
    "the hour of their birth": "a time of birth, with pauses of an hour at most,",
}
"""Phrases for groupings that are runs in time. They state the longest pause; a whole run may last longer."""


@dataclass(frozen=True)
class Grouping:
    """A division of accounts into groups.

    Attributes:
        name: The accounts' common property.
        group: The group of each account; -1 for accounts without one.
        size: The number of groups.
        is_control: Marks a grouping that shows common control. Other groupings show a coincidence in time, or a
            customer relationship.
        only_ranks: Marks a grouping that is not evidence against anyone and that only the learned ranking uses.
    """

    name: str
    group: Ints
    size: int
    is_control: bool
    only_ranks: bool = False

    @property
    def label(self) -> str:
        """The accounts' common property, in a form for sentences."""
        return _RUNS.get(self.name, self.name)


@dataclass(frozen=True)
class Ties:
    """All groupings of accounts.

    Attributes:
        funder: The source of each account's first funds; -1 if unknown.
        funding: The position of the transfer that funded each account; -1 if unknown.
        root: The account to which each account's funding is traced back, stopping at accounts that an exchange funded.
        is_hub: Marks the exchanges. A tie through an exchange means nothing.
        born: The time at which each account first appears.
        acknowledged: Marks the accounts that sent money to their funder or its other accounts, except accounts that
            sell. Only they confirmed the tie themselves, because anyone can send money to a new account.
        independence: What each account spent with sellers that have other sources of funds, as a multiple of the usual
            price, at most 1.
    """

    groupings: tuple[Grouping, ...]
    funder: Ints
    funding: Ints
    root: Ints
    is_hub: Flags
    born: Floats
    acknowledged: Flags
    independence: Floats

    def joining(self, grouping: Grouping, accounts: Ints) -> Ints:
        """Return the transfers that put accounts into a group."""
        funding = self.funding[accounts] if grouping.is_control else np.zeros(0, np.int64)
        return np.sort(funding[funding >= 0]).astype(np.int64)


def ties_of(ledger: Ledger) -> Ties:
    """Group accounts by their first funds and by time."""
    funding = _funding(ledger)
    is_funded = funding >= 0
    funder, funded_at, amount = (
        np.where(is_funded, values[np.maximum(funding, 0)], missing) if len(values) else np.full(len(funding), missing)
        for values, missing in ((ledger.src.astype(np.int64), -1), (ledger.sent_at, np.nan), (ledger.sent, np.nan))
    )
    purchases = Purchases.of(ledger)
    is_hub = exchanges(ledger, purchases, funder)
    born = _first_events(ledger)
    root = roots(funder, is_hub)
    sells = np.zeros(ledger.accounts + 1, bool)  # the last entry stands for unknown accounts
    sells[ledger.owner] = sells[ledger.wallet] = sells[ledger.payee] = True
    keys_by_name: list[tuple[str, Ints, bool]] = [
        (FUNDER, funder, True),
        ("one funder within an hour", runs(funder, funded_at, HOUR), True),
        ("one funder within a day", runs(funder, funded_at, DAY / 4), True),
        ("one funder and one amount", _amounts(funder, amount), True),
        ("one source of funds", root, True),
        (COLLECTOR, _collectors(ledger, funder, sells), False),
        ("the hour of their birth", _born_together(born), False),
    ]
    groupings = []
    for name, keys, is_control in keys_by_name:
        group, size = dense(keys, _SHARED)
        groupings.append(Grouping(name, group, size, is_control, only_ranks=name == COLLECTOR))
    acknowledged = _acknowledged(ledger, (funder, root), is_hub, sells)
    independence = purchases.independence(np.where(is_hub, -1, root))
    return Ties(tuple(groupings), funder, funding, root, is_hub, born, acknowledged, independence)


def _funding(ledger: Ledger) -> Ints:
    """Return the transfer that funded each account: the first, unless it is dust compared with another sender's."""
    # A stranger's dust may arrive before the account's own funds. Amounts are relative to the coin's usual amount.
    funding = ledger.funding.astype(np.int64)
    began = first_acts(ledger)
    rows = np.flatnonzero((ledger.src >= 0) & (ledger.dst >= 0) & (ledger.src != ledger.dst))
    rows = rows[(funding[ledger.dst[rows]] >= 0) & (ledger.sent_at[rows] <= began[ledger.dst[rows]])]
    is_contested = np.zeros(ledger.accounts, bool)
    is_contested[ledger.dst[rows[ledger.src[rows] != ledger.funder[ledger.dst[rows]]]]] = True
    rows = rows[is_contested[ledger.dst[rows]]]
    if not len(rows):
        return funding
    keys = pairs(ledger.dst[rows], ledger.src[rows], ledger.accounts)
    order = lexical_order(keys)
    rows, keys = rows[order], keys[order]
    amount = ledger.sent[rows].astype(np.float64)
    for coin in np.unique(ledger.coin[rows]):
        of_coin = ledger.coin[rows] == coin
        amount[of_coin] /= max(float(np.median(amount[of_coin])), 1e-12)
    starts = np.flatnonzero(first_of(keys))
    total, first = np.add.reduceat(amount, starts), rows[starts]  # transfers are sorted by time
    total[ledger.src[first] == ledger.funder[ledger.dst[first]]] *= _DUST
    best = lexical_order(-first, total, ledger.dst[first])
    funding[ledger.dst[first[best]]] = first[best]  # each account's last transfer is written last, so it wins
    return funding


def _acknowledged(ledger: Ledger, ties: tuple[Ints, Ints], is_hub: Flags, sells: Flags) -> Flags:
    """Mark the accounts that sent money to their funder, or to an account with the same source of funds."""
    funder, root = ties
    inside = (ledger.src >= 0) & (ledger.dst >= 0) & (ledger.src != ledger.dst)
    src, dst = ledger.src[inside], ledger.dst[inside]
    own = funder[src]
    is_funded = (own >= 0) & ~is_hub[np.maximum(own, 0)] & (funder[dst] != src) & ~sells[dst]
    out = np.zeros(ledger.accounts, bool)
    out[src[is_funded & ((dst == own) | (root[dst] == root[src]))]] = True
    return out


def first_acts(ledger: Ledger) -> Floats:
    """Return the time of each account's first action; infinity for accounts that never act."""
    return _earliest(
        ledger.accounts,
        (ledger.src, ledger.sent_at),
        (ledger.opinions.rater, ledger.opinions.ts),
        (ledger.payer, ledger.paid_at),
        ledger.registrations,
    )


def _first_events(ledger: Ledger) -> Floats:
    """Return the time of the first event of each account."""
    born = _earliest(
        ledger.accounts,
        (ledger.dst, ledger.sent_at),
        (ledger.opinions.rater, ledger.opinions.ts),
        (ledger.payer, ledger.paid_at),
        ledger.registrations,
    )
    return np.where(np.isfinite(born), born, 0.0)


def _earliest(size: int, *events: tuple[Ints, Floats]) -> Floats:
    out = np.full(size, np.inf)
    for accounts, times in events:
        inside = accounts >= 0
        np.minimum.at(out, accounts[inside], times[inside])
    return out


def roots(funder: Ints, is_hub: np.ndarray) -> Ints:
    """Follow chains of funding back to their start, or to an account that an exchange funded."""
    parent = np.where((funder >= 0) & ~is_hub[np.maximum(funder, 0)], funder, np.arange(len(funder)))
    root = np.arange(len(funder))
    for _ in range(DEPTH):
        root = parent[root]
    return root


def _amounts(funder: Ints, amount: Floats) -> Ints:
    """Return a key for each account's funder and funds, rounded to two per cent."""
    amount = np.nan_to_num(amount, nan=0.0)
    step = np.where(amount > 0, np.round(np.log(np.maximum(amount, 1e-12)) / 0.02), 0).astype(np.int64)
    step -= step.min() if len(step) else 0
    width = int(step.max()) + 1 if len(step) else 1
    return np.where((funder >= 0) & (amount > 0), funder * width + step, -1)


def _born_together(born: Floats) -> Ints:
    """Return runs of accounts that appear in quick succession, relative to the usual pause between accounts."""
    inside = born > 0
    if inside.sum() < 2:  # noqa: PLR2004  # a pair
        return np.full(len(born), -1, np.int64)
    gap = float(np.median(np.diff(np.sort(born[inside]))))
    return runs(np.where(inside, 0, -1), born, min(0.4 * gap, HOUR))


def _collectors(ledger: Ledger, funder: Ints, sells: Flags) -> Ints:
    """Return the account that receives most of each account's transfers, unless it sells or has many senders."""
    out = np.full(ledger.accounts, -1, np.int64)
    inside = (ledger.src >= 0) & (ledger.dst >= 0) & (ledger.src != ledger.dst)
    keys, counts = np.unique(pairs(ledger.src[inside], ledger.dst[inside], ledger.accounts), return_counts=True)
    src, dst = unpaired(keys, ledger.accounts)
    senders = np.bincount(dst, minlength=ledger.accounts)
    usual = (senders[dst] >= _SHARED) & (senders[dst] <= _SENDERS) & (funder[dst] != src) & ~sells[dst]
    order = np.argsort(counts[usual], kind="stable")
    out[src[usual][order]] = dst[usual][order]
    return out
