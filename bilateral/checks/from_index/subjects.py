"""The subjects of a check: agents and accounts as of a block, computed from identity registry events."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import bindparam, literal_column, select

from bilateral.checks.errors import HistoryTooLongError, UnknownAgentError, UnknownChainError, UnknownRegistryError
from bilateral.checks.facts import AgentFacts, Change
from bilateral.checks.from_index.as_of_block import (
    AsOfBlock,
    covering,
    event_label,
    evidence_of,
    identity_registries,
    place_of,
    registries,
)
from bilateral.checks.policy import is_account, parse_agent
from bilateral.checks.verdicts import EventEvidence
from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.events import AgentRegistered, AgentUpdated, MetadataSet, Transfer
from bilateral.core.events.agents import AgentStates
from bilateral.core.identifiers import AgentId, GlobalAgentId, checksummed
from bilateral.index.log.dialects import in_parts
from bilateral.index.log.tables import EVENT_TABLES
from bilateral.index.reading.prepared import Prepared, at_most, one_of, size_for, spread

MOST_CHANGES: Final = 20_000
"""The maximum number of owner and wallet changes that a check replays."""

_ADDRESS_BYTES: Final = 20  # an Ethereum account is the last 20 bytes of its key's hash

_TRANSFER, _METADATA, _REGISTERED, _UPDATED = (
    EVENT_TABLES[event] for event in (Transfer, MetadataSet, AgentRegistered, AgentUpdated)
)
# Must be a literal, because databases use the partial indexes only for literals.
_IS_WALLET: Final = _METADATA.c.metadata_key == literal_column("'agentWallet'")


@dataclass
class AgentHistory:
    """An agent's history up to a block.

    Attributes:
        owner: The agent's owner; None if the agent does not exist or no longer exists.
        wallet: The agent's wallet; None if it has none.
        registered: The agent's first event.
        registered_at: The time of that event.
        owner_change: The last event that changed the agent's owner, and its time; None if the agent still has its first
            owner.
        wallet_change: The last event after registration that changed the agent's wallet; None if the agent still has
            its first wallet.
        account_events: All accounts that have ever been the agent's owner or wallet, each with the event that first
            made it the owner or the wallet.
    """

    agent_id: int
    owner: str | None = None
    wallet: str | None = None
    registered: EventEvidence | None = None
    registered_at: int = 0
    owner_change: tuple[EventEvidence, int] | None = None
    wallet_change: tuple[EventEvidence, int] | None = None
    account_events: dict[str, EventEvidence] = field(default_factory=dict)

    @property
    def accounts(self) -> frozenset[str]:
        """All accounts that have ever been the agent's owner or wallet."""
        return frozenset(self.account_events)

    @property
    def holders(self) -> frozenset[str]:
        """The owner and the wallet, if they exist."""
        return frozenset(account for account in (self.owner, self.wallet) if account is not None)

    def facts(self, as_of: AsOfBlock) -> AgentFacts:
        """Return the facts about the agent as of a block."""
        owner_change, wallet_change = (
            None if change is None else Change(as_of.seconds_since(change[1]), change[0])
            for change in (self.owner_change, self.wallet_change)
        )
        return AgentFacts(
            owner=self.owner,
            wallet=self.wallet,
            age_days=as_of.days_since(self.registered_at),
            registered=self.registered,
            owner_event=None if owner_change is None else owner_change.event,
            wallet_event=None if wallet_change is None else wallet_change.event,
            owner_change=owner_change,
            wallet_change=wallet_change if self.wallet is not None else None,
        )


def agents_at(as_of: AsOfBlock, identity: str, agent_ids: Collection[int]) -> dict[int, AgentHistory]:
    """Return the agents that exist as of a block."""
    changes: list[sa.Row[Any]] = []
    for part in in_parts(sorted(set(agent_ids))):
        size = size_for(part)
        values = {**as_of.bounds, "identity": identity, **spread("agent_id", part, size)}
        changes += _changes(size).records(as_of.connection, values)
        if len(changes) > MOST_CHANGES:
            raise HistoryTooLongError("changes of ownership or wallets", MOST_CHANGES)
    by_agent: dict[int, list[sa.Row[Any]]] = defaultdict(list)
    for row in changes:
        by_agent[int(row.agent_id)].append(row)
    replayed = {agent_id: _replayed(agent_id, rows) for agent_id, rows in by_agent.items()}
    return {agent_id: facts for agent_id, facts in replayed.items() if facts.owner is not None}


