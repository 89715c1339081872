"""Agents' names, services and other identities, as stated in registration files. All of these are untrusted text.

An agent's claim to be the same as an agent in another registry is confirmed if the two agents' files refer to each
other. Agents on chains outside the index are known only from files. `bilateral index prove-claims` queries nodes of
these chains and stores the results.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, Select, column, func, or_, select, table

from bilateral.core.contracts.records import foreign_book
from bilateral.core.errors import InvalidArgumentError, MalformedIdentifierError
from bilateral.core.identifiers import AccountId, GlobalAgentId, global_agent_id
from bilateral.core.identifiers.caip import FOREIGN_PREFIXES, base58_text
from bilateral.core.text import quoted
from bilateral.index.agents import tables as agent_tables
from bilateral.index.files import tables as files
from bilateral.index.files.reading import file_id_of, registration_uri, secure_host
from bilateral.index.files.tables import READ_FILES, Kind, State, agent_file
from bilateral.index.log.dialects import in_parts
from bilateral.index.reading.registries import AgentKey, Registries, Wide, numbers_by_chain

_LENGTH: Final = 320
"""The maximum number of characters read from a name."""


def names_of(connection: Connection, registries: Registries, ids: Iterable[str | None]) -> dict[str, str]:
    """Return the names of agents, keyed by short id. Agents without a name are omitted."""
    current, read = agent_file.c, files.registration_file.c
    query = select(current.agent_id, func.substr(read.name, 1, _LENGTH)).select_from(READ_FILES)
    names = {}
    for chain_id, numbers in numbers_by_chain(ids).items():
        identity = registries.identity_of(chain_id)
        of_registry = query.where(current.chain_id == chain_id, current.identity_registry == identity)
        for part in in_parts(numbers):
            for agent_id, name in connection.execute(of_registry.where(current.agent_id.in_(part))).all():
                if name:
                    names[f"{chain_id}:{agent_id}"] = name
    return names


MAX_SERVICES: Final = 200
"""The maximum number of services in one response."""

_KEY: Final = ("chain_id", "identity_registry", "agent_id")


@dataclass(frozen=True, slots=True)
class NamedService:
    """A service that an agent's registration file lists.

    Attributes:
        agent: The agent's short id.
        global_id: The agent's id, unique across registries.
        wallet: The account that receives the agent's payments; None if no account is set.
        service: The name of the service, which is untrusted text.
        endpoint: The service's URL, which is untrusted text.
        is_exact: True if the endpoint is the requested URL, False if it is another URL on the same host.
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
        host: The host, with its port unless it is 443.
        services: The first 200 services, ordered by chain, registry and agent.
        has_more: True if there are more services at the host.
    """

    host: str
    services: tuple[NamedService, ...]
    has_more: bool


def services_at(connection: Connection, url: str) -> NamedHost:
    """Return the services at the host of a URL. Only the first three hosts in each registration file are considered."""
    host = secure_host(url if "://" in url else f"https://{url}")
    if host is None:
        raise InvalidArgumentError(f"url: {quoted(url)} has no host: pass an https URL or a host name")
    domain, service, reference = files.registration_domain, files.registration_service, files.file_reference
    names = (*_KEY, "owner", "wallet")
    columns = [column(name, agent_tables.agent.c[name].type) for name in names]
    current = table("agent_registration", *columns, column("content_hash", domain.c.content_hash.type)).c
    rows = connection.execute(
        select(*(current[name] for name in names), service.c.name, service.c.endpoint)
        .where(
            domain.c.file_id == file_id_of(Kind.DOMAIN, registration_uri(host), None),
            files.file.c.content_hash == domain.c.content_hash,
            reference.c.file_id == files.file.c.file_id,
            reference.c.kind == Kind.REGISTRATION,
            current.chain_id == reference.c.chain_id,
            current.identity_registry == reference.c.registry,
            current.agent_id == reference.c.agent_id,
            current.content_hash == domain.c.content_hash,  # not a file to which the agent referred earlier
            service.c.content_hash == domain.c.content_hash,
            service.c.endpoint.ilike("https://%"),
        )
        .distinct()
        .order_by(*(current[name] for name in _KEY), service.c.name, service.c.endpoint)
        .limit(MAX_SERVICES + 1)
    ).all()
    services = [
        NamedService(
            f"{row.chain_id}:{row.agent_id}",
            global_agent_id(row.chain_id, row.identity_registry, row.agent_id),
            *(row.owner, row.wallet, row.name, row.endpoint, row.endpoint == url),
        )
        for row in rows[:MAX_SERVICES]
        if secure_host(row.endpoint) == host
    ]
    return NamedHost(host, tuple(services), len(rows) > MAX_SERVICES)


_MOST: Final = 20  # claims per file, because strangers write files
_CHAIN_BITS: Final = 63
"""The maximum size of a chain id in the tables, in bits."""


@dataclass(frozen=True, slots=True)
class OtherIdentity:
    """An agent in another registry that a registration file lists as the same agent.

    Attributes:
        identity_registry: The address of the other agent's identity registry.
        agent_id: The other agent's token id.
        is_indexed: True if the index contains the other agent.
        names_back: True if the other agent's file also lists this agent.
        has_same_owner: True if the same account owns both agents.
    """

    chain_id: int
    identity_registry: str
    agent_id: Wide
    is_indexed: bool
    names_back: bool
    has_same_owner: bool


@dataclass(frozen=True, slots=True)
class ForeignIdentity:
    """An agent on a chain that is not indexed, which a registration file lists as the same agent.

    Attributes:
        agent: The agent's global id, which contains the registry and the chain (`GlobalAgentId`).
        network: The name of the chain, or the chain's identifier if it has no name.
        registry: The registry's name, or its address if it has no name.
        names_back: True if the other agent's file also listed this agent when a node of its chain was last queried.
    """

    agent: str
    network: str
    registry: str
    names_back: bool


def foreign_identities(connection: Connection, key: AgentKey) -> tuple[ForeignIdentity, ...]:
    """Return the first 20 agents on foreign chains that an agent's file lists as the same agent."""
    is_foreign = or_(*(files.registration_claim.c.agent_registry.like(f"{prefix}%") for prefix in FOREIGN_PREFIXES))
    claims = connection.execute(_claims_of(key).where(is_foreign).limit(_MOST)).all()
    proof = files.foreign_proof.c
    outcomes = select(files.FOREIGN_AGENT, proof.names_back).where(*key.of(proof)).order_by(proof.sight_id)
    names_back: dict[str, bool] = dict(map(tuple, connection.execute(outcomes)))  # the last outcome wins
    agents = dict.fromkeys(foreign_agent(registry, int(number)) for registry, number in claims)
    return tuple(_foreign_identity(agent, names_back) for agent in agents if agent is not None)


