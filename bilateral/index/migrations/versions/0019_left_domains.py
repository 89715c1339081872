"""Find the agents that gave up their domain (August 2025), and find an agent's domains quickly.

The scan for files goes over the blocks of such agents once more. It keeps what it found before.
"""

from __future__ import annotations

from typing import Final

from alembic import op
from sqlalchemy import exists, func, select, update

from bilateral.events import AgentUpdated
from bilateral.index.tables.files import file_reference, file_scan
from bilateral.index.tables.schema import EVENT_TABLES

revision = "0019"
down_revision = "0018"

_NAME: Final = "file_reference_of_domain"


def upgrade() -> None:
    """Create the index, which a new database has. Move each scan back to the block before its first such event."""
    connection = op.get_bind()
    (index,) = (index for index in file_reference.indexes if index.name == _NAME)
    index.create(connection, checkfirst=True)
    event = EVENT_TABLES[AgentUpdated]
    key = ("chain_id", "block_number", "log_index")
    is_known = exists().where(*(file_reference.c[name] == event.c[name] for name in key))
    first = select(func.min(event.c.block_number)).where(event.c.chain_id == file_scan.c.chain_id, ~is_known)
    moved = {"block_number": first.scalar_subquery() - 1, "generation": file_scan.c.generation + 1}
    connection.execute(update(file_scan).where(first.scalar_subquery() <= file_scan.c.block_number).values(moved))