def agents_of_accounts(as_of: AsOfBlock, identity: str, accounts: Collection[str]) -> dict[int, AgentHistory]:
    """Return the agents whose owner or wallet is one of the accounts as of a block."""
    candidates: set[int] = set()
    for part in in_parts(sorted(accounts)):
        size = size_for(part)
        values = {**as_of.bounds, "identity": identity, **spread("account", part, size)}
        values |= spread("wallet", [bytes.fromhex(account[2:]) for account in part], size)
        candidates.update(int(agent_id) for (agent_id,) in _of_accounts(size).all(as_of.connection, values))
        if len(candidates) > MOST_CHANGES:
            raise HistoryTooLongError("agents that belong to one account", MOST_CHANGES)
    agents = agents_at(as_of, identity, candidates)
    return {
        agent_id: agent for agent_id, agent in agents.items() if agent.owner in accounts or agent.wallet in accounts
    }


@lru_cache
def _of_accounts(size: int) -> Prepared:
    def of(table: sa.Table, *conditions: sa.ColumnElement[bool]) -> Any:
        query = select(table.c.agent_id).where(covering(table), table.c.registry == bindparam("identity"), *conditions)
        return select(query.limit(at_most(MOST_CHANGES + 1)).subquery())

    value = _METADATA.c.metadata_value
    is_address = sa.func.length(value) == literal_column(str(_ADDRESS_BYTES))
    return Prepared(
        sa.union_all(
            of(_TRANSFER, one_of("account", _TRANSFER.c.to_address, size)),
            of(_METADATA, _IS_WALLET, is_address, one_of("wallet", value, size)),
            *(of(table, one_of("account", table.c.agent_address, size)) for table in (_REGISTERED, _UPDATED)),
        )
    )


@lru_cache
def _changes(size: int) -> Prepared:
    none, empty = sa.cast(sa.null(), sa.String(42)), sa.cast(sa.null(), sa.LargeBinary)
    kinds = (
        (Transfer, _TRANSFER.c.from_address, _TRANSFER.c.to_address, empty, sa.true()),
        (MetadataSet, none, none, sa.func.substr(_METADATA.c.metadata_value, 1, _ADDRESS_BYTES + 1), _IS_WALLET),
        (AgentRegistered, _REGISTERED.c.agent_address, none, empty, sa.true()),
        (AgentUpdated, _UPDATED.c.agent_address, none, empty, sa.true()),
    )
    parts = []
    for event, a, b, raw, condition in kinds:
        table = EVENT_TABLES[event]
        query = select(
            *place_of(table), table.c.agent_id, event_label(event), a.label("a"), b.label("b"), raw.label("raw")
        )
        of_agents = one_of("agent_id", table.c.agent_id, size)
        parts.append(query.where(covering(table), table.c.registry == bindparam("identity"), of_agents, condition))
    return Prepared(sa.union_all(*parts).limit(at_most(MOST_CHANGES + 1)))


def _replayed(agent_id: int, rows: Iterable[sa.Row[Any]]) -> AgentHistory:
    """Replay an agent's events. Those in the registration transaction set its first owner and wallet."""
    states, agent = AgentStates(), AgentHistory(agent_id)
    for row in sorted(rows, key=attrgetter("block_number", "log_index")):
        before = states.owners.get(agent_id), states.wallets.get(agent_id)
        if row.event == "Transfer":
            states.transfer(agent_id, row.a, row.b)
        elif row.event == "MetadataSet":
            states.set_wallet(agent_id, bytes(row.raw or b""))  # SQLite returns NULL for a part of an empty value
        else:
            states.name_address(agent_id, row.a)
        agent.owner, agent.wallet = states.owners.get(agent_id), states.wallets.get(agent_id)
        evidence = evidence_of(row.event, row)
        for account in (agent.owner, agent.wallet):
            if account is not None:
                agent.account_events.setdefault(account, evidence)
        if agent.registered is None or before[0] is None:  # a token can be burnt and minted again
            agent.registered, agent.registered_at = evidence, row.block_time
            agent.owner_change = agent.wallet_change = None
        elif evidence.transaction != agent.registered.transaction:
            if agent.owner != before[0]:
                agent.owner_change = evidence, row.block_time
            if agent.wallet != before[1]:
                agent.wallet_change = evidence, row.block_time
    return agent


