"""Write to PostgreSQL in a thread with its own connection, while the main thread reads and computes further rows.

The server can therefore store rows while Python computes. A batch only changes rows of one chain, whose cursor is
locked by the writing transaction. No other worker changes these rows before the transaction ends, so the reading
connection sees the rows as they were before the first write.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final, NoReturn

from sqlalchemy import Connection, Engine, QueuePool, Table
from sqlalchemy.exc import DBAPIError, TimeoutError  # noqa: A004  # that of the pool

from bilateral.core.events import NewFeedback, ResponseAppended
from bilateral.index.log import tables as schema
from bilateral.index.log.batches import EventRows
from bilateral.index.log.dialects import dialect_of
from bilateral.index.log.rows import PostgresRows, Row, Rows, picker, place_in_postgres, rows_of

_MANY: Final = 2_000
"""The number of logs per transaction at which a writing thread starts to be worthwhile."""

_ROWS_AT_ONCE: Final = 4_000
"""The number of a table's rows at which the thread starts to write them. Fewer rows are accumulated, because each call
to the server has a cost."""

_IDLE_SECONDS: Final = 5.0
"""Seconds without a write after which a transaction is rolled back, so that a slow endpoint does not hold locks."""

_IDLE_LIMIT: Final = "SELECT extract(epoch FROM current_setting('idle_in_transaction_session_timeout')::interval)"
"""The number of idle seconds after which the server ends a transaction and its connection; 0 for no limit."""

_BY_AGENT: Final = {
    table: picker(table, "registry", "agent_id", "client_address")
    for table in (schema.EVENT_TABLES[kind] for kind in (NewFeedback, ResponseAppended))
}
"""The order in which rows are written to tables with several indexes by agent, so that few pages change."""


def pays_in_thread(engine: Engine, count: int) -> bool:
    """Return True if a thread should write the rows, because there are many and PostgreSQL has connections to spare."""
    return dialect_of(engine).has_server and count >= _MANY and _has_spare(engine)


@contextmanager
def background_rows(engine: Engine, writer: Writer, chain_id: int, tables: Iterable[Table]) -> Iterator[Rows]:
    """Provide access to rows. Writes happen in the background if a second connection can read in the meantime.

    When the context ends, everything is written and the writer has stopped. Reads may or may not see the writes, so
    callers must only read rows that are the same in both cases.
    """
    reading = _locked(engine, [place_in_postgres(table, chain_id) for table in tables]) if _has_spare(engine) else None
    if reading is None:
        writer.end()
        yield writer.rows
        return
    with reading:
        try:
            yield _BackgroundRows(reading, writer)
            reading.commit()  # before the end, because a migration waiting for these locks may block the writes
        except BaseException:
            writer.end(is_cancelled=True)
            raise
        writer.end()


def _locked(engine: Engine, names: Iterable[str]) -> Connection | None:
    """Return a second connection with locks on the tables; None if it or a lock is not available immediately."""
    # Without all locks at once, the two connections and a third program could wait for each other.
    locks = ", ".join(f'"{name}"' for name in names)
    try:
        with ExitStack() as stack:
            reading = stack.enter_context(engine.connect())
            reading.exec_driver_sql(f"LOCK TABLE {locks} IN ACCESS SHARE MODE NOWAIT")
            stack.pop_all()
            return reading
    except (DBAPIError, TimeoutError):  # the server or the pool has no connection left
        return None


def _has_spare(engine: Engine) -> bool:
    """Return True if few threads use the database, so that a second connection does not make any of them wait."""
    pool = engine.pool
    return isinstance(pool, QueuePool) and pool.checkedout() < pool.size()


def _refuse(*_arguments: Any, **_options: Any) -> NoReturn:
    """Reject operations that batches do not need, because `Rows` would run them on the wrong connection."""
    raise NotImplementedError("background writes do not support this operation: use a connection's own `Rows`")


class Writer:
    """Writes rows on one connection, in a thread that has exclusive use of it until `end`.

    Args:
        rows: Provides access to the connection's rows, in a transaction.
        idle_seconds: The number of seconds without a write after which the thread rolls back the transaction, unless
            the transaction was claimed; None to wait forever.

    Attributes:
        rows: Provides access to rows.
    """

    def __init__(self, rows: Rows, idle_seconds: float | None = None) -> None:
        self.rows = rows
        self._idle_seconds = idle_seconds
        self._claiming = threading.Lock()
        self._is_undone = False
        self._is_cancelled = False
        self._failure: BaseException | None = None
        self._ended = threading.Event()
        self._waiting: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write_all, name="index-behind", daemon=True)
        self._thread.start()

    def put(self, write: Callable[[Table, Sequence[Row]], None], table: Table, rows: Sequence[Row]) -> None:
        """Make the thread perform a write, given as a method of `rows` and the method's arguments."""
        self._waiting.put(partial(write, table, rows))

    def claim(self) -> bool:
        """Make the thread wait for writes without a time limit. Return False if it has already rolled back."""
        with self._claiming:
            self._idle_seconds = None
            return not self._is_undone

    def end(self, *, is_cancelled: bool = False) -> None:
        """Wait, even if interrupted, until the thread has ended. Its connection must not be used before then."""
        interruption = None
        while True:
            try:
                self._is_cancelled = is_cancelled or interruption is not None
                self._waiting.put(None)
                self._ended.wait()  # after an interrupted `join`, Python 3.11 believes that a running thread is dead
                break
            except BaseException as problem:  # noqa: BLE001  # it is raised below
                interruption = problem
        self._thread.join()
        if interruption is not None:
            raise interruption
        if self._failure is not None and not is_cancelled:
            raise self._failure

    def _write_all(self) -> None:
        try:
            while (write := self._next()) is not None:
                if self._failure is None and not self._is_cancelled:
                    try:
                        write()
                    except BaseException as problem:  # noqa: BLE001  # `end` raises it
                        self._failure = problem
        finally:
            self._ended.set()

    def _next(self) -> Callable[[], None] | None:
        """Wait for the next write. Return None at the end, or after the transaction was rolled back."""
        while True:
            try:
                return self._waiting.get(timeout=self._idle_seconds)
            except Empty:
                with self._claiming:
                    if self._idle_seconds is None:
                        continue
                    self._is_undone = True
                with suppress(DBAPIError):  # the server rolls back the transaction of a lost connection
                    self.rows.connection.rollback()
                return None


