"""Read-only access to the index, with a time limit for every visit."""

import math
import select
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from bilateral.core.errors import BilateralError
from bilateral.index import errors
from bilateral.index.log.database import is_pooled, make_engine, parsed_url, require_file, unavailable
from bilateral.index.log.dialects import dialect_of
from bilateral.index.log.revisions import require_current_revision, stored_revision
from bilateral.index.reading.missing_chains import ChainServers

P = ParamSpec("P")
T = TypeVar("T")

_BRIEF: Final = "bilateral_is_brief"

_STEPS: Final = 5_000
"""The number of SQLite virtual machine steps between checks of the clock, about a few hundred microseconds."""

_CLOCK_FACTOR: Final = 5
"""The wall-clock limit as a multiple of the processor time limit, because eight threads share two cores."""

_CANCELED: Final = "57014"
"""PostgreSQL's error code for a statement that exceeded its time limit."""

_ABANDONED: Final = "25P03"
"""PostgreSQL's error code for a transaction that was idle for too long between statements."""

_SHORTENED: Final = 0.9
"""The fraction of the time limit below which the remaining time is sent to the server, at the cost of a round trip."""

_SHORT: Final = {"jit": "off", "max_parallel_workers_per_gather": "0"}
"""PostgreSQL settings for short queries, which take longer to compile or parallelise than to run."""

_PREPARED: Final = 500
"""The number of statements that each PostgreSQL connection keeps prepared."""

_CACHE_KIB: Final = 16 * 1024
"""The size of a reader's cache. Each process has several readers, and the operating system also caches pages."""

MOST_BYTES: Final = 32 * 1024 * 1024
"""The maximum size, in bytes, of a value in SQLite and of a GraphQL response.

An untrusted file may have up to 1 MiB, and a query may request it thousands of times.
"""

_TOO_LARGE: Final = "string or blob too big"

_MAPPED_BYTES: Final = 64 * 1024**3
"""The number of bytes of a database file that SQLite maps into memory. The system can reclaim this memory."""


class _Limit:
    """A visit's remaining processor and wall-clock time. The wall-clock limit is a multiple of the processor limit."""

    def __init__(self, seconds: float, clock_factor: int) -> None:
        self.by_clock = seconds * clock_factor
        self._until = time.thread_time() + seconds
        self._until_by_clock = time.monotonic() + self.by_clock

    @property
    def is_used_up(self) -> bool:
        return time.thread_time() >= self._until

    @property
    def is_over(self) -> bool:
        return self.is_used_up or time.monotonic() > self._until_by_clock


