"""Create the tables of the aggregator."""

from __future__ import annotations

from alembic import op

from bilateral.index import sponsored

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the tables."""
    sponsored.metadata.create_all(op.get_bind(), checkfirst=False)