class _BackgroundRows(PostgresRows):
    """Reads on one connection and writes on another in a thread. It supports only what deriving rows requires.

    Args:
        reading: The connection that reads.
        writer: The writer with the other connection.
    """

    def __init__(self, reading: Connection, writer: Writer) -> None:
        super().__init__(reading)
        self._writer = writer

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        self._writer.put(self._writer.rows.insert, table, rows)

    def replace(self, table: Table, rows: Sequence[Row]) -> None:
        self._writer.put(self._writer.rows.replace, table, rows)

    def delete(self, table: Table, keys: Sequence[Row]) -> None:
        self._writer.put(self._writer.rows.delete, table, keys)

    values_after = of_blocks = delete_after = insert_if_absent = analyze = _refuse


class EventWrites:
    """Writes the events of one transaction, and then provides access to the rows that are derived from these events.

    Args:
        connection: A connection, in a transaction that holds the chain's cursor.
        in_thread: True to write in a separate thread.
        is_early: True if the transaction must be claimed (see `claim`).
    """

    def __init__(self, engine: Engine, connection: Connection, *, in_thread: bool, is_early: bool = False) -> None:
        self._engine = engine
        self._connection = connection
        self._rows = rows_of(connection)
        self._waiting: dict[Table, list[Row]] = defaultdict(list)
        self._writer = Writer(self._rows, _idle_seconds(connection) if is_early else None) if in_thread else None

    def add(self, events: EventRows) -> None:
        """Add the events of additional blocks."""
        for table, new in events.items():
            waiting = self._waiting[table]
            waiting += new
            if self._writer is not None and len(waiting) >= _ROWS_AT_ONCE:
                self._writer.put(self._rows.insert, table, _ordered(table, self._waiting.pop(table)))

    def claim(self) -> bool:
        """Keep an early transaction open from now on, even without writes. Return False if it is already closed."""
        is_claimed = self._writer is None or self._writer.claim()
        if not is_claimed:
            self.close()  # the server may have no second connection left
        return is_claimed

    def close(self) -> None:
        """Roll back uncommitted work, close the connection, and stop the thread."""
        with self.transaction():
            pass

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Provide the connection. At the end, roll back uncommitted work, close the connection, and stop the thread."""
        with self._connection as connection:
            try:
                yield connection
            finally:
                if self._writer is not None:
                    self._writer.end(is_cancelled=True)

    @contextmanager
    def all_written(self, chain_id: int, tables: Iterable[Table]) -> Iterator[Rows]:
        """Write the events, and provide access to rows that may still be written in the background.

        The caller must not use the connection within the context. When the context ends, everything is written.
        """
        insert = partial(self._writer.put, self._rows.insert) if self._writer else self._rows.insert
        for table, waiting in self._waiting.items():
            insert(table, _ordered(table, waiting))
        self._waiting.clear()
        if self._writer is None:
            yield self._rows
            return
        with background_rows(self._engine, self._writer, chain_id, tables) as rows:
            yield rows


def _ordered(table: Table, rows: list[Row]) -> list[Row]:
    return sorted(rows, key=_BY_AGENT[table]) if table in _BY_AGENT else rows


def _idle_seconds(connection: Connection) -> float:
    """Return the number of seconds to wait for the next write, below the server's limit for idle transactions."""
    limit = float(connection.exec_driver_sql(_IDLE_LIMIT).scalar_one())
    return min(_IDLE_SECONDS, limit / 2) if limit else _IDLE_SECONDS
