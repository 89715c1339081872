"""The registration file of an agent as of a block, and the domains that vouch for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import LargeBinary, Text, bindparam, cast, func, literal_column, null, select, union_all

from bilateral.checks.errors import FileNotHeldError
from bilateral.checks.seen_files import Sight, sight_of, sights
from bilateral.index.files import tables as schema
from bilateral.index.files.identities import solana_agent
from bilateral.index.files.reading import domain_uri, file_id_of, secure_host, well_known_uri
from bilateral.index.files.tables import Kind, State
from bilateral.index.log.unindexed import newest_first, unindexed
from bilateral.index.reading.prepared import Prepared, at_most

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection

    from bilateral.checks.as_of_block import Moment
    from bilateral.core.identifiers import GlobalAgentId

_MOST_CLAIMS: Final = 500
"""Files that are looked at: strangers may claim an agent in any number of files."""


@dataclass(frozen=True)
class Domain:
    """A domain of an agent: that of a service, or its registered one (August 2025).

    Attributes:
        host: The host, with a port that is not 443.
        is_proven: True if the domain names the agent.
        is_denied: True if the domain names other agents, and not this one.
        sight: The domain's file; None if the registration file itself comes from the domain.
    """

    host: str
    is_proven: bool
    is_denied: bool
    sight: Sight | None

    @property
    def is_read(self) -> bool:
        """True if the index has read the domain's file, so that the domain had its say."""
        return self.sight is None or self.sight.state is State.LOADED


@dataclass(frozen=True)
class RegistrationFacts:
    """An agent's registration file as of a block.

    Attributes:
        sight: The file.
        name: The agent's name, as the file says; None without one.
        active: True if the agent says that it is in use; None if it does not say.
        x402_support: True if it says that it takes payments by x402; None if it does not say.
        is_confirmed: True if the file names the agent.
        names_others: True if the file names agents.
        domains: The domains of its services.
        on_solana: The agents on Solana that it names.
        proven: Those of them whose files name the agent, with the sight that `solana_proof` stores.
    """

    sight: Sight
    name: str | None = None
    description: str | None = None
    active: bool | None = None
    x402_support: bool | None = None
    is_confirmed: bool = False
    names_others: bool = False
    domains: tuple[Domain, ...] = ()
    on_solana: tuple[GlobalAgentId, ...] = ()
    proven: Mapping[str, int] = field(default_factory=dict)


def newest_sight(registration: RegistrationFacts | None, domains: Iterable[Domain]) -> int:
    """Return the number of the newest sight among those of an agent's files; 0 without any.

    Args:
        registration: Its registration file; None without one.
    """
    used = [None if registration is None else registration.sight, *(domain.sight for domain in domains)]
    proven = () if registration is None else registration.proven.values()
    return max((*(sight.sight_id for sight in used if sight is not None), *proven), default=0)


def registration_of(
    connection: Connection, moment: Moment, identity: str, agent_id: int, uri: str
) -> RegistrationFacts:
    """Return an agent's registration file as of a block. It is `waiting` until the index has seen it.

    Args:
        identity: The identity registry.
        uri: Its URI as of the block.

    Raises:
        FileNotHeldError: Its content of then was replaced.
    """
    parameters = {**moment.bounds, "identity": identity, "agent_id": agent_id}
    rows = _registration().records(connection, {**parameters, "files": moment.newest_file})
    sight = sight_of(rows[0]) if rows else None
    if sight is None or sight.uri != uri:  # the event that set the URI is not scanned yet
        return RegistrationFacts(Sight(0, uri, State.WAITING, None, None, None))
    if sight.state is not State.LOADED or sight.content_hash is None:
        return RegistrationFacts(sight)
    row = rows[0]
    if row.held is None:
        raise FileNotHeldError(uri, moment.block)
    content = _CONTENT.records(connection, {"content_hash": sight.content_hash})
    claims = [part for part in content if part.kind == "claim"]
    domains = sorted((part for part in content if part.kind == "domain"), key=attrgetter("position"))
    is_confirmed, names_others = _named_by(claims, moment, identity, agent_id)
    on_solana = _on_solana(claims)
    return RegistrationFacts(
        sight,
        row.name,
        row.description,
        row.active,
        row.x402_support,
        is_confirmed,
        names_others,
        _domains(connection, moment, (identity, agent_id), sight, domains, is_confirmed=is_confirmed),
        on_solana,
        _proven(connection, moment, identity, agent_id) if on_solana else {},
    )


