"""The same agent in other registries, as registration files say: a claim counts if both files name each other.

Agents on foreign chains appear in files alone. `bilateral index prove-claims` asks their chains, and keeps the answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, Select, and_, exists, or_, select

from bilateral.core.contracts.records import foreign_book
from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.identifiers import AccountId, GlobalAgentId
from bilateral.core.identifiers.caip import FOREIGN_PREFIXES, base58_text
from bilateral.index.agents import tables as agent_tables
from bilateral.index.files import tables as files
from bilateral.index.files.tables import State, agent_file
from bilateral.index.reading.registries import AgentKey
from bilateral.index.reading.values import Wide

_MOST: Final = 20  # claims of one file, which strangers write
_CHAIN_BITS: Final = 63
"""The bits of the largest chain id that the tables hold."""


@dataclass(frozen=True, slots=True)
class OtherIdentity:
    """Another agent that a registration file names as the same one.

    Attributes:
        identity_registry: The address of its identity registry.
        agent_id: The id of its token.
        is_indexed: True if the index has it.
        names_back: True if its file names this agent too.
        has_same_owner: True if one account owns both.
    """

    chain_id: int
    identity_registry: str
    agent_id: Wide
    is_indexed: bool
    names_back: bool
    has_same_owner: bool


@dataclass(frozen=True, slots=True)
class ForeignIdentity:
    """An agent on a chain that the index does not read, which a registration file names as the same one.

    Attributes:
        agent: The agent, with its registry and chain (`GlobalAgentId`).
        network: The name of the chain; the chain itself if it has none.
        registry: The registry's name; its address if it has none.
        names_back: True if its file named this agent when a node was last asked.
    """

    agent: str
    network: str
    registry: str
    names_back: bool


def foreign_identities(connection: Connection, key: AgentKey) -> tuple[ForeignIdentity, ...]:
    """Return the agents on foreign chains that an agent's file names as the same one: the first 20."""
    claim = files.registration_claim.c
    content = _content(key.chain_id, key.identity_registry, key.agent_id)
    is_foreign = or_(*(claim.agent_registry.like(f"{prefix}%") for prefix in FOREIGN_PREFIXES))
    rows = connection.execute(
        select(claim.agent_registry, claim.agent_id)
        .where(claim.content_hash.in_(content), claim.agent_id.is_not(None), is_foreign)
        .order_by(claim.position)
        .limit(_MOST)
    ).all()
    claimed = (foreign_agent(registry, int(number)) for registry, number in rows)
    proven = _proven(connection, key)
    return tuple(_foreign_identity(agent, proven) for agent in dict.fromkeys(claimed) if agent is not None)


def _proven(connection: Connection, key: AgentKey) -> set[str]:
    """Return the agents on foreign chains whose last stored outcome proves them."""
    proof = files.foreign_proof.c
    place = (*key.of(proof),)
    query = select(files.FOREIGN_AGENT, proof.names_back).where(*place).order_by(proof.sight_id)
    last = dict(map(tuple, connection.execute(query)))
    return {agent for agent, names_back in last.items() if names_back}


def foreign_agent(registry: str, number: int) -> GlobalAgentId | None:
    """Return the agent on a foreign chain that a row of `registration_claim` names; None if it is of an EVM chain."""
    try:
        account = AccountId.parse(registry)
        return None if account.chain.is_evm else GlobalAgentId(account, base58_text(number.to_bytes(32)))
    except (MalformedIdentifierError, OverflowError):
        return None


def _foreign_identity(agent: GlobalAgentId, proven: set[str]) -> ForeignIdentity:
    """Return an agent with the names that the address book has."""
    chain, program = str(agent.registry.chain), agent.registry.address
    record = foreign_book().get(chain)
    names = {} if record is None else {address: name for name, address in record.registries.items()}
    network = chain if record is None else record.network
    return ForeignIdentity(str(agent), network, names.get(program, program), str(agent) in proven)


def other_identities(connection: Connection, key: AgentKey, owner: str) -> tuple[OtherIdentity, ...]:
    """Return the agents that an agent's file names as the same one: the first 20."""
    claim = files.registration_claim.c
    content = _content(key.chain_id, key.identity_registry, key.agent_id)
    rows = connection.execute(
        select(claim.agent_registry, claim.agent_id)
        .where(claim.content_hash.in_(content), claim.agent_id.is_not(None))
        .order_by(claim.position)
        .limit(_MOST)
    )
    own = f"eip155:{key.chain_id}:{key.identity_registry}"
    identities = []
    for registry, agent_id in rows.all():
        try:
            account = AccountId.parse(registry)
            if not account.chain.is_evm:
                continue
            other = account.chain.evm_chain_id, account.address, int(agent_id)
        except MalformedIdentifierError:
            continue
        if other[0].bit_length() <= _CHAIN_BITS and other != (key.chain_id, key.identity_registry, key.agent_id):
            identities.append(_identity(connection, (own, key.agent_id), owner, *other))
    return tuple(identities)


def _identity(  # noqa: PLR0913, PLR0917  # both agents
    connection: Connection, own: tuple[str, int], owner: str, chain_id: int, registry: str, agent_id: int
) -> OtherIdentity:
    """Return a claimed agent with what the index says of it."""
    agent, claim = agent_tables.agent.c, files.registration_claim.c
    other_owner = connection.execute(
        select(agent.owner).where(
            agent.chain_id == chain_id, agent.identity_registry == registry, agent.agent_id == agent_id
        )
    ).scalar()
    back = exists().where(
        claim.content_hash.in_(_content(chain_id, registry, agent_id)),
        claim.agent_registry == own[0],
        claim.agent_id == own[1],
    )
    names_back = other_owner is not None and bool(connection.execute(select(back)).scalar())
    return OtherIdentity(chain_id, registry, agent_id, other_owner is not None, names_back, other_owner == owner)


def _content(chain_id: int, identity_registry: str, agent_id: int) -> Select[tuple[bytes]]:
    """Return the query for the content of an agent's file."""
    current, file = agent_file.c, files.file
    return (
        select(file.c.content_hash)
        .select_from(agent_file.join(file, and_(file.c.file_id == current.file_id, file.c.state == State.LOADED.value)))
        .where(
            current.chain_id == chain_id, current.identity_registry == identity_registry, current.agent_id == agent_id
        )
    )
