"""Exchanges: accounts that fund many independent accounts. Sharing an exchange does not tie two accounts.

Anyone can send dust to many accounts, or make a few of their own accounts buy from each other. An exchange is therefore
recognised by what its customers spend and do not get back: money that stayed with sellers whom early buyers with other
sources of funds also paid.
"""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from bilateral.trust.tables.arrays import (
    Flags,
    Floats,
    Ints,
    contained,
    distinct_keys,
    first_of,
    group_counts,
    group_sums,
    lexical_order,
    pairs,
    spans,
    unpaired,
)
from bilateral.trust.tables.ledger import Ledger
from bilateral.trust.tables.opinions import Kind

_CUSTOMERS: Final = 15
"""The minimum number of active accounts that an exchange funds."""

_LOST: Final = 100.0
_PART: Final = 0.02
"""The minimum that an exchange's customers must spend with independent sellers: in units of the payment token or, in a
market with few purchases, as a share of all purchases. An attacker must pay this much to make a common source of funds
look like an exchange, which does not tie accounts."""

_ENOUGH: Final = 500.0
"""The minimum number of usual purchases in a market before exchanges are identified by purchases: with fewer, too few
sellers have early buyers. A market of 1,800 accounts reaches this number after a week."""

_OF_SELLER: Final = 0.1
"""The maximum share of the required spending that one seller can contribute, so that attackers need several."""

_EARLY: Final = 0.2
_FIRST: Final = 100
_SEVERAL: Final = 2
"""The share and the minimum number of payers that count as early, by their first payments; the number of sellers that
an early payer must pay; and the number of early payers that a seller needs. Attackers are rarely the first to pay."""

_RECORDED: Final = 0.05
"""The number of payments per opinion below which payments count as not recorded."""

_UNUSED: Final = 150
"""While hardly any account has bought or rated anything, a funder of more accounts than this counts as an exchange."""

_WEEKS: Final = 14 * 86400.0
"""Without recorded payments, the minimum time between the first ratings by an exchange's first and last customer."""


@dataclass(frozen=True)
class Purchases:
    """The money that each owner received from each payer and did not send back.

    Attributes:
        lost: The money that stayed with the owner, capped at the usual price.
        usual: The usual price: the median of the early payers' mean payments; 0 if there are none.
        is_early: Marks the early payers.
        by_early: The number of early payers of each owner.
    """

    payer: Ints
    owner: Ints
    lost: Floats
    usual: float
    is_early: Flags
    by_early: Ints

    @classmethod
    def of(cls, ledger: Ledger) -> Self:
        """Add up payments."""
        size = ledger.accounts
        payer, owner, left, first, mean = _stayed(ledger)
        began, _ = spans(first, payer, size)
        busy = np.flatnonzero(group_counts(payer, size) >= _SEVERAL)
        early = busy[np.argsort(began[busy], kind="stable")[: max(int(_EARLY * len(busy)), _FIRST)]]
        is_early = np.zeros(size, bool)
        is_early[early] = True
        by_early = is_early[payer]
        usual = float(np.median(mean[by_early])) if len(early) else 0.0
        return cls(payer, owner, np.minimum(left, usual), usual, is_early, group_counts(owner[by_early], size))

    @property
    def is_enough(self) -> bool:
        """True if there were enough purchases to determine which accounts buy independently."""
        return float(self.lost[self.by_early[self.owner] >= _SEVERAL].sum()) >= max(_ENOUGH * self.usual, 1e-9)

    def independence(self, root: Ints) -> Floats:
        """Return what each account spent with sellers that have other sources of funds: at most 1 usual price."""
        if not self.is_enough:
            return np.zeros(len(root))
        others = (self.by_early[self.owner] >= _SEVERAL) & (root[self.owner] != root[self.payer])
        lost = group_sums(self.lost[others], self.payer[others], len(root))
        return np.asarray(np.minimum(lost / self.usual, 1.0))


def exchanges(ledger: Ledger, purchases: Purchases, funder: Ints) -> Flags:
    """Mark the exchanges among the funders of all accounts."""
    if (ledger.payer >= 0).sum() < _RECORDED * len(ledger.opinions):
        return _by_opinions(ledger, funder)
    if purchases.is_enough:
        return _by_purchases(purchases, funder)
    return np.bincount(funder[funder >= 0], minlength=ledger.accounts) > _UNUSED


