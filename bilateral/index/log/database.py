"""The index's database, which is either SQLite (embedded in the process) or PostgreSQL."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import platformdirs
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.text import quoted
from bilateral.index.errors import DatabaseUnavailableError
from bilateral.index.log import tables as schema
from bilateral.index.log.dialects import dialect_of
from bilateral.index.log.places import require_single_server
from bilateral.index.log.revisions import require_current_revision, stored_revision, upgrade_within

_BUSY_SECONDS: Final = 30
"""The longest wait in seconds for another program's lock. The index's large transactions take seconds."""

_TRANSIENT: Final = ("40001", "40P01")
"""PostgreSQL's codes for a serialisation failure and a deadlock."""

_LOST: Final = ("53300", "57P01", "57P02", "57P03")
"""PostgreSQL's codes for too many connections, and for a server that is stopping, crashed or starting."""

_POOLER: Final = {"yes": True, "no": False}
"""The values allowed for `pooler` in a URL."""

_RESUMES: Final = "Nothing is lost; the index resumes where it stopped."
_NO_ANSWER: Final = f"the database server did not respond: start it, or correct --database. {_RESUMES}"

_PROBLEMS: Final = {
    "database is locked|lock timeout|canceling statement due to lock": "another program has locked the database for "
    f"too long: stop it, or choose a different --database. {_RESUMES}",
    "disk is full|disk I/O error|No space left|could not extend file": "the database's disk is full or does not "
    f"work: free some space, and restart. {_RESUMES}",
    'could not open extension control file|postgres_fdw" is not available': "the coordinator's server lacks "
    "postgres_fdw: install PostgreSQL's contrib package there.",
    'extension "postgres_fdw"|foreign-data wrapper': "the coordinator may not read other servers: let an administrator "
    "run CREATE EXTENSION postgres_fdw and GRANT USAGE ON FOREIGN DATA WRAPPER postgres_fdw there.",
    "password": "the database server rejected the user or password: correct them in its URL.",
    "readonly database|read-only|permission denied": "the database is read-only: change the permissions of the "
    "file or the user, or choose a different --database.",
    "not currently accepting connections": _NO_ANSWER,
    "FATAL: database": "the server has no such database: create it with CREATE DATABASE, or correct the URL.",
    "prepared statement": "a pooler reassigns the server's connections after each transaction: add ?pooler=yes to "
    "the database URL.",
    "no such table|no such column|does not exist": "the database lacks an index table: use the database of an existing "
    "index, or create a new one.",
    "unable to open": "the database file cannot be opened: it is a folder, or its folder is read-only, and SQLite "
    "must write its log there. Change the permissions, copy the file elsewhere, or use a different --database.",
    "not a database|malformed": "the database file is damaged or from another program: restore it, or use a different "
    "--database.",
    "could not connect to server": "a shard did not respond: start its server, or correct database.shards and run "
    "bilateral index shards. Nothing is lost; its workers resume where they stopped.",
    "connection|server closed|terminating|failed to resolve host": _NO_ANSWER,
}
"""The messages for driver errors, by patterns found in the drivers' own messages."""

_CACHE_KIB: Final = 64 * 1024
"""The size of a writer's cache, which has room for the accounts in a rollback and the indexes of new rows."""

_PAGE_BYTES: Final = 4 * 1024
"""The page size of a new file: small, because a block's accounts are on many pages, each written in full."""

_LOG_BYTES: Final = 256 * 1024**2
"""The write-ahead log's size at a checkpoint. Pages that change several times until then are written only once."""


def default_url() -> str:
    """Return the default database's URL: an SQLite file in the user's data folder."""
    return f"sqlite:///{platformdirs.user_data_path('bilateral') / 'index.sqlite'}"


def open_database(url: str | None = None, *, creates: bool = True) -> Engine:
    """Open an index's database, and create its tables if it has none.

    Args:
        url: The SQLAlchemy URL, `sqlite:///path`, `postgresql://…` or `postgres://…`; the default database if omitted.
            Add `?pooler=yes` or `?pooler=no` to state whether connections go through a transaction pooler.
        creates: False to reject a database that does not exist or has no tables.

    Returns:
        The engine.

    Raises:
        InvalidArgumentError: The URL is malformed, or the database is not supported.
        OlderSchemaError: The tables need `bilateral index schema`, or there are no tables and `creates` is False.
        NewerSchemaError: A newer version of this package created the tables.
        DatabaseUnavailableError: The database cannot be opened, or does not exist and `creates` is False.
    """
    engine = connect_engine(url, creates=creates)
    with snapshot(engine) as connection:  # does not wait for writers
        revision = stored_revision(connection)
    if revision is None and creates:
        with engine.begin() as connection:
            upgrade_within(connection)
    else:
        require_current_revision(revision)
    return engine


