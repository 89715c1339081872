"""The version of an index's tables, as their database stores it."""

from __future__ import annotations

import re
from typing import Final

from sqlalchemy import Connection, inspect, text

from bilateral.index.errors import NewerSchemaError, OlderSchemaError
from bilateral.index.log import tables as schema

_UNRELEASED: Final = re.compile(r"0\d{3}|[1-4]")
"""The versions of the tables before the first release. Those of releases have a dot."""

_REBUILD: Final = "they are from before the first release, so delete the database or name another, and index again"


def stored_revision(connection: Connection) -> str | None:
    """Return the version of the tables; None for a database without them."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def require_supported_revision(revision: str | None) -> None:
    """Check that this package knows a version of the tables."""
    if revision is None or revision in schema.REVISIONS:
        return
    if _UNRELEASED.fullmatch(revision):
        raise OlderSchemaError(revision, schema.REVISION, _REBUILD)
    raise NewerSchemaError(revision, schema.REVISION)


def require_current_revision(revision: str | None) -> None:
    """Check that the tables have the version that this package needs."""
    require_supported_revision(revision)
    if revision != schema.REVISION:
        raise OlderSchemaError(revision or "none", schema.REVISION)
