"""Create the indexes for lists of an agent's, a client's and a server's records."""

from __future__ import annotations

from alembic import op
from sqlalchemy import inspect

from bilateral.index.tables import schema

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the indexes that an older database lacks. A new one got them with its tables."""
    connection = op.get_bind()
    stored = set(inspect(connection).get_table_names())
    for table in schema.EVENT_TABLES.values():
        for index in table.indexes if table.name in stored else ():
            index.create(connection, checkfirst=True)
