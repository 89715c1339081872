"""Single statements on PostgreSQL, for callers that are `async`: without a transaction, and without a thread."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import make_url
from sqlalchemy.dialects.postgresql.psycopg import dialect as make_dialect
from sqlalchemy.exc import DBAPIError

from bilateral.index.errors import DatabaseUnavailableError, QueryTimeoutError, ReadersBusyError
from bilateral.index.store.database import unavailable
from bilateral.query.readers import CANCELED, PREPARED, session_settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from psycopg import AsyncConnection

    from bilateral.query.prepared import Prepared

_GRACE: Final = 1.0
"""Seconds after the time limit of a statement in which the server has to say that it ended it."""


class SingleStatements:
    """Connections to PostgreSQL that only read, and run one statement at a time. They belong to one event loop.

    A statement of a few rows takes less time than its way to a thread and back.

    Args:
        url: The SQLAlchemy URL of the database. A `Reader` has checked it and its tables.
        seconds: The time limit of a statement. The wait for a free connection has the same limit of its own, and so has
            the making of a new one.
        connections: The largest number of connections.
    """

    def __init__(self, url: str, *, seconds: float, connections: int) -> None:
        """See the class. It connects when it is asked."""
        self.seconds = seconds
        self._dialect: Any = make_dialect()  # type: ignore[no-untyped-call]
        arguments = self._dialect.create_connect_args(make_url(url))  # type: ignore[no-untyped-call]
        self._options: Mapping[str, Any] = arguments[1]
        self._idle: list[AsyncConnection[Any]] = []
        self._free = asyncio.Semaphore(connections)
        self._is_open = True

    async def first(self, statement: Prepared, values: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """Return the first row of a statement that finds few, or None.

        Args:
            statement: The statement.
            values: Its parameters.

        Raises:
            QueryTimeoutError: It took too long.
            ReadersBusyError: No connection became free in time.
            DatabaseUnavailableError: The database does not answer.
        """
        compiled = statement.compiled(self._dialect)
        async with self._lent() as connection, asyncio.timeout(self.seconds + _GRACE):
            cursor = await connection.execute(compiled.text, compiled.parameters(values), prepare=True)
            row: tuple[Any, ...] | None = await cursor.fetchone()
            return None if row is None else compiled.converted([row], self._dialect, cursor.description)[0]

    def close(self) -> None:
        """Close the connections that nobody uses. The others are closed when they come back."""
        self._is_open = False
        self._drop_idle()

    @asynccontextmanager
    async def _lent(self) -> AsyncIterator[AsyncConnection[Any]]:
        """Lend a connection. One that failed is closed, with all idle ones.

        They may have lost the server too. The driver does not learn that the server forgot a prepared statement, or
        cannot use it for a changed table: such a connection would fail for good.
        """
        from psycopg import Error  # noqa: PLC0415  # SQLite does without it

        try:
            async with asyncio.timeout(self.seconds):
                await self._free.acquire()
        except TimeoutError:
            raise ReadersBusyError from None
        connection = None
        try:
            connection = self._idle.pop() if self._idle else await asyncio.wait_for(self._connected(), self.seconds)
            yield connection
        except TimeoutError:
            seconds = self.seconds if connection is None else self.seconds + _GRACE
            self._drop(connection)
            raise DatabaseUnavailableError(f"the database did not answer within {seconds:g} seconds") from None
        except Error as problem:
            if getattr(problem, "sqlstate", None) == CANCELED:
                raise QueryTimeoutError(self.seconds) from None
            self._drop(connection)
            raise unavailable(DBAPIError("", None, problem)) from None
        finally:
            self._free.release()
            if connection is not None:
                self._take_back(connection)

    async def _connected(self) -> AsyncConnection[Any]:
        """Return a new connection."""
        from psycopg import AsyncConnection  # noqa: PLC0415  # see above

        connection = await AsyncConnection.connect(**self._options, autocommit=True)
        connection.prepared_max = PREPARED
        try:
            for setting in session_settings(self.seconds):
                await connection.execute(setting)
        except BaseException:
            connection.pgconn.finish()
            raise
        return connection

    def _take_back(self, connection: AsyncConnection[Any]) -> None:
        """Keep a connection for the next statement, unless this one did not end."""
        if self._is_open and not connection.closed and not connection.info.transaction_status:
            self._idle.append(connection)
        else:
            connection.pgconn.finish()

    def _drop(self, failed: AsyncConnection[Any] | None) -> None:
        """Close a connection that failed, if there is one, and all idle ones."""
        if failed is not None:
            failed.pgconn.finish()
            self._drop_idle()

    def _drop_idle(self) -> None:
        while self._idle:
            self._idle.pop().pgconn.finish()
