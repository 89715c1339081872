"""The views of an index. A migration replaces them when their text changes."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from sqlalchemy.exc import ProgrammingError

from bilateral.events import RatingsOpened, RatingsSealed
from bilateral.index.tables import event_views, files, schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

VIEWS: Final[Mapping[str, str]] = {**event_views.VIEWS, **files.VIEWS}
"""All views, by name."""


def fingerprint() -> str:
    """Return a hash of the text of all views. The last migration that replaces them holds it."""
    text = "\n".join(f"{name}: {' '.join(query.split())}" for name, query in VIEWS.items())
    return hashlib.sha256(text.encode()).hexdigest()


def replace_views(connection: Connection) -> None:
    """Give all views the text that this package has.

    PostgreSQL keeps the privileges of a view, and the views of others on it, unless its columns change.

    Args:
        connection: The database, in a transaction.
    """
    # Old versions replace the views before a later one creates these tables, which the present views read.
    tables = [schema.EVENT_TABLES[event] for event in (RatingsSealed, RatingsOpened)]
    schema.metadata.create_all(connection, tables=tables, checkfirst=True)
    for name, query in VIEWS.items():
        if connection.dialect.name == "postgresql":
            try:
                with connection.begin_nested():
                    connection.exec_driver_sql(f'CREATE OR REPLACE VIEW "{name}" AS {query}')
            except ProgrammingError:  # the columns differ
                pass
            else:
                continue
        connection.exec_driver_sql(f'DROP VIEW IF EXISTS "{name}"')
        connection.exec_driver_sql(f'CREATE VIEW "{name}" AS {query}')
