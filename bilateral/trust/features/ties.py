"""Groups of accounts that may have one owner: by funding, by where their money ends, and by time."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from bilateral.trust.tables.arrays import Flags, Floats, Ints, dense, group_sums, runs, spans
from bilateral.trust.tables.ledger import Ledger

HUB: Final = 150
"""Accounts that one funder may have before it counts as an exchange. Nobody is kin by an exchange alone."""

_SERVICE: Final = 20
_SERVICE_TIME: Final = 60 * 86400.0
_SERVICE_SPREAD: Final = 0.4
"""From how many accounts, over which time, and with which spread of the amounts' logarithm a funder is a service, such
as a small exchange."""

DEPTH: Final = 8
"""Steps of funding that are followed back."""

FUNDER: Final = "one funder"
"""The name of the grouping by first funds alone, of whatever time and amount."""

COLLECTOR: Final = "one collector of their money"
"""The name of the grouping that rests on what the accounts themselves do."""

_SHARED: Final = 2
"""The accounts that a group needs."""

HOUR: Final = 3600.0
DAY: Final = 86400.0


_RUNS: Final = {
    "one funder within an hour": "one funder, with pauses of an hour at most,",
    "one funder within a day": "one funder, with pauses of six hours at most,",
    "the hour of their birth": "a time of birth, with pauses of an hour at most,",
}
"""The common property of groupings that are runs in time, for sentences. A run may last longer than each pause."""


@dataclass(frozen=True)
class Grouping:
    """A division of accounts into groups.

    Attributes:
        name: The accounts' common property.
        group: The group of each account; -1 for accounts without one.
        size: The number of groups.
        is_control: Marks a grouping that shows common control. The others show a coincidence of time only.
    """

    name: str
    group: Ints
    size: int
    is_control: bool

    @property
    def label(self) -> str:
        """The accounts' common property, for sentences."""
        return _RUNS.get(self.name, self.name)


@dataclass(frozen=True)
class Ties:
    """All groupings of accounts.

    Attributes:
        root: The earliest ancestor of each account by funding, below any exchange.
        is_hub: Marks the accounts that fund or receive from so many that the tie means nothing.
        born: The time at which each account is first seen.
        collector: The account that most of an account's money goes to; -1 for none and for exchanges.
        acknowledged: Marks the accounts that sent money to their funder or to its other accounts. Only they confirm the
            tie by an act of their own: anybody can be the first to send money to a fresh account.
    """

    groupings: tuple[Grouping, ...]
    root: Ints
    is_hub: np.ndarray
    born: Floats
    collector: Ints
    acknowledged: Flags


def ties_of(ledger: Ledger, hub: int = HUB) -> Ties:
    """Group accounts."""
    funder, funded_at = ledger.funder, ledger.funded_at
    is_funded = funder >= 0
    children = np.bincount(funder[is_funded], minlength=ledger.accounts)
    is_hub = (children > hub) | _services(ledger, children)
    born = _first_events(ledger)
    root = roots(funder, is_hub)
    collector = _collectors(ledger, hub)
    keys_by_name: list[tuple[str, Ints, bool]] = [
        (FUNDER, np.where(is_funded, funder, -1), True),
        ("one funder within an hour", runs(funder, funded_at, HOUR), True),
        ("one funder within a day", runs(funder, funded_at, DAY / 4), True),
        ("one funder and one amount", _amounts(ledger), True),
        ("one source of funds", root, True),
        (COLLECTOR, collector, True),
        ("the hour of their birth", _born_together(born), False),
    ]
    groupings = []
    for name, keys, is_control in keys_by_name:
        group, size = dense(keys, _SHARED)
        groupings.append(Grouping(name, group, size, is_control))
    return Ties(tuple(groupings), root, is_hub, born, collector, _acknowledged(ledger, root, is_hub))


def joining(ledger: Ledger, ties: Ties, grouping: Grouping, accounts: Ints) -> Ints:
    """Return the transfers that put accounts into a group: their first funds, or their payments to a collector."""
    if not grouping.is_control:
        return np.zeros(0, np.int64)
    if grouping.name == COLLECTOR:
        rows = np.flatnonzero(np.isin(ledger.src, accounts))
        collected: Ints = rows[ledger.dst[rows] == ties.collector[ledger.src[rows]]]
        return collected
    funding = ledger.funding[accounts]
    return np.sort(funding[funding >= 0]).astype(np.int64)


