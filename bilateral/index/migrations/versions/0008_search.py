"""Create the tables of searches, and fill them from the files that are stored."""

from __future__ import annotations

from alembic import op
from sqlalchemy import inspect

from bilateral.index.search.filling import fill
from bilateral.index.tables import schema as events
from bilateral.index.tables import search as schema

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Create the tables, and fill them."""
    connection = op.get_bind()
    schema.metadata.create_all(connection, checkfirst=False)
    if connection.dialect.name == "sqlite":
        for statement in schema.SQLITE_STATEMENTS:
            op.execute(statement)
    if "unit_sum" not in {column["name"] for column in inspect(connection).get_columns("counterpart")}:
        # Zero until `bilateral index rebuild`, which computes it from the events.
        kind = events.counterpart.c.unit_sum.type.compile(connection.dialect)
        op.execute(f"ALTER TABLE counterpart ADD COLUMN unit_sum {kind} NOT NULL DEFAULT 0")
        op.execute("CREATE INDEX counterpart_by_account ON counterpart (chain_id, account, side, tag)")
    fill(connection)
