"""Create the tables of the events of blind ratings."""

from __future__ import annotations

from alembic import op
from sqlalchemy import select

from bilateral.events import RatingsOpened, RatingsSealed
from bilateral.index.tables import schema
from bilateral.index.tables.partitions import create_partitions

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    """Create the tables. A new database got them with the first version."""
    connection = op.get_bind()
    tables = [schema.EVENT_TABLES[event] for event in (RatingsSealed, RatingsOpened)]
    schema.metadata.create_all(connection, tables=tables, checkfirst=True)
    for chain_id in connection.execute(select(schema.chain.c.chain_id)).scalars().all():
        create_partitions(connection, chain_id)
