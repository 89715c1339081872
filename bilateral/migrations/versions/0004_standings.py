"""Drop the column `basis` of standings: all of them are made by an analysis."""

from __future__ import annotations

from alembic import op
from sqlalchemy import inspect

revision = "4"
down_revision = "3"


def upgrade() -> None:
    """Remove the standings too, because some were not made by an analysis. The next one makes all of them again."""
    for table in ("standing", "standing_refresh"):
        if any(column["name"] == "basis" for column in inspect(op.get_bind()).get_columns(table)):
            op.execute(f"DELETE FROM {table}")  # noqa: S608  # names of this module
            op.drop_column(table, "basis")
