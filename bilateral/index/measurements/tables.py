"""The measurement tables. `docs/index-files.md` is their dictionary; watchtowers write them through `record`.

Changes are stored with the last indexed block, as observations of files are, so that a response about an earlier block
can be reproduced. Rows belong to one chain: an endpoint that agents on two chains list has two of each.
"""

from typing import Final

import sqlalchemy as sa

from bilateral.index.files.tables import READ_FILES, content_column, registration_file
from bilateral.index.log.columns import HASH, optional, required

metadata: Final = sa.MetaData()

PROBED: Final = "probed"
NO_ENDPOINT: Final = bytes(32)
"""The kind and endpoint of the changes recording that a watchtower is still measuring."""

registration_endpoint: Final = sa.Table(
    "registration_endpoint",
    metadata,
    content_column(is_key=True),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("endpoint_id", HASH, nullable=False),
    sa.Column("protocol", sa.String(8), nullable=False),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("host", sa.String(300), nullable=False),
    *required(sa.Boolean, "is_paid", "is_probed"),
    sa.Column("method", sa.String(8)),
    sa.Index("registration_endpoint_by_id", "endpoint_id"),
)
"""The endpoints of a registration file that can be probed: the first five. The file may opt one out (`is_probed`)."""

LISTINGS: Final = READ_FILES.join(
    registration_endpoint, registration_endpoint.c.content_hash == registration_file.c.content_hash
)
"""The current files of agents, with the endpoints that they list."""

registration_alive: Final = sa.Table(
    "registration_alive",
    metadata,
    content_column(is_key=True),
    *optional(sa.BigInteger, "up_at", "alive_at"),
    sa.Column("probed_at", sa.BigInteger, nullable=False),
    sa.Index("registration_alive_by_up", "up_at"),
    sa.Index("registration_alive_by_time", "alive_at"),
)
"""When an endpoint of a registration file was last measured, last responded, and last responded if still up.

Searches read it: reading the states of all endpoints of each agent would take ten times as long.
"""

endpoint_state: Final = sa.Table(
    "endpoint_state",
    metadata,
    sa.Column("chain_id", sa.BigInteger, nullable=False),
    sa.Column("endpoint_id", HASH, nullable=False),
    sa.Column("vantage", sa.String(60), nullable=False),
    *optional(sa.String(8), "state"),
    *optional(sa.String(40), "code"),
    *optional(sa.BigInteger, "since", "probed_at", "alive_at"),
    sa.Column("failures", sa.Integer, nullable=False),
    sa.Column("milliseconds", sa.Integer),
    sa.PrimaryKeyConstraint("chain_id", "endpoint_id", "vantage"),
)
"""The current state of an endpoint, by vantage. `alive_at` is the last time at which it was reachable."""

endpoint_change: Final = sa.Table(
    "endpoint_change",
    metadata,
    sa.Column("change_id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sa.Column("chain_id", sa.BigInteger, nullable=False),
    sa.Column("endpoint_id", HASH, nullable=False),
    *required(sa.BigInteger, "seen_block", "at"),
    sa.Column("kind", sa.String(12), nullable=False),
    *optional(sa.Text, "old", "new"),
    sa.Column("code", sa.String(40)),
    sa.UniqueConstraint("chain_id", "endpoint_id", "kind", "at"),
    sa.Index("endpoint_change_by_id", "chain_id", "endpoint_id", "change_id"),
)
"""The confirmed changes; and once an hour `PROBED`, which confirms the states without a change."""

endpoint_day: Final = sa.Table(
    "endpoint_day",
    metadata,
    sa.Column("chain_id", sa.BigInteger, nullable=False),
    sa.Column("endpoint_id", HASH, nullable=False),
    sa.Column("day", sa.Integer, nullable=False),
    sa.Column("vantage", sa.String(60), nullable=False),
    *required(sa.Integer, "scheduled", "up", "gated", "degraded", "down", "unknown", "unfit"),
    *optional(sa.Integer, "median_ms", "p95_ms"),
    sa.PrimaryKeyConstraint("chain_id", "endpoint_id", "day", "vantage"),
)
"""The measurements of an endpoint by a vantage on one UTC day, counted from 1970."""
