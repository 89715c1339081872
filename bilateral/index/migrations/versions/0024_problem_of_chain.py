"""Keep the problem that stops a chain, for `bilateral index status`."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Text, inspect

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    """Add the column. A new database got it with its tables."""
    if "problem" not in {column["name"] for column in inspect(op.get_bind()).get_columns("chain")}:
        op.add_column("chain", Column("problem", Text))
