"""The version of an index's tables, and the migrations between versions, which only `bilateral index schema` runs."""

import re
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, inspect, text

from bilateral.index.errors import NewerSchemaError, OlderSchemaError
from bilateral.index.log import tables as schema
from bilateral.index.log.dialects import dialect_of, wait_for_locks

_UNRELEASED: Final = re.compile(r"0\d{3}|[1-4]")
"""The versions of the tables before the first release. Released versions contain a dot."""

_REBUILD: Final = "they predate the first release, so delete the database or choose a different one, and index again"

_MIGRATIONS = Path(__file__).parents[2] / "migrations"
_ADVISORY_LOCK = 80048004
"""The key of a lock that all programs of this package share, so that only one at a time creates the tables."""


def stored_revision(connection: Connection) -> str | None:
    """Return the version of the tables; None for a database without tables."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def require_supported_revision(revision: str | None) -> None:
    """Raise an error unless this package supports the given version of the tables."""
    if revision is None or revision in schema.REVISIONS:
        return
    if _UNRELEASED.fullmatch(revision):
        raise OlderSchemaError(revision, schema.REVISION, _REBUILD)
    raise NewerSchemaError(revision, schema.REVISION)


def require_current_revision(revision: str | None) -> None:
    """Raise an error unless the tables have the version that this package needs."""
    require_supported_revision(revision)
    if revision != schema.REVISION:
        raise OlderSchemaError(revision or "none", schema.REVISION)


def upgrade_within(connection: Connection) -> str | None:
    """Migrate the tables to the newest version, within a transaction."""
    from alembic import command  # noqa: PLC0415  # slow, and not for each extra
    from alembic.config import Config  # noqa: PLC0415

    wait_for_locks(connection)  # another process's migration may take minutes
    dialect_of(connection).lock(connection, _ADVISORY_LOCK)
    before = stored_revision(connection)
    require_supported_revision(before)
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    return before
