"""Let PostgreSQL go from words to agents, and back, by indexes alone: the rows of files are large, and far apart."""

from __future__ import annotations

from typing import Final

from alembic import op
from sqlalchemy import inspect

from bilateral.index.tables import files, search

revision = "0021"
down_revision = "0020"

_COVERING: Final = {files.file: ("file_by_content", "file_by_id"), search.agent_file: ("agent_file_by_file",)}


def upgrade() -> None:
    """Make those indexes anew that are missing or lack columns. A new database got them with its tables."""
    connection = op.get_bind()
    if connection.dialect.name != "postgresql":
        return
    for table, names in _COVERING.items():
        indexes = inspect(connection).get_indexes(table.name)
        stored = {index["name"]: index.get("dialect_options", {}).get("postgresql_include") for index in indexes}
        for index in sorted(
            (index for index in table.indexes if index.name in names), key=lambda index: str(index.name)
        ):
            if stored.get(index.name) != index.dialect_options["postgresql"]["include"]:
                index.drop(connection, checkfirst=True)
                index.create(connection)
