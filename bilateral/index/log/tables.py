"""The tables of the index. `docs/index.md` is their dictionary.

Tables of events hold what the chains say, and are only appended to. The other tables are derived from them and can be
rebuilt, but for those that say how far the index has come.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

from bilateral.core.contracts import selectors
from bilateral.core.contracts.abi import snake_case
from bilateral.core.events import (
    EVENTS,
    Anchored,
    Approval,
    ClientRated,
    Event,
    FeedbackAttested,
    FeedbackRevoked,
    MetadataSet,
    NewAuthorizedFeedback,
    NewFeedback,
    PaymentAttested,
    PaymentSettled,
    RatingsOpened,
    RatingsSealed,
    ResponseAppended,
    ReviewsAttested,
    ValidationRequest,
    ValidationResponse,
    ValidatorRated,
)
from bilateral.index.log.check_indexes import define_check_indexes
from bilateral.index.log.columns import ADDRESS, BY_CHAIN, HASH, PLACE_KEY, column_type, contract_columns, place_columns
from bilateral.index.log.views import VIEWS as VIEWS  # noqa: PLC0414  # the first migration creates them from here

REVISIONS: Final = ("1.0",)
"""The versions of the tables that this package can migrate, the oldest first. Each has a migration.

They have a dot, as no version before the first release had: those were 0001 to 0028, and 1 to 4.
"""

REVISION: Final = REVISIONS[-1]
"""The version of the tables that this package reads and writes."""

metadata: Final = MetaData()


def _event_table(event: type[Event], entry: Mapping[str, Any]) -> Table:
    """Define the table of an event."""
    columns = [
        Column(
            field.name,
            column_type("bytes32" if part["indexed"] and part["type"] in ("string", "bytes") else part["type"]),
            nullable=False,
        )
        for field, part in zip(fields(event)[1:], entry["inputs"], strict=True)
    ]
    # Text with bytes that are not UTF-8, or with NUL, is stored with U+FFFD; then the raw data of the log is kept.
    raw = [Column("raw_data", LargeBinary)] if any(part["type"] == "string" for part in entry["inputs"]) else []
    return Table(
        snake_case(event.__name__),
        metadata,
        *place_columns("registry"),
        *columns,
        *raw,
        PrimaryKeyConstraint(*PLACE_KEY),
        **BY_CHAIN,
    )


def _event_tables() -> Mapping[type[Event], Table]:
    """Define a table for every event."""
    tables: dict[type[Event], Table] = {}
    for registry_kind, events in EVENTS.items():
        entries = {entry["name"]: entry for entry in selectors(registry_kind, "event").values()}
        for event in (event for event in events if event not in tables):
            tables[event] = _event_table(event, entries[event.abi_name])
    return tables


EVENT_TABLES: Final = _event_tables()
"""The table of each event, by the event's type."""

