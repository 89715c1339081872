"""One agent: its state on chain, its registration file, its metadata and the summaries of its ratings."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import bindparam, column, func, select, table

from bilateral.index.tables import files, schema
from bilateral.index.tables.blind import is_plain
from bilateral.index.tables.dialects import dialect_of
from bilateral.query.agent_answers import Agent, AgentMetadata, Capability, RatingSummary, Registration, Service
from bilateral.query.agent_at_once import Columns, agent_statement
from bilateral.query.feedback import Feedback, feedback_of
from bilateral.query.prepared import Prepared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection

    from bilateral.query.registries import AgentKey
    from bilateral.query.single_statements import SingleStatements


MAX_ENTRIES: Final = 500
"""The largest number of metadata entries, and of summaries, of an agent in one answer. Strangers can make more."""

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


def agent(connection: Connection, key: AgentKey, newest: int = 0) -> Agent | None:
    """Return an agent.

    Args:
        connection: The database.
        key: The agent.
        newest: The number of newest feedback to add.

    Returns:
        The agent; None if the registry has no such agent.
    """
    if dialect_of(connection).has_server:
        return _at_once(connection, key, newest)
    row = _AGENT.first(connection, _parameters(key))
    if row is None:
        return None
    values: tuple[Any, ...] = (
        *(key.id, key.global_id, key.chain_id, key.identity_registry, key.agent_id),
        *row,
        registration(connection, key) if row[_COLUMNS.index("uri")] else None,
        metadata(connection, key),
        summaries(connection, key),
        feedback_of(connection, key, limit=newest).items if newest else (),
    )
    return Agent(*values)


_VIEW_COLUMNS: Final = (
    *("state", "integrity", "reason", "checked_at", "is_confirmed"),
    *("name", "description", "image", "active", "x402_support"),
)
_VIEW: Final = table(
    "agent_registration",
    *(column(name) for name in ("chain_id", "identity_registry", "agent_id", "content_hash", *_VIEW_COLUMNS)),
)


def registration(connection: Connection, key: AgentKey) -> Registration | None:
    """Return an agent's registration file.

    Args:
        connection: The database.
        key: The agent.

    Returns:
        The file; None if the index has not found the agent's URI yet.
    """
    row = _REGISTRATION.first(connection, _parameters(key))
    if row is None:
        return None
    content, *file = row
    return _registration(file, _services(connection, content), _capabilities(connection, content))


def _registration(
    file: Sequence[Any], services: tuple[Service, ...], capabilities: tuple[Capability, ...]
) -> Registration:
    """Return a registration file by its row of `_VIEW_COLUMNS`."""
    state, integrity, reason, checked_at, is_confirmed, *texts, active, x402_support = file
    values: tuple[Any, ...] = (
        *(state, integrity, reason, checked_at, bool(is_confirmed), *texts),
        *(None if flag is None else bool(flag) for flag in (active, x402_support)),
        *(services, capabilities),
    )
    return Registration(*values)


def _parameters(key: AgentKey) -> dict[str, Any]:
    """Return an agent as the parameters of the statements here. They are made once, which takes as long as to run."""
    return {"chain": key.chain_id, "identity": key.identity_registry, "agent": key.agent_id}


def _is(columns: Any) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions that a row is of the agent of `_parameters`."""
    typed = schema.agent.c
    return (
        columns.chain_id == bindparam("chain", type_=typed.chain_id.type),
        columns.identity_registry == bindparam("identity", type_=typed.identity_registry.type),
        columns.agent_id == bindparam("agent", type_=typed.agent_id.type),
    )


_AGENT: Final = Prepared(select(*(schema.agent.c[name] for name in _COLUMNS)).where(*_is(schema.agent.c)))
_REGISTRATION: Final = Prepared(
    select(*(_VIEW.c[name] for name in ("content_hash", *_VIEW_COLUMNS))).where(*_is(_VIEW.c))
)
_SERVICE: Final = files.registration_service.c
_SERVICES: Final = Prepared(
    select(_SERVICE.name, _SERVICE.endpoint, _SERVICE.version)
    .where(_SERVICE.content_hash == bindparam("content", type_=_SERVICE.content_hash.type))
    .order_by(_SERVICE.position)
)
_CAPABILITY: Final = files.registration_capability.c
_CAPABILITIES: Final = Prepared(
    select(_CAPABILITY.kind, _CAPABILITY.value)
    .where(_CAPABILITY.content_hash == bindparam("content", type_=_CAPABILITY.content_hash.type))
    .order_by(_CAPABILITY.kind, _CAPABILITY.position)
)


def _services(connection: Connection, content: bytes | None) -> tuple[Service, ...]:
    if content is None:
        return ()
    return tuple(Service(*row) for row in _SERVICES.all(connection, {"content": content}))


