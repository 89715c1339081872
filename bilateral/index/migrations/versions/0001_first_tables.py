"""Create the tables and views of the first release.

Until that release this migration changes with the tables, and is the only one. From then on it is frozen, with the
tables that it creates, and a change of a table is a further migration.
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
