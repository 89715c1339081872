"""Services that registration files name, by their host: the words of strangers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnClause, Connection, and_, column, select, table

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import global_agent_id
from bilateral.core.text import quoted
from bilateral.index.agents import tables as agent_tables
from bilateral.index.files import tables as files
from bilateral.index.files.reading import file_id_of, secure_host, well_known_uri
from bilateral.index.files.tables import Kind

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
    """Return the services at the host of a URL. Of a registration file, only its first three hosts count."""
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
