"""The measurement tables, which `docs/index-files.md` documents. Watchtowers write to them through `record`.

Like observations of files, changes are stored with the last indexed block, so that a response about an earlier block
can be reproduced. Rows belong to one chain: an endpoint that agents on two chains list has separate rows for both.
"""

from typing import Final

import sqlalchemy as sa

from bilateral.index.files.tables import READ_FILES, content_column, registration_file
from bilateral.index.log.columns import HASH, optional, required

metadata: Final = sa.MetaData()

PROBED: Final = "probed"
NO_ENDPOINT: Final = bytes(32)
"""The kind and the endpoint id of changes which record that a watchtower is still measuring."""

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
"""The first five probeable endpoints in each registration file. The file may opt endpoints out (`is_probed`)."""

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
"""When a registration file's endpoints were last probed, when any last responded, and when one that is up last did.

Searches read this table, because reading the states of all endpoints of each agent would take ten times as long.
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
"""The current state of an endpoint from each vantage point. `alive_at` is the last time at which it was reachable."""

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
"""The confirmed changes of endpoints. Once an hour, a row of kind `PROBED` confirms all states that did not change."""

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
