"""Agents' owners and wallets after each change, from which an agent's wallet at the time of a payment is looked up."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, Final, Literal

from sqlalchemy import Connection, func, select, tuple_

from bilateral.core.events import AgentRegistered, AgentUpdated, MetadataSet, Transfer
from bilateral.core.events.agents import WALLET_KEY, AgentStates
from bilateral.index.log import tables as schema
from bilateral.index.log.batches import EventRows
from bilateral.index.log.dialects import in_parts
from bilateral.index.log.rows import Rows, picker
from bilateral.index.payments.tables import agent_account

_PICK: Final = {
    event: picker(schema.EVENT_TABLES[event], "block_number", "log_index", "registry", "agent_id", *names)
    for event, names in {
        Transfer: ("from_address", "to_address"),
        MetadataSet: ("metadata_key", "metadata_value"),
        AgentRegistered: ("agent_address",),
        AgentUpdated: ("agent_address",),
    }.items()
}


def store_accounts(connection: Connection, rows: Rows, chain_id: int, first: int, last: int) -> None:
    """Store the owner and wallet changes in a range of blocks."""
    tables = [schema.EVENT_TABLES[event] for event in _PICK]
    changes = _changes({table: rows.of_blocks(table, chain_id, first, last) for table in tables})
    states: dict[str, AgentStates] = defaultdict(AgentStates)
    for row in _latest(connection, chain_id, {(change[2], change[3]) for change in changes}):
        if row.owner:
            states[row.identity_registry].owners[int(row.agent_id)] = row.owner
        if row.wallet:
            states[row.identity_registry].wallets[int(row.agent_id)] = row.wallet
    rows.insert(agent_account, list(_after(chain_id, states, changes)))


def _changes(events: EventRows) -> list[tuple[Any, ...]]:
    """Return the owner and wallet changes in chain order. Each tuple ends with the event's type."""
    changes = [
        (*pick(row), event) for event, pick in _PICK.items() for row in events.get(schema.EVENT_TABLES[event], ())
    ]
    changes = [change for change in changes if change[-1] is not MetadataSet or change[4] == WALLET_KEY]
    return sorted(changes, key=itemgetter(0, 1))


def _after(
    chain_id: int, states: Mapping[str, AgentStates], changes: Iterable[tuple[Any, ...]]
) -> Iterator[tuple[Any, ...]]:
    for block, log_index, registry, agent_id, *values, event in changes:
        state = states[registry]
        if event is Transfer:
            state.transfer(agent_id, *values)
        elif event is MetadataSet:
            state.set_wallet(agent_id, values[1])
        else:
            state.name_address(agent_id, values[0])
        owner, wallet = state.owners.get(agent_id), state.wallets.get(agent_id)
        yield chain_id, block, log_index, registry, agent_id, owner, wallet


def _latest(connection: Connection, chain_id: int, agents: Collection[tuple[str, int]]) -> Iterator[Any]:
    table = agent_account
    for part in in_parts(sorted(agents)):
        rank = func.row_number().over(
            partition_by=(table.c.identity_registry, table.c.agent_id),
            order_by=(table.c.block_number.desc(), table.c.log_index.desc()),
        )
        requested = tuple_(table.c.identity_registry, table.c.agent_id).in_(part)
        ranked = select(table, rank.label("rank")).where(table.c.chain_id == chain_id, requested).subquery()
        yield from connection.execute(select(ranked).where(ranked.c.rank == 1))


_CAN_BE_PAID: Final = (agent_account.c.wallet.is_not(None), agent_account.c.owner.is_not(None))
"""The conditions under which an agent can be paid."""


def accounts_until(connection: Connection, chain_id: int, column: Literal["wallet", "owner"]) -> list[str]:
    """Return, in order, all accounts that were ever the wallet or owner (`column`) of a payable agent."""
    table = agent_account.c
    query = select(table[column]).where(table.chain_id == chain_id, *_CAN_BE_PAID).distinct().order_by(table[column])
    return list(connection.execute(query).scalars())


def first_blocks(connection: Connection, chain_id: int, accounts: Collection[str]) -> dict[str, int]:
    """Return the block in which each account first became the wallet or the owner of an agent with a wallet."""
    table = agent_account.c
    owners: dict[str, int] = {}
    for part in in_parts(sorted(accounts)):
        for column in (table.wallet, table.owner):
            conditions = table.chain_id == chain_id, column.in_(part), *_CAN_BE_PAID
            query = select(column, func.min(table.block_number)).where(*conditions).group_by(column)
            for account, block in connection.execute(query):
                owners[account] = min(block, owners.get(account, block))
    return owners


class Wallets:
    """The agents that have certain wallets, at any position in the chain."""

    def __init__(self, connection: Connection, chain_id: int, wallets: Sequence[str]) -> None:
        self._periods: dict[str, list[tuple[tuple[int, int], tuple[int, int], str, int, str]]] = defaultdict(list)
        table, agent = agent_account.c, (agent_account.c.identity_registry, agent_account.c.agent_id)
        agents: set[tuple[str, int]] = set()
        for part in in_parts(wallets):
            query = select(*agent).distinct().where(table.chain_id == chain_id, table.wallet.in_(part))
            agents.update((registry, int(agent_id)) for registry, agent_id in connection.execute(query))
        for some in in_parts(sorted(agents)):
            changes = select(agent_account).where(table.chain_id == chain_id, tuple_(*agent).in_(some))
            rows = connection.execute(changes.order_by(*agent, table.block_number, table.log_index))
            for (registry, agent_id), of_agent in groupby(rows, attrgetter("identity_registry", "agent_id")):
                periods = list(of_agent)
                ends = [(row.block_number, row.log_index) for row in periods[1:]] + [(1 << 63, 0)]
                for row, end in zip(periods, ends, strict=True):
                    if row.wallet and row.owner:
                        start = row.block_number, row.log_index
                        self._periods[row.wallet].append((start, end, registry, int(agent_id), row.owner))

    def agents_at(self, wallet: str, place: tuple[int, int]) -> list[tuple[str, int, str]]:
        """Return the agents that had an account as their wallet at a position in the chain."""
        matching = [period[2:] for period in self._periods.get(wallet, ()) if period[0] < place < period[1]]
        return sorted(matching, key=itemgetter(1, 0))
