"""Agents as of a block, computed from the events of the identity registry."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache, lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import LargeBinary, bindparam, cast, exists, func, literal_column, null, select, union_all
from sqlalchemy.types import String, Text

from bilateral.checks.as_of_block import covering, evidence_of
from bilateral.checks.errors import HistoryTooLongError
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

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Select, Table

    from bilateral.checks.as_of_block import Moment
    from bilateral.checks.verdicts import EventEvidence

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
class AgentFacts:
    """An agent as of a block.

    Attributes:
        owner: Its owner; None if it does not exist, or no more.
        wallet: Its wallet; None without one.
        registered: The first event of the agent.
        registered_at: Its time.
        owner_event: The last event that gave it another owner; None if it has its first one.
        owner_since: The time of that event.
        wallet_event: The last event that changed its wallet, but for its registration; None if it has its first one.
        wallet_since: The time of that event.
        accounts: All accounts that ever were its owner or wallet.
        account_events: The event that made each of them its owner or wallet first.
    """

    agent_id: int
    owner: str | None = None
    wallet: str | None = None
    registered: EventEvidence | None = None
    registered_at: int = 0
    owner_event: EventEvidence | None = None
    owner_since: int | None = None
    wallet_event: EventEvidence | None = None
    wallet_since: int | None = None
    accounts: set[str] = field(default_factory=set)
    account_events: dict[str, EventEvidence] = field(default_factory=dict)

    @property
    def holders(self) -> frozenset[str]:
        """The owner and the wallet, without one that is missing."""
        return frozenset(account for account in (self.owner, self.wallet) if account is not None)


def agents_at(
    connection: Connection, moment: Moment, identity: str, agent_ids: Collection[int]
) -> dict[int, AgentFacts]:
    """Return agents as of a block, those that exist.

    Args:
        identity: The identity registry.

    Raises:
        HistoryTooLongError: Their owners and wallets changed too often.
    """
    changes: list[Row[Any]] = []
    for part in in_parts(sorted(set(agent_ids))):
        size = size_for(part)
        values = {**moment.bounds, "identity": identity, **spread("agent_id", part, size)}
        changes += _changes(size).records(connection, values)
        if len(changes) > MOST_CHANGES:
            raise HistoryTooLongError("changes of owners and wallets", MOST_CHANGES)
    by_agent: dict[int, list[Row[Any]]] = defaultdict(list)
    for row in changes:
        by_agent[int(row.agent_id)].append(row)
    replayed = {agent_id: _replayed(agent_id, rows) for agent_id, rows in by_agent.items()}
    return {agent_id: facts for agent_id, facts in replayed.items() if facts.owner is not None}


def agents_of_accounts(
    connection: Connection, moment: Moment, identity: str, accounts: Collection[str]
) -> dict[int, AgentFacts]:
    """Return the agents of which some accounts are owner or wallet as of a block.

    Args:
        identity: The identity registry.

    Raises:
        HistoryTooLongError: The accounts had too many agents.
    """
    candidates: set[int] = set()
    for part in in_parts(sorted(accounts)):
        size = size_for(part)
        values = {**moment.bounds, "identity": identity, **spread("account", part, size)}
        values |= spread("wallet", [bytes.fromhex(account[2:]) for account in part], size)
        candidates.update(int(agent_id) for (agent_id,) in _of_accounts(size).all(connection, values))
        if len(candidates) > MOST_CHANGES:
            raise HistoryTooLongError("agents of one account", MOST_CHANGES)
    known = agents_at(connection, moment, identity, candidates)
    return {agent_id: facts for agent_id, facts in known.items() if facts.owner in accounts or facts.wallet in accounts}


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
class Words:
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


def words_at(connection: Connection, moment: Moment, identity: str, facts: AgentFacts) -> Words:
    """Return what was said about an agent as of a block.

    Args:
        identity: The identity registry.
        facts: The agent.
    """
    values = {**moment.bounds, "identity": identity, "agent_id": facts.agent_id, "owner": facts.owner}
    events: dict[str, list[Any]] = defaultdict(list)
    for row in _words().records(connection, {**values, "limit": MOST_APPROVALS + 1}):
        events[row.event].append(row)
    return Words(events)


@cache
def _words() -> Prepared:
    """Return the statement of `words_at`. It is made once."""
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
    single, all_ = schema.EVENT_TABLES[Approval], schema.EVENT_TABLES[ApprovalForAll]
    approved = (
        select(*_place(single), _event(Approval), single.c.account.label("text")).where(
            *(covering(single), single.c.registry == bindparam("identity"), single.c.agent_id == bindparam("agent_id")),
            single.c.account != _NOBODY,
        ),
        select(*_place(all_), _event(ApprovalForAll), all_.c.operator.label("text")).where(
            *(covering(all_), all_.c.registry == bindparam("identity"), all_.c.owner == bindparam("owner")),
            all_.c.is_approved.is_(True),
        ),
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
    none = cast(null(), String(42))

    def of(table: Table) -> Any:
        return (
            covering(table) & (table.c.registry == bindparam("identity")) & one_of("agent_id", table.c.agent_id, size)
        )

    parts = [
        select(
            *_place(_TRANSFER),
            *(_TRANSFER.c.agent_id, literal_column("'Transfer'").label("event"), _TRANSFER.c.from_address.label("a")),
            *(_TRANSFER.c.to_address.label("b"), cast(null(), LargeBinary).label("raw")),
        ).where(of(_TRANSFER)),
        select(
            *_place(_METADATA),
            *(_METADATA.c.agent_id, literal_column("'MetadataSet'").label("event"), none.label("a")),
            *(none.label("b"), func.substr(_METADATA.c.metadata_value, 1, _ADDRESS_BYTES + 1).label("raw")),
        ).where(of(_METADATA), IS_WALLET),
    ]
    for table, name in ((_REGISTERED, "AgentRegistered"), (_UPDATED, "AgentUpdated")):
        parts.append(
            select(
                *_place(table),
                *(table.c.agent_id, literal_column(f"'{name}'").label("event"), table.c.agent_address.label("a")),
                *(none.label("b"), cast(null(), LargeBinary).label("raw")),
            ).where(of(table))
        )
    return Prepared(union_all(*parts).limit(at_most(MOST_CHANGES + 1)))


def _replayed(agent_id: int, rows: Iterable[Row[Any]]) -> AgentFacts:
    """Return an agent after its changes."""
    states, facts = AgentStates(), AgentFacts(agent_id)
    for row in sorted(rows, key=attrgetter("block_number", "log_index")):
        before = states.owners.get(agent_id), states.wallets.get(agent_id)
        if row.event == "Transfer":
            states.transfer(agent_id, row.a, row.b)
        elif row.event == "MetadataSet":
            states.set_wallet(agent_id, bytes(row.raw or b""))  # SQLite gives NULL for the part of an empty value
        else:
            states.name_address(agent_id, row.a)
        after = states.owners.get(agent_id), states.wallets.get(agent_id)
        for account in after:
            if account is not None and account not in facts.accounts:
                facts.accounts.add(account)
                facts.account_events[account] = evidence_of(row.event, row)
        _note(facts, row, before, after)
    facts.owner, facts.wallet = states.owners.get(agent_id), states.wallets.get(agent_id)
    return facts


def _note(
    facts: AgentFacts, row: Row[Any], before: tuple[str | None, str | None], after: tuple[str | None, str | None]
) -> None:
    """Note a change of owner or wallet. The events of the registration's transaction make the first ones."""
    evidence = evidence_of(row.event, row)
    if facts.registered is None or before[0] is None:  # a token can be burnt, and minted again
        facts.registered, facts.registered_at = evidence, row.block_time
        facts.owner_event = facts.wallet_event = facts.owner_since = facts.wallet_since = None
        return
    is_first = evidence.transaction == facts.registered.transaction
    if after[0] != before[0] and not is_first:
        facts.owner_event, facts.owner_since = evidence, row.block_time
    if after[1] != before[1] and not is_first:
        facts.wallet_event, facts.wallet_since = evidence, row.block_time