def upgrade(url: str | None = None) -> tuple[str | None, str]:
    """Migrate the tables to this package's version.

    Args:
        url: The SQLAlchemy URL of the database; the default database if omitted.

    Returns: The tables' previous version (None for an empty database) and their current version.

    Raises:
        NewerSchemaError: A newer version of this package created the tables.
        DatabaseUnavailableError: The database cannot be opened.
        ShardError: The database is one of several servers of an index, which must be migrated together.
    """
    engine = connect_engine(url)
    with engine.begin() as connection:
        require_single_server(connection)
        before = upgrade_within(connection)
    engine.dispose()
    return before, schema.REVISION


def connect_engine(url: str | None = None, *, creates: bool = True) -> Engine:
    """Open a database, without checking its tables.

    Args:
        url: See `open_database`.
        creates: False to reject a database that does not exist.

    Raises:
        InvalidArgumentError: The URL is malformed, or the database is not supported.
        DatabaseUnavailableError: The database cannot be opened, or does not exist and `creates` is False.
    """
    parsed = parsed_url(url)
    if not creates:
        require_file(parsed)
    try:
        if creates and (path := _file_of(parsed)) is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        engine = make_engine(parsed)
        _PREPARE[engine.dialect.name](engine)
        engine.connect().close()
    except OSError as problem:
        raise DatabaseUnavailableError(f"the database cannot be opened: {problem}: choose another --database") from None
    except DBAPIError as problem:
        raise unavailable(problem) from None
    return engine


def make_engine(url: URL, **options: Any) -> Engine:
    """Create an engine. For each PostgreSQL connection, `is_pooled` in `info` is True if it goes through a pooler.

    A pooler such as PgBouncer assigns its server connections per transaction. Prepared statements, settings and
    temporary tables must therefore not outlive a transaction. `pooler` in the URL states whether there is a pooler. If
    this option is absent, the server's process id is checked, because a pooler reports a different one.

    Args:
        url: The URL, as returned by `parsed_url`.
        options: SQLAlchemy's options.
    """
    setting = _POOLER.get(str(url.query.get("pooler")))
    engine = create_engine(url.difference_update_query(["pooler"]), **options)
    if engine.dialect.name != "postgresql":
        return engine

    @event.listens_for(engine, "do_connect")  # before SQLAlchemy itself reads text
    def connect(dialect: Any, record: Any, arguments: Any, parameters: Any) -> Any:
        connection = dialect.connect(*arguments, **parameters)
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            name = quoted(connection.info.dbname)
            connection.close()
            raise DatabaseUnavailableError(
                f"the encoding of the database {name} is {encoding}, which cannot represent all "
                "text: create it with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
            )
        has_pooler = setting
        if has_pooler is None:
            (process,) = connection.execute("SELECT pg_backend_pid()").fetchone()
            has_pooler = process != connection.info.backend_pid
            connection.rollback()
        if has_pooler:
            connection.prepare_threshold = None
        record.info["is_pooled"] = has_pooler
        return connection

    return engine


def is_pooled(connection: Connection) -> bool:
    """Return True if a pooler may assign the server connection to another client after this transaction."""
    return bool(connection.connection.info.get("is_pooled"))


def parsed_url(url: str | None) -> URL:
    """Parse a database's URL, and set its driver.

    Args:
        url: See `open_database`.

    Raises:
        InvalidArgumentError: The URL is malformed, or the database is not supported.
    """
    try:
        parsed = make_url(url or default_url())
    except ArgumentError:
        raise InvalidArgumentError("the database is not a URL, such as sqlite:///index.sqlite") from None
    backend = parsed.get_backend_name()
    if backend not in ("postgres", "postgresql", "sqlite"):
        raise InvalidArgumentError(f"the database must be sqlite or postgresql, not {backend}")
    if (pooler := parsed.query.get("pooler", "no")) not in _POOLER:
        raise InvalidArgumentError(f"pooler in the database URL must be yes or no, not {quoted(str(pooler))}")
    return parsed if backend == "sqlite" else parsed.set(drivername="postgresql+psycopg")


def require_file(url: URL) -> None:
    """Reject an SQLite database whose file does not exist, because the driver would create an empty file.

    Raises:
        DatabaseUnavailableError: The file does not exist.
    """
    path = _file_of(url)
    if path is not None and not path.exists():
        raise DatabaseUnavailableError(
            f"the database {quoted(str(path))} does not exist: create it with `bilateral index run`"
        )


