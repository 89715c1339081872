"""Agents as of a block, computed from the events of the identity registry."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    LargeBinary,
    Row,
    String,
    Table,
    Text,
    bindparam,
    cast,
    exists,
    func,
    literal_column,
    null,
    select,
    true,
    union_all,
)

from bilateral.checks.errors import HistoryTooLongError
from bilateral.checks.facts import AgentFacts, Change
from bilateral.checks.from_index.as_of_block import AsOfBlock, covering, evidence_of
from bilateral.checks.verdicts import EventEvidence
from bilateral.core.events import (
    AgentRegistered,
    AgentUpdated,
    Approval,
    ApprovalForAll,
    Event,
    MetadataSet,
    NewFeedback,
    Registered,
    Transfer,
    URIUpdated,
)
from bilateral.core.events.agents import AgentStates
from bilateral.index.log import tables as schema
from bilateral.index.log.lists import in_parts
from bilateral.index.log.unindexed import newest_first
from bilateral.index.reading.prepared import Prepared, at_most, one_of, size_for, spread

MOST_CHANGES: Final = 20_000
"""Changes of owners and wallets that one check replays."""

MOST_APPROVALS: Final = 20_000
"""Approvals for one agent, and of one owner for all its agents, that one check reads."""

_NOBODY: Final = "0x" + "00" * 20
_ADDRESS_BYTES: Final = 20  # of an account of Ethereum: the last 20 bytes of its key's hash

_TRANSFER, _METADATA, _REGISTERED, _UPDATED = (
    schema.EVENT_TABLES[event] for event in (Transfer, MetadataSet, AgentRegistered, AgentUpdated)
)
# A literal, not a parameter: only then do the engines use the partial indexes.
IS_WALLET: Final = _METADATA.c.metadata_key == literal_column("'agentWallet'")


@dataclass
class AgentHistory:
    """The history of an agent up to a block.

    Attributes:
        owner: Its owner; None if it does not exist, or no more.
        wallet: Its wallet; None without one.
        registered: The first event of the agent.
        registered_at: Its time.
        owner_change: The last event that gave it another owner, and its time; None if it has its first one.
        wallet_change: The last event that changed its wallet, but for its registration; None if it has its first one.
        account_events: All accounts that ever were its owner or wallet, with the event that made them so first.
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
        """All accounts that ever were its owner or wallet."""
        return frozenset(self.account_events)

    @property
    def holders(self) -> frozenset[str]:
        """The owner and the wallet, without one that is missing."""
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
    """Return agents as of a block, those that exist."""
    changes: list[Row[Any]] = []
    for part in in_parts(sorted(set(agent_ids))):
        size = size_for(part)
        values = {**as_of.bounds, "identity": identity, **spread("agent_id", part, size)}
        changes += _changes(size).records(as_of.connection, values)
        if len(changes) > MOST_CHANGES:
            raise HistoryTooLongError("changes of owners and wallets", MOST_CHANGES)
    by_agent: dict[int, list[Row[Any]]] = defaultdict(list)
    for row in changes:
        by_agent[int(row.agent_id)].append(row)
    replayed = {agent_id: _replayed(agent_id, rows) for agent_id, rows in by_agent.items()}
    return {agent_id: facts for agent_id, facts in replayed.items() if facts.owner is not None}


def agents_of_accounts(as_of: AsOfBlock, identity: str, accounts: Collection[str]) -> dict[int, AgentHistory]:
    """Return the agents of which some accounts are owner or wallet as of a block."""
    candidates: set[int] = set()
    for part in in_parts(sorted(accounts)):
        size = size_for(part)
        values = {**as_of.bounds, "identity": identity, **spread("account", part, size)}
        values |= spread("wallet", [bytes.fromhex(account[2:]) for account in part], size)
        candidates.update(int(agent_id) for (agent_id,) in _of_accounts(size).all(as_of.connection, values))
        if len(candidates) > MOST_CHANGES:
            raise HistoryTooLongError("agents of one account", MOST_CHANGES)
    agents = agents_at(as_of, identity, candidates)
    return {
        agent_id: agent for agent_id, agent in agents.items() if agent.owner in accounts or agent.wallet in accounts
    }


