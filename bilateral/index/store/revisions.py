"""The version of an index's tables, as their database stores it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import inspect, text

from bilateral.index.errors import NewerSchemaError, OlderSchemaError
from bilateral.index.tables import schema

if TYPE_CHECKING:
    from sqlalchemy import Connection


def stored_revision(connection: Connection) -> str | None:
    """Return the version of the tables; None for a database without them."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def require_known_revision(revision: str | None) -> None:
    """Check that this package knows a version of the tables.

    Raises:
        NewerSchemaError: It does not.
    """
    if revision is not None and revision not in schema.REVISIONS:
        raise NewerSchemaError(revision, schema.REVISION)


def require_current_revision(revision: str | None) -> None:
    """Check that the tables have the version that this package needs.

    Raises:
        OlderSchemaError: They wait for `bilateral index schema`, or there are none.
        NewerSchemaError: A newer version of this package made them.
    """
    require_known_revision(revision)
    if revision != schema.REVISION:
        raise OlderSchemaError(revision or "none", schema.REVISION)