class Reader:
    """Reads an index's database. A reader cannot write, and on SQLite it never waits for a writer.

    All statements of one connection see the same state of the database.

    Args:
        url: The SQLAlchemy URL of the database; the default database if omitted.
        seconds: The time limit for all statements of a visit together.
        connections: The maximum number of concurrent connections.
        is_brief: True if other requests wait for a visit, which must therefore be short (see `require_patience`).

    Raises:
        InvalidArgumentError: The URL is malformed, or the database is not supported.
        OlderSchemaError: The tables are missing or need `bilateral index schema`.
        NewerSchemaError: A newer version of this package created the tables.
        DatabaseUnavailableError: The database cannot be opened.
    """

    def __init__(
        self, url: str | None = None, *, seconds: float = 2.0, connections: int = 8, is_brief: bool = False
    ) -> None:
        self.seconds = seconds
        self._is_brief = is_brief
        self._engine = _engine(url, seconds, connections, is_brief=is_brief)
        try:
            with self._engine.connect() as connection:
                revision = stored_revision(connection)
                self._servers = ChainServers.of(connection)
        except DBAPIError as problem:
            self._engine.dispose()
            raise unavailable(problem) from None
        try:
            require_current_revision(revision)
        except BilateralError:
            self._engine.dispose()
            raise

    @property
    def dialect(self) -> str:
        """The kind of database, `sqlite` or `postgresql`."""
        return self._engine.dialect.name

    @property
    def has_server(self) -> bool:
        """True if statements go to a server. See `Dialect`."""
        return dialect_of(self._engine).has_server

    @property
    def missing(self) -> frozenset[int]:
        """The chains whose server did not respond at the last check."""
        return frozenset() if self._servers is None else self._servers.missing

    @contextmanager
    def connect(self, spent: float = 0.0) -> Iterator[Connection]:
        """Provide a connection in a read-only transaction.

        The time limit starts here and includes work between statements. The limit is enforced while statements run, but
        not after the last statement. SQLite runs in the caller's thread, so the limit applies to processor time, which
        a busy machine does not use up. A wall-clock limit applies as well: five times the limit or, for brief visits,
        the same. On PostgreSQL, the limit applies to wall-clock time, including the wait for a connection. A statement
        that starts within the first tenth of the limit may take the full limit again.

        Args:
            spent: The number of seconds of the limit that the caller has already used.

        Raises:
            QueryTimeoutError: The visit took too long.
            StarvedError: The machine is too busy to finish the visit in time.
            ReadersBusyError: No connection became free in time.
            LargeAnswerError: SQLite would produce a value that is too large.
            DatabaseUnavailableError: The database is not responding.
            ChainServerFailedError: A chain's server failed. The next visit skips this server.
            MissingChainError: The visit needs rows from a server that is not responding.
        """
        seconds = self.seconds - spent
        deadline = time.monotonic() + seconds
        limit = _Limit(seconds, 1 if self._is_brief else _CLOCK_FACTOR)
        try:
            with self._engine.connect() as connection:
                connection.connection.info.update(deadline=deadline, limit_of_thread=limit)
                if self._servers is not None:
                    self._servers.prepare(connection)
                yield connection
                connection.commit()  # after a rollback, psycopg forgets its prepared statements
        except PoolTimeoutError:
            raise errors.ReadersBusyError from None
        except DBAPIError as problem:
            words = str(problem.orig)
            if words == _TOO_LARGE:
                raise errors.LargeAnswerError(MOST_BYTES) from None
            if words == "interrupted" and not limit.is_used_up:
                raise errors.StarvedError(limit.by_clock) from None
            # The server's reason is lost if it arrived together with the previous response.
            was_late = problem.connection_invalidated and time.monotonic() > deadline
            if was_late or words == "interrupted" or getattr(problem.orig, "sqlstate", None) in (_CANCELED, _ABANDONED):
                if self._servers is not None:
                    self._servers.recheck()
                raise errors.QueryTimeoutError(self.seconds) from None
            failure = unavailable(problem)
            raise failure if self._servers is None else self._servers.failure(problem, failure) from None

    def read(self, query: Callable[Concatenate[Connection, P], T], *arguments: P.args, **options: P.kwargs) -> T:
        """Run a query from `bilateral.index`. See `visit` for the errors.

        Args:
            query: The query function. Its first argument is the connection.
            *arguments: Additional arguments for the query.
        """
        return self.visit(lambda connection: query(connection, *arguments, **options))

    def visit(self, work: Callable[[Connection], T], spent: float = 0.0) -> T:
        """Run a visit, and rerun it without a chain's server if that server fails, because it may not need the chain.

        Args:
            spent: See `connect`.

        Raises:
            QueryTimeoutError: The visit took too long.
            ReadersBusyError: No connection became free in time.
            DatabaseUnavailableError: The database is not responding.
            MissingChainError: A chain's server is not responding.
        """
        try:
            with self.connect(spent) as connection:
                return work(connection)
        except errors.ChainServerFailedError:
            with self.connect(spent) as connection:
                return work(connection)

    def close(self) -> None:
        """Close the connections."""
        if self._servers is not None:
            self._servers.close()
        self._engine.dispose()


