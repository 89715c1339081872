"""Inserts that SQLite and PostgreSQL word alike, but for their dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy.dialects import postgresql, sqlite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Table

_INSERT: Final[dict[str, Any]] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


def insert_into(connection: Connection, table: Table) -> Any:
    """Return an insert of the engine's own dialect, which knows what to do with keys that the table has."""
    return _INSERT[connection.dialect.name](table)


def insert_new(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows, but for those whose keys the table has already."""
    if rows:
        connection.execute(insert_into(connection, table).on_conflict_do_nothing(), list(rows))