def _capabilities(connection: Connection, content: bytes | None) -> tuple[Capability, ...]:
    if content is None:
        return ()
    return tuple(Capability(*row) for row in _CAPABILITIES.all(connection, {"content": content}))


_ENTRY: Final = schema.agent_metadata.c
_METADATA: Final = Prepared(
    select(
        _ENTRY.metadata_key,
        func.substr(_ENTRY.metadata_value, 1, MAX_VALUE, type_=_ENTRY.metadata_value.type),
        func.length(_ENTRY.metadata_value),
    )
    .where(*_is(_ENTRY))
    .order_by(_ENTRY.metadata_key)
    .limit(MAX_ENTRIES)
)


def metadata(connection: Connection, key: AgentKey) -> tuple[AgentMetadata, ...]:
    """Return an agent's metadata on chain, by key.

    Args:
        connection: The database.
        key: The agent.
    """
    rows = _METADATA.all(connection, _parameters(key))
    # SQLite returns NULL for a part of empty bytes.
    return tuple(AgentMetadata(name, f"0x{(value or b'').hex()}", size) for name, value, size in rows)


_SUMMARY: Final = schema.summary.c
_SUMMARY_COLUMNS: Final = ("registry", "side", "tag", "count", "counterparts", "mean", "lower_bound")


@cache
def _summaries(registries: int) -> Prepared:
    """Return the statement for the summaries of an agent in a number of registries."""
    listed = [bindparam(f"registry_{place}", type_=_SUMMARY.registry.type) for place in range(registries)]
    return Prepared(
        select(*(_SUMMARY[name] for name in _SUMMARY_COLUMNS))
        .where(
            _SUMMARY.chain_id == bindparam("chain", type_=_SUMMARY.chain_id.type),
            _SUMMARY.registry.in_(listed),
            _SUMMARY.agent_id == bindparam("agent", type_=_SUMMARY.agent_id.type),
            is_plain(_SUMMARY.side),
        )
        .order_by(_SUMMARY.counterparts.desc(), _SUMMARY.registry, _SUMMARY.side, _SUMMARY.tag)
        .limit(MAX_ENTRIES)
    )


def summaries(connection: Connection, key: AgentKey) -> tuple[RatingSummary, ...]:
    """Return the summaries of the values for an agent, those with the most counterparts first.

    Args:
        connection: The database.
        key: The agent.
    """
    registries = {f"registry_{place}": address for place, address in enumerate(key.registries)}
    rows = _summaries(len(registries)).all(connection, {**_parameters(key), **registries})
    return tuple(RatingSummary(*row) for row in rows)


_AT_ONCE: Final = Columns(_COLUMNS, _VIEW_COLUMNS, _SUMMARY_COLUMNS, MAX_ENTRIES, MAX_VALUE)


def _at_once(connection: Connection, key: AgentKey, newest: int) -> Agent | None:
    """Return an agent by one statement, and its newest feedback by another one for each registry."""
    row = agent_statement(_AT_ONCE, len(key.registries)).first(connection, _all_parameters(key))
    if row is None:
        return None
    return _agent(key, row, feedback_of(connection, key, limit=newest).items if newest else ())


async def agent_of(statements: SingleStatements, key: AgentKey) -> Agent | None:
    """Return an agent without feedback, for callers that are `async`. See `agent`.

    Args:
        statements: The database.
        key: The agent.
    """
    row = await statements.first(agent_statement(_AT_ONCE, len(key.registries)), _all_parameters(key))
    return None if row is None else _agent(key, row, ())


def _all_parameters(key: AgentKey) -> dict[str, Any]:
    """Return an agent and its registries as the parameters of `agent_statement`."""
    return {**_parameters(key), **{f"registry_{place}": address for place, address in enumerate(key.registries)}}


def _agent(key: AgentKey, row: Sequence[Any], newest: tuple[Feedback, ...]) -> Agent:
    """Return an agent by its row of `agent_statement`."""
    own, file = row[: len(_COLUMNS)], row[len(_COLUMNS) : -4]
    services, capabilities, entries, rated = ((part or ()) for part in row[-4:])
    values: tuple[Any, ...] = (
        *(key.id, key.global_id, key.chain_id, key.identity_registry, key.agent_id),
        *own,
        None
        if file[0] is None
        else _registration(
            file,
            tuple(Service(*service) for service in services),
            tuple(Capability(*capability) for capability in capabilities),
        ),
        tuple(AgentMetadata(name, f"0x{value}", size) for name, value, size in entries),
        tuple(
            RatingSummary(*summary[:5], *(None if figure is None else float(figure) for figure in summary[5:]))
            for summary in rated
        ),
        newest,
    )
    return Agent(*values)
