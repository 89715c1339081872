"""Create the tables of the aggregator."""

from __future__ import annotations

from alembic import op

from bilateral.index.tables import aggregator as sponsored

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Create the tables that the database lacks."""
    sponsored.metadata.create_all(op.get_bind(), checkfirst=True)
