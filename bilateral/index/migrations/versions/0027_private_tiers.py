"""Create the tables of private tiers: roots on chain, members, and published lists."""

from __future__ import annotations

from alembic import op
from sqlalchemy import select

from bilateral.events import TierRootsPosted
from bilateral.index.tables import payments, schema
from bilateral.index.tables.partitions import create_partitions

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    """Create the tables. A new database got them with the first version."""
    connection = op.get_bind()
    tables = [schema.EVENT_TABLES[TierRootsPosted], payments.tier_member, payments.tier_list]
    schema.metadata.create_all(connection, tables=tables, checkfirst=True)
    for chain_id in connection.execute(select(schema.chain.c.chain_id)).scalars().all():
        create_partitions(connection, chain_id)
