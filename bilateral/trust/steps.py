"""The relational steps of an analysis: joins, degrees, shared subjects, and power iterations.

Arrays do them in memory. `bilateral.trust.relational` does the same in a database, for tables that outgrow one machine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from bilateral.trust.arrays import Flags, Floats, Ints, lexical_order, pairs, stretches
from bilateral.trust.opinions import Kind
from bilateral.trust.propagation import EigenTrust

if TYPE_CHECKING:
    import pyarrow as pa

    from bilateral.trust.ledger import Ledger

KINDS: Final = len(Kind)


@dataclass(frozen=True)
class Moves:
    """Transfers as parallel arrays, sorted by time.

    Attributes:
        src, dst: The accounts; -1 if unknown.
        sent: The amounts.
        sent_at: The times.
        funds: Marks those that may be the first of their receiver; all if None.
    """

    src: Ints
    dst: Ints
    sent: Floats
    sent_at: Floats
    funds: Flags | None


@dataclass(frozen=True)
class First:
    """The first inbound transfer of each account.

    Attributes:
        funder: Its sender; -1 without one.
        at: Its time; nan without one.
        amount: Its amount; nan without one.
    """

    funder: Ints
    at: Floats
    amount: Floats


@dataclass(frozen=True)
class Edges:
    """The distinct pairs of rater and subject, sorted by subject.

    Attributes:
        kind: The kind of each subject.
    """

    subject: Ints
    rater: Ints
    kind: Ints


@dataclass(frozen=True)
class Degrees:
    """The numbers of distinct counterparts.

    Attributes:
        judged: The number of distinct raters of each subject.
        activity: The number of distinct subjects of each account, without those of constant tags.
    """

    judged: Ints
    activity: Ints


@dataclass(frozen=True)
class Cells:
    """The pairs of group and subject with at least two raters of the group.

    Attributes:
        subject, group: The pairs, ascending by subject and group.
        count: The number of raters of each.
        tests: The number of all pairs of group and subject, also with one rater.
        written: The number of distinct pairs of rater and subject by group and kind, as one array.
    """

    subject: Ints
    group: Ints
    count: Ints
    tests: int
    written: Ints


class Steps(ABC):
    """The relational steps. Each answer is the same, however it is computed.

    Attributes:
        holds_tables: True if the steps read tables that are held elsewhere, so that rows cannot be added to them here.
    """

    holds_tables: ClassVar[bool] = False

    @property
    def label(self) -> str:
        """The name of the way, whose answers differ from those of other ways in the last digits."""
        return type(self).__name__

    @abstractmethod
    def first_transfers(self, addresses: pa.Array, moves: Moves) -> First:
        """Return the first inbound transfer of each account; of several at one time, the first by sender and amount.

        Args:
            addresses: The address of each account.
            moves: The transfers.
        """

    @abstractmethod
    def degrees(self, ledger: Ledger, edges: Edges) -> Degrees:
        """Return the numbers of distinct counterparts.

        Args:
            ledger: The coded tables.
            edges: The distinct pairs.
        """

    @abstractmethod
    def cells(self, ledger: Ledger, edges: Edges, group: Ints, size: int) -> Cells:
        """Count the raters of each group and subject.

        Args:
            ledger: The coded tables.
            edges: The distinct pairs.
            group: The group of each account; -1 for none.
            size: The number of groups.
        """

    @abstractmethod
    def trust(self, source: Ints, target: Ints, weight: Floats, trusted: Ints, size: int) -> EigenTrust:
        """Spread trust along edges, as `EigenTrust` does.

        Args:
            source: The account that each edge comes from.
            target: The account that it leads to.
            weight: The weight of each edge.
            trusted: The reader's list.
            size: The number of accounts.
        """


class Arrays(Steps):
    """The steps on arrays in memory."""

    def first_transfers(self, addresses: pa.Array, moves: Moves) -> First:
        """See `Steps`. Addresses are sorted, so that accounts are, too."""
        size = len(addresses)
        funder, funded_at, amount = np.full(size, -1, np.int64), np.full(size, np.nan), np.full(size, np.nan)
        inbound = (moves.dst >= 0) & (moves.src >= 0) & (moves.src != moves.dst)
        if moves.funds is not None:
            inbound &= moves.funds
        rows = np.flatnonzero(inbound)
        rows = rows[lexical_order(moves.sent[rows], moves.src[rows], moves.sent_at[rows])][::-1]
        funder[moves.dst[rows]] = moves.src[rows]  # in reverse order of time, so that the first is written last
        funded_at[moves.dst[rows]], amount[moves.dst[rows]] = moves.sent_at[rows], moves.sent[rows]
        return First(funder, funded_at, amount)

    def degrees(self, ledger: Ledger, edges: Edges) -> Degrees:
        """See `Steps`."""
        ordinary = edges.rater[edges.kind != Kind.CONSTANT_TAG]
        return Degrees(
            np.bincount(edges.subject, minlength=ledger.subjects), np.bincount(ordinary, minlength=ledger.accounts)
        )

    def cells(self, ledger: Ledger, edges: Edges, group: Ints, size: int) -> Cells:  # noqa: ARG002
        """See `Steps`. Subjects are taken in stretches, which bounds the memory."""
        parts: list[Ints] = [np.zeros(0, np.int64)]
        counts: list[Ints] = [np.zeros(0, np.int64)]
        tests = 0
        written = np.zeros(size * KINDS, np.int64)
        for stretch in stretches(edges.subject):
            own = group[edges.rater[stretch]].astype(np.int64)
            inside = np.flatnonzero(own >= 0)
            own, subject = own[inside], edges.subject[stretch][inside]
            keys, count = np.unique(pairs(subject, own, size), return_counts=True)
            np.add.at(written, own * KINDS + edges.kind[stretch][inside], 1)
            tests += len(keys)
            parts.append(keys[count > 1])
            counts.append(count[count > 1])
        subject, own = np.divmod(np.concatenate(parts), max(size, 1))
        return Cells(subject, own, np.concatenate(counts), tests, written)

    def trust(self, source: Ints, target: Ints, weight: Floats, trusted: Ints, size: int) -> EigenTrust:
        """See `Steps`."""
        return EigenTrust().fit(source, target, weight, trusted, size)


ARRAYS: Final = Arrays()
"""The steps in memory, which are used unless another way is named."""
