"""An agent's registration file as of a block, and the domains that vouch for it."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cache
from operator import attrgetter
from typing import Any, Final

from sqlalchemy import LargeBinary, Text, bindparam, cast, func, literal_column, null, select, union_all

from bilateral.checks.errors import FileNotHeldError
from bilateral.checks.facts import Domain, FileState, Observation, OtherRegistration, RegistrationFacts
from bilateral.checks.from_index.as_of_block import AsOfBlock
from bilateral.checks.from_index.subjects import Subject
from bilateral.index.files import tables as schema
from bilateral.index.files.queries import foreign_agent
from bilateral.index.files.reading import domain_uri, file_id_of, registration_uri, secure_host
from bilateral.index.files.tables import Kind
from bilateral.index.log.dialects import in_parts, newest_first, unindexed
from bilateral.index.reading.prepared import Prepared, at_most

_MOST_CLAIMS: Final = 500
"""The maximum number of files to read, because anyone can claim an agent in any number of files."""

_FETCH: Final = schema.file_sight.c
_OBSERVED: Final = (
    *(schema.file.c.uri, _FETCH.sight_id, _FETCH.state, _FETCH.content_hash, _FETCH.integrity, _FETCH.reason),
)
"""The columns that `observation_of` needs."""


def registration_of(subject: Subject, uri: str) -> tuple[RegistrationFacts, tuple[Domain, ...], int]:
    """Return an agent's file, its services' domains, and the number of its newest proof from a foreign chain.

    The file is `waiting` until the index has fetched it.
    """
    as_of = subject.as_of
    parameters = {**as_of.bounds, "identity": subject.identity, "agent_id": subject.history.agent_id}
    rows = _registration().records(as_of.connection, {**parameters, "files": as_of.newest_file})
    file = observation_of(rows[0]) if rows else None
    if file is None or file.uri != uri:  # the event that set the URI has not been scanned yet
        return RegistrationFacts(Observation(0, uri, FileState.WAITING)), (), 0
    if file.state is not FileState.LOADED or file.content_hash is None:
        return RegistrationFacts(file), (), 0
    row = rows[0]
    if row.stored is None:
        raise FileNotHeldError(uri, as_of.block)
    content = _CONTENT.records(as_of.connection, {"content_hash": file.content_hash})
    content.sort(key=attrgetter("position"))
    claims, domains = ([part for part in content if part.kind == kind] for kind in ("claim", "domain"))
    is_confirmed, names_agents = _names(claims, subject)
    of_services = _domains(subject, uri if is_confirmed else "", domains)
    foreign = _foreign_agents(claims)
    proven = _proven(subject) if foreign else {}
    facts = RegistrationFacts(
        file=file,
        name=row.name,
        description=row.description,
        active=row.active,
        x402_support=row.x402_support,
        is_confirmed=is_confirmed,
        names_agents=names_agents,
        other_registrations=tuple(
            OtherRegistration(agent, "both_ways")
            if agent in proven
            else OtherRegistration(agent, "claimed", "which a live check can prove")
            for agent in foreign
        ),
    )
    return facts, of_services, max(proven.values(), default=0)


def registered_domain(subject: Subject, domain: str) -> Domain | None:
    """Return an agent's registered domain (ERC-8004 of August 2025), and whether its file lists the agent."""
    host = secure_host(uri) if (uri := domain_uri(domain)) else None
    if uri is None or host is None:
        return None
    file_id = file_id_of(Kind.DOMAIN, uri, None)
    file = observations(subject.as_of, {file_id}).get(file_id, Observation(0, uri, FileState.WAITING))
    return replace(_domain(subject, host, file), is_registered=True)


@cache
def _registration() -> Prepared:
    reference, fetch, table, read = schema.file_reference, schema.file_sight, schema.file, schema.registration_file
    observation = (
        select(func.max(fetch.c.sight_id))
        .where(fetch.c.file_id == reference.c.file_id, fetch.c.chain_id == bindparam("chain_id"))
        .where(fetch.c.seen_block <= bindparam("block"), unindexed(fetch.c.sight_id) <= bindparam("files"))
        .correlate(reference)
        .scalar_subquery()
    )
    newest = (
        select(reference.c.file_id, observation.label("sight_id"))
        .where(reference.c.chain_id == bindparam("chain_id"), reference.c.registry == bindparam("identity"))
        # Must be a literal, because databases use the partial index only for literals.
        .where(reference.c.kind == literal_column(f"'{Kind.REGISTRATION}'"))
        .where(reference.c.agent_id == bindparam("agent_id"))
        .where(reference.c.block_number <= bindparam("block"))
        .order_by(*newest_first(reference.c))
        .limit(at_most(1))
        .subquery()
    )
    return Prepared(
        select(*_OBSERVED, read.c.name, read.c.description, read.c.active, read.c.x402_support)
        .add_columns(read.c.content_hash.label("stored"))
        .select_from(
            newest.join(table, table.c.file_id == newest.c.file_id)
            .outerjoin(fetch, (fetch.c.sight_id == newest.c.sight_id) & (fetch.c.chain_id == bindparam("chain_id")))
            .outerjoin(read, read.c.content_hash == fetch.c.content_hash)
        )
    )


