"""The present state of agents, derived from the rows of identity registries' events."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from bilateral.core.events import (
    AgentRegistered,
    AgentUpdated,
    MetadataSet,
    PrimaryAgentSet,
    Registered,
    Transfer,
    URIUpdated,
)
from bilateral.core.events.agents import ADDRESS_BYTES, WALLET_KEY, AgentStates, address_of_bytes
from bilateral.index.agents import tables as agent_tables
from bilateral.index.log import tables as schema
from bilateral.index.log.journal import DerivedTable, Journal
from bilateral.index.log.rows import picker
from bilateral.index.log.text import key_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from bilateral.core.events import Event
    from bilateral.index.log.batches import EventRows
    from bilateral.index.log.rows import Row, Rows

_Change: TypeAlias = tuple[int, int, type["Event"], "Row"]
"""Block, log index, event and row of an event that changes an agent."""

_Texts: TypeAlias = dict[bool, str]
"""An agent's new URI, behind True, and its new domain, behind False."""


def _picker(event: type[Event], *names: str) -> Callable[[Row], Any]:
    """Return what picks some columns of an event's rows."""
    return picker(schema.EVENT_TABLES[event], *names)


IDENTITY_EVENTS: Final = {
    Transfer: _picker(Transfer, "agent_id", "from_address", "to_address"),
    Registered: _picker(Registered, "agent_id", "agent_uri"),
    URIUpdated: _picker(URIUpdated, "agent_id", "new_uri"),
    MetadataSet: _picker(MetadataSet, "agent_id", "metadata_key", "metadata_value"),
    AgentRegistered: _picker(AgentRegistered, "agent_id", "agent_domain", "agent_address"),
    AgentUpdated: _picker(AgentUpdated, "agent_id", "agent_domain", "agent_address"),
    PrimaryAgentSet: _picker(PrimaryAgentSet, "agent_id", "account"),
}
"""The events that change the state of an agent, and the columns that matter, the agent first."""

_BLOCK, _TIME, _TRANSACTION, _REGISTRY = (
    list(schema.EVENT_TABLES[Transfer].c.keys()).index(name)
    for name in ("block_number", "block_time", "transaction_hash", "registry")
)
_URIS: Final = (Registered, URIUpdated)
_NAMES: Final = (AgentRegistered, AgentUpdated)