def foreign_agent(registry: str, number: int) -> GlobalAgentId | None:
    """Return the foreign-chain agent in a row of `registration_claim`; None if the agent is on an EVM chain."""
    try:
        account = AccountId.parse(registry)
        return None if account.chain.is_evm else GlobalAgentId(account, base58_text(number.to_bytes(32)))
    except (MalformedIdentifierError, OverflowError):
        return None


def _foreign_identity(agent: GlobalAgentId, names_back: Mapping[str, bool]) -> ForeignIdentity:
    """Return an agent, with the names of its chain and registry from the address book."""
    network, program = str(agent.registry.chain), agent.registry.address
    if (record := foreign_book().get(network)) is not None:
        network = record.network
        program = next((name for name, address in record.registries.items() if address == program), program)
    return ForeignIdentity(str(agent), network, program, names_back.get(str(agent), False))


def other_identities(connection: Connection, key: AgentKey, owner: str) -> tuple[OtherIdentity, ...]:
    """Return the first 20 agents that an agent's file lists as the same agent."""
    agent, claim = agent_tables.agent.c, files.registration_claim.c
    own = f"eip155:{key.chain_id}:{key.identity_registry}"
    identities = []
    for registry, agent_id in connection.execute(_claims_of(key).limit(_MOST)).all():
        try:
            account = AccountId.parse(registry)
        except MalformedIdentifierError:
            continue
        if not account.chain.is_evm or account.chain.evm_chain_id.bit_length() > _CHAIN_BITS:
            continue
        other = AgentKey(account.chain.evm_chain_id, account.address, int(agent_id), ())
        if other.global_id == key.global_id:
            continue
        other_owner = connection.execute(select(agent.owner).where(*other.of(agent))).scalar()
        back = _claims_of(other).where(claim.agent_registry == own, claim.agent_id == key.agent_id)
        names_back = other_owner is not None and connection.execute(back.limit(1)).first() is not None
        place = (other.chain_id, other.identity_registry, other.agent_id)
        identities.append(OtherIdentity(*place, other_owner is not None, names_back, other_owner == owner))
    return tuple(identities)


def _claims_of(key: AgentKey) -> Select[str, int]:
    """Return the query that selects the claims in an agent's current file, in order."""
    claim, current, file = files.registration_claim.c, agent_file.c, files.file.c
    content = (
        select(file.content_hash)
        .join(agent_file, current.file_id == file.file_id)
        .where(file.state == State.LOADED, *key.of(current))
    )
    return (
        select(claim.agent_registry, claim.agent_id)
        .where(claim.content_hash.in_(content), claim.agent_id.is_not(None))
        .order_by(claim.position)
    )
