"""Add the measurement tables. Workers then read the endpoints from stored files."""

from __future__ import annotations

from alembic import op
from sqlalchemy import inspect

from bilateral.index.measurements.tables import metadata, registration_endpoint

revision = "1.2"
down_revision = "1.1"


def upgrade() -> None:
    """Add the tables."""
    connection = op.get_bind()
    if not inspect(connection).has_table(registration_endpoint.name):
        metadata.create_all(connection, checkfirst=False)