def approved_accounts(words: Words) -> list[tuple[str, EventEvidence]]:
    """Return the accounts that an agent's owners approved for it or for all their agents, the newest first.

    Args:
        words: The words about the agent.

    Raises:
        HistoryTooLongError: There are more approvals of one kind than a check reads.
    """
    newest: dict[str, tuple[tuple[int, int], EventEvidence]] = {}
    for event in (Approval, ApprovalForAll):
        rows = words.events.get(event.__name__, ())
        if len(rows) > MOST_APPROVALS:
            raise HistoryTooLongError("approvals of one owner", MOST_APPROVALS)
        for row in rows:
            place = row.block_number, row.log_index
            if row.text not in newest or newest[row.text][0] < place:
                newest[row.text] = place, evidence_of(event.abi_name, row)
    ordered = sorted(newest.items(), key=lambda placed: placed[1][0], reverse=True)
    return [(account, evidence) for account, (_, evidence) in ordered]


def approved_reviewers(
    connection: Connection, moment: Moment, identity: str, facts: AgentFacts, registries: Collection[str]
) -> set[str]:
    """Return those of an agent's approved accounts that gave feedback to any agent.

    Args:
        identity: The identity registry.
        facts: The agent.
        registries: The registries of feedback.
    """
    feedback = schema.EVENT_TABLES[NewFeedback]
    accounts: set[str] = set()
    for query, account in _approvals(moment, identity, facts):
        of_account = (
            moment.covers(feedback),
            feedback.c.registry.in_(list(registries)),
            feedback.c.client_address == account,
        )
        accounts.update(row.account for row in connection.execute(query.where(exists().where(*of_account))))
    return accounts


def _approvals(moment: Moment, identity: str, facts: AgentFacts) -> tuple[tuple[Select[Any], ColumnElement[Any]], ...]:
    """Return the queries for both kinds of approvals, each with the column of the approved account."""
    single, all_ = schema.EVENT_TABLES[Approval], schema.EVENT_TABLES[ApprovalForAll]
    return (
        (
            select(single.c.account.label("account"))
            .where(moment.covers(single), single.c.registry == identity, single.c.agent_id == facts.agent_id)
            .where(single.c.account != _NOBODY),
            single.c.account,
        ),
        (
            select(all_.c.operator.label("account"))
            .where(moment.covers(all_), all_.c.registry == identity, all_.c.owner == facts.owner)
            .where(all_.c.is_approved.is_(True)),
            all_.c.operator,
        ),
    )
