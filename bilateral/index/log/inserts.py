"""Inserts that SQLite and PostgreSQL word alike, but for their dialect."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from bilateral.index.log.dialects import dialect_named, dialect_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Table


def insert_into(connection: Connection, table: Table) -> Any:
    """Return an insert of the engine's own dialect, which knows what to do with keys that the table has."""
    return dialect_of(connection).insert(table)


def insert_new(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows, but for those whose keys the table has already."""
    if rows:
        connection.execute(_insert_new(connection.dialect.name, table), list(rows))


@cache
def _insert_new(engine: str, table: Table) -> Any:
    """Return the insert of `insert_new`. To make it takes as long as to insert a row."""
    return dialect_named(engine).insert(table).on_conflict_do_nothing()
