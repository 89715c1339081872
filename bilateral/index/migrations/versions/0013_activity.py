"""Create the table of the times of agents, and fill it from the events."""

from __future__ import annotations

from alembic import op
from sqlalchemy import select

from bilateral.index.derive import activity
from bilateral.index.store.rows import rows_of
from bilateral.index.tables import schema

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Create the table, and fill it."""
    connection = op.get_bind()
    activity.metadata.create_all(connection, checkfirst=False)
    for chain_id in connection.execute(select(schema.chain.c.chain_id)).scalars().all():
        activity.ActivityTable(chain_id, connection, rows_of(connection)).rebuild()
