"""Create the tables and indexes of checks. A new database has the tables of files already."""

from __future__ import annotations

from alembic import op
from sqlalchemy import insert, inspect, select, true

from bilateral.index.tables import files as schema
from bilateral.index.tables import schema as events

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Create what is missing, and note the files that were seen so far at the block that each chain has reached."""
    connection = op.get_bind()
    is_new = inspect(connection).has_table(schema.file_sight.name)
    for table in (schema.file_sight, schema.registration_domain):
        table.create(connection, checkfirst=True)
    for index in events.CHECK_INDEXES:
        index.create(connection, checkfirst=True)
    if not is_new:
        table, chain = schema.file, events.chain
        columns = ("state", "content_hash", "integrity", "reason")
        rows = (
            select(chain.c.chain_id, table.c.file_id, chain.c.block_number, *(table.c[name] for name in columns))
            .select_from(table.join(chain, true()))
            .where(table.c.state != schema.State.WAITING)
        )
        names = ["chain_id", "file_id", "seen_block", *columns]
        connection.execute(insert(schema.file_sight).from_select(names, rows))