@lru_cache
def _of_accounts(size: int) -> Prepared:
    """Return the statement that reads the agents that some accounts ever had."""

    def of(table: Table, *conditions: ColumnElement[bool]) -> Any:
        query = select(table.c.agent_id).where(covering(table), table.c.registry == bindparam("identity"), *conditions)
        return select(query.limit(at_most(MOST_CHANGES + 1)).subquery())

    value = _METADATA.c.metadata_value
    is_address = func.length(value) == literal_column(str(_ADDRESS_BYTES))
    return Prepared(
        union_all(
            of(_TRANSFER, one_of("account", _TRANSFER.c.to_address, size)),
            of(_METADATA, IS_WALLET, is_address, one_of("wallet", value, size)),
            *(of(table, one_of("account", table.c.agent_address, size)) for table in (_REGISTERED, _UPDATED)),
        )
    )


@dataclass(frozen=True)
class Texts:
    """The events that set an agent's texts, and those that approve accounts for it, as of a block.

    Attributes:
        events: The events by their class: the newest that sets a text, and all that approve an account.
    """

    events: Mapping[str, Sequence[Any]]

    @property
    def uri(self) -> tuple[str, EventEvidence | None]:
        """The agent's URI, and the event that set it; an empty text without one."""
        return self._newest(Registered, URIUpdated)

    @property
    def domain(self) -> tuple[str, EventEvidence | None]:
        """The agent's August 2025 domain, and the event that set it; an empty text without one."""
        return self._newest(AgentRegistered, AgentUpdated)

    def _newest(self, *kinds: type[Event]) -> tuple[str, EventEvidence | None]:
        candidates = [(row, event.abi_name) for event in kinds for row in self.events.get(event.__name__, ())]
        if not candidates:
            return "", None
        row, name = max(candidates, key=lambda candidate: (candidate[0].block_number, candidate[0].log_index))
        return row.text, evidence_of(name, row)


def texts_at(as_of: AsOfBlock, identity: str, agent: AgentHistory) -> Texts:
    """Return the texts and approvals of an agent as of a block."""
    values = {**as_of.bounds, "identity": identity, "agent_id": agent.agent_id, "owner": agent.owner}
    events: dict[str, list[Any]] = defaultdict(list)
    for row in _texts().records(as_of.connection, {**values, "limit": MOST_APPROVALS + 1}):
        events[row.event].append(row)
    return Texts(events)


@cache
def _texts() -> Prepared:
    """Return the statement of `texts_at`. It is made once."""
    texts = ((Registered, "agent_uri"), (URIUpdated, "new_uri"))
    domains = ((AgentRegistered, "agent_domain"), (AgentUpdated, "agent_domain"))
    parts = []
    for event, column in (*texts, *domains):
        table = schema.EVENT_TABLES[event]
        newest = (
            select(*_place(table), _event(event), table.c[column].label("text"))
            .where(covering(table), table.c.registry == bindparam("identity"))
            .where(table.c.agent_id == bindparam("agent_id"))
            .order_by(*newest_first(table.c))
            .limit(at_most(1))
        )
        parts.append(select(newest.subquery()))
    approved = (
        select(*_place(schema.EVENT_TABLES[event]), _event(event), account.label("text")).where(*conditions)
        for event, account, conditions in _approvals()
    )
    return Prepared(
        union_all(*parts, *(select(approval.limit(bindparam("limit")).subquery()) for approval in approved))
    )


def _event(event: type[Event]) -> Any:
    """Return the column that names an event's class."""
    return literal_column(f"'{event.__name__}'", Text).label("event")


def _place(table: Any) -> tuple[Any, ...]:
    """Return the columns of an event's place."""
    return table.c.block_number, table.c.log_index, table.c.block_time, table.c.transaction_hash, table.c.registry


@lru_cache
def _changes(size: int) -> Prepared:
    """Return the statement that reads the changes of owners and wallets of some agents."""
    none, empty = cast(null(), String(42)), cast(null(), LargeBinary)
    wallet = func.substr(_METADATA.c.metadata_value, 1, _ADDRESS_BYTES + 1)
    kinds = (
        (Transfer, _TRANSFER.c.from_address, _TRANSFER.c.to_address, empty, true()),
        (MetadataSet, none, none, wallet, IS_WALLET),
        (AgentRegistered, _REGISTERED.c.agent_address, none, empty, true()),
        (AgentUpdated, _UPDATED.c.agent_address, none, empty, true()),
    )
    parts = []
    for event, a, b, raw, condition in kinds:
        table = schema.EVENT_TABLES[event]
        query = select(*_place(table), table.c.agent_id, _event(event), a.label("a"), b.label("b"), raw.label("raw"))
        of_agents = one_of("agent_id", table.c.agent_id, size)
        parts.append(query.where(covering(table), table.c.registry == bindparam("identity"), of_agents, condition))
    return Prepared(union_all(*parts).limit(at_most(MOST_CHANGES + 1)))


