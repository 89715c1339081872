"""Create the tables of the change feed."""

from __future__ import annotations

from alembic import op

from bilateral.index.tables import changes

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    """Create the tables."""
    changes.metadata.create_all(op.get_bind(), checkfirst=True)
