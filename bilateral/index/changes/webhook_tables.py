"""The tables of webhooks: who receives which changes of the feed, and each delivery's progress."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, String, Table, Text

metadata: Final = MetaData()

webhook: Final = Table(
    "webhook",
    metadata,
    Column("id", String(35), primary_key=True),
    Column("owner", String(64), nullable=False),
    Column("url", Text, nullable=False),
    Column("wanted", Text, nullable=False),
    Column("since", String(60), nullable=False),
    Column("pending", String(60)),
    Column("created_at", BigInteger, nullable=False),
    Column("next_at", BigInteger, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("failing_since", BigInteger),
    Column("stopped_at", BigInteger),
    Column("problem", Text),
    Column("delivered", BigInteger, nullable=False),
    Column("failed", BigInteger, nullable=False),
    Index("webhook_by_owner", "owner"),
)
"""One row a subscription. `wanted` is the filter as JSON, `since` the cursor of the last delivery that was taken.

`pending` is the last change of a delivery that was tried and not taken: each retry has the same changes. `failures`
counts since the last success, `failed` since the beginning.
"""

webhook_lease: Final = Table(
    "webhook_lease",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("holder", String(32), nullable=False),
    Column("until", BigInteger, nullable=False),
)
"""At most one row: the process that delivers, and the time until which no other one does."""

TABLES: Final = (webhook, webhook_lease)
