"""Statements and habits that SQLite and PostgreSQL do not share, in a class for each."""

import math
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Final

from sqlalchemy import ColumnElement, Connection, Engine, Table, and_, func, or_, text
from sqlalchemy.dialects import postgresql, sqlite

from bilateral.index.log.columns import sqlite_integer


class Dialect:
    """The side of one engine.

    Attributes:
        has_server: True if statements go to a server, which works while the caller does, and each of which waits for an
            answer.
        has_partitions: True if each chain has tables of its own.
        has_arrays: True if one parameter takes many values.
        has_statistics: True if it knows how many rows have a value, and plans by it.
        of_snapshot: Options of a connection whose transaction reads one state of the database.
        of_prepared: Options of the driver's cursor for a statement that is sent often.
    """

    has_server: ClassVar[bool] = False
    has_partitions: ClassVar[bool] = False
    has_arrays: ClassVar[bool] = False
    has_statistics: ClassVar[bool] = False
    of_snapshot: ClassVar[Mapping[str, Any]] = {}
    of_prepared: ClassVar[Mapping[str, Any]] = {}

    def quotient(self, dividend: ColumnElement[Any], divisor: ColumnElement[Any]) -> ColumnElement[Any]:
        """Return the quotient of two integers without its fraction. Neither is negative."""
        return dividend / divisor

    def is_within(self, value: ColumnElement[Any], limit: int, *, is_least: bool) -> ColumnElement[bool]:
        """Return the condition that a wide integer is at least, or at most, a limit."""
        return value >= limit if is_least else value <= limit

    def add_functions(self, connection: Connection) -> None:
        """Give SQLite the function `sqrt`, if it was built without."""

    def set_local(self, connection: Connection, name: str, value: str) -> None:
        """Change a setting of PostgreSQL until the end of the transaction."""

    def lock(self, connection: Connection, number: int, *, is_shared: bool = False) -> None:
        """Take an advisory lock until the end of the transaction. SQLite has one writer at a time, and needs none."""


class Sqlite(Dialect):
    """The side of SQLite."""

    def is_within(self, value: ColumnElement[Any], limit: int, *, is_least: bool) -> ColumnElement[bool]:
        """See `Dialect.is_within`. Integers beyond 64 bits are text, see `sqlite_integer`."""
        is_integer, is_text = func.typeof(value) == "integer", func.typeof(value) == "text"
        sign = func.substr(value, 1, 1)
        is_large, is_deep = and_(is_text, sign == "0"), and_(is_text, sign == "-")
        if isinstance(sqlite_integer(limit), int):
            is_outside = is_large if is_least else is_deep
            return or_(and_(is_integer, super().is_within(value, limit, is_least=is_least)), is_outside)
        if limit > 0:
            is_lower = or_(is_integer, is_deep, and_(is_large, value <= limit))
            return and_(is_large, value >= limit) if is_least else is_lower
        # Below zero the text with the greater number after the sign is the smaller integer.
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
    """The side of PostgreSQL."""

    has_server = has_partitions = has_arrays = has_statistics = True
    of_snapshot: ClassVar[Mapping[str, Any]] = {"isolation_level": "REPEATABLE READ"}
    of_prepared: ClassVar[Mapping[str, Any]] = {"prepare": True}  # psycopg otherwise waits until it was sent five times

    def quotient(self, dividend: ColumnElement[Any], divisor: ColumnElement[Any]) -> ColumnElement[Any]:
        return func.floor(dividend / divisor)

    def set_local(self, connection: Connection, name: str, value: str) -> None:
        connection.exec_driver_sql(f"SET LOCAL {name} = {value}")

    def lock(self, connection: Connection, number: int, *, is_shared: bool = False) -> None:
        lock = "pg_advisory_xact_lock_shared" if is_shared else "pg_advisory_xact_lock"
        connection.execute(text(f"SELECT {lock}(:number)"), {"number": number}).one()


_INSERTS: Final[Mapping[str, Callable[..., Any]]] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
DIALECTS: Final[Mapping[str, Dialect]] = {"sqlite": Sqlite(), "postgresql": Postgres()}
"""The side of each engine, by the name that SQLAlchemy gives it."""


def dialect_of(database: Connection | Engine) -> Dialect:
    """Return the side of the engine that a connection belongs to."""
    return DIALECTS[database.dialect.name]


def insert_into(connection: Connection, table: Table) -> Any:
    """Return an insert of the engine's own dialect, which knows what to do with keys that the table has."""
    return _INSERTS[connection.dialect.name](table)


def insert_new(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows, but for those whose keys the table has already."""
    if rows:
        connection.execute(_insert_new(connection.dialect.name, table), list(rows))


@cache
def _insert_new(engine: str, table: Table) -> Any:
    return _INSERTS[engine](table).on_conflict_do_nothing()
