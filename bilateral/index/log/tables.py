"""The tables of the index, which `docs/index.md` documents.

Event tables contain on-chain data and are append-only. The other tables are derived from event tables and can be
rebuilt, except those that record the progress of the index.
"""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table

from bilateral.core.contracts import selectors
from bilateral.core.contracts.abi import snake_case
from bilateral.core.events import EVENTS, Event, MetadataSet
from bilateral.index.log.columns import (
    ADDRESS,
    BY_CHAIN,
    HASH,
    PLACE_KEY,
    column_type,
    optional,
    place_columns,
    required,
)

REVISIONS: Final = ("1.0", "1.1", "1.2", "1.3")
"""The versions of the tables from which this package can migrate, oldest first. Each of them has a migration.

Versions contain a dot, unlike those before the first release, which were 0001 to 0028 and 1 to 4.
"""

REVISION: Final = REVISIONS[-1]
"""The version of the tables that this package reads and writes."""

metadata: Final = sa.MetaData()


def _event_table(event: type[Event], entry: Mapping[str, Any]) -> Table:
    columns = [
        Column(field.name, column_type(part), nullable=False)
        for field, part in zip(fields(event)[1:], entry["inputs"], strict=True)
    ]
    # Text that contains NUL or is not UTF-8 is stored with U+FFFD, and the log's raw data is also stored.
    return Table(
        snake_case(event.__name__),
        metadata,
        *place_columns("registry"),
        *columns,
        *([Column("raw_data", sa.LargeBinary)] if any(part["type"] == "string" for part in entry["inputs"]) else []),
        PrimaryKeyConstraint(*PLACE_KEY),
        **BY_CHAIN,
    )


def _event_tables() -> Mapping[type[Event], Table]:
    tables: dict[type[Event], Table] = {}
    for registry_kind, events in EVENTS.items():
        entries = {entry["name"]: entry for entry in selectors(registry_kind, "event").values()}
        for event in (event for event in events if event not in tables):
            tables[event] = _event_table(event, entries[event.abi_name])
    return tables


EVENT_TABLES: Final = _event_tables()
"""The table for each event, keyed by the event's type."""

undecodable_log: Final = Table(
    "undecodable_log",
    metadata,
    *place_columns("registry"),
    *required(sa.LargeBinary, "topics", "data"),
    *required(sa.Text, "reason"),
    PrimaryKeyConstraint(*PLACE_KEY),
    **BY_CHAIN,
)

chain: Final = Table(
    "chain",
    metadata,
    Column("chain_id", sa.BigInteger, primary_key=True, autoincrement=False),
    *required(sa.BigInteger, "first_block", "journal_from", "block_number"),
    *required(HASH, "block_hash"),
    *required(sa.BigInteger, "block_time", "head_number"),
    *optional(sa.BigInteger, "finalized_number"),
    Column("endpoint", sa.Text, nullable=False, default=""),
    *required(sa.BigInteger, "updated_at"),
    Column("event_rows", sa.BigInteger, nullable=False, default=0),
    Column("reorganizations", sa.BigInteger, nullable=False, default=0),
    *optional(sa.BigInteger, "last_reorganization_at", "last_reorganization_depth"),
    *optional(sa.Text, "problem"),
)

block: Final = Table(
    "block",
    metadata,
    *required(sa.BigInteger, "chain_id", "block_number"),
    *required(HASH, "block_hash"),
    PrimaryKeyConstraint("chain_id", "block_number"),
)

registry: Final = Table(
    "registry",
    metadata,
    *required(sa.BigInteger, "chain_id"),
    *required(ADDRESS, "address"),
    *required(sa.String(40), "kind"),
    *required(ADDRESS, "identity_registry"),
    *required(sa.BigInteger, "first_block"),
    PrimaryKeyConstraint("chain_id", "address"),
)

endpoint_limit: Final = Table(
    "endpoint_limit",
    metadata,
    *required(sa.BigInteger, "chain_id"),
    *required(sa.String(300), "endpoint"),
    *required(sa.BigInteger, "blocks"),
    *optional(sa.BigInteger, "ceiling"),
    *required(sa.BigInteger, "learnt_at"),
    *optional(sa.BigInteger, "lost_logs_at"),
    PrimaryKeyConstraint("chain_id", "endpoint"),
)

