"""One agent: its state on chain, its registration file, its metadata and the summaries of its ratings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from sqlalchemy import JSON, ColumnElement, Connection, Select, and_, column, func, select, table, type_coerce

from bilateral.index.agents import tables as agent_tables
from bilateral.index.files import tables as files
from bilateral.index.profiles.answers import Agent, AgentMetadata, Capability, Registration, Service
from bilateral.index.ratings.feedback import feedback_of
from bilateral.index.ratings.summaries import _KEY, MAX_ENTRIES, _is, _parameters, summaries
from bilateral.index.reading.json import EntityDialect, expressions_of
from bilateral.index.reading.prepared import Prepared
from bilateral.index.reading.registries import AgentKey

MAX_VALUE: Final = 1_024
"""The bytes that an answer shows of a value of metadata."""

_COLUMNS: Final = (
    "owner",
    "wallet",
    "uri",
    "domain",
    "registered_block",
    "registered_at",
    "updated_block",
    "updated_at",
)
_FILE_COLUMNS: Final = (
    *("state", "integrity", "reason", "checked_at", "is_confirmed"),
    *("name", "description", "image", "active", "x402_support"),
)


def agent(connection: Connection, key: AgentKey, newest: int = 0) -> Agent | None:
    """Return an agent.

    Args:
        key: The agent.
        newest: The number of newest feedback to add.

    Returns:
        The agent; None if the registry has no such agent.
    """
    row = _statement(expressions_of(connection)).first(connection, _parameters(key))
    if row is None:
        return None
    *own_and_file, services, capabilities, metadata = row
    own, file = own_and_file[: len(_COLUMNS)], own_and_file[len(_COLUMNS) :]
    values: tuple[Any, ...] = (
        *(key.id, key.global_id, key.chain_id, key.identity_registry, key.agent_id),
        *own,
        None if file[0] is None else _registration(file, services, capabilities),
        tuple(AgentMetadata(**entry) for entry in metadata),
        summaries(connection, key),
        feedback_of(connection, key, limit=newest).items if newest else (),
    )
    return Agent(*values)


def _registration(
    file: Sequence[Any], services: Sequence[dict[str, Any]], capabilities: Sequence[dict[str, Any]]
) -> Registration:
    """Return a registration file by its row of `_FILE_COLUMNS` and its lists."""
    state, integrity, reason, checked_at, is_confirmed, *texts, active, x402_support = file
    values: tuple[Any, ...] = (
        *(state, integrity, reason, checked_at, bool(is_confirmed), *texts),
        *(None if flag is None else bool(flag) for flag in (active, x402_support)),
        tuple(Service(**service) for service in services),
        tuple(Capability(**capability) for capability in capabilities),
    )
    return Registration(*values)


@cache
def _statement(expressions: EntityDialect) -> Prepared:
    """Return the statement for an agent, its registration file, and the file's and the agent's entries as lists.

    On PostgreSQL each statement is a way to the server and back. The summaries have a statement of their own: SQLite
    rounds the numbers of JSON.
    """
    agent, service, capability = agent_tables.agent.c, files.registration_service.c, files.registration_capability.c
    view = table("agent_registration", *(column(name) for name in (*_KEY, "content_hash", *_FILE_COLUMNS)))
    services = (
        select(service.name, service.endpoint, service.version)
        .where(service.content_hash == view.c.content_hash)
        .order_by(service.position)
        .correlate(view)
    )
    capabilities = (
        select(capability.kind, capability.value)
        .where(capability.content_hash == view.c.content_hash)
        .order_by(capability.kind, capability.position)
        .correlate(view)
    )
    entry = agent_tables.agent_metadata.c
    value = expressions.hexadecimal(func.substr(entry.metadata_value, 1, MAX_VALUE), is_nullable=False)
    size = func.length(entry.metadata_value)
    metadata = (
        select(entry.metadata_key.label("key"), value.label("value"), size.label("size"))
        .where(*_is(entry))
        .order_by(entry.metadata_key)
        .limit(MAX_ENTRIES)
    )
    lists = (_listed(query, expressions) for query in (services, capabilities, metadata))
    return Prepared(
        select(*(agent[name] for name in _COLUMNS), *(view.c[name] for name in _FILE_COLUMNS), *lists)
        .select_from(agent_tables.agent.outerjoin(view, and_(*_is(view.c))))
        .where(*_is(agent))
    )


def _listed(query: Select[Any], expressions: EntityDialect) -> ColumnElement[Any]:
    """Return the rows of a query as one list of objects."""
    rows = query.subquery()
    objects = expressions.members([(name, rows.c[name]) for name in rows.c.keys()])  # noqa: SIM118  # columns, no dict
    return type_coerce(select(expressions.json_list(objects)).scalar_subquery(), JSON)
