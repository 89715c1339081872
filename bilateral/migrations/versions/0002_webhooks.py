"""Create the tables of webhooks."""

from __future__ import annotations

from alembic import op

from bilateral.index.changes import tables as changes

revision = "2"
down_revision = "1"


def upgrade() -> None:
    """Create the tables. The first migration creates them in new databases."""
    changes.metadata.create_all(op.get_bind(), tables=changes.WEBHOOK_TABLES)
