"""Let searches walk down the agents in the order of their last changes."""

from __future__ import annotations

from typing import Final

from alembic import op

from bilateral.index.tables import schema

revision = "0017"
down_revision = "0016"

_NAME: Final = "agent_by_change"


def upgrade() -> None:
    """Create the index. A new database got it with its table."""
    (index,) = (index for index in schema.agent.indexes if index.name == _NAME)
    index.create(op.get_bind(), checkfirst=True)