journal: Final = Table(
    "journal",
    metadata,
    *required(sa.BigInteger, "chain_id", "block_number"),
    *required(sa.Integer, "position"),
    *required(sa.String(40), "table_name"),
    *required(sa.LargeBinary, "row_key"),
    *optional(sa.LargeBinary, "former_row"),
    PrimaryKeyConstraint("chain_id", "block_number", "position"),
)


LOG_TABLES: Final = (*EVENT_TABLES.values(), undecodable_log)
"""The tables of the log itself: on-chain data."""


def is_partitioned(table: Table) -> bool:
    """Return True if a table has one partition per chain in PostgreSQL."""
    return bool(table.info.get("is_partitioned"))


def partition_name(table: Table, chain_id: int) -> str:
    """Return the name of a chain's partition of a table, such as `new_feedback_8453`."""
    return f"{table.name}_{chain_id:d}"


_INDEXES: Final = (
    ("new_feedback", "by_subject", "registry agent_id client_address feedback_index"),
    ("new_feedback", "by_agent", "registry agent_id block_number log_index"),
    ("new_feedback", "by_client", "client_address block_number log_index"),
    ("feedback_revoked", "by_subject", "registry agent_id client_address feedback_index"),
    ("response_appended", "by_subject", "registry agent_id client_address feedback_index block_number log_index"),
    (
        *("response_appended", "by_responder"),
        "registry agent_id client_address feedback_index responder block_number log_index",
    ),
    ("client_rated", "by_subject", "registry client_id server_id"),
    ("client_rated", "by_server", "registry server_id client_id"),
    ("validator_rated", "by_subject", "registry validator_id server_id"),
    ("validator_rated", "by_server", "registry server_id validator_id"),
    ("ratings_sealed", "by_subject", "registry client_id server_id"),
    ("ratings_sealed", "by_server", "registry server_id client_id"),
    ("ratings_opened", "by_subject", "registry client_id server_id"),
    ("new_authorized_feedback", "by_subject", "registry agent_id client_address"),
    ("new_authorized_feedback", "by_client", "client_address block_number log_index"),
    ("validation_request", "by_subject", "registry request_hash"),
    ("validation_request", "by_agent", "registry agent_id"),
    ("validation_request", "by_validator", "validator_address"),
    ("validation_response", "by_subject", "registry request_hash"),
    ("validation_response", "by_agent", "registry agent_id"),
    ("approval", "by_subject", "registry agent_id"),
    ("approval_for_all", "by_owner", "registry owner"),
    ("metadata_set", "by_subject", "registry agent_id"),
    ("transfer", "by_agent", "registry agent_id"),
    ("transfer", "by_receiver", "registry to_address"),
    ("registered", "by_agent", "registry agent_id"),
    ("uri_updated", "by_agent", "registry agent_id"),
    ("agent_registered", "by_agent", "registry agent_id"),
    ("agent_registered", "by_address", "registry agent_address"),
    ("agent_updated", "by_agent", "registry agent_id"),
    ("agent_updated", "by_address", "registry agent_address"),
    ("payment_settled", "by_subject", "registry buyer"),
    # The buyer is in the highest part of the word, so a range of words selects the buyer's payments.
    ("payment_attested", "by_subject", "registry payment"),
    ("feedback_attested", "by_subject", "registry buyer"),
    ("reviews_attested", "by_subject", "registry buyer"),
    ("anchored", "by_subject", "registry epoch"),
)
"""The indexes of the event tables: the table, the suffix of the name, and the columns after the chain."""

for _name, _suffix, _columns in _INDEXES:
    _table = metadata.tables[_name]
    Index(f"{_name}_{_suffix}", *(_table.c[column] for column in ("chain_id", *_columns.split())))

_wallets = EVENT_TABLES[MetadataSet].c
_is_wallet = sa.text("metadata_key = 'agentWallet' AND length(metadata_value) = 20")
Index(
    *("metadata_set_by_wallet", _wallets.chain_id, _wallets.registry, _wallets.metadata_value),
    sqlite_where=_is_wallet,
    postgresql_where=_is_wallet,
)


_FOLDER: Final = Path(__file__).with_name("views")
VIEWS: Final = {path.stem: "\n" + path.read_text(encoding="utf-8") for path in sorted(_FOLDER.glob("*.sql"))}
"""The queries of the event views, keyed by view name. Views provide current states that need no table of their own."""
