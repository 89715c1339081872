"""Create the tables of the events of buyer registries, and those of anchors and replies."""

from __future__ import annotations

from alembic import op
from sqlalchemy import select

from bilateral.contracts import Registry
from bilateral.events import EVENTS
from bilateral.index.tables import schema
from bilateral.index.tables.partitions import create_partitions
from bilateral.index.tables.payments import PAYMENT_BY_SELLER, buyer_anchor, buyer_reply, buyer_state

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Create the tables. A new database got them with the first version."""
    connection = op.get_bind()
    tables = [schema.EVENT_TABLES[event] for event in EVENTS[Registry.BUYERS]]
    schema.metadata.create_all(connection, tables=tables, checkfirst=True)
    for table in (buyer_anchor, buyer_state, buyer_reply):
        table.create(connection, checkfirst=True)
    PAYMENT_BY_SELLER.create(connection, checkfirst=True)
    for chain_id in connection.execute(select(schema.chain.c.chain_id)).scalars().all():
        create_partitions(connection, chain_id)
