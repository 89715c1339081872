"""Let indexes have the order of answers to a feedback, and of payments to an account: the newest are read alone."""

from __future__ import annotations

from alembic import op
from sqlalchemy import inspect

from bilateral.events import ResponseAppended
from bilateral.index.tables import payments, schema

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Make those indexes anew that are missing or lack the order. A new database got them with its tables."""
    connection = op.get_bind()
    for table, names in (
        (schema.EVENT_TABLES[ResponseAppended], ("response_appended_by_subject", "response_appended_by_responder")),
        (payments.payment, ("payment_by_payee",)),
    ):
        stored = {index["name"]: index["column_names"] for index in inspect(connection).get_indexes(table.name)}
        for index in sorted(
            (index for index in table.indexes if index.name in names), key=lambda index: str(index.name)
        ):
            if stored.get(index.name) != [column.name for column in index.columns]:
                index.drop(connection, checkfirst=True)
                index.create(connection)