def _acknowledged(ledger: Ledger, root: Ints, is_hub: np.ndarray) -> Flags:
    """Mark the accounts that sent money to their funder, or to an account with the same source of funds."""
    inside = (ledger.src >= 0) & (ledger.dst >= 0) & (ledger.src != ledger.dst)
    src, dst = ledger.src[inside], ledger.dst[inside]
    own = ledger.funder[src]
    is_funded = (own >= 0) & ~is_hub[np.maximum(own, 0)] & (ledger.funder[dst] != src)
    out = np.zeros(ledger.accounts, bool)
    out[src[is_funded & ((dst == own) | (root[dst] == root[src]))]] = True
    return out


def _services(ledger: Ledger, children: Ints) -> Flags:
    """Mark the funders that serve many accounts over a long time with amounts of all sizes."""
    is_funded = (ledger.funder >= 0) & (ledger.funded_with > 0)
    funder, at, amount = ledger.funder[is_funded], ledger.funded_at[is_funded], np.log(ledger.funded_with[is_funded])
    count = np.maximum(np.bincount(funder, minlength=ledger.accounts), 1)
    mean = group_sums(amount, funder, ledger.accounts) / count
    variance = group_sums(amount**2, funder, ledger.accounts) / count - mean**2
    first, last = spans(at, funder, ledger.accounts)
    is_service: Flags = (last - first > _SERVICE_TIME) & (variance > _SERVICE_SPREAD**2) & (children >= _SERVICE)
    return is_service


def _first_events(ledger: Ledger) -> Floats:
    """Return the time of the first event of each account."""
    born = np.full(ledger.accounts, np.inf)
    for accounts, times in (
        (ledger.dst, ledger.sent_at),
        (ledger.opinions.rater, ledger.opinions.ts),
        (ledger.payer, ledger.paid_at),
        ledger.registrations,
    ):
        inside = accounts >= 0
        np.minimum.at(born, accounts[inside], times[inside])
    return np.where(np.isfinite(born), born, 0.0)


def roots(funder: Ints, is_hub: np.ndarray) -> Ints:
    """Follow funding back to the last account below an exchange."""
    parent = np.where((funder >= 0) & ~is_hub[np.maximum(funder, 0)], funder, np.arange(len(funder)))
    root = np.arange(len(funder))
    for _ in range(DEPTH):
        root = parent[root]
    return root


def _amounts(ledger: Ledger) -> Ints:
    """Return a key for funder and amount, to two per cent."""
    amount = np.nan_to_num(ledger.funded_with, nan=0.0)
    step = np.where(amount > 0, np.round(np.log(np.maximum(amount, 1e-12)) / 0.02), 0).astype(np.int64)
    step -= step.min() if len(step) else 0
    width = int(step.max()) + 1 if len(step) else 1
    return np.where((ledger.funder >= 0) & (amount > 0), ledger.funder * width + step, -1)


def _born_together(born: Floats) -> Ints:
    """Return runs of accounts that appear in quick succession, measured by the usual pause between two."""
    inside = born > 0
    if inside.sum() < 2:  # noqa: PLR2004  # a pair
        return np.full(len(born), -1, np.int64)
    gap = float(np.median(np.diff(np.sort(born[inside]))))
    return runs(np.where(inside, 0, -1), born, min(0.4 * gap, HOUR))


def _collectors(ledger: Ledger, hub: int) -> Ints:
    """Return the account that receives most transfers of each account, unless many accounts send to it."""
    out = np.full(ledger.accounts, -1, np.int64)
    inside = (ledger.src >= 0) & (ledger.dst >= 0) & (ledger.src != ledger.dst)
    src, dst = ledger.src[inside].astype(np.int64), ledger.dst[inside].astype(np.int64)
    keys, counts = np.unique(src * ledger.accounts + dst, return_counts=True)
    src, dst = keys // max(ledger.accounts, 1), keys % max(ledger.accounts, 1)
    senders = np.bincount(dst, minlength=ledger.accounts)
    usual = (senders[dst] >= 2) & (senders[dst] <= hub) & (ledger.funder[dst] != src)  # noqa: PLR2004  # a pair
    order = np.argsort(counts[usual], kind="stable")
    out[src[usual][order]] = dst[usual][order]
    return out
