"""Indexes by which the events of one agent or one account are found, up to a block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Index, Table, text

from bilateral.core.events import (
    AgentRegistered,
    AgentUpdated,
    ApprovalForAll,
    Event,
    MetadataSet,
    Registered,
    Transfer,
    URIUpdated,
    ValidationResponse,
)

_COLUMNS: Final[tuple[tuple[type[Event], str, tuple[str, ...], str | None], ...]] = (
    (Transfer, "by_agent", ("registry", "agent_id"), None),
    (Transfer, "by_receiver", ("registry", "to_address"), None),
    (Registered, "by_agent", ("registry", "agent_id"), None),
    (URIUpdated, "by_agent", ("registry", "agent_id"), None),
    (AgentRegistered, "by_agent", ("registry", "agent_id"), None),
    (AgentRegistered, "by_address", ("registry", "agent_address"), None),
    (AgentUpdated, "by_agent", ("registry", "agent_id"), None),
    (AgentUpdated, "by_address", ("registry", "agent_address"), None),
    (ApprovalForAll, "by_owner", ("registry", "owner"), None),
    (
        MetadataSet,
        "by_wallet",
        ("registry", "metadata_value"),
        "metadata_key = 'agentWallet' AND length(metadata_value) = 20",
    ),
    (ValidationResponse, "by_agent", ("registry", "agent_id"), None),
)
"""Event, name, columns behind the chain, and the condition of a partial index."""


def define_check_indexes(tables: Mapping[type[Event], Table]) -> tuple[Index, ...]:
    """Define the indexes on the tables of events."""
    indexes = []
    for event, name, columns, condition in _COLUMNS:
        table = tables[event]
        partial: dict[str, Any] = {}
        if condition is not None:
            partial = {"sqlite_where": text(condition), "postgresql_where": text(condition)}
        indexes.append(Index(f"{table.name}_{name}", *(table.c[name] for name in ("chain_id", *columns)), **partial))
    return tuple(indexes)
