"""Ranges of one chain that helpers read ahead of its worker, which stores them in their order."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import and_, delete, func, insert, select, update

from bilateral.index.log import tables as schema
from bilateral.index.log.database import snapshot
from bilateral.index.log.dialects import dialect_of
from bilateral.index.log.rows import rows_of
from bilateral.index.store.packed_batches import FORMAT, packed_batch, unpacked_batch
from bilateral.index.tables.backfill import backfill_range

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import ColumnElement, Connection, Engine, Row

    from bilateral.core.contracts import Registry
    from bilateral.index.log.batches import Batch, Block

_ADVISORY_LOCK: Final = 80048006
"""A number that all helpers share, so that two of them do not claim the same blocks."""

LEASE_SECONDS: Final = 60
"""Seconds after its last sign of life for which a helper keeps a range. A call of a node takes half of them at most."""

_MOST_RANGES: Final = 32
"""Ranges that wait for the worker: some 300,000 events, which take 0.1 GB."""

FEW_BLOCKS: Final = 256
"""Blocks that are left to the worker, so that a helper does not run behind a head that moves on."""


class RangeLostError(Exception):
    """A helper does not hold a range any more: its lease ended, or the worker read these blocks."""


@dataclass(frozen=True)
class Claim:
    """Blocks that a helper is to read.

    Attributes:
        first: The first of them.
        last: The last one.
    """

    first: int
    last: int


@dataclass(frozen=True)
class Next:
    """The blocks behind the cursor.

    Attributes:
        batch: The batch that a helper read; None if no helper read these blocks.
        last: The last block that the worker should read itself, before those of a helper; None without a limit. The
            cursor's block if a helper still reads the next ones.
    """

    batch: Batch | None = None
    last: int | None = None


class BackfillRanges:
    """The ranges of one chain.

    Args:
        registries: The registry at each address. Ranges that were read for others are not used.
    """

    def __init__(self, engine: Engine, chain_id: int, registries: Mapping[str, Registry]) -> None:
        self._engine = engine
        self._chain_id = chain_id
        self._edition = _edition_of(registries)
        self._of_chain = backfill_range.c.chain_id == chain_id

    def exist(self) -> bool:
        """Return True if helpers read, or have read, blocks of the chain."""
        query = select(backfill_range.c.first_block).where(self._of_chain).limit(1)
        with snapshot(self._engine) as connection:
            return connection.execute(query).first() is not None

    def claim(self, holder: str, last: int, blocks: int) -> Claim | None:
        """Claim the blocks after those that others have claimed.

        Before the first range so many blocks are left out as one has: the worker is reading them.

        Args:
            holder: The helper.
            last: The last block that may be claimed.
            blocks: The number of blocks.

        Returns:
            The blocks; None if many ranges wait, or all blocks are claimed or indexed.
        """
        columns = backfill_range.c
        with self._engine.begin() as connection:
            dialect_of(connection).lock(connection, _ADVISORY_LOCK)
            cursor = connection.execute(
                select(schema.chain.c.block_number).where(schema.chain.c.chain_id == self._chain_id)
            ).scalar_one()
            connection.execute(delete(backfill_range).where(self._of_chain, columns.last_block <= cursor))
            count, top = connection.execute(
                select(func.count(), func.max(columns.last_block)).where(self._of_chain)
            ).one()
            first = 1 + (cursor + blocks if top is None else top)
            if count >= _MOST_RANGES or first > last:
                return None
            claim = Claim(first, min(first + blocks - 1, last))
            self._insert(connection, holder, claim)
        return claim

    def is_claimed(self, last: int) -> bool:
        """Return True if all blocks up to one are indexed, or claimed by helpers, but for a few."""
        with snapshot(self._engine) as connection:
            top = connection.execute(select(func.max(backfill_range.c.last_block)).where(self._of_chain)).scalar_one()
            cursor = connection.execute(
                select(schema.chain.c.block_number).where(schema.chain.c.chain_id == self._chain_id)
            ).scalar_one()
        return bool(last - max(cursor, -1 if top is None else top) <= FEW_BLOCKS)

    def renew(self, holder: str, claim: Claim) -> None:
        """Keep a range that is still being read.

        Raises:
            RangeLostError: The helper does not hold it any more.
        """
        with self._engine.begin() as connection:
            lease = dialect_of(connection).now() + LEASE_SECONDS
            self._change(connection, self._held(holder, claim), {"lease_until": lease})

    def fill(self, holder: str, claim: Claim, before: Block, batch: Batch) -> Claim | None:
        """Store what a helper read.

        Args:
            holder: The helper.
            claim: The range.
            before: The block before it.
            batch: The blocks that were read, from the beginning of the range.

        Returns:
            The blocks of the range that are still to be read; None without any.

        Raises:
            RangeLostError: The helper does not hold the range any more.
        """
        end, content = batch.end.number, packed_batch(batch)
        rest = Claim(end + 1, claim.last) if end < claim.last else None
        values = {"last_block": end, "before_hash": before.hash, "event_count": batch.count, "content": content}
        with self._engine.begin() as connection:
            self._change(connection, self._held(holder, claim), values)
            if rest is not None:
                self._insert(connection, holder, rest)
        return rest

    def release(self, holder: str, claim: Claim) -> None:
        """Give up a range. The worker reads its blocks."""
        with self._engine.begin() as connection:
            connection.execute(delete(backfill_range).where(self._held(holder, claim)))

    def next(self, cursor: Block, head: int, finalized: int | None) -> Next:
        """Return what follows the cursor. Ranges that cannot be used are deleted.

        Args:
            head: The number of the chain's last block.
            finalized: The number of its last finalized block; None if the node does not say.
        """
        while True:
            row, content = self._first_after(cursor)
            if row is None:
                return Next()
            if row.first_block > cursor.number + 1:
                return Next(last=row.first_block - 1)
            if row.first_block == cursor.number + 1 and row.edition == self._edition:
                if content is not None and row.before_hash == cursor.hash:
                    return Next(unpacked_batch(content, head, finalized))
                if content is None and row.is_held:
                    return Next(last=cursor.number)
            self.drop(row.first_block)

    def forget(self, cursor: int) -> None:
        """Delete the ranges that are stored now."""
        self._delete(backfill_range.c.last_block <= cursor)

    def drop(self, first: int) -> None:
        """Delete the range that begins with a block."""
        self._delete(backfill_range.c.first_block == first)

    def _first_after(self, cursor: Block) -> tuple[Row[Any] | None, bytes | None]:
        """Return the first range that has a block after the cursor; its content if it follows the cursor."""
        columns = backfill_range.c
        is_held = columns.lease_until >= dialect_of(self._engine).now()
        names = (columns.first_block, columns.edition, columns.before_hash, is_held.label("is_held"))
        query = select(*names).where(self._of_chain, columns.last_block > cursor.number).order_by(columns.first_block)
        with snapshot(self._engine) as connection:
            row = connection.execute(query.limit(1)).one_or_none()
            if row is None or row.first_block != cursor.number + 1:
                return row, None
            return row, rows_of(connection).bytes_of(backfill_range, "content", (self._chain_id, row.first_block))

    def _delete(self, condition: ColumnElement[bool]) -> None:
        with self._engine.begin() as connection:
            connection.execute(delete(backfill_range).where(self._of_chain, condition))

    def _insert(self, connection: Connection, holder: str, claim: Claim) -> None:
        """Write a claim down."""
        lease = dialect_of(connection).now() + LEASE_SECONDS
        names = {"chain_id": self._chain_id, "first_block": claim.first, "last_block": claim.last}
        values = {"holder": holder, "edition": self._edition, "lease_until": lease}
        connection.execute(insert(backfill_range).values(names | values))

    def _held(self, holder: str, claim: Claim) -> ColumnElement[bool]:
        """Return the condition that a helper holds a range."""
        columns = backfill_range.c
        is_claim = and_(columns.first_block == claim.first, columns.holder == holder)
        return and_(self._of_chain, is_claim, columns.content.is_(None))

    def _change(self, connection: Connection, condition: ColumnElement[bool], values: Mapping[str, Any]) -> None:
        """Change a range."""
        if not connection.execute(update(backfill_range).where(condition).values(values)).rowcount:
            raise RangeLostError


def _edition_of(registries: Mapping[str, Registry]) -> str:
    """Return what the bytes of a range depend on: the registries, and the versions of tables and bytes."""
    named = "\n".join(sorted(f"{address} {registry.value}" for address, registry in registries.items()))
    return hashlib.sha256(f"{schema.REVISION} {FORMAT}\n{named}".encode()).hexdigest()
