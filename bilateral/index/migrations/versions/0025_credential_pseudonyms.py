"""Add the secrets of pseudonyms in credentials, and the holders that each pseudonym had."""

from __future__ import annotations

from alembic import op

from bilateral.index.tables import payments

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    """Add the tables. A new database got them with the first version."""
    for table in (payments.credential_secret, payments.credential_holder):
        table.create(op.get_bind(), checkfirst=True)
