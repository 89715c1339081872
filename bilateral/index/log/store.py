"""The rows of one chain. Storing a batch of blocks and removing reorganised blocks are both atomic.

Rows, derived rows and the cursor change in one transaction. The cursor moves by compare-and-set: if two workers index
the same chain, one of them succeeds, the other gets an error, and nothing is stored twice.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Engine, delete, select, update
from sqlalchemy.exc import DBAPIError

from bilateral.index.errors import CursorMovedError
from bilateral.index.log import tables as schema
from bilateral.index.log.background_writes import EventWrites, pays_in_thread
from bilateral.index.log.batches import Batch, Block
from bilateral.index.log.dialects import own_cursor, wait_for_locks
from bilateral.index.log.journal import Journal, forget, undo
from bilateral.index.log.places import create_partitions, require_place
from bilateral.index.log.projection import Append, Progress, Projection, Removal
from bilateral.index.log.rows import rows_of

JOURNAL_BLOCKS: Final = 128
"""The number of blocks below the head that can be rolled back without rebuilding derived tables."""

_ANALYZE_AT: Final = tuple(2_000 * 4**power for power in range(12))
"""The numbers of stored logs at which the engine updates its table statistics."""

_CHECKPOINT_BLOCKS: Final = 256
"""The number of blocks, deep in the chain, for which one hash is stored."""

_NOTE_SECONDS: Final = 5.0
"""Seconds between updates of the stored head, because a write for each check would wear out the disk."""


class ChainStore:
    """One chain's rows.

    Args:
        projections: The projections of the log, in the order in which they run.
    """

    def __init__(self, engine: Engine, chain_id: int, projections: Sequence[Projection]) -> None:
        self.engine = engine
        self.chain_id = chain_id
        self._projections = projections
        self._derived = tuple(table for projection in projections for table in projection.derived)
        self._reads = tuple(
            dict.fromkeys((*self._derived, *(table for projection in projections for table in projection.reads)))
        )
        self._noted_at = float("-inf")

    def cursor(self) -> Block | None:
        """Return the last indexed block; None if no block has been indexed yet."""
        table = schema.chain
        query = select(table.c.block_number, table.c.block_hash, table.c.block_time)
        with self.engine.connect() as connection:
            row = connection.execute(query.where(table.c.chain_id == self.chain_id)).one_or_none()
        return None if row is None else Block(*row)

    def finalized(self) -> int | None:
        """Return the stored number of the last block that a node reported as finalized; None if there is none."""
        query = select(schema.chain.c.finalized_number).where(schema.chain.c.chain_id == self.chain_id)
        with self.engine.connect() as connection:
            return connection.execute(query).scalar_one_or_none()

    def note_head(self, cursor: Block, head: int) -> None:
        """Store the chain's latest head and the current time, unless another worker moved the cursor.

        The head is stored at the first call, and then at most every five seconds. The stored head is only informative,
        so failed writes are ignored.
        """
        if time.monotonic() - self._noted_at < _NOTE_SECONDS:
            return
        note = update(schema.chain).where(self._is_at(cursor)).values(head_number=head, updated_at=int(time.time()))
        with suppress(DBAPIError), self.engine.begin() as connection:
            connection.execute(note)
        self._noted_at = time.monotonic()

    def begin(self, block: Block) -> None:
        """Set the cursor to the block before the first block to index, unless the chain already has a cursor."""
        table = schema.chain
        with self.engine.begin() as connection:
            values = {
                "chain_id": self.chain_id,
                "first_block": block.number + 1,
                "journal_from": block.number + 1,
                "head_number": block.number,
                "updated_at": int(time.time()),
                **_cursor_columns(block),
            }
            require_place(connection, self.chain_id)
            of_projections = (table for projection in self._projections for table in projection.tables)
            create_partitions(connection, self.chain_id, (*schema.LOG_TABLES, *of_projections))
            rows = rows_of(connection)
            if rows.insert_if_absent(table, values):
                rows.insert(schema.block, [(self.chain_id, block.number, block.hash)])

    def append(self, cursor: Block, batch: Batch, writes: EventWrites | None = None) -> None:
        """Store a batch and move the cursor to its end."""
        if writes is None or not writes.claim():
            writes = self._begin_writes(cursor, in_thread=pays_in_thread(self.engine, batch.count))
            writes.add(batch.rows)
        journal_from = max(cursor.number + 1, batch.head - JOURNAL_BLOCKS + 1)
        with writes.transaction() as connection:
            journal = Journal(self.chain_id, journal_from)
            with writes.all_written(self.chain_id, self._reads) as rows:
                checkpoints = [(self.chain_id, block.number, block.hash) for block in batch.checkpoints]
                rows.insert(schema.block, checkpoints)
                step = Append(self.chain_id, cursor, batch, journal, rows, connection)
                for projection in self._projections:
                    projection.derive(step)
                journal.write(rows)
            step = replace(step, rows=rows_of(connection))
            values: dict[Any, Any] = {
                **_cursor_columns(batch.end),
                "head_number": batch.head,
                "finalized_number": batch.finalized,
                "updated_at": int(time.time()),
                "event_rows": schema.chain.c.event_rows + batch.count,
            }
            if journal_from > cursor.number + 1:  # the journal lacks some blocks of the batch
                values["journal_from"] = min(journal_from, batch.end.number + 1)
            stored = self._move(connection, cursor, values)
            for projection in self._projections:
                projection.finish(step)
            if any(stored - batch.count < size <= stored for size in _ANALYZE_AT):
                # Only partitions: tables that several chains share do not belong to this worker.
                step.rows.analyze(self.chain_id, [table for table in self._reads if schema.is_partitioned(table)])
            self._prune(connection, batch.end.number - JOURNAL_BLOCKS)
            self._thin(connection, cursor.number - JOURNAL_BLOCKS, batch.end.number - JOURNAL_BLOCKS)
            own_cursor(connection, self.chain_id)
            for projection in self._projections:
                projection.seal(step)
            connection.commit()

    def begin_early(self, cursor: Block, count: int) -> EventWrites | None:
        """Begin a transaction that stores events before the whole batch has been read, if that is worthwhile."""
        pays = pays_in_thread(self.engine, count)
        return self._begin_writes(cursor, in_thread=True, is_early=True) if pays else None

    def _begin_writes(self, cursor: Block, **options: bool) -> EventWrites:
        connection = self.engine.connect()
        try:
            self._hold(connection, cursor)
            return EventWrites(self.engine, connection, **options)
        except BaseException:
            connection.close()
            raise

    def checkpoints(self, before: int) -> list[Block]:
        """Return the blocks whose hashes are stored, latest first."""
        table = schema.block.c
        query = select(table.block_number, table.block_hash).where(table.chain_id == self.chain_id)
        latest_first = query.where(table.block_number < before).order_by(table.block_number.desc())
        with self.engine.connect() as connection:
            return [Block(number, hash_, 0) for number, hash_ in connection.execute(latest_first)]

    def roll_back(self, cursor: Block, target: Block, *, is_reorganization: bool = True) -> None:
        """Remove all blocks after a block, and restore the derived tables to their state at that block."""
        chain = schema.chain
        with self.engine.begin() as connection:
            wait_for_locks(connection)  # an analysis that is being stored locks its tables
            rows = rows_of(connection)
            self._hold(connection, cursor)
            query = select(chain.c.journal_from, chain.c.finalized_number).where(chain.c.chain_id == self.chain_id)
            floor, finalized = connection.execute(query).one()
            is_journalled = target.number + 1 >= floor
            removal = Removal(self.chain_id, cursor, target, is_journalled, rows, connection)
            undoing = [projection.undo(removal) for projection in self._projections]
            for stages in undoing:
                next(stages)
            removed = sum(rows.delete_after(table, self.chain_id, target.number) for table in schema.LOG_TABLES)
            rows.delete_after(schema.block, self.chain_id, target.number)
            if is_journalled:
                undo(rows, self.chain_id, target.number, self._derived)
            else:
                forget(connection, self.chain_id)
                floor = target.number + 1
            for stages in undoing:
                next(stages)
            now = int(time.time())
            values: dict[Any, Any] = {
                **_cursor_columns(target),
                "finalized_number": None if finalized is None else min(finalized, target.number),
                "updated_at": now,
                "event_rows": chain.c.event_rows - removed,
                "journal_from": floor,
            }
            if is_reorganization:
                values["reorganizations"] = chain.c.reorganizations + 1
                values["last_reorganization_at"] = now
                values["last_reorganization_depth"] = cursor.number - target.number
            own_cursor(connection, self.chain_id)
            self._move(connection, cursor, values)
            for stages in reversed(undoing):
                next(stages, None)

    def rebuild(self, progress: Progress = lambda _: None) -> None:
        """Recompute the derived tables from the event tables."""
        cursor = self.cursor()
        if cursor is None:
            return
        with self.engine.begin() as connection:
            require_place(connection, self.chain_id)
            self._move(connection, cursor, {"journal_from": cursor.number + 1})
            forget(connection, self.chain_id)
            for projection in self._projections:
                projection.rebuild(connection, self.chain_id, progress)

    def _hold(self, connection: Connection, cursor: Block) -> None:
        """Keep other workers from moving the cursor until the transaction ends: they wait, and then give up."""
        self._move(connection, cursor, {"updated_at": schema.chain.c.updated_at})

    def _move(self, connection: Connection, cursor: Block, values: dict[Any, Any]) -> int:
        """Move the cursor, if it is still where the caller expects it, and return the number of stored logs."""
        move = update(schema.chain).where(self._is_at(cursor)).values(values).returning(schema.chain.c.event_rows)
        moved = connection.execute(move).scalar_one_or_none()
        if moved is None:
            raise CursorMovedError(self.chain_id, cursor.number)
        return int(moved)

    def _is_at(self, cursor: Block) -> ColumnElement[bool]:
        chain = schema.chain.c
        is_same = (chain.block_number == cursor.number) & (chain.block_hash == cursor.hash)
        return (chain.chain_id == self.chain_id) & is_same

    def _prune(self, connection: Connection, before: int) -> None:
        journal, chain = schema.journal, schema.chain
        connection.execute(delete(journal).where(journal.c.chain_id == self.chain_id, journal.c.block_number < before))
        is_outdated = (chain.c.chain_id == self.chain_id) & (chain.c.journal_from < before)
        connection.execute(update(chain).where(is_outdated).values(journal_from=before))

    def _thin(self, connection: Connection, first: int, before: int) -> None:
        """Delete most checkpoints that are now deep in the chain, leaving one per `_CHECKPOINT_BLOCKS` blocks."""
        table, start = schema.block, max(first - first % _CHECKPOINT_BLOCKS, 0)
        is_deep = table.c.block_number.between(start, before - 1) & (table.c.chain_id == self.chain_id)
        numbers = sorted(connection.execute(select(table.c.block_number).where(is_deep)).scalars())
        last_of_span = {number // _CHECKPOINT_BLOCKS: number for number in numbers}  # the last one in each segment
        retained = set(last_of_span.values())
        thinned = [(self.chain_id, number) for number in numbers if number not in retained]
        rows_of(connection).delete(table, thinned)


def _cursor_columns(block: Block) -> dict[Any, Any]:
    return {"block_number": block.number, "block_hash": block.hash, "block_time": block.time}
