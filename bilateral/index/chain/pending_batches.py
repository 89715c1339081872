"""Batches that wait for one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilateral.index.log.batches import Batch

if TYPE_CHECKING:
    from bilateral.index.log.batches import Block
    from bilateral.index.log.event_writes import EventWrites
    from bilateral.index.log.store import ChainStore


class Arrivals:
    """Batches that wait for one transaction. PostgreSQL begins to store the events of many while others are read.

    Args:
        store: The chain's rows.
        cursor: The cursor; the first batch begins behind it.

    Attributes:
        count: The number of logs that wait.
        size: The bytes that their data takes in memory, about.
    """

    def __init__(self, store: ChainStore, cursor: Block) -> None:
        self._store = store
        self._cursor = cursor
        self._batches: list[Batch] = []
        self._writes: EventWrites | None = None
        self.count = 0
        self.size = 0

    def __bool__(self) -> bool:
        """Return True if a batch waits."""
        return bool(self._batches)

    def add(self, batch: Batch) -> None:
        """Add the next batch.

        Raises:
            CursorMovedError: Another worker moved the cursor. No batch waits any more.
            DBAPIError: The database failed. No batch waits any more, because a transaction is not tried again.
        """
        self._batches.append(batch)
        self.count += batch.count
        self.size += batch.size
        if self._writes is not None:
            self._writes.add(batch.rows)
            return
        try:
            self._writes = self._store.begin_early(self._cursor, self.count)
        except BaseException:
            self._batches = []
            raise
        if self._writes is not None:
            for pending in self._batches:
                self._writes.add(pending.rows)

    def store(self) -> int:
        """Store the batches, and return the number of their logs.

        Raises:
            CursorMovedError, DBAPIError: Nothing was stored.
        """
        batch = Batch.joined(self._batches)
        self._batches = []
        try:
            self._store.append(self._cursor, batch, self._writes)
        finally:
            self.drop()
        return batch.count

    def drop(self) -> None:
        """Store no batch that still waits, and leave no thread."""
        self._batches = []
        if self._writes is not None:
            self._writes.close()
            self._writes = None
