"""Names of agents, as their registration files say them: the words of strangers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnClause, Connection, and_, column, func, select, table

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import global_agent_id
from bilateral.core.text import quoted
from bilateral.index.agents import tables as agent_tables
from bilateral.index.files import tables as files
from bilateral.index.files.reading import file_id_of, secure_host, well_known_uri
from bilateral.index.files.tables import READ_FILES, Kind, agent_file
from bilateral.index.log.lists import in_parts
from bilateral.index.reading.registries import Registries, numbers_by_chain


@dataclass(frozen=True, slots=True)
class FileContent:
    """The file of a feedback. All texts are the word of a stranger.

    Attributes:
        state: `waiting`, `loaded`, `malformed` or `failed`.
        integrity: `inline`, `cid`, `hash` or `variant` if the hash holds; None: only the server's word.
        reason: The kind of failure, if loading failed.
        text: The client's words.
        comment: The client's words in older files.
        mcp_tool: The MCP tool that was used.
        mcp_prompt: The MCP prompt that was used.
        mcp_resource: The MCP resource that was used.
        a2a_skills: The A2A skills that were used, as a JSON list.
        oasf_skills: The OASF skills that were used, as a JSON list.
        oasf_domains: Their domains, as a JSON list.
        payment_from: The payer, by the file's word.
        payment_to: The receiver of the payment.
    """

    state: str
    integrity: str | None
    reason: str | None
    text: str | None
    comment: str | None
    mcp_tool: str | None
    mcp_prompt: str | None
    mcp_resource: str | None
    a2a_skills: str | None
    a2a_task_id: str | None
    oasf_skills: str | None
    oasf_domains: str | None
    payment_from: str | None
    payment_to: str | None
    payment_chain_id: str | None
    payment_transaction: str | None


MAX_SERVICES: Final = 200
"""The largest number of services in one answer."""

_KEY: Final = ("chain_id", "identity_registry", "agent_id")


@dataclass(frozen=True, slots=True)
class NamedService:
    """A service that an agent's registration file names.

    Attributes:
        agent: The agent's short id.
        global_id: Its id among all registries.
        wallet: The account that receives its payments; None if it has none.
        service: The name of the service, a text of a stranger.
        endpoint: Its URL, a text of a stranger.
        is_exact: True if the endpoint is the URL of the question, and not another one of its host.
    """

    agent: str
    global_id: str
    owner: str
    wallet: str | None
    service: str
    endpoint: str
    is_exact: bool


@dataclass(frozen=True, slots=True)
class NamedHost:
    """The services at a host.

    Attributes:
        host: The host, with a port that is not 443.
        services: The services, by chain, registry and agent: the first 200.
        has_more: True if there are more.
    """

    host: str
    services: tuple[NamedService, ...]
    has_more: bool


def services_at(connection: Connection, url: str) -> NamedHost:
    """Return the services at the host of a URL. Of a registration file, only its first three hosts count.

    Raises:
        InvalidArgumentError: It has no host.
    """
    host = secure_host(url if "://" in url else f"https://{url}")
    if host is None:
        raise InvalidArgumentError(f"url: {quoted(url)} has no host: give an https URL, or a host alone")
    named, service, reference = files.registration_domain, files.registration_service, files.file_reference
    state = [column(name, agent_tables.agent.c[name].type) for name in (*_KEY, "owner", "wallet")]
    content_hash: ColumnClause[bytes] = column("content_hash", named.c.content_hash.type)
    current = table("agent_registration", *state, content_hash).alias("current_file")
    rows = connection.execute(
        select(*(current.c[name] for name in (*_KEY, "owner", "wallet")), service.c.name, service.c.endpoint)
        .select_from(
            named.join(files.file, files.file.c.content_hash == named.c.content_hash)
            .join(reference, reference.c.file_id == files.file.c.file_id)
            .join(
                current,
                and_(
                    current.c.chain_id == reference.c.chain_id,
                    current.c.identity_registry == reference.c.registry,
                    current.c.agent_id == reference.c.agent_id,
                    current.c.content_hash == named.c.content_hash,  # and not of a file that the agent named before
                ),
            )
            .join(service, service.c.content_hash == named.c.content_hash)
        )
        .where(named.c.file_id == file_id_of(Kind.DOMAIN, well_known_uri(host), None))
        .where(reference.c.kind == Kind.REGISTRATION, service.c.endpoint.ilike("https://%"))
        .distinct()
        .order_by(*(current.c[name] for name in _KEY), service.c.name, service.c.endpoint)
        .limit(MAX_SERVICES + 1)
    ).all()
    displayed = [
        NamedService(
            f"{row.chain_id}:{row.agent_id}",
            global_agent_id(row.chain_id, row.identity_registry, row.agent_id),
            row.owner,
            row.wallet,
            row.name,
            row.endpoint,
            row.endpoint == url,
        )
        for row in rows[:MAX_SERVICES]
        if secure_host(row.endpoint) == host
    ]
    return NamedHost(host, tuple(displayed), len(rows) > MAX_SERVICES)


_LENGTH: Final = 320
"""The characters of a name that are read."""


def names_of(connection: Connection, registries: Registries, ids: Iterable[str | None]) -> dict[str, str]:
    """Return the names of agents by their short ids. One without a name is left out.

    Args:
        registries: The indexed registries: an id means an agent of its chain's first one.
        ids: Short ids, such as `8453:247`; None is skipped.
    """
    return {
        f"{chain_id}:{agent_id}": name
        for chain_id, requested in numbers_by_chain(ids).items()
        for agent_id, name in _names(connection, chain_id, registries.identity_of(chain_id), requested)
    }


def _names(connection: Connection, chain_id: int, identity: str, wanted: list[int]) -> Iterable[tuple[int, str]]:
    """Yield the agents of a registry that have a name."""
    current, read = agent_file.c, files.registration_file.c
    query = select(current.agent_id, func.substr(read.name, 1, _LENGTH)).select_from(READ_FILES)
    query = query.where(current.chain_id == chain_id, current.identity_registry == identity)
    for part in in_parts(wanted):
        for agent_id, name in connection.execute(query.where(current.agent_id.in_(part))).all():
            if name:
                yield int(agent_id), name