def _content() -> Any:
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


def _domains(subject: Subject, confirmed_uri: str, rows: Sequence[Any]) -> tuple[Domain, ...]:
    """Return the services' domains. A domain that hosts the registration file needs no other file (ERC-8004)."""
    files = observations(subject.as_of, {bytes(row.file_id) for row in rows})
    home = secure_host(confirmed_uri)
    domains = []
    for row in rows:
        if row.text == home:
            domains.append(Domain(row.text, is_proven=True, is_denied=False, file=None))
        else:
            waiting = Observation(0, registration_uri(row.text), FileState.WAITING)
            domains.append(_domain(subject, row.text, files.get(bytes(row.file_id), waiting)))
    return tuple(domains)


def _domain(subject: Subject, host: str, file: Observation) -> Domain:
    names_it = names_agents = False
    if file.state is FileState.LOADED and file.content_hash is not None:
        table, stored, as_of = schema.registration_claim, schema.registration_file, subject.as_of
        query = select(table, table.c.agent_registry.label("text")).where(table.c.content_hash == file.content_hash)
        claims = as_of.connection.execute(query.limit(_MOST_CLAIMS)).all()
        content = select(stored.c.content_hash).where(stored.c.content_hash == file.content_hash)
        if not claims and as_of.connection.execute(content).first() is None:
            raise FileNotHeldError("", as_of.block)
        names_it, names_agents = _names(claims, subject)
    return Domain(host, is_proven=names_it, is_denied=names_agents and not names_it, file=file)


def _foreign_agents(claims: Sequence[Any]) -> tuple[str, ...]:
    agents = (foreign_agent(row.text, int(row.agent_id)) for row in claims if row.agent_id is not None)
    return tuple(dict.fromkeys(str(agent) for agent in agents if agent is not None))


def _proven(subject: Subject) -> dict[str, int]:
    """Return the foreign-chain agents whose last stored outcome is a proof, with the observation number of each."""
    proof, fetch, as_of = schema.foreign_proof, schema.file_sight, subject.as_of
    query = (
        select(schema.FOREIGN_AGENT.label("agent"), proof.c.names_back, proof.c.sight_id)
        .join(fetch, fetch.c.sight_id == proof.c.sight_id)
        .where(proof.c.chain_id == as_of.chain_id, proof.c.identity_registry == subject.identity)
        .where(proof.c.agent_id == subject.history.agent_id, proof.c.sight_id <= as_of.newest_file)
        .where(fetch.c.seen_block <= as_of.block)
        .order_by(proof.c.sight_id)
    )
    last = {row.agent: (row.names_back, row.sight_id) for row in as_of.connection.execute(query)}
    return {agent: number for agent, (names_back, number) in last.items() if names_back}


def _names(claims: Sequence[Any], subject: Subject) -> tuple[bool, bool]:
    """Return whether a file claims to be about an agent, and whether it claims to be about any agent."""
    registry, agent_id = f"eip155:{subject.as_of.chain_id}:{subject.identity}", subject.history.agent_id
    names_it = any(row.text == registry and row.agent_id == agent_id for row in claims)
    return names_it, any(row.agent_id is not None for row in claims)


def observations(as_of: AsOfBlock, file_ids: Collection[bytes]) -> dict[bytes, Observation]:
    """Return files as of a block, by id. A file that had not been fetched by that block is `waiting`."""
    fetch, table = schema.file_sight, schema.file
    observed: dict[bytes, Observation] = {}
    for part in in_parts(sorted(file_ids)):
        is_of_chain = fetch.c.chain_id == as_of.chain_id
        newest = (
            select(func.max(fetch.c.sight_id))
            .where(fetch.c.file_id.in_(part), is_of_chain, fetch.c.seen_block <= as_of.block)
            .group_by(fetch.c.file_id)
        )
        if as_of.files is not None:
            newest = newest.where(fetch.c.sight_id <= as_of.files)
        query = (
            select(table.c.file_id, *_OBSERVED)
            .outerjoin(fetch, (fetch.c.file_id == table.c.file_id) & is_of_chain & fetch.c.sight_id.in_(newest))
            .where(table.c.file_id.in_(part))
        )
        for row in as_of.connection.execute(query):
            observed[bytes(row.file_id)] = observation_of(row)
    return observed


def observation_of(row: Any) -> Observation:
    """Return the observation in a row. A file without an observation, whose columns are NULL, is `waiting`."""
    if row.sight_id is None:
        return Observation(0, row.uri, FileState.WAITING)
    content_hash = None if row.content_hash is None else bytes(row.content_hash)
    return Observation(row.sight_id, row.uri, FileState(row.state), content_hash, row.integrity, row.reason)
