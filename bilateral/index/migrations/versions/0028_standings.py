"""Create the tables of standings."""

from __future__ import annotations

from alembic import op

from bilateral.index.tables import standings

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    """Create the tables."""
    standings.metadata.create_all(op.get_bind(), checkfirst=True)