def _by_purchases(purchases: Purchases, funder: Ints) -> Flags:
    """Mark the exchanges by what their customers spend for good."""
    size, payer, owner = len(funder), purchases.payer, purchases.owner
    by_early, is_early = purchases.by_early, purchases.is_early
    needed = min(_LOST, _PART * float(purchases.lost[by_early[owner] >= _SEVERAL].sum()))
    source = funder[payer]
    rows = np.flatnonzero((source >= 0) & (funder[owner] != source) & (purchases.lost > 0))
    rows = rows[lexical_order(pairs(source[rows], owner[rows], size))]
    payer, owner, source, lost = payer[rows], owner[rows], source[rows], purchases.lost[rows]
    starts = np.flatnonzero(first_of(pairs(source, owner, size)))
    own = np.add.reduceat(is_early[payer], starts, dtype=np.int64)
    vouched = by_early[owner[starts]] - own >= _SEVERAL
    of_seller = np.minimum(np.add.reduceat(lost, starts), _OF_SELLER * needed) * vouched
    of_funder = group_sums(of_seller, source[starts], size)
    some = np.repeat(vouched, np.diff(starts, append=len(rows)))
    customers = group_counts(unpaired(distinct_keys(pairs(source[some], payer[some], size)), size)[0], size)
    # If one exchange funds most people, there are no other buyers to vouch for sellers.
    of_early = funder[is_early]
    most = np.bincount(of_early[of_early >= 0], minlength=size) * 2 > max(len(of_early), _CUSTOMERS)
    return np.asarray(((customers >= _CUSTOMERS) & (of_funder >= needed)) | most)


def _stayed(ledger: Ledger) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    """Return each pair's payer and seller, the money not sent back, the first payment's time, and the mean payment."""
    size = ledger.accounts
    rows = np.flatnonzero((ledger.payer >= 0) & (ledger.paid_agent >= 0) & (ledger.amount > 0))
    payer, owner = ledger.payer[rows].astype(np.int64), ledger.owner[ledger.paid_agent[rows]].astype(np.int64)
    rows, payer, owner = (values[payer != owner] for values in (rows, payer, owner))
    keys = pairs(payer, owner, size)
    order = lexical_order(keys)
    keys, rows = keys[order], rows[order]
    starts = np.flatnonzero(first_of(keys))
    if not len(starts):
        return payer, owner, *[np.zeros(0)] * 3
    keys, count = keys[starts], np.diff(starts, append=len(keys))
    paid, first = np.add.reduceat(ledger.amount[rows], starts), np.minimum.reduceat(ledger.paid_at[rows], starts)
    clients, sellers = unpaired(keys, size)
    sold = np.zeros(size + 1, bool)  # the last entry stands for unknown accounts
    sold[sellers] = True
    moved = np.flatnonzero(ledger.comparable & sold[ledger.src])
    back = pairs(ledger.dst[moved], ledger.src[moved], size)
    answers = contained(back, keys)
    returned = group_sums(ledger.sent[moved][answers], np.searchsorted(keys, back[answers]), len(keys))
    return clients, sellers, np.maximum(paid - returned, 0.0), first, paid / count


def _by_opinions(ledger: Ledger, funder: Ints) -> Flags:
    """Without recorded payments, mark as exchanges the funders of many accounts that rate several others."""
    opinions, size = ledger.opinions, ledger.accounts
    feedback = opinions.kind == Kind.FEEDBACK
    rater, ts = opinions.rater[feedback].astype(np.int64), opinions.ts[feedback]
    owner = ledger.subject_account[opinions.subject[feedback]].astype(np.int64)
    source = funder[rater]
    rows = np.flatnonzero((source >= 0) & (source != funder[owner]) & (rater != owner))
    judged = distinct_keys(pairs(rater[rows], owner[rows], size))
    several = group_counts(unpaired(judged, size)[0], size) >= _SEVERAL
    rows = rows[several[rater[rows]]]
    if not len(rows):
        return np.bincount(funder[funder >= 0], minlength=size) > _UNUSED
    began, _ = spans(ts[rows], rater[rows], size)
    customers = np.flatnonzero(np.isfinite(began))
    first, last = spans(began[customers], funder[customers], size)
    weeks = min(_WEEKS, float(np.ptp(opinions.ts)) / 2)
    many = np.bincount(funder[customers], minlength=size) >= _CUSTOMERS
    subjects = distinct_keys(pairs(source[rows], owner[rows], size))
    various = group_counts(unpaired(subjects, size)[0], size) >= _CUSTOMERS
    return many & various & (last - first >= weeks)