@dataclass(frozen=True)
class Subject:
    """An agent as of a block."""

    as_of: AsOfBlock
    identity: str
    history: AgentHistory

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The kinds of the registries that belong to the agent's identity registry, by address."""
        return registries(self.as_of, self.identity)

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The parameters for SQL statements about the agent, including all registries of its identity registry."""
        agent = {"identity": self.identity, "agent_id": self.history.agent_id, "owner": self.history.owner}
        return {**self.as_of.bounds, **agent, **spread("registry", list(self.kinds), len(self.kinds))}

    @property
    def name(self) -> str:
        """The agent's id as text, such as `8453:247`."""
        return f"{self.as_of.chain_id}:{self.history.agent_id}"


@dataclass(frozen=True)
class Asker:
    """The account or agent that requests a check.

    Attributes:
        agent_id: The agent; None for an account without an agent.
        history: The agent's history as of the block.
    """

    agent_id: int | None
    accounts: frozenset[str]
    history: AgentHistory | None = None


def find_agent(agent: str | int | AgentId | GlobalAgentId, as_of_chain: Callable[[int | None], AsOfBlock]) -> Subject:
    """Return an agent as of a block."""
    reference = parse_agent(agent)
    as_of = as_of_chain(reference.chain_id)
    identity = _identities(as_of, reference.identity)[0]
    return Subject(as_of, identity, _existing(as_of, identity, agent, reference.agent_id))


def find_account(as_of: AsOfBlock, account: str) -> Subject | None:
    """Return the agent with the lowest id whose wallet is the account or, if there is none, whose owner is the account.

    Returns None for accounts without an agent in any of the chain's identity registries.
    """
    for identity in _identities(as_of, None):
        agents = agents_of_accounts(as_of, identity, [account])
        if agents:
            history = min(agents.values(), key=lambda agent: (agent.wallet != account, agent.agent_id))
            return Subject(as_of, identity, history)
    return None


def asker_of(as_of: AsOfBlock, identity: str, asker: str | int) -> Asker:
    """Return the account or agent that requests the check. An agent must be in the given registry."""
    if is_account(asker):
        account = checksummed(str(asker))
        agents = agents_of_accounts(as_of, identity, [account])
        agent_id = min(agents, default=None)
        return Asker(agent_id, frozenset({account}), None if agent_id is None else agents[agent_id])
    reference = parse_agent(asker)
    if reference.chain_id not in (None, as_of.chain_id) or reference.identity not in (None, identity):
        raise MalformedIdentifierError(
            f"an agent on chain {as_of.chain_id}", str(asker), f"the agent's identity registry is not {identity}"
        )
    history = _existing(as_of, identity, asker, reference.agent_id)
    return Asker(reference.agent_id, history.holders, history)


def _existing(as_of: AsOfBlock, identity: str, agent: object, agent_id: int) -> AgentHistory:
    history = agents_at(as_of, identity, [agent_id]).get(agent_id)
    if history is None:
        raise UnknownAgentError(str(agent), as_of.block)
    return history


def _identities(as_of: AsOfBlock, identity: str | None) -> list[str]:
    indexed = identity_registries(as_of)
    if not indexed:
        raise UnknownChainError(as_of.chain_id, [])
    if identity is not None and identity not in indexed:
        raise UnknownRegistryError(as_of.chain_id, identity, ", ".join(indexed))
    return indexed if identity is None else [identity]