def registered_domain(
    connection: Connection, moment: Moment, identity: str, agent_id: int, domain: str
) -> Domain | None:
    """Return the domain that an agent is registered under (August 2025), and its word about the agent.

    Args:
        identity: The identity registry.
        domain: The domain as of the block, as the chain gives it.

    Returns:
        The domain; None if the text is not the name of a host.

    Raises:
        FileNotHeldError: The content of then of its file was replaced.
    """
    host = secure_host(uri) if (uri := domain_uri(domain)) else None
    if uri is None or host is None:
        return None
    file_id = file_id_of(Kind.DOMAIN, uri, None)
    sight = sights(connection, moment, {file_id}).get(file_id, Sight(0, uri, State.WAITING, None, None, None))
    return _domain(connection, moment, (identity, agent_id), host, sight)


@cache
def _registration() -> Prepared:
    """Return the statement that reads an agent's registration file, and its sight as of a block."""
    named, seen, table, read = schema.file_reference, schema.file_sight, schema.file, schema.registration_file
    newest_sight = (
        select(func.max(seen.c.sight_id))
        .where(seen.c.file_id == named.c.file_id, seen.c.chain_id == bindparam("chain_id"))
        .where(seen.c.seen_block <= bindparam("block"), unindexed(seen.c.sight_id) <= bindparam("files"))
        .correlate(named)
        .scalar_subquery()
    )
    newest = (
        select(named.c.file_id, newest_sight.label("sight_id"))
        .where(named.c.chain_id == bindparam("chain_id"), named.c.registry == bindparam("identity"))
        # A literal, not a parameter: only then do the engines use the partial index.
        .where(named.c.agent_id == bindparam("agent_id"), named.c.kind == literal_column(f"'{Kind.REGISTRATION}'"))
        .where(named.c.block_number <= bindparam("block"))
        .order_by(*newest_first(named.c))
        .limit(at_most(1))
        .subquery()
    )
    return Prepared(
        select(table.c.uri, seen.c.sight_id, seen.c.state, seen.c.content_hash, seen.c.integrity, seen.c.reason)
        .add_columns(read.c.name, read.c.description, read.c.active, read.c.x402_support)
        .add_columns(read.c.content_hash.label("held"))
        .select_from(
            newest.join(table, table.c.file_id == newest.c.file_id)
            .outerjoin(seen, (seen.c.sight_id == newest.c.sight_id) & (seen.c.chain_id == bindparam("chain_id")))
            .outerjoin(read, read.c.content_hash == seen.c.content_hash)
        )
    )


def _content() -> Any:
    """Return the statement that reads the agents that a registration file names, and the domains of its services."""
    claim, domain = schema.registration_claim, schema.registration_domain
    claims = select(
        *(literal_column("'claim'", Text).label("kind"), claim.c.position, claim.c.agent_registry.label("text")),
        *(claim.c.agent_id, cast(null(), LargeBinary).label("file_id")),
    ).where(claim.c.content_hash == bindparam("content_hash"))
    domains = select(
        *(literal_column("'domain'", Text).label("kind"), domain.c.position, domain.c.host.label("text")),
        *(cast(null(), claim.c.agent_id.type).label("agent_id"), domain.c.file_id),
    ).where(domain.c.content_hash == bindparam("content_hash"))
    return union_all(select(claims.limit(at_most(_MOST_CLAIMS)).subquery()), domains)


