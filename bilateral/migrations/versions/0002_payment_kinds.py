"""Add the kind and ceiling of payments, and channels. Workers then read all payments again under their new terms."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, String, inspect, update

from bilateral.index.log.columns import WideInteger
from bilateral.index.payments.tables import channel, channel_fund, payment, payment_return

revision = "1.1"
down_revision = "1.0"


def upgrade() -> None:
    """Add the columns and tables."""
    connection = op.get_bind()
    if inspect(connection).has_table(channel.name):
        return
    op.add_column(payment.name, Column("kind", String(16), nullable=False, server_default="eip3009"))
    op.add_column(payment.name, Column("ceiling", WideInteger))
    connection.execute(update(payment).where(payment.c.nonce.is_(None)).values(kind="plain"))
    payment_return.drop(connection)  # its key is another one now
    for table in (payment_return, channel, channel_fund):
        table.create(connection)
