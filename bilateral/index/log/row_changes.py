"""Changes of rows whose former values are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Table

    from bilateral.index.log.rows import Row, Rows


class Writes:
    """Changes of rows whose former values are known: what is new is inserted, which costs half of replacing.

    Args:
        rows: The access to rows.
    """

    def __init__(self, rows: Rows, table: Table) -> None:
        self._rows = rows
        self._table = table
        self._new: list[Row] = []
        self._changed: list[Row] = []
        self._gone: list[Row] = []

    def add(self, key: Row, former: Row | None, row: Row | None) -> None:
        """Add a change.

        Args:
            key: The primary key.
            former: The row as the table holds it; None if it holds no such row.
            row: The new row; None to delete it.
        """
        if row is None:
            if former is not None:
                self._gone.append(key)
        elif former is None:
            self._new.append(row)
        elif row != former:
            self._changed.append(row)

    def write(self) -> None:
        """Write the changes."""
        self._rows.delete(self._table, self._gone)
        self._rows.insert(self._table, self._new)
        self._rows.replace(self._table, self._changed)
