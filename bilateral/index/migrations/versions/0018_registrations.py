"""Find the domains that agents are registered under (August 2025), and walk down agents in their order of registration.

The scan for files goes over the blocks of such agents once more. It keeps what it found before.
"""

from __future__ import annotations

from typing import Final

from alembic import op
from sqlalchemy import func, select, union_all, update

from bilateral.events import AgentRegistered, AgentUpdated
from bilateral.index.tables.files import file_scan
from bilateral.index.tables.schema import EVENT_TABLES, agent

revision = "0018"
down_revision = "0017"

_NAME: Final = "agent_by_registration"


def upgrade() -> None:
    """Create the index, which a new database has. Move each scan back to the block before its first such agent."""
    connection = op.get_bind()
    (index,) = (index for index in agent.indexes if index.name == _NAME)
    index.create(connection, checkfirst=True)
    tables = [EVENT_TABLES[event] for event in (AgentRegistered, AgentUpdated)]
    named = union_all(*(select(table.c.chain_id, table.c.block_number) for table in tables)).subquery()
    first = select(func.min(named.c.block_number)).where(named.c.chain_id == file_scan.c.chain_id).scalar_subquery()
    moved = {"block_number": first - 1, "generation": file_scan.c.generation + 1}
    connection.execute(update(file_scan).where(first <= file_scan.c.block_number).values(moved))
