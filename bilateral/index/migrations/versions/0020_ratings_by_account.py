"""Drop the index of counterparts by account: the events of an account say whom it rated.

The accounts of a batch are spread over such an index, so that nearly all of its pages changed with each batch.
"""

from __future__ import annotations

from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Drop the index, which a new database has not."""
    op.execute("DROP INDEX IF EXISTS counterpart_by_account")
