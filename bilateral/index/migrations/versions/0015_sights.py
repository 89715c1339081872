"""Note when the index learned payments, findings and sources of funds, so that an earlier answer can be given again."""

from __future__ import annotations

from alembic import op
from sqlalchemy import inspect

from bilateral.index.tables import analysis, payments

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Create the table and the columns that a database lacks. A new one got them with its tables."""
    connection = op.get_bind()
    payments.late_payment.create(connection, checkfirst=True)
    for table, names in (
        (analysis.analysis, ("run", "seen_block", "first_run", "first_seen_block")),
        (analysis.funding, ("seen_block",)),
    ):
        known = {column["name"] for column in inspect(connection).get_columns(table.name)}
        for name in names:
            if name not in known:
                op.add_column(table.name, table.c[name].copy())
