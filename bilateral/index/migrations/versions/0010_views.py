"""Replace all views by those of this package: an older index may hold a text that reads more rows than it needs."""

from __future__ import annotations

from alembic import op

from bilateral.index.tables.views import replace_views

revision = "0010"
down_revision = "0009"

VIEWS = "8d6903413adcd0e68c884e7d3e7fee308ad7108d4f43803d3e5dd7f0c69bcb1d"
"""The fingerprint of the views that this migration makes. When they change, add a migration like this one."""


def upgrade() -> None:
    """Replace the views."""
    replace_views(op.get_bind())
