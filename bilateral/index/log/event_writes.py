"""Writes of the events of one transaction, which PostgreSQL may store while the next ranges are still read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy import Connection, Engine, Table

from bilateral.core.events import NewFeedback, ResponseAppended
from bilateral.index.log import tables as schema
from bilateral.index.log.background_writes import Writer, background_rows
from bilateral.index.log.batches import EventRows
from bilateral.index.log.rows import Row, Rows, picker, rows_of

_ROWS_AT_ONCE: Final = 4_000
"""Rows of a table that a thread begins to write. Fewer wait for others: each call of the server has its price."""

_IDLE_SECONDS: Final = 5.0
"""Seconds without a further write after which a transaction is undone, so that a slow endpoint keeps no lock."""

_IDLE_LIMIT: Final = "SELECT extract(epoch FROM current_setting('idle_in_transaction_session_timeout')::interval)"
"""The seconds without a statement after which the server ends a transaction, and its connection; 0 for no limit."""

_BY_AGENT: Final = {
    table: picker(table, "registry", "agent_id", "client_address")
    for table in (schema.EVENT_TABLES[kind] for kind in (NewFeedback, ResponseAppended))
}
"""The order in which rows are stored in tables with several indexes by agent: rows of an agent change few pages."""


class EventWrites:
    """Writes the events of one transaction, and then lets rows be derived from them.

    Args:
        connection: A connection, in a transaction that holds the chain's cursor.
        in_thread: True to write in a thread.
        is_early: True if the transaction must be claimed, see `claim`.
    """

    def __init__(self, engine: Engine, connection: Connection, *, in_thread: bool, is_early: bool = False) -> None:
        self._engine = engine
        self._connection = connection
        self._rows = rows_of(connection)
        self._waiting: dict[Table, list[Row]] = defaultdict(list)
        self._writer = Writer(self._rows, _idle_seconds(connection) if is_early else None) if in_thread else None

    def add(self, events: EventRows) -> None:
        """Add the events of further blocks."""
        for table, new in events.items():
            waiting = self._waiting[table]
            waiting += new
            if self._writer is not None and len(waiting) >= _ROWS_AT_ONCE:
                self._writer.insert(table, _ordered(table, self._waiting.pop(table)))

    def claim(self) -> bool:
        """Keep an early transaction from now on, however long the next write takes."""
        is_claimed = self._writer is None or self._writer.claim()
        if not is_claimed:
            self.close()  # the server may give no second connection
        return is_claimed

    def close(self) -> None:
        """Undo what is not committed, and close the connection. No thread is left."""
        with self.transaction():
            pass

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Give the connection, and close it at the end: what is not committed is undone. No thread is left."""
        with self._connection as connection:
            try:
                yield connection
            finally:
                if self._writer is not None:
                    self._writer.end(is_cancelled=True)

    @contextmanager
    def all_written(self, chain_id: int, tables: Iterable[Table]) -> Iterator[Rows]:
        """Write the events, and give an access to rows that may still write behind the caller's back.

        The caller must not use the connection within the context. All is written when it ends.
        """
        writes = self._writer or self._rows
        for table, waiting in self._waiting.items():
            writes.insert(table, _ordered(table, waiting))
        self._waiting.clear()
        if self._writer is None:
            yield self._rows
            return
        with background_rows(self._engine, self._writer, chain_id, tables) as rows:
            yield rows


def _ordered(table: Table, rows: list[Row]) -> list[Row]:
    """Return rows in the order in which they are stored."""
    return sorted(rows, key=_BY_AGENT[table]) if table in _BY_AGENT else rows


def _idle_seconds(connection: Connection) -> float:
    """Return the seconds to wait for a further write. The server must not end the connection before."""
    limit = float(connection.exec_driver_sql(_IDLE_LIMIT).scalar_one())
    return min(_IDLE_SECONDS, limit / 2) if limit else _IDLE_SECONDS