undecodable_log: Final = Table(
    "undecodable_log",
    metadata,
    *place_columns("registry"),
    Column("topics", LargeBinary, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("reason", Text, nullable=False),
    PrimaryKeyConstraint(*PLACE_KEY),
    **BY_CHAIN,
)

chain: Final = Table(
    "chain",
    metadata,
    Column("chain_id", BigInteger, primary_key=True, autoincrement=False),
    Column("first_block", BigInteger, nullable=False),
    Column("journal_from", BigInteger, nullable=False),
    Column("block_number", BigInteger, nullable=False),
    Column("block_hash", HASH, nullable=False),
    Column("block_time", BigInteger, nullable=False),
    Column("head_number", BigInteger, nullable=False),
    Column("finalized_number", BigInteger),
    Column("endpoint", Text, nullable=False, default=""),
    Column("updated_at", BigInteger, nullable=False),
    Column("event_rows", BigInteger, nullable=False, default=0),
    Column("reorganizations", BigInteger, nullable=False, default=0),
    Column("last_reorganization_at", BigInteger),
    Column("last_reorganization_depth", BigInteger),
    Column("problem", Text),
)

block: Final = Table(
    "block",
    metadata,
    Column("chain_id", BigInteger, nullable=False),
    Column("block_number", BigInteger, nullable=False),
    Column("block_hash", HASH, nullable=False),
    PrimaryKeyConstraint("chain_id", "block_number"),
)

registry: Final = Table(
    "registry",
    metadata,
    *contract_columns("address"),
    Column("kind", String(40), nullable=False),
    Column("identity_registry", ADDRESS, nullable=False),
    Column("first_block", BigInteger, nullable=False),
    PrimaryKeyConstraint("chain_id", "address"),
)

endpoint_limit: Final = Table(
    "endpoint_limit",
    metadata,
    Column("chain_id", BigInteger, nullable=False),
    Column("endpoint", String(300), nullable=False),
    Column("blocks", BigInteger, nullable=False),
    Column("ceiling", BigInteger),
    Column("learnt_at", BigInteger, nullable=False),
    Column("lost_logs_at", BigInteger),
    PrimaryKeyConstraint("chain_id", "endpoint"),
)

journal: Final = Table(
    "journal",
    metadata,
    Column("chain_id", BigInteger, nullable=False),
    Column("block_number", BigInteger, nullable=False),
    Column("position", Integer, nullable=False),
    Column("table_name", String(40), nullable=False),
    Column("row_key", LargeBinary, nullable=False),
    Column("former_row", LargeBinary),
    PrimaryKeyConstraint("chain_id", "block_number", "position"),
)


LOG_TABLES: Final = (*EVENT_TABLES.values(), undecodable_log)
"""The tables of the log itself: what chains say."""


def is_partitioned(table: Table) -> bool:
    """Return True if each chain has a partition of a table in PostgreSQL."""
    return bool(table.info.get("is_partitioned"))


def partition_name(table: Table, chain_id: int) -> str:
    """Return the name of a chain's partition of a table, such as `new_feedback_8453`."""
    return f"{table.name}_{chain_id:d}"


for _event, _columns in {
    NewFeedback: ("agent_id", "client_address", "feedback_index"),
    FeedbackRevoked: ("agent_id", "client_address", "feedback_index"),
    ResponseAppended: ("agent_id", "client_address", "feedback_index", "block_number", "log_index"),
    ClientRated: ("client_id", "server_id"),
    ValidatorRated: ("validator_id", "server_id"),
    RatingsSealed: ("client_id", "server_id"),
    RatingsOpened: ("client_id", "server_id"),
    NewAuthorizedFeedback: ("agent_id", "client_address"),
    ValidationRequest: ("request_hash",),
    ValidationResponse: ("request_hash",),
    Approval: ("agent_id",),
    MetadataSet: ("agent_id",),
    PaymentSettled: ("buyer",),
    # The buyer is the highest part of the word: its payments are those of a range.
    PaymentAttested: ("payment",),
    FeedbackAttested: ("buyer",),
    ReviewsAttested: ("buyer",),
    Anchored: ("epoch",),
}.items():
    _table = EVENT_TABLES[_event]
    Index(f"{_table.name}_by_subject", *(_table.c[name] for name in ("chain_id", "registry", *_columns)))

for _event, _name, _columns in (
    (NewFeedback, "by_agent", ("registry", "agent_id", "block_number", "log_index")),
    (NewFeedback, "by_client", ("client_address", "block_number", "log_index")),
    (NewAuthorizedFeedback, "by_client", ("client_address", "block_number", "log_index")),
    (
        *(ResponseAppended, "by_responder"),
        ("registry", "agent_id", "client_address", "feedback_index", "responder", "block_number", "log_index"),
    ),
    (ClientRated, "by_server", ("registry", "server_id", "client_id")),
    (ValidatorRated, "by_server", ("registry", "server_id", "validator_id")),
    (RatingsSealed, "by_server", ("registry", "server_id", "client_id")),
    (ValidationRequest, "by_agent", ("registry", "agent_id")),
    (ValidationRequest, "by_validator", ("validator_address",)),
):
    _table = EVENT_TABLES[_event]
    Index(f"{_table.name}_{_name}", *(_table.c[name] for name in ("chain_id", *_columns)))

define_check_indexes(EVENT_TABLES)
