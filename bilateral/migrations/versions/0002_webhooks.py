"""Create the tables of webhooks."""

from __future__ import annotations

from alembic import op

from bilateral.index.changes import webhook_tables as webhooks

revision = "2"
down_revision = "1"


def upgrade() -> None:
    """Create the tables."""
    webhooks.metadata.create_all(op.get_bind(), checkfirst=False)
