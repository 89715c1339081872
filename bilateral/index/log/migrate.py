"""Migrations of the tables, by Alembic. Workers never run them: `bilateral index schema` does."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

from bilateral.index.log.dialects import dialect_of
from bilateral.index.log.locks import wait_for_locks
from bilateral.index.log.revisions import require_supported_revision, stored_revision

_MIGRATIONS = Path(__file__).parents[2] / "migrations"
_ADVISORY_LOCK = 80048004
"""A number that all of these programs share, so that two of them do not create the tables at once."""


def upgrade_within(connection: Connection, revision: str = "head") -> str | None:
    """Bring the tables to a version, within a transaction."""
    wait_for_locks(connection)  # another process may migrate for minutes
    dialect_of(connection).lock(connection, _ADVISORY_LOCK)
    before = stored_revision(connection)
    require_supported_revision(before)
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
    return before
