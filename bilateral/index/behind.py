"""Writes of PostgreSQL that a thread does on one connection, while another reads and computes what to write next.

The server then stores while Python computes. The rows that a batch changes are those of one chain, whose cursor the
writing transaction has moved already. No other worker changes them before it ends, so the reading connection sees them
as the writing one did before its first write.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final, NoReturn

from sqlalchemy import QueuePool
from sqlalchemy.exc import DBAPIError, TimeoutError  # noqa: A004  # that of the pool

from bilateral.index.rows import PostgresRows, Row, Rows, place_in_postgres, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sqlalchemy import Connection, Engine, Table

_MANY: Final = 2_000
"""Logs of a batch from which on a second connection pays."""


@contextmanager
def rows_behind(
    engine: Engine, connection: Connection, chain_id: int, count: int, tables: Iterable[Table]
) -> Iterator[Rows]:
    """Give an access to rows that may write behind the caller's back. All is written when the context ends.

    The caller must not use the connection within the context. Reads may see the writes or not; callers must get the
    same rows in both cases.

    Args:
        engine: The database.
        connection: A connection in a transaction, which has moved the chain's cursor. It writes.
        chain_id: The chain.
        count: The number of logs to store.
        tables: The tables that may be read.

    Raises:
        DBAPIError: A write failed.
    """
    writing = rows_of(connection)
    if not isinstance(writing, PostgresRows) or count < _MANY or not _has_spare(engine):
        yield writing
        return
    reading = _locked(engine, [place_in_postgres(table, chain_id) for table in tables])
    if reading is None:
        yield writing
        return
    with reading:
        behind = _RowsBehind(rows_of(reading), writing)
        try:
            yield behind
            reading.commit()  # before the end: a migration that waits for these locks may keep the writes waiting
        except BaseException:
            behind.end(is_cancelled=True)
            raise
        behind.end()
    if behind.failure is not None:
        raise behind.failure


def _locked(engine: Engine, names: Iterable[str]) -> Connection | None:
    """Return a further connection that holds locks on some tables; None if the server refuses it or a lock at once.

    Without all locks at once the two connections could wait for a third program, and it for them.
    """
    try:
        reading = engine.connect()
    except (DBAPIError, TimeoutError):  # the server, or the pool, gives no more
        return None
    try:
        quoted = ", ".join(f'"{name}"' for name in names)
        reading.exec_driver_sql(f"LOCK TABLE {quoted} IN ACCESS SHARE MODE NOWAIT")
    except DBAPIError:
        reading.close()
        return None
    except BaseException:
        reading.close()
        raise
    return reading


def _has_spare(engine: Engine) -> bool:
    """Return True if few threads use the database, so that a second connection makes none of them wait."""
    pool = engine.pool
    return isinstance(pool, QueuePool) and pool.checkedout() < pool.size()


def _refuse(*_arguments: Any, **_options: Any) -> NoReturn:
    """Refuse what no batch needs: `Rows` would do it on the wrong connection.

    Raises:
        NotImplementedError: Always.
    """
    raise NotImplementedError("rows that are written behind cannot do this: use those of one connection")


class _RowsBehind(Rows):
    """Reads by one connection, and writes by another one in a thread. It does what deriving rows needs, and no more.

    Args:
        reading: The rows as one connection reads them.
        writing: The rows as another one writes them. Nobody else uses it until `end`.

    Attributes:
        failure: The error that a write met; nothing was written after it.
    """

    def __init__(self, reading: Rows, writing: Rows) -> None:
        """See the class."""
        super().__init__(reading.connection)
        self.failure: BaseException | None = None
        self._reading = reading
        self._writing = writing
        self._is_cancelled = False
        self._ended = threading.Event()
        self._waiting: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write_all, name="index-behind", daemon=True)
        self._thread.start()

    def end(self, *, is_cancelled: bool = False) -> None:
        """Wait until the thread has ended, whatever interrupts the wait: nobody else may use its connection before.

        Args:
            is_cancelled: True to leave out what is not written yet.

        Raises:
            BaseException: The wait was interrupted, by this. The thread has ended, and left out what was not written.
        """
        interruption = None
        while True:
            try:
                self._is_cancelled = is_cancelled or interruption is not None
                self._waiting.put(None)
                self._ended.wait()  # after an interrupted `join`, Python 3.11 takes a thread that runs for a dead one
                break
            except BaseException as problem:  # noqa: BLE001  # it is raised below
                interruption = problem
        self._thread.join()
        if interruption is not None:
            raise interruption

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        """See `Rows.insert`."""
        self._waiting.put(partial(self._writing.insert, table, rows))

    def replace(self, table: Table, rows: Sequence[Row]) -> None:
        """See `Rows.replace`."""
        self._waiting.put(partial(self._writing.replace, table, rows))

    def delete(self, table: Table, keys: Sequence[Row]) -> None:
        """See `Rows.delete`."""
        self._waiting.put(partial(self._writing.delete, table, keys))

    def select(self, table: Table, columns: Sequence[str], keys: Iterable[Row]) -> list[Row]:
        """See `Rows.select`."""
        return self._reading.select(table, columns, keys)

    def last_times(self, table: Table, columns: Sequence[str], keys: Iterable[Row]) -> list[Row]:
        """See `Rows.last_times`."""
        return self._reading.last_times(table, columns, keys)

    values_after = of_blocks = delete_after = insert_unless_known = learn = _refuse

    def _wanted(self, table: Table, columns: tuple[str, ...], keys: Sequence[Row]) -> str:
        """See `Rows._wanted`."""
        return self._reading._wanted(table, columns, keys)  # of its own class

    def _write_all(self) -> None:
        """Do the writes in their order, until one fails."""
        while (write := self._waiting.get()) is not None:
            if self.failure is None and not self._is_cancelled:
                try:
                    write()
                except BaseException as problem:  # noqa: BLE001  # the thread that waits raises it
                    self.failure = problem
        self._ended.set()
