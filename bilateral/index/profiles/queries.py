"""One agent: its on-chain state, its registration file, its metadata and the summaries of its ratings."""

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from sqlalchemy import JSON, ColumnElement, Connection, Select, and_, column, func, select, table, type_coerce

from bilateral.index.agents import tables as agent_tables
from bilateral.index.files import tables as files
from bilateral.index.ratings.feedback import Feedback, feedback_of
from bilateral.index.ratings.queries import _KEY, MAX_ENTRIES, RatingSummary, _is, _parameters, summaries
from bilateral.index.reading.json import EntityDialect, expressions_of
from bilateral.index.reading.prepared import Prepared
from bilateral.index.reading.registries import AgentKey, Wide


@dataclass(frozen=True, slots=True)
class Service:
    """A service in an agent's registration file. All texts are untrusted.

    Attributes:
        name: The service's kind, such as `MCP`.
        endpoint: The service's address.
        version: The version of the service's protocol.
    """

    name: str
    endpoint: str | None
    version: str | None


@dataclass(frozen=True, slots=True)
class Capability:
    """A capability in an agent's registration file. All texts are untrusted.

    Attributes:
        kind: `mcp_tool`, `mcp_prompt`, `mcp_resource`, `a2a_skill`, `oasf_skill`, `oasf_domain` or `trust`.
        value: The capability's name.
    """

    kind: str
    value: str


@dataclass(frozen=True, slots=True)
class Registration:
    """An agent's registration file. All texts are untrusted.

    Attributes:
        state: `waiting`, `loaded`, `malformed` or `failed`.
        integrity: What proves that the author published the file's bytes: `inline`, `cid` or `hash`; None if nothing
            does.
        reason: The kind of failure, if loading failed.
        checked_at: The time of the last check, in Unix seconds.
        is_confirmed: True if the file lists the agent's registry and token id.
        name: The agent's name.
        image: The URI of the agent's image.
        active: True if the file states that the agent is active.
        x402_support: True if the file states that the agent accepts x402 payments.
    """

    state: str
    integrity: str | None
    reason: str | None
    checked_at: int | None
    is_confirmed: bool
    name: str | None
    description: str | None
    image: str | None
    active: bool | None
    x402_support: bool | None
    services: tuple[Service, ...]
    capabilities: tuple[Capability, ...]


@dataclass(frozen=True, slots=True)
class AgentMetadata:
    """An entry in an agent's on-chain metadata.

    Attributes:
        value: The first 1,024 bytes of the value, as `0x…`.
        size: The value's total size in bytes.
    """

    key: str
    value: str
    size: int


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent.

    Attributes:
        id: The short id, such as `8453:247`.
        global_id: The global id, such as `eip155:8453:0x8004…#247`.
        identity_registry: The address of the agent's identity registry.
        agent_id: The agent's token id.
        owner: The owner's address.
        wallet: The address that receives the agent's payments; None if no address is set.
        uri: The URI of the agent's registration file.
        domain: The agent's domain, as set through the registry functions of August 2025.
        registered_block: The block of the agent's registration.
        registered_at: The time of the registration's block, in Unix seconds.
        updated_block: The block of the agent's last change.
        updated_at: The time of the last change's block, in Unix seconds.
        registration: The agent's registration file; None if there is none.
        metadata: The agent's on-chain metadata.
        ratings: The summaries of the agent's feedback and ratings.
        newest: The agent's newest feedback entries, up to the requested number.
    """

    id: str
    global_id: str
    chain_id: int
    identity_registry: str
    agent_id: Wide
    owner: str
    wallet: str | None
    uri: str
    domain: str
    registered_block: int
    registered_at: int
    updated_block: int
    updated_at: int
    registration: Registration | None
    metadata: tuple[AgentMetadata, ...]
    ratings: tuple[RatingSummary, ...]
    newest: tuple[Feedback, ...]


MAX_VALUE: Final = 1_024
"""The maximum size, in bytes, of a metadata value in a response."""

_COLUMNS: Final = (
    *("owner", "wallet", "uri", "domain"),
    *("registered_block", "registered_at", "updated_block", "updated_at"),
)
_FILE_COLUMNS: Final = (
    *("state", "integrity", "reason", "checked_at", "is_confirmed"),
    *("name", "description", "image", "active", "x402_support"),
)


def agent(connection: Connection, key: AgentKey, newest: int = 0) -> Agent | None:
    """Return an agent.

    Args:
        key: The agent.
        newest: The number of newest feedback entries to include.

    Returns:
        The agent; None if the registry has no such agent.
    """
    row = _statement(expressions_of(connection)).first(connection, _parameters(key))
    if row is None:
        return None
    *own_and_file, services, capabilities, metadata = row
    own, file = own_and_file[: len(_COLUMNS)], own_and_file[len(_COLUMNS) :]
    *state, is_confirmed, name, description, image, active, x402_support = file
    flags = (None if flag is None else bool(flag) for flag in (active, x402_support))
    lists = tuple(Service(**entry) for entry in services), tuple(Capability(**entry) for entry in capabilities)
    registration: Any = (*state, bool(is_confirmed), name, description, image, *flags, *lists)
    values: Any = (
        *(key.id, key.global_id, key.chain_id, key.identity_registry, key.agent_id, *own),
        None if file[0] is None else Registration(*registration),
        tuple(AgentMetadata(**entry) for entry in metadata),
        summaries(connection, key),
        feedback_of(connection, key, limit=newest).items if newest else (),
    )
    return Agent(*values)


@cache
def _statement(expressions: EntityDialect) -> Prepared:
    """Return a single statement for an agent and its lists, to save round trips to PostgreSQL."""
    agent, service, capability = agent_tables.agent.c, files.registration_service.c, files.registration_capability.c
    view = table("agent_registration", *(column(name) for name in (*_KEY, "content_hash", *_FILE_COLUMNS)))
    services = select(service.name, service.endpoint, service.version).order_by(service.position)
    capabilities = select(capability.kind, capability.value).order_by(capability.kind, capability.position)
    of_file = (
        entries.where(column_of.content_hash == view.c.content_hash).correlate(view)
        for entries, column_of in ((services, service), (capabilities, capability))
    )
    entry = agent_tables.agent_metadata.c
    value = expressions.hexadecimal(func.substr(entry.metadata_value, 1, MAX_VALUE), is_nullable=False)
    metadata = (
        select(entry.metadata_key.label("key"), value.label("value"), func.length(entry.metadata_value).label("size"))
        .where(*_is(entry))
        .order_by(entry.metadata_key)
        .limit(MAX_ENTRIES)
    )
    # The summaries have a separate statement, because SQLite rounds numbers in JSON.
    lists = (_listed(query, expressions) for query in (*of_file, metadata))
    return Prepared(
        select(*(agent[name] for name in _COLUMNS), *(view.c[name] for name in _FILE_COLUMNS), *lists)
        .select_from(agent_tables.agent.outerjoin(view, and_(*_is(view.c))))
        .where(*_is(agent))
    )


def _listed(query: Select[Any], expressions: EntityDialect) -> ColumnElement[Any]:
    rows = query.subquery()
    objects = expressions.members([(name, rows.c[name]) for name in rows.c.keys()])  # noqa: SIM118  # columns, no dict
    return type_coerce(select(expressions.json_list(objects)).scalar_subquery(), JSON)
