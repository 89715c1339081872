"""Read the claims to be an agent on Solana again: earlier versions kept them without the agent."""

from __future__ import annotations

from alembic import op
from sqlalchemy import select, update

from bilateral.index.files.reading import read_content
from bilateral.index.tables import files
from bilateral.index.tables.files import Kind

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    """Read the files again whose claims lack an agent on Solana."""
    connection = op.get_bind()
    claim, content = files.registration_claim, files.file_content
    lacks_agent = claim.c.agent_registry.like("solana:%") & claim.c.agent_id.is_(None)
    for content_hash in connection.execute(select(claim.c.content_hash).where(lacks_agent).distinct()).scalars().all():
        (raw,) = connection.execute(select(content.c.content).where(content.c.content_hash == content_hash)).one()
        for row in read_content(Kind.REGISTRATION, content_hash, raw)[claim]:
            place = (claim.c.content_hash == content_hash) & (claim.c.position == row["position"])
            connection.execute(update(claim).where(place).values(agent_id=row["agent_id"]))