class AgentTables:
    """The tables `agent`, `agent_metadata` and `primary_agent`, for one batch of events of one chain.

    Args:
        journal: The journal of the batch.
    """

    def __init__(self, chain_id: int, journal: Journal) -> None:
        self._chain_id = chain_id
        self._journal = journal
        self._agents = DerivedTable(agent_tables.agent, journal)
        self._metadata = DerivedTable(agent_tables.agent_metadata, journal)
        self._primary_agents = DerivedTable(agent_tables.primary_agent, journal)
        self._states: dict[str, AgentStates] = {}

    def derive(self, rows: Rows, events: EventRows) -> Mapping[Row, Row | None]:
        """Bring the tables up to date with further events.

        Args:
            rows: The access to rows.
            events: The rows of the events of some blocks.

        Returns:
            The rows of the agents that the events are about, by their keys; None for agents that are burnt.
        """
        changes: list[_Change] = [
            (row[_BLOCK], row[_BLOCK + 1], kind, row)
            for kind in IDENTITY_EVENTS
            for row in events.get(schema.EVENT_TABLES[kind], ())
        ]
        if not changes:
            return {}
        changes.sort(key=itemgetter(0, 1))
        self._load(rows, changes)
        for number, in_block in groupby(changes, key=itemgetter(0)):
            self._journal.begin_block(number)
            self._apply(list(in_block))
        for table in (self._agents, self._metadata, self._primary_agents):
            table.write(rows)
        return self._agents.loaded

    def _load(self, rows: Rows, changes: Iterable[_Change]) -> None:
        """Read the rows that changes may change."""
        agents: set[Row] = set()
        accounts: set[Row] = set()
        entries: set[Row] = set()
        for _, _, kind, row in changes:
            prefix = (self._chain_id, row[_REGISTRY])
            agent_id, *values = IDENTITY_EVENTS[kind](row)
            if kind is not PrimaryAgentSet:
                agents.add((*prefix, agent_id))
            accounts.update((*prefix, account) for account in _accounts(kind, values))
            if kind is MetadataSet and values[0] != WALLET_KEY:
                entries.add((*prefix, agent_id, key_text(values[0])))
        self._agents.load(rows, agents)
        for key in agents:
            states = self._states.setdefault(key[1], AgentStates())
            known = self._agents.get(key)
            if known is not None:
                states.owners[key[2]] = known[3]
                if known[4]:
                    states.wallets[key[2]] = known[4]
                accounts.update((*key[:2], account) for account in known[3:5] if account)
        self._primary_agents.load(rows, accounts)
        for key in accounts:
            if (chosen := self._primary_agents.get(key)) is not None:
                self._states.setdefault(key[1], AgentStates()).primary_agents[key[2]] = chosen[3]
        self._metadata.load(rows, entries)

    def _apply(self, changes: list[_Change]) -> None:
        registries = {change[3][_REGISTRY] for change in changes}
        for registry in registries:
            of_registry = (
                [change for change in changes if change[3][_REGISTRY] == registry] if len(registries) > 1 else changes
            )
            self._apply_to_registry(registry, of_registry)

    def _apply_to_registry(self, registry: str, changes: list[_Change]) -> None:
        states, prefix = self._states.setdefault(registry, AgentStates()), (self._chain_id, registry)
        accounts: set[str] = set()
        texts: dict[int, _Texts] = {}
        transaction = None
        for _, _, kind, row in changes:
            agent_id, *values = IDENTITY_EVENTS[kind](row)
            accounts.update(_accounts(kind, values))
            if row[_TRANSACTION] != transaction:
                states.settle()
                transaction = row[_TRANSACTION]
            if kind is PrimaryAgentSet:
                states.choose(values[0], agent_id)
                continue
            if agent_id not in texts:
                texts[agent_id] = {}
                known = self._agents.get((*prefix, agent_id))
                if known is not None:
                    accounts.update(account for account in known[3:5] if account)
            self._change_agent(states, kind, (*prefix, agent_id), values, texts[agent_id])
        states.settle()
        for account in accounts:
            primary = states.primary_agents.get(account)
            self._primary_agents.set((*prefix, account), None if primary is None else (primary,))
        block, time = changes[0][3][_BLOCK], changes[0][3][_TIME]
        for agent_id, new in texts.items():
            self._set_agent((*prefix, agent_id), states, new, (block, time))

    def _change_agent(
        self, states: AgentStates, kind: type[Event], key: tuple[int, str, int], values: list[Any], texts: _Texts
    ) -> None:
        if kind is Transfer:
            states.transfer(key[2], *values)
        elif kind is MetadataSet and values[0] == WALLET_KEY:
            states.set_wallet(key[2], values[1])
        else:
            states.settle()
            if kind in _NAMES:
                states.name_address(key[2], values[1])
            if kind is MetadataSet:
                self._metadata.set((*key, key_text(values[0])), (values[1],))
            else:
                texts[kind in _URIS] = values[0]

    def _set_agent(self, key: tuple[int, str, int], states: AgentStates, texts: _Texts, now: tuple[int, int]) -> None:
        """Set the row of one agent after a block."""
        owner = states.owners.get(key[2])
        if owner is None:  # burnt, or an event of an agent that was never minted
            self._agents.set(key, None)
            return
        known = self._agents.get(key)
        uri, domain, registered = ("", "", now) if known is None else (known[5], known[6], known[7:9])
        texts = {True: uri, False: domain, **texts}
        self._agents.set(key, (owner, states.wallets.get(key[2]), texts[True], texts[False], *registered, *now))


def _accounts(kind: type[Event], values: list[Any]) -> tuple[str, ...]:
    """Return the accounts whose primary agent a change may change, but for the agent's former owner and wallet."""
    if kind is Transfer:
        return values[0], values[1]
    if kind is PrimaryAgentSet:
        return (values[0],)
    if kind in _NAMES:
        return (values[1],)
    if kind is MetadataSet and values[0] == WALLET_KEY and len(values[1]) == ADDRESS_BYTES:
        return (address_of_bytes(values[1]),)
    return ()
