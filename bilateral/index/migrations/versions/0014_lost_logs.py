"""Add the time at which an endpoint left out logs."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, inspect

from bilateral.index.tables import schema

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the column. A new database got it with the first version."""
    table = schema.endpoint_limit.name
    if "lost_logs_at" not in {column["name"] for column in inspect(op.get_bind()).get_columns(table)}:
        op.add_column(table, Column("lost_logs_at", schema.endpoint_limit.c.lost_logs_at.type))
