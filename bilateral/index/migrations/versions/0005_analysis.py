"""Create the tables of trust analysis."""

from __future__ import annotations

from alembic import op

from bilateral.index.tables import analysis as schema

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Create the tables."""
    schema.metadata.create_all(op.get_bind(), checkfirst=False)
