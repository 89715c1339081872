"""Let searches read summaries in the index of their lower bounds alone."""

from __future__ import annotations

from typing import Final

from alembic import op
from sqlalchemy import inspect

from bilateral.index.tables import schema

revision = "0011"
down_revision = "0010"

_NAME: Final = "summary_by_lower_bound"


def upgrade() -> None:
    """Make the index anew if it lacks columns. A new database got it with its table."""
    connection = op.get_bind()
    (index,) = (index for index in schema.summary.indexes if index.name == _NAME)
    (stored,) = (index for index in inspect(connection).get_indexes(schema.summary.name) if index["name"] == _NAME)
    if "mean" not in stored["column_names"]:
        index.drop(connection)
        index.create(connection)
