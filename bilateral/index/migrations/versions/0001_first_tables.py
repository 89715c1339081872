"""Create the tables and views of version 1, as their modules describe them today.

A change of these tables is a further migration, which does nothing in new databases: this one has made the change.
"""

from __future__ import annotations

from alembic import op

from bilateral.index.derive import activity
from bilateral.index.tables import aggregator, analysis, changes, files, payments, schema, search, standings

revision = "1"
down_revision = None


def upgrade() -> None:
    """Create the tables and views."""
    connection = op.get_bind()
    for tables in (schema, files, analysis, aggregator, search, payments, activity, standings, changes):
        tables.metadata.create_all(connection, checkfirst=False)
    for name, query in {**schema.VIEWS, **files.VIEWS}.items():
        op.execute(f'CREATE VIEW "{name}" AS {query}')
