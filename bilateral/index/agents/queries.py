"""An account's agents: those that the account owns, receives payments for, or has set as its primary agent."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, and_, select, union

from bilateral.core.contracts import Registry
from bilateral.core.events import AgentUpdated, MetadataSet, Transfer, URIUpdated
from bilateral.core.events.agents import ADDRESS_BYTES, NOBODY, WALLET_KEY, address_of_bytes
from bilateral.core.identifiers import global_agent_id
from bilateral.index.agents import tables as agent_tables
from bilateral.index.log import tables as schema
from bilateral.index.log.dialects import newest_first
from bilateral.index.reading.registries import AgentKey


def feedback_registry(registries: Iterable[tuple[str, str]]) -> str | None:
    """Return the registry that records unauthorised feedback on an identity registry's agents, or None."""
    kinds: dict[str, str] = {}
    for kind, address in registries:
        kinds.setdefault(kind, address)
    return kinds.get(Registry.REPUTATION) or kinds.get(Registry.BIDIRECTIONAL)


_KEY: Final = ("chain_id", "identity_registry", "agent_id")


@dataclass(frozen=True, slots=True)
class Change:
    """A change to an agent.

    Attributes:
        kind: `registered`, `transferred`, `wallet`, `file` or `domain`.
        account: The new owner, the new wallet, or the account that changed the file; None for a removed wallet.
        text: The new URI or domain, which is untrusted text; None for other kinds.
        log_index: The event's position in the block.
        time: The block time, in Unix seconds.
    """

    kind: str
    account: str | None
    text: str | None
    block: int
    log_index: int
    time: int
    transaction: str


def changes_of(connection: Connection, key: AgentKey, limit: int = 20) -> tuple[Change, ...]:
    """Return the changes to an agent, newest first."""
    moved, changed, updated = (schema.EVENT_TABLES[event].c for event in (Transfer, URIUpdated, AgentUpdated))
    metadata = schema.EVENT_TABLES[MetadataSet].c
    changes = [
        *(_transfer(*row) for row in _newest(connection, key, limit, moved, moved.from_address, moved.to_address)),
        *(_wallet(*row) for row in _newest(connection, key, limit, metadata, metadata.metadata_value)),
        *(
            Change("file", by, uri, *place)
            for uri, by, *place in _newest(connection, key, limit, changed, changed.new_uri, changed.updated_by)
        ),
        *(
            Change("domain", account, domain, *place)
            for domain, account, *place in _newest(
                connection, key, limit, updated, updated.agent_domain, updated.agent_address
            )
        ),
    ]
    return tuple(sorted(changes, key=lambda change: (change.block, change.log_index), reverse=True))


def _newest(connection: Connection, key: AgentKey, limit: int, events: Any, *columns: Any) -> list[tuple[Any, ...]]:
    """Return an agent's newest events, each with its columns and its position."""
    query = select(*columns, events.block_number, events.log_index, events.block_time, events.transaction_hash).where(
        events.chain_id == key.chain_id, events.registry == key.identity_registry, events.agent_id == key.agent_id
    )
    if "metadata_key" in events:
        query = query.where(events.metadata_key == WALLET_KEY)
    rows = connection.execute(query.order_by(*newest_first(events)).limit(limit))
    return [(*row[:-1], f"0x{row[-1].hex()}") for row in rows]


def _transfer(sender: str, receiver: str, *place: Any) -> Change:
    return Change("registered" if sender == NOBODY else "transferred", receiver, None, *place)


def _wallet(value: bytes, *place: Any) -> Change:
    is_address = len(value) == ADDRESS_BYTES and any(value)
    return Change("wallet", address_of_bytes(value) if is_address else None, None, *place)


MAX_AGENTS: Final = 200
"""The maximum number of agents that one response lists for an account."""


@dataclass(frozen=True, slots=True)
class AccountAgent:
    """An agent that is associated with an account.

    Attributes:
        id: The agent's short id.
        global_id: The agent's id, unique across registries.
        is_owner: True if the account owns the agent.
        is_wallet: True if the account receives the agent's payments.
        is_primary: True if the agent is the account's primary agent.
    """

    id: str
    global_id: str
    is_owner: bool
    is_wallet: bool
    is_primary: bool


@dataclass(frozen=True, slots=True)
class Account:
    """An account and its agents.

    Attributes:
        address: The account.
        agents: The account's first 200 agents, ordered by chain, registry and id.
        has_more: True if the account has more agents. A search by owner or wallet lists all of them in pages.
    """

    address: str
    agents: tuple[AccountAgent, ...]
    has_more: bool


def account(connection: Connection, address: str, chain_ids: tuple[int, ...]) -> Account:
    """Return an account with its agents."""
    agent, primary = agent_tables.agent.c, agent_tables.primary_agent.c
    related = union(
        select(*agent[_KEY]).where(agent.chain_id.in_(chain_ids), agent.owner == address),
        select(*agent[_KEY]).where(agent.chain_id.in_(chain_ids), agent.wallet == address),
        select(*primary[_KEY]).where(primary.chain_id.in_(chain_ids), primary.account == address),
    ).subquery()
    is_agent, is_primary = ([columns[name] == related.c[name] for name in _KEY] for columns in (agent, primary))
    join = related.join(agent_tables.agent, and_(*is_agent)).outerjoin(
        agent_tables.primary_agent, and_(*is_primary, primary.account == address)
    )
    query = select(*agent[_KEY], agent.owner, agent.wallet, primary.account).select_from(join).order_by(*agent[_KEY])
    rows = connection.execute(query.limit(MAX_AGENTS + 1)).all()
    return Account(address, tuple(_agent(address, *row) for row in rows[:MAX_AGENTS]), len(rows) > MAX_AGENTS)


def _agent(address: str, chain_id: int, registry: str, agent_id: int, *roles: Any) -> AccountAgent:
    names = (f"{chain_id}:{agent_id}", global_agent_id(chain_id, registry, agent_id))
    owner, wallet, primary = (role == address for role in roles)
    return AccountAgent(*names, owner, wallet, primary)
