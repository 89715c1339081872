"""Show in the views which ratings are blind and which pairs are sealed, and sum up blind ratings on their own.

A relay of blind ratings gets the table of its openings.
"""

from __future__ import annotations

from alembic import op
from sqlalchemy import select

from bilateral.events import RatingsOpened, RatingsSealed
from bilateral.index.store.chain_store import ChainStore
from bilateral.index.tables.aggregator import blind_pair
from bilateral.index.tables.schema import EVENT_TABLES
from bilateral.index.tables.views import replace_views

revision = "0026"
down_revision = "0025"

VIEWS = "e5d696022d7557e6a9549a46fe99c14e5ac44159d2fb0d5a27b1b2f890e06a92"
"""The fingerprint of the views that this migration makes. When they change, add a migration like this one."""


def upgrade() -> None:
    """Replace the views, create the index, which a new database has, and sum up the blind ratings that are stored."""
    connection = op.get_bind()
    replace_views(connection)
    for index in EVENT_TABLES[RatingsSealed].indexes:
        index.create(connection, checkfirst=True)
    blind_pair.create(connection, checkfirst=True)
    chains = select(EVENT_TABLES[RatingsOpened].c.chain_id).distinct()
    for chain_id in connection.execute(chains).scalars().all():
        ChainStore(connection.engine, chain_id).rebuild_within(connection)
