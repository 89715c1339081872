"""The statements, behaviour and locks that differ between SQLite and PostgreSQL.

The workers that move the cursor do not read files or payments. Other workers do, and store notes that state the last
indexed block. Without a lock, the cursor could move between reading that block and committing the note. A response at
the new block would then lack content that, according to the note, was already stored.

A worker that moves the cursor holds an exclusive lock from its last statements until its commit. A worker that stores a
note holds a shared lock for the same period. Neither worker waits for anything else while it holds the lock, so they
cannot deadlock. SQLite allows only one writer at a time and therefore needs no lock.

A response contains the number of the newest observation that it used. To make the response reproducible, all
observations with smaller numbers must already be stored. A lock therefore makes all workers commit their observations
in numerical order. A similar lock exists for change feed steps; a transaction always acquires that lock last.
"""

import math
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from operator import itemgetter
from typing import Any, ClassVar, Final, TypeVar

from sqlalchemy import ColumnElement, Connection, Engine, Table, TableClause, and_, func, or_, text
from sqlalchemy import Dialect as EngineDialect
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.base import ReadOnlyColumnCollection
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from bilateral.index.log.columns import sqlite_integer

T = TypeVar("T")

AT_ONCE: Final = 500
"""The maximum number of values in one statement's list, so that statements do not grow with the size of results."""


def in_parts(values: Iterable[T], size: int = AT_ONCE) -> Iterator[list[T]]:
    """Yield the given values in parts that are short enough for a statement's list."""
    rest = iter(values)
    while part := list(islice(rest, size)):
        yield part


class unindexed(FunctionElement[Any]):  # noqa: N801  # a function of SQL
    """A column's value. On SQLite, a plus sign before the column prevents the use of an index."""

    name = "unindexed"
    inherit_cache = True

    def __init__(self, column: ColumnElement[Any]) -> None:
        super().__init__(column)
        self.type = column.type


class by_rater(TableClause):  # noqa: N801  # a form of SQL
    """An event table that SQLite reads through the index of raters, instead of reading all of the chain's events."""

    inherit_cache = True


def newest_first(columns: ReadOnlyColumnCollection[str, Any]) -> tuple[ColumnElement[Any], ...]:
    """Return the columns to order events by, newest first, without making SQLite read all events by block."""
    return unindexed(columns.block_number).desc(), columns.log_index.desc()


@compiles(unindexed)
def _compile(element: unindexed, compiler: SQLCompiler, **options: Any) -> str:
    (column,) = element.clauses
    return compiler.process(column, **options)


@compiles(unindexed, "sqlite")
def _compile_for_sqlite(element: unindexed, compiler: SQLCompiler, **options: Any) -> str:
    return f"+{_compile(element, compiler, **options)}"


@compiles(by_rater, "sqlite")
def _compile_with_index(element: by_rater, compiler: SQLCompiler, **options: Any) -> str:
    text: str = compiler.visit_table(element, **options)  # type: ignore[no-untyped-call]  # SQLAlchemy has no types here
    index = "by_client" if "client_address" in element.c else "by_server"
    return f"{text} INDEXED BY {element.name}_{index}" if options.get("asfrom") else text


