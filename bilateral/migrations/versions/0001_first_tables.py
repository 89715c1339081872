"""Create the tables and views as the modules currently define them.

Each change to these tables needs an additional migration, which does nothing in a new database because this migration
has already created the tables in their current form.
"""

from __future__ import annotations

from alembic import op

from bilateral.buyers import tables as buyers
from bilateral.index.changes import tables as changes
from bilateral.index.files import tables as files
from bilateral.index.log import tables as schema
from bilateral.index.projections import PROJECTIONS, READERS
from bilateral.x402.aggregator import tables as aggregator

revision = "1.0"
down_revision = None


def upgrade() -> None:
    """Create the tables and views."""
    connection = op.get_bind()
    tables = [table for projection in PROJECTIONS for table in projection.tables]
    tables += [table for reader in READERS for table in reader.tables]
    derived = dict.fromkeys(table.metadata for table in tables)
    for metadata in (schema.metadata, changes.metadata, *derived, buyers.metadata, aggregator.metadata):
        metadata.create_all(connection, checkfirst=False)
    for name, query in {**schema.VIEWS, **files.VIEWS}.items():
        op.execute(f'CREATE VIEW "{name}" AS {query}')
