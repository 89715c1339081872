"""Create the tables and views of files."""

from __future__ import annotations

from alembic import op

from bilateral.index.tables import files as schema

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the tables and views."""
    schema.metadata.create_all(op.get_bind(), checkfirst=False)
    for name, query in schema.VIEWS.items():
        op.execute(f'CREATE VIEW "{name}" AS {query}')