class Dialect:
    """The dialect of a database engine.

    Attributes:
        has_server: True if statements go to a server, which works concurrently with the caller but needs a round trip
            for each statement.
        has_partitions: True if each chain has partitions of its own.
        has_arrays: True if one parameter can contain an array of values.
        has_statistics: True if the query planner uses statistics on how many rows have each value of a column.
        of_snapshot: The connection options with which a transaction reads one consistent state of the database.
        of_prepared: The driver's cursor options for frequently executed statements.
    """

    has_server: ClassVar[bool] = False
    has_partitions: ClassVar[bool] = False
    has_arrays: ClassVar[bool] = False
    has_statistics: ClassVar[bool] = False
    of_snapshot: ClassVar[Mapping[str, Any]] = {}
    of_prepared: ClassVar[Mapping[str, Any]] = {}

    def quotient(self, dividend: ColumnElement[Any], divisor: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the integer quotient of two non-negative integers."""
        return dividend / divisor

    def is_within(self, value: ColumnElement[Any], limit: int, *, is_least: bool) -> ColumnElement[bool]:
        """Return the condition that a wide integer is at least, or at most, a given limit."""
        return value >= limit if is_least else value <= limit

    def add_functions(self, connection: Connection) -> None:
        """Add the function `sqrt` to SQLite if it was built without it."""

    def set_local(self, connection: Connection, name: str, value: str) -> None:
        """Change a PostgreSQL setting until the end of the transaction."""

    def lock(self, connection: Connection, number: int, *, is_shared: bool = False) -> None:
        """Take an advisory lock until the transaction ends. SQLite needs no lock, because it allows only one writer."""


class Sqlite(Dialect):
    """SQLite's dialect."""

    def is_within(self, value: ColumnElement[Any], limit: int, *, is_least: bool) -> ColumnElement[bool]:
        """See `Dialect.is_within`. Integers of more than 64 bits are text (see `sqlite_integer`)."""
        is_integer, is_text = func.typeof(value) == "integer", func.typeof(value) == "text"
        sign = func.substr(value, 1, 1)
        is_large, is_deep = and_(is_text, sign == "0"), and_(is_text, sign == "-")
        if isinstance(sqlite_integer(limit), int):
            is_outside = is_large if is_least else is_deep
            return or_(and_(is_integer, super().is_within(value, limit, is_least=is_least)), is_outside)
        if limit > 0:
            is_lower = or_(is_integer, is_deep, and_(is_large, value <= limit))
            return and_(is_large, value >= limit) if is_least else is_lower
        # Below zero, the text with the larger number after the sign is the smaller integer.
        is_higher = or_(is_integer, is_large, and_(is_deep, value <= limit))
        return is_higher if is_least else and_(is_deep, value >= limit)

    def add_functions(self, connection: Connection) -> None:
        if "has_sqrt" in connection.info:
            return
        driver: Any = connection.connection.driver_connection
        try:
            driver.execute("SELECT sqrt(1)").fetchone()
        except sqlite3.OperationalError:
            driver.create_function("sqrt", 1, math.sqrt, deterministic=True)
        connection.info["has_sqrt"] = True


class Postgres(Dialect):
    """PostgreSQL's dialect."""

    has_server = has_partitions = has_arrays = has_statistics = True
    of_snapshot: ClassVar[Mapping[str, Any]] = {"isolation_level": "REPEATABLE READ"}
    of_prepared: ClassVar[Mapping[str, Any]] = {"prepare": True}  # by default, psycopg does so after five runs

    def quotient(self, dividend: ColumnElement[Any], divisor: ColumnElement[Any]) -> ColumnElement[Any]:
        return func.floor(dividend / divisor)

    def set_local(self, connection: Connection, name: str, value: str) -> None:
        connection.exec_driver_sql(f"SET LOCAL {name} = {value}")

    def lock(self, connection: Connection, number: int, *, is_shared: bool = False) -> None:
        lock = "pg_advisory_xact_lock_shared" if is_shared else "pg_advisory_xact_lock"
        connection.execute(text(f"SELECT {lock}(:number)"), {"number": number}).one()


_INSERTS: Final[Mapping[str, Callable[..., Any]]] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
DIALECTS: Final[Mapping[str, Dialect]] = {"sqlite": Sqlite(), "postgresql": Postgres()}
"""The dialects, keyed by SQLAlchemy's name for the engine."""


def dialect_of(database: Connection | Engine) -> Dialect:
    """Return the dialect of a connection's engine."""
    return DIALECTS[database.dialect.name]


def insert_into(connection: Connection, table: Table) -> Any:
    """Return an insert statement of the engine's dialect, which supports `ON CONFLICT` clauses."""
    return _INSERTS[connection.dialect.name](table)


def insert_new(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows, except those whose keys are already in the table."""
    if rows:
        names = tuple(column.name for column in table.c if column.name in rows[0])
        statement, converts = _insert_new(connection.dialect, table, names)
        columns = (
            [row[name] for row in rows] if convert is None else [convert(row[name]) for row in rows]
            for name, convert in zip(names, converts, strict=True)
        )
        connection.exec_driver_sql(statement, list(zip(*columns, strict=True)))


def upsert(  # noqa: PLR0913  # what to insert, and what to do with existing rows
    connection: Connection,
    table: Table,
    rows: Sequence[Mapping[str, Any]],
    *,
    key: Sequence[str] = (),
    replaced: Sequence[str] = (),
    values: Callable[[Any], Mapping[str, Any]] = lambda _: {},
    where: Callable[[Any], ColumnElement[bool]] | None = None,
) -> None:
    """Insert rows, or replace existing ones. If two rows have the same key, the later one wins.

    Args:
        key: The columns that identify a row; by default, the primary key.
        replaced: The columns to replace; by default, all others.
        values: A function that, given the new row, returns the columns whose values are computed instead of copied.
        where: A function that, given the new row, returns the condition under which an existing row is replaced.
    """
    if rows:
        statement, names = insert_into(connection, table), [*(key or table.primary_key.columns.keys())]
        new = statement.excluded
        columns = {name: new[name] for name in replaced or rows[0] if name not in names} | dict(values(new))
        condition = None if where is None else where(new)
        statement = statement.on_conflict_do_update(index_elements=names, set_=columns, where=condition)
        # Use a fixed order, so that two transactions cannot deadlock.
        connection.execute(statement, sorted(rows, key=itemgetter(*names)))


@cache
def _insert_new(dialect: EngineDialect, table: Table, names: tuple[str, ...]) -> tuple[str, list[Any]]:
    """Return the driver's statement, with a parameter for each column of the table, and the values' converters.

    For many rows, SQLAlchemy's own conversion of parameters would take as long as SQLite takes to store the rows.
    """
    insert = _INSERTS[dialect.name](table).on_conflict_do_nothing()
    places = insert.compile(dialect=dialect, column_keys=list(names))
    text = places.string % dict.fromkeys(names, "%s") if places.positiontup is None else places.string
    return text, [table.c[name].type.dialect_impl(dialect).bind_processor(dialect) for name in names]


_FIRST: Final = 8004 << 48
"""The key of the lock for chain 0. Advisory locks have 63-bit keys, which all programs using a database share."""

_OBSERVATIONS: Final = _FIRST - 1
"""The key of the lock on observation numbers."""

_STEPS: Final = _FIRST - 2
"""The key of the lock on the change feed's step numbers."""

_CHAINS: Final = 1 << 48  # keys have 63 bits, so chains with larger ids may share a lock


def own_cursor(connection: Connection, chain_id: int) -> None:
    """Wait for other transactions' notes at a chain's cursor, and block further ones until this transaction ends."""
    dialect_of(connection).lock(connection, _lock_of(chain_id))


def number_observations(connection: Connection) -> None:
    """Lock the numbering of observations until the end of the transaction."""
    dialect_of(connection).lock(connection, _OBSERVATIONS)


def number_steps(connection: Connection) -> None:
    """Lock the numbering of the change feed until the end of the transaction."""
    dialect_of(connection).lock(connection, _STEPS)


def hold_cursors(connection: Connection) -> None:
    """Keep the cursors of all chains unchanged until the transaction ends."""
    if dialect_of(connection).has_server:  # a statement per chain would need a round trip for each
        locks = text("SELECT pg_advisory_xact_lock_shared(:first + chain_id % :chains) FROM chain ORDER BY chain_id")
        connection.execute(locks, {"first": _FIRST, "chains": _CHAINS}).all()


def hold_cursor(connection: Connection, chain_id: int) -> None:
    """Keep the cursor of one chain unchanged until the transaction ends. See `hold_cursors`."""
    dialect_of(connection).lock(connection, _lock_of(chain_id), is_shared=True)


def wait_for_locks(connection: Connection) -> None:
    """Disable the lock timeout in a transaction, because other index workers hold some locks for minutes."""
    dialect_of(connection).set_local(connection, "lock_timeout", "0")


def _lock_of(chain_id: int) -> int:
    return _FIRST + chain_id % _CHAINS