_CONTENT: Final = Prepared(_content())


def _domains(  # noqa: PLR0913  # the file, its domains, and who it is of
    connection: Connection,
    moment: Moment,
    agent: tuple[str, int],
    registration: Sight,
    rows: Sequence[Any],
    *,
    is_confirmed: bool,
) -> tuple[Domain, ...]:
    """Return the domains of an agent's services, and their word about it."""
    seen = sights(connection, moment, {bytes(row.file_id) for row in rows})
    home = secure_host(registration.uri)
    domains = []
    for row in rows:
        if row.text == home and is_confirmed:  # ERC-8004: then the domain's own file is not needed
            domains.append(Domain(row.text, is_proven=True, is_denied=False, sight=None))
            continue
        waiting = Sight(0, well_known_uri(row.text), State.WAITING, None, None, None)
        domains.append(_domain(connection, moment, agent, row.text, seen.get(bytes(row.file_id), waiting)))
    return tuple(domains)


def _domain(connection: Connection, moment: Moment, agent: tuple[str, int], host: str, sight: Sight) -> Domain:
    """Return a domain with the word of its file about an agent."""
    names_it = names_agents = False
    if sight.state is State.LOADED and sight.content_hash is not None:
        names_it, names_agents = _claims(connection, moment, *agent, sight.content_hash)
    return Domain(host, is_proven=names_it, is_denied=names_agents and not names_it, sight=sight)


def _claims(
    connection: Connection, moment: Moment, identity: str, agent_id: int, content_hash: bytes
) -> tuple[bool, bool]:
    """Return whether a file names an agent, and whether it names any agents."""
    table, held = schema.registration_claim, schema.registration_file
    query = select(table, table.c.agent_registry.label("text")).where(table.c.content_hash == content_hash)
    rows = connection.execute(query.limit(_MOST_CLAIMS)).all()
    if not rows:
        known = select(held.c.content_hash).where(held.c.content_hash == content_hash)
        if connection.execute(known).first() is None:
            raise FileNotHeldError("", moment.block)
    return _named_by(rows, moment, identity, agent_id)


def _on_solana(claims: Sequence[Any]) -> tuple[GlobalAgentId, ...]:
    """Return the agents on Solana among the claims of a file, in their order."""
    ordered = sorted((row for row in claims if row.agent_id is not None), key=attrgetter("position"))
    named = (solana_agent(row.text, int(row.agent_id)) for row in ordered)
    return tuple(dict.fromkeys(agent for agent in named if agent is not None))


def _proven(connection: Connection, moment: Moment, identity: str, agent_id: int) -> dict[str, int]:
    """Return the agents on Solana whose last stored outcome proves them, with the number of its sight."""
    proof, seen = schema.solana_proof, schema.file_sight
    query = (
        select(proof.c.solana_agent, proof.c.names_back, proof.c.sight_id)
        .join(seen, seen.c.sight_id == proof.c.sight_id)
        .where(proof.c.chain_id == moment.chain_id, proof.c.identity_registry == identity)
        .where(proof.c.agent_id == agent_id, proof.c.sight_id <= moment.newest_file)
        .where(seen.c.seen_block <= moment.block)
        .order_by(proof.c.sight_id)
    )
    last = {row.solana_agent: (row.names_back, row.sight_id) for row in connection.execute(query)}
    return {agent: sight_id for agent, (names_back, sight_id) in last.items() if names_back}


def _named_by(claims: Sequence[Any], moment: Moment, identity: str, agent_id: int) -> tuple[bool, bool]:
    """Return whether the claims of a file name an agent, and whether they name any agents."""
    registry = f"eip155:{moment.chain_id}:{identity}"
    names_it = any(row.text == registry and row.agent_id == agent_id for row in claims)
    return names_it, any(row.agent_id is not None for row in claims)