def require_patience(connection: Connection) -> None:
    """Stop a brief visit before work whose duration depends on untrusted input.

    Raises:
        QueryTimeoutError: The visit is brief, and must be rerun in a thread.
    """
    if connection.get_execution_options().get(_BRIEF):
        raise errors.QueryTimeoutError(0)


def _engine(url: str | None, seconds: float, connections: int, *, is_brief: bool) -> Engine:
    parsed = parsed_url(url)
    require_file(parsed)
    options = {_BRIEF: is_brief}
    engine = make_engine(parsed, pool_size=connections, max_overflow=0, pool_timeout=seconds, execution_options=options)
    _PREPARE[engine.dialect.name](engine, seconds)
    return engine


def _prepare_sqlite(engine: Engine, seconds: float) -> None:

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, record: Any) -> None:
        connection.isolation_level = None
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
        for pragma in (
            "query_only = ON",
            f"busy_timeout = {int(seconds * 1000)}",
            f"cache_size = -{_CACHE_KIB}",
            "temp_store = MEMORY",
            f"mmap_size = {_MAPPED_BYTES}",
        ):
            connection.execute(f"PRAGMA {pragma}")
        record.info["limit_of_thread"] = _Limit(math.inf, 1)  # until a visit begins
        connection.set_progress_handler(lambda: record.info["limit_of_thread"].is_over, _STEPS)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.connection.driver_connection.execute("BEGIN")  # type: ignore[union-attr]  # it is of sqlite3


def _postgresql_settings(seconds: float) -> tuple[str, str]:
    """Return the statements that set up a session, and those that set up each transaction if a pooler is used."""
    milliseconds = max(1, int(seconds * 1000))
    mode = "TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
    timeouts = {"statement_timeout": milliseconds, "idle_in_transaction_session_timeout": 10 * milliseconds}
    settings = [f"{name} = {value}" for name, value in (timeouts | _SHORT).items()]
    of_session = [f"SET SESSION CHARACTERISTICS AS {mode}", *(f"SET {setting}" for setting in settings)]
    of_transaction = [f"SET {mode}", *(f"SET LOCAL {setting}" for setting in settings)]
    return "; ".join(of_session), "; ".join(of_transaction)


def _prepare_postgresql(engine: Engine, seconds: float) -> None:
    of_session, of_transaction = _postgresql_settings(seconds)

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, record: Any) -> None:
        record.info["deadline"] = float("inf")  # until a visit begins
        record.info["shorten"] = shorten  # for statements that bypass SQLAlchemy, see `Prepared`
        if record.info["is_pooled"]:
            return
        connection.execute(of_session)
        connection.prepared_max = _PREPARED
        connection.commit()

    @event.listens_for(engine, "checkout")
    def refuse_ended(connection: Any, *_: Any) -> None:
        """Replace an idle connection if unread data shows that the server has closed it."""
        readiness = select.poll()
        readiness.register(connection.fileno(), select.POLLIN)
        if readiness.poll(0):
            raise DisconnectionError

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.connection.info["limit"] = seconds
        if is_pooled(connection):
            connection.connection.driver_connection.execute(of_transaction)  # type: ignore[union-attr]

    @event.listens_for(engine, "before_cursor_execute")
    def shorten(connection: Connection, cursor: Any, *_: Any) -> None:
        """Limit later statements to the remaining time. Statements of short visits keep the original limit."""
        info = connection.connection.info
        left = info["deadline"] - time.monotonic()
        if left <= 0:
            raise errors.QueryTimeoutError(seconds)
        if left < info["limit"] * _SHORTENED:
            info["limit"] = left
            cursor.execute(f"SET LOCAL statement_timeout = {max(1, int(left * 1000))}")


_PREPARE: Final = {"sqlite": _prepare_sqlite, "postgresql": _prepare_postgresql}
"""The functions that set up connections, by the name of the engine's dialect."""
