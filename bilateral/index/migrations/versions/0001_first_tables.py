"""Create the tables and views of the first version."""

from __future__ import annotations

from alembic import op

from bilateral.index.tables import schema

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables and views."""
    schema.metadata.create_all(op.get_bind(), checkfirst=False)
    for name, query in schema.VIEWS.items():
        op.execute(f'CREATE VIEW "{name}" AS {query}')
