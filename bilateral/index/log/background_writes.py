"""Writes of PostgreSQL that a thread does on one connection, while another reads and computes what to write next.

The server then stores while Python computes. The rows that a batch changes are those of one chain, whose cursor the
writing transaction holds. No other worker changes them before it ends, so the reading connection sees them as the
writing one did before its first write.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NoReturn

from sqlalchemy import QueuePool
from sqlalchemy.exc import DBAPIError, TimeoutError  # noqa: A004  # that of the pool

from bilateral.index.log.dialects import dialect_of
from bilateral.index.log.rows import Row, Rows, place_in_postgres, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Connection, Engine, Table

    from bilateral.index.log.writer_thread import Writer

_MANY: Final = 2_000
"""Logs of a transaction from which on a thread that writes pays."""


def pays_behind(engine: Engine, count: int) -> bool:
    """Return True if a thread should write the rows of a transaction: PostgreSQL stores many, and connections are free.

    Args:
        count: The number of logs to store.
    """
    return dialect_of(engine).has_server and count >= _MANY and _has_spare(engine)


@contextmanager
def rows_behind(engine: Engine, writer: Writer, chain_id: int, tables: Iterable[Table]) -> Iterator[Rows]:
    """Give an access to rows that writes behind the caller's back, if a second connection can read meanwhile.

    All is written when the context ends, and the writer has ended. Reads may see the writes or not; callers must get
    the same rows in both cases.

    Args:
        writer: Writes on a connection whose transaction holds the chain's cursor.
        tables: The tables that may be read.

    Raises:
        DBAPIError: A write failed.
    """
    reading = _locked(engine, [place_in_postgres(table, chain_id) for table in tables]) if _has_spare(engine) else None
    if reading is None:
        writer.end()
        yield writer.rows
        return
    with reading:
        try:
            yield _RowsBehind(rows_of(reading), writer)
            reading.commit()  # before the end: a migration that waits for these locks may keep the writes waiting
        except BaseException:
            writer.end(is_cancelled=True)
            raise
        writer.end()


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
    """Refuse what no batch needs: `Rows` would do it on the wrong connection."""
    raise NotImplementedError("rows that are written behind cannot do this: use those of one connection")


class _RowsBehind(Rows):
    """Reads by one connection, and writes by another one in a thread. It does what deriving rows needs, and no more.

    Args:
        reading: The rows as one connection reads them.
        writer: Writes on the other one.
    """

    def __init__(self, reading: Rows, writer: Writer) -> None:
        super().__init__(reading.connection)
        self._reading = reading
        self._writer = writer

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        self._writer.insert(table, rows)

    def replace(self, table: Table, rows: Sequence[Row]) -> None:
        self._writer.replace(table, rows)

    def delete(self, table: Table, keys: Sequence[Row]) -> None:
        self._writer.delete(table, keys)

    def select(self, table: Table, columns: Sequence[str], keys: Iterable[Row]) -> list[Row]:
        return self._reading.select(table, columns, keys)

    def last_times(self, table: Table, columns: Sequence[str], keys: Iterable[Row]) -> list[Row]:
        return self._reading.last_times(table, columns, keys)

    values_after = of_blocks = bytes_of = delete_after = insert_unless_known = learn = _refuse

    def _wanted(self, table: Table, columns: tuple[str, ...], keys: Sequence[Row]) -> str:
        return self._reading._wanted(table, columns, keys)  # noqa: SLF001  # its own class
