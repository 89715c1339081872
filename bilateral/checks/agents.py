"""Agents as of a block, computed from the events of the identity registry."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import LargeBinary, bindparam, cast, exists, func, literal_column, null, select, union_all
from sqlalchemy.types import String

from bilateral.checks.errors import HistoryTooLongError
from bilateral.checks.moments import evidence_of
from bilateral.events import (
    AgentRegistered,
    AgentStates,
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
from bilateral.index import schema
from bilateral.index.queries.unindexed import newest_first, unindexed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Select, Table

    from bilateral.checks.moments import Moment
    from bilateral.checks.verdicts import EventEvidence

MOST_CHANGES: Final = 20_000
"""Changes of owners and wallets that one check replays."""

MOST_APPROVALS: Final = 20_000
"""Approvals for one agent, and of one owner for all its agents, that one check reads."""

_NOBODY: Final = "0x" + "00" * 20
_AT_ONCE: Final = 500
_ADDRESS_BYTES: Final = 20

_TRANSFER, _METADATA, _REGISTERED, _UPDATED = (
    schema.EVENT_TABLES[event] for event in (Transfer, MetadataSet, AgentRegistered, AgentUpdated)
)
# A literal, not a parameter: only then do the engines use the partial indexes.
IS_WALLET: Final = _METADATA.c.metadata_key == literal_column("'agentWallet'")


@dataclass
class AgentFacts:
    """An agent as of a block.

    Attributes:
        agent_id: The agent.
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


def agents_at(
    connection: Connection, moment: Moment, identity: str, agent_ids: Collection[int]
) -> dict[int, AgentFacts]:
    """Return agents as of a block, those that exist.

    Args:
        connection: The connection.
        moment: The moment.
        identity: The identity registry.
        agent_ids: The agents.

    Raises:
        HistoryTooLongError: Their owners and wallets changed too often.
    """
    changes: list[Row[Any]] = []
    wanted = sorted(set(agent_ids))
    for start in range(0, len(wanted), _AT_ONCE):
        values = {
            "chain_id": moment.chain_id,
            "block": moment.block,
            "identity": identity,
            "agent_ids": wanted[start : start + _AT_ONCE],
            "limit": MOST_CHANGES + 1,
        }
        changes += connection.execute(_changes(), values).all()
        if len(changes) > MOST_CHANGES:
            raise HistoryTooLongError("changes of owners and wallets", MOST_CHANGES)
    by_agent: dict[int, list[Row[Any]]] = defaultdict(list)
    for row in changes:
        by_agent[int(row.agent_id)].append(row)
    found = {agent_id: _replayed(agent_id, rows) for agent_id, rows in by_agent.items()}
    return {agent_id: facts for agent_id, facts in found.items() if facts.owner is not None}


def agents_of_accounts(
    connection: Connection, moment: Moment, identity: str, accounts: Collection[str]
) -> dict[int, AgentFacts]:
    """Return the agents of which some accounts are owner or wallet as of a block.

    Args:
        connection: The connection.
        moment: The moment.
        identity: The identity registry.
        accounts: The accounts.

    Raises:
        HistoryTooLongError: The accounts had too many agents.
    """
    candidates: set[int] = set()
    wanted = sorted(accounts)
    for start in range(0, len(wanted), _AT_ONCE):
        part = wanted[start : start + _AT_ONCE]
        queries: list[Select[Any]] = [
            select(_TRANSFER.c.agent_id).where(
                moment.covers(_TRANSFER), _TRANSFER.c.registry == identity, _TRANSFER.c.to_address.in_(part)
            ),
            select(_METADATA.c.agent_id).where(
                moment.covers(_METADATA),
                _METADATA.c.registry == identity,
                IS_WALLET,
                func.length(_METADATA.c.metadata_value) == literal_column(str(_ADDRESS_BYTES)),
                _METADATA.c.metadata_value.in_([bytes.fromhex(account[2:]) for account in part]),
            ),
        ]
        queries += [
            select(table.c.agent_id).where(
                moment.covers(table), table.c.registry == identity, table.c.agent_address.in_(part)
            )
            for table in (_REGISTERED, _UPDATED)
        ]
        for query in queries:
            candidates.update(connection.execute(query.limit(MOST_CHANGES + 1)).scalars())
            if len(candidates) > MOST_CHANGES:
                raise HistoryTooLongError("agents of one account", MOST_CHANGES)
    known = agents_at(connection, moment, identity, candidates)
    return {agent_id: facts for agent_id, facts in known.items() if facts.owner in accounts or facts.wallet in accounts}


def uri_at(connection: Connection, moment: Moment, identity: str, agent_id: int) -> tuple[str, EventEvidence | None]:
    """Return an agent's URI as of a block, and the event that set it; an empty text without one."""
    return _newest_text(connection, moment, identity, agent_id, ((Registered, "agent_uri"), (URIUpdated, "new_uri")))