def _replayed(agent_id: int, rows: Iterable[Row[Any]]) -> AgentHistory:
    """Return an agent after its changes. The events of the registration's transaction make its first holders."""
    states, agent = AgentStates(), AgentHistory(agent_id)
    for row in sorted(rows, key=attrgetter("block_number", "log_index")):
        before = states.owners.get(agent_id), states.wallets.get(agent_id)
        if row.event == "Transfer":
            states.transfer(agent_id, row.a, row.b)
        elif row.event == "MetadataSet":
            states.set_wallet(agent_id, bytes(row.raw or b""))  # SQLite gives NULL for the part of an empty value
        else:
            states.name_address(agent_id, row.a)
        agent.owner, agent.wallet = states.owners.get(agent_id), states.wallets.get(agent_id)
        evidence = evidence_of(row.event, row)
        for account in (agent.owner, agent.wallet):
            if account is not None:
                agent.account_events.setdefault(account, evidence)
        if agent.registered is None or before[0] is None:  # a token can be burnt, and minted again
            agent.registered, agent.registered_at = evidence, row.block_time
            agent.owner_change = agent.wallet_change = None
        elif evidence.transaction != agent.registered.transaction:
            if agent.owner != before[0]:
                agent.owner_change = evidence, row.block_time
            if agent.wallet != before[1]:
                agent.wallet_change = evidence, row.block_time
    return agent


def approved_accounts(texts: Texts) -> list[tuple[str, EventEvidence]]:
    """Return the accounts that an agent's owners approved for it or for all their agents, the newest first."""
    newest: dict[str, tuple[tuple[int, int], EventEvidence]] = {}
    for event in (Approval, ApprovalForAll):
        rows = texts.events.get(event.__name__, ())
        if len(rows) > MOST_APPROVALS:
            raise HistoryTooLongError("approvals of one owner", MOST_APPROVALS)
        for row in rows:
            place = row.block_number, row.log_index
            if row.text not in newest or newest[row.text][0] < place:
                newest[row.text] = place, evidence_of(event.abi_name, row)
    ordered = sorted(newest.items(), key=lambda placed: placed[1][0], reverse=True)
    return [(account, evidence) for account, (_, evidence) in ordered]


def approved_reviewers(
    as_of: AsOfBlock, identity: str, agent: AgentHistory, registries: Collection[str]
) -> frozenset[str]:
    """Return those of an agent's approved accounts that gave feedback to any agent."""
    addresses = list(registries)
    values = {**as_of.bounds, "identity": identity, "agent_id": agent.agent_id, "owner": agent.owner}
    values |= spread("registry", addresses, len(addresses))
    return frozenset(account for (account,) in _reviewers(len(addresses)).all(as_of.connection, values))


@lru_cache
def _reviewers(registries: int) -> Prepared:
    """Return the statement of `approved_reviewers`."""
    feedback = schema.EVENT_TABLES[NewFeedback]
    conditions_of_feedback = (covering(feedback), one_of("registry", feedback.c.registry, registries))
    return Prepared(
        union_all(
            *(
                select(account.label("account")).where(
                    *conditions, exists().where(*conditions_of_feedback, feedback.c.client_address == account)
                )
                for _, account, conditions in _approvals()
            )
        )
    )


def _approvals() -> tuple[tuple[type[Event], ColumnElement[Any], tuple[ColumnElement[bool], ...]], ...]:
    """Return both kinds of approvals, each with the column of the approved account and its conditions."""
    single, all_ = schema.EVENT_TABLES[Approval].c, schema.EVENT_TABLES[ApprovalForAll].c
    of_agent = (single.agent_id == bindparam("agent_id"), single.account != _NOBODY)
    of_owner = (all_.owner == bindparam("owner"), all_.is_approved.is_(True))
    return tuple(
        (event, account, (covering(schema.EVENT_TABLES[event]), registry == bindparam("identity"), *conditions))
        for event, account, registry, conditions in (
            (Approval, single.account, single.registry, of_agent),
            (ApprovalForAll, all_.operator, all_.registry, of_owner),
        )
    )
