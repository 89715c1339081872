"""Statements for hot paths: their text is made once for each engine, and rows come as the driver returns them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy.dialects import sqlite

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, Dialect, Executable


class PreparedStatement:
    """A statement without the work that SQLAlchemy does at each execution.

    Values of columns are those of the driver: on SQLite, wide integers may be text, see `python_integer`.

    Args:
        statement: The statement. Its parameters are named.
    """

    def __init__(self, statement: Executable) -> None:
        """See the class."""
        self._statement: Any = statement
        self._texts: dict[str, tuple[str, dict[str, Any]]] = {}

    def all(self, connection: Connection, values: Mapping[str, Any]) -> Sequence[Any]:
        """Execute the statement, and return its rows.

        Args:
            connection: The database.
            values: The parameters.
        """
        name = connection.dialect.name
        if name not in self._texts:
            self._texts[name] = self._compiled(connection.dialect)
        text, fixed = self._texts[name]
        return connection.exec_driver_sql(text, {**fixed, **values}).all()

    def _compiled(self, dialect: Dialect) -> tuple[str, dict[str, Any]]:
        """Return the text for an engine, and the values that the statement itself names."""
        named: Any = sqlite.dialect(paramstyle="named") if dialect.name == "sqlite" else dialect
        compiled = self._statement.compile(dialect=named)
        fixed = {key: value for key, value in compiled.params.items() if value is not None}
        return str(compiled), fixed
