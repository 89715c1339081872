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
    *(*required(HASH, "endpoint_id"), *required(sa.String(8), "protocol"), *required(sa.Text, "url")),
    *(*required(sa.String(300), "host"), *required(sa.Boolean, "is_paid", "is_probed")),
    *optional(sa.String(8), "method"),
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
    *(*optional(sa.BigInteger, "up_at", "alive_at"), *required(sa.BigInteger, "probed_at")),
    sa.Index("registration_alive_by_up", "up_at"),
    sa.Index("registration_alive_by_time", "alive_at"),
)
"""When a registration file's endpoints were last probed, when one last responded, and when one that is up did.

Searches read it: reading the states of all endpoints of each agent would take ten times as long.
"""

endpoint_state: Final = sa.Table(
    "endpoint_state",
    metadata,
    *(*required(sa.BigInteger, "chain_id"), *required(HASH, "endpoint_id"), *required(sa.String(60), "vantage")),
    *(*optional(sa.String(8), "state"), *optional(sa.String(40), "code")),
    *optional(sa.BigInteger, "since", "probed_at", "alive_at"),
    *(*required(sa.Integer, "failures"), *optional(sa.Integer, "milliseconds")),
    sa.PrimaryKeyConstraint("chain_id", "endpoint_id", "vantage"),
)
"""The current state of an endpoint, by vantage point. `alive_at` is the last time at which it was reachable."""

endpoint_change: Final = sa.Table(
    "endpoint_change",
    metadata,
    sa.Column("change_id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    *(*required(sa.BigInteger, "chain_id"), *required(HASH, "endpoint_id")),
    *(*required(sa.BigInteger, "seen_block", "at"), *required(sa.String(12), "kind")),
    *(*optional(sa.Text, "old", "new"), *optional(sa.String(40), "code")),
    sa.UniqueConstraint("chain_id", "endpoint_id", "kind", "at"),
    sa.Index("endpoint_change_by_id", "chain_id", "endpoint_id", "change_id"),
)
"""The confirmed changes. Once an hour, a row of the kind `PROBED` confirms all states that did not change."""

endpoint_day: Final = sa.Table(
    "endpoint_day",
    metadata,
    *(*required(sa.BigInteger, "chain_id"), *required(HASH, "endpoint_id")),
    *(*required(sa.Integer, "day"), *required(sa.String(60), "vantage")),
    *required(sa.Integer, "scheduled", "up", "gated", "degraded", "down", "unknown", "unfit"),
    *optional(sa.Integer, "median_ms", "p95_ms"),
    sa.PrimaryKeyConstraint("chain_id", "endpoint_id", "day", "vantage"),
)
"""The measurements of an endpoint from one vantage point on one UTC day. Days are counted from 1970."""