def domain_at(connection: Connection, moment: Moment, identity: str, agent_id: int) -> tuple[str, EventEvidence | None]:
    """Return an agent's August 2025 domain as of a block, and the event that set it; an empty text without one."""
    names = ((AgentRegistered, "agent_domain"), (AgentUpdated, "agent_domain"))
    return _newest_text(connection, moment, identity, agent_id, names)


def _newest_text(
    connection: Connection, moment: Moment, identity: str, agent_id: int, sources: Sequence[tuple[type[Event], str]]
) -> tuple[str, EventEvidence | None]:
    """Return the text of the newest of some events of an agent."""
    values = {"chain_id": moment.chain_id, "block": moment.block, "identity": identity, "agent_id": agent_id}
    found = []
    for event, column in sources:
        found += [(row, event.abi_name) for row in connection.execute(_newest(event.__name__, column), values)]
    if not found:
        return "", None
    row, name = max(found, key=lambda it: (it[0].block_number, it[0].log_index))
    return row.text, evidence_of(name, row)


@cache
def _newest(event: str, column: str) -> Any:
    """Return the statement that reads a text of an agent's newest event of a kind. It is made once."""
    table = schema.metadata.tables[schema.snake_case(event)]
    return (
        select(*_place(table), table.c[column].label("text"))
        .where(table.c.chain_id == bindparam("chain_id"), unindexed(table.c.block_number) <= bindparam("block"))
        .where(table.c.registry == bindparam("identity"), table.c.agent_id == bindparam("agent_id"))
        .order_by(*newest_first(table.c))
        .limit(1)
    )


def _place(table: Any) -> tuple[Any, ...]:
    """Return the columns of an event's place."""
    return table.c.block_number, table.c.log_index, table.c.block_time, table.c.transaction_hash, table.c.registry


@cache
def _changes() -> Any:
    """Return the statement that reads the changes of owners and wallets of some agents. It is made once."""
    none = cast(null(), String(42))

    def of(table: Table) -> Any:
        return (
            (table.c.chain_id == bindparam("chain_id"))
            & (unindexed(table.c.block_number) <= bindparam("block"))
            & (table.c.registry == bindparam("identity"))
            & table.c.agent_id.in_(bindparam("agent_ids", expanding=True))
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
    return union_all(*parts).limit(bindparam("limit"))


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


def approved_accounts(
    connection: Connection, moment: Moment, identity: str, facts: AgentFacts
) -> list[tuple[str, EventEvidence]]:
    """Return the accounts that an agent's owners approved for it or for all their agents, the newest first.

    Args:
        connection: The connection.
        moment: The moment.
        identity: The identity registry.
        facts: The agent.

    Raises:
        HistoryTooLongError: There are more approvals of one kind than a check reads.
    """
    found: dict[str, tuple[tuple[int, int], EventEvidence]] = {}
    for name, query, _ in _approvals(moment, identity, facts):
        rows = connection.execute(query.limit(MOST_APPROVALS + 1)).all()
        if len(rows) > MOST_APPROVALS:
            raise HistoryTooLongError("approvals of one owner", MOST_APPROVALS)
        for row in rows:
            place = row.block_number, row.log_index
            if row.account not in found or found[row.account][0] < place:
                found[row.account] = place, evidence_of(name, row)
    ordered = sorted(found.items(), key=lambda it: it[1][0], reverse=True)
    return [(account, evidence) for account, (_, evidence) in ordered]


def approved_reviewers(
    connection: Connection, moment: Moment, identity: str, facts: AgentFacts, registries: Collection[str]
) -> set[str]:
    """Return those of an agent's approved accounts that gave feedback to any agent.

    Args:
        connection: The connection.
        moment: The moment.
        identity: The identity registry.
        facts: The agent.
        registries: The registries of feedback.
    """
    given = schema.EVENT_TABLES[NewFeedback]
    found: set[str] = set()
    for _, query, account in _approvals(moment, identity, facts):
        of_account = moment.covers(given), given.c.registry.in_(list(registries)), given.c.client_address == account
        found.update(row.account for row in connection.execute(query.where(exists().where(*of_account))))
    return found


def _approvals(
    moment: Moment, identity: str, facts: AgentFacts
) -> tuple[tuple[str, Select[Any], ColumnElement[Any]], ...]:
    """Return the queries for both kinds of approvals, each with its event and the column of the approved account."""
    one, all_ = schema.EVENT_TABLES[Approval], schema.EVENT_TABLES[ApprovalForAll]
    return (
        (
            "Approval",
            select(*_place(one), one.c.account.label("account"))
            .where(moment.covers(one), one.c.registry == identity, one.c.agent_id == facts.agent_id)
            .where(one.c.account != _NOBODY),
            one.c.account,
        ),
        (
            "ApprovalForAll",
            select(*_place(all_), all_.c.operator.label("account"))
            .where(moment.covers(all_), all_.c.registry == identity, all_.c.owner == facts.owner)
            .where(all_.c.is_approved.is_(True)),
            all_.c.operator,
        ),
    )
