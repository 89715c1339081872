"""Put services and capabilities of registration files side by side, and find approvals and metadata by agent."""

from __future__ import annotations

from typing import Final

from alembic import op
from sqlalchemy import insert, select

from bilateral.events import Approval, MetadataSet
from bilateral.index.files.reading import read_content
from bilateral.index.tables import files
from bilateral.index.tables.files import Kind
from bilateral.index.tables.schema import EVENT_TABLES

revision = "0007"
down_revision = "0006"

_AT_ONCE: Final = 200


def upgrade() -> None:
    """Create the indexes and the table, unless an earlier migration did, and fill the table."""
    connection = op.get_bind()
    for event in (Approval, MetadataSet):
        for index in EVENT_TABLES[event].indexes:
            index.create(connection, checkfirst=True)
    card, read, content = files.registration_card, files.registration_file, files.file_content
    card.create(connection, checkfirst=True)
    missing = (
        select(content.c.content_hash, content.c.content)
        .join(read, read.c.content_hash == content.c.content_hash)
        .where(~content.c.content_hash.in_(select(card.c.content_hash)))
        .limit(_AT_ONCE)
    )
    while contents := connection.execute(missing).all():
        rows = [read_content(Kind.REGISTRATION, hash_, raw)[card][0] for hash_, raw in contents]
        connection.execute(insert(card), rows)
