"""Create the table of ranges that helpers read, and the index of the files from hosts."""

from __future__ import annotations

from alembic import op

from bilateral.index.files import tables as files
from bilateral.index.log.dialects import dialect_of
from bilateral.index.tables import backfill

revision = "3"
down_revision = "2"


def upgrade() -> None:
    """Create both. PostgreSQL would compress its content, which is read once: that costs more than the disk."""
    connection = op.get_bind()
    backfill.metadata.create_all(connection, checkfirst=False)
    files.FILE_FROM_HOST.create(connection, checkfirst=True)  # the first migration creates it in new databases
    if dialect_of(connection).has_server:
        op.execute("ALTER TABLE backfill_range ALTER COLUMN content SET STORAGE EXTERNAL")
