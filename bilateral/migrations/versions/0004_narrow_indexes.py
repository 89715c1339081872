"""Add the indexes of SQLite from which searches read agents and files without their URIs."""

from __future__ import annotations

from alembic import op

from bilateral.index.agents.tables import agent
from bilateral.index.files.tables import file

revision = "1.3"
down_revision = "1.2"

_NAMES = ("agent_by_key", "file_state_by_content", "file_state_by_id")


def upgrade() -> None:
    """Add the indexes, of which one replaces an earlier one."""
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        op.execute("DROP INDEX IF EXISTS file_by_content")
        for index in (*agent.indexes, *file.indexes):
            if index.name in _NAMES:
                index.create(connection, checkfirst=True)