def _file_of(url: URL) -> Path | None:
    """Return a database's file; None for PostgreSQL and in-memory SQLite. SQLite's URL may be a URI (`?uri=true`)."""
    name = url.database or ""
    if url.get_backend_name() != "sqlite" or url.query.get("mode") == "memory":
        return None
    is_uri = name.startswith("file:") and "uri" in url.query
    path = unquote(urlsplit(name).path) if is_uri else name
    return None if path in ("", ":memory:") else Path(path)


def unavailable(problem: DBAPIError) -> DatabaseUnavailableError:
    """Return an error that explains in one line what is wrong with the database and how to fix the problem.

    Args:
        problem: The driver's error, wrapped by SQLAlchemy. The transaction was rolled back.
    """
    reason = " ".join(str(problem.orig).split())
    sentence = next((sentence for words, sentence in _PROBLEMS.items() if re.search(words, reason)), None)
    if sentence is None:
        return DatabaseUnavailableError(f"the database cannot be used: {reason}")
    return DatabaseUnavailableError(f"{sentence} (the database reports: {reason})")


def passing_failure(problem: DBAPIError) -> DatabaseUnavailableError:
    """Return the error to report while waiting for a failure to resolve itself.

    Args:
        problem: See `unavailable`.

    Raises:
        DatabaseUnavailableError: Waiting would not help.
    """
    failure = unavailable(problem)
    if is_lost(problem) or is_transient(problem):
        return failure
    raise failure from None


def is_transient(problem: DBAPIError) -> bool:
    """Return True if PostgreSQL rolled back a transaction because of a concurrent one, so that a retry may succeed."""
    return getattr(problem.orig, "sqlstate", None) in _TRANSIENT


def is_lost(problem: DBAPIError) -> bool:
    """Return True if PostgreSQL is not responding or closed the connection, so that a later retry may succeed."""
    state = getattr(problem.orig, "sqlstate", "")  # SQLite's errors have no code; None means that there was no response
    has_no_answer = state is None and isinstance(problem, OperationalError)
    return problem.connection_invalidated or has_no_answer or str(state).startswith("08") or state in _LOST


@contextmanager
def named_database_errors() -> Iterator[None]:
    """Convert a database driver's errors to this package's errors.

    Raises:
        DatabaseUnavailableError: The database is locked, full or read-only, or its server is not responding.
    """
    try:
        yield
    except DBAPIError as problem:
        raise unavailable(problem) from None


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """Open a connection that reads one consistent state of the database, regardless of concurrent writes.

    Yields:
        The connection, for reads that need one consistent state.
    """
    with engine.connect().execution_options(bilateral_reader=True, **dialect_of(engine).of_snapshot) as connection:
        yield connection


def _prepare_postgresql(engine: Engine) -> None:
    """Set the same lock timeout as for SQLite, unless the URL or the server specifies one."""

    def limit(driver: Any, *, is_local: bool) -> None:
        limited = f"set_config('lock_timeout', '{_BUSY_SECONDS}s', {is_local})"
        driver.execute(f"SELECT {limited} WHERE current_setting('lock_timeout') = '0'")

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, record: Any) -> None:
        if not record.info["is_pooled"]:
            limit(connection, is_local=False)
            connection.commit()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if is_pooled(connection):
            limit(connection.connection.driver_connection, is_local=True)


def _prepare_sqlite(engine: Engine) -> None:
    """Let readers continue while a connection writes, and let SQLAlchemy decide when transactions begin."""
    # The URL can specify how long to wait for another program's lock (`?timeout=`).
    busy_seconds = None if "timeout" in engine.url.query else _BUSY_SECONDS

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, _: Any) -> None:
        connection.isolation_level = None
        for pragma in (
            f"page_size = {_PAGE_BYTES}",  # before the journal mode, after which it cannot change
            "journal_mode = WAL",
            "synchronous = NORMAL",
            *(() if busy_seconds is None else (f"busy_timeout = {busy_seconds * 1000}",)),
            f"cache_size = -{_CACHE_KIB}",
            f"journal_size_limit = {_LOG_BYTES}",
            "temp_store = MEMORY",
            "foreign_keys = ON",
        ):
            connection.execute(f"PRAGMA {pragma}")
        (size,) = connection.execute("PRAGMA page_size").fetchone()  # a file keeps its original page size
        connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_BYTES // size}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A transaction that begins with a read could not start to write while another transaction writes.
        is_reader = connection.get_execution_options().get("bilateral_reader", False)
        connection.exec_driver_sql("BEGIN" if is_reader else "BEGIN IMMEDIATE")


_PREPARE: Final = {"sqlite": _prepare_sqlite, "postgresql": _prepare_postgresql}
"""The functions that set up connections, by the name of the engine's dialect."""
