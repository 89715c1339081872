"""Create the tables of payments, and of messages between sellers and buyers."""

from __future__ import annotations

from alembic import op

from bilateral.index.tables import payments as schema

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Create the tables."""
    schema.metadata.create_all(op.get_bind(), checkfirst=False)
