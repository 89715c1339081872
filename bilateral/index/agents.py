"""The present state of agents, derived from the events of identity registries."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Final, TypeAlias

from bilateral.events import (
    AgentRegistered,
    AgentStates,
    AgentUpdated,
    Event,
    MetadataSet,
    PrimaryAgentSet,
    Registered,
    Transfer,
    URIUpdated,
)
from bilateral.events.agents import WALLET_KEY
from bilateral.identifiers import checksummed
from bilateral.index import schema
from bilateral.index.derived import DerivedTable, Journal
from bilateral.index.text import key_text, storable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bilateral.index.rows import Row, Rows

IdentityEvent: TypeAlias = (
    AgentRegistered | AgentUpdated | MetadataSet | PrimaryAgentSet | Registered | Transfer | URIUpdated
)
"""An event that changes the state of an agent."""

_ADDRESS_BYTES: Final = 20


class AgentTables:
    """The tables `agent`, `agent_metadata` and `primary_agent`, for one batch of events of one chain.

    Args:
        chain_id: The chain.
        journal: The journal of the batch.
    """

    def __init__(self, chain_id: int, journal: Journal) -> None:
        """See the class."""
        self._chain_id = chain_id
        self._agents = DerivedTable(schema.agent, journal)
        self._metadata = DerivedTable(schema.agent_metadata, journal)
        self._primary_agents = DerivedTable(schema.primary_agent, journal)

    def load(self, rows: Rows, events: Iterable[Event]) -> None:
        """Read the rows that some events may change.

        Args:
            rows: The access to rows.
            events: All events of the batch.
        """
        agents: set[Row] = set()
        accounts: set[Row] = set()
        entries: set[Row] = set()
        for event in events:
            if not isinstance(event, IdentityEvent):
                continue
            registry = event.position.address
            if not isinstance(event, PrimaryAgentSet):
                agents.add((self._chain_id, registry, event.agent_id))
            accounts.update((self._chain_id, registry, account) for account in _accounts(event))
            if isinstance(event, MetadataSet) and event.metadata_key != WALLET_KEY:
                entries.add((self._chain_id, registry, event.agent_id, key_text(storable(event.metadata_key))))
        self._agents.load(rows, agents)
        for key in agents:
            known = self._agents.get(key)
            if known is not None:
                accounts.update((*key[:2], account) for account in known[3:5] if account)
        self._primary_agents.load(rows, accounts)
        self._metadata.load(rows, entries)

    def apply(self, time: int, events: Sequence[Event]) -> None:
        """Apply all events of one block.

        Args:
            time: The time of the block, in Unix seconds.
            events: The events of the block in their order; those that change no agent are ignored.
        """
        by_registry: dict[str, list[IdentityEvent]] = defaultdict(list)
        for event in events:
            if isinstance(event, IdentityEvent):
                by_registry[event.position.address].append(event)
        for registry, changes in by_registry.items():
            self._apply_to_registry(registry, time, changes)

    def write(self, rows: Rows) -> None:
        """Write what has changed."""
        for table in (self._agents, self._metadata, self._primary_agents):
            table.write(rows)

    def _apply_to_registry(self, registry: str, time: int, events: Sequence[IdentityEvent]) -> None:
        """Apply the events of one registry in one block."""
        states, prefix = AgentStates(), (self._chain_id, registry)
        touched = {event.agent_id for event in events if not isinstance(event, PrimaryAgentSet)}
        accounts = {account for event in events for account in _accounts(event)}
        for agent_id in touched:
            known = self._agents.get((*prefix, agent_id))
            if known is not None:
                accounts.update(account for account in known[3:5] if account)
                states.owners[agent_id] = known[3]
                if known[4]:
                    states.wallets[agent_id] = known[4]
        for account in accounts:
            chosen = self._primary_agents.get((*prefix, account))
            if chosen is not None:
                states.primary_agents[account] = chosen[3]
        for _, of_transaction in groupby(events, key=lambda it: it.position.transaction_hash):
            states.apply(list(of_transaction))
        for account in accounts:
            primary = states.primary_agents.get(account)
            self._primary_agents.set((*prefix, account), None if primary is None else (primary,))
        for agent_id in touched:
            self._set_agent((*prefix, agent_id), time, states, [it for it in events if it.agent_id == agent_id])

    def _set_agent(
        self, key: tuple[int, str, int], time: int, states: AgentStates, events: Sequence[IdentityEvent]
    ) -> None:
        """Set the rows of one agent after a block."""
        owner, block = states.owners.get(key[2]), events[0].position.block_number
        known = self._agents.get(key)
        uri, domain, registered = ("", "", (block, time)) if known is None else (known[5], known[6], known[7:9])
        for event in events:
            match event:
                case Registered():
                    uri = storable(event.agent_uri)
                case URIUpdated():
                    uri = storable(event.new_uri)
                case AgentRegistered() | AgentUpdated():
                    domain = storable(event.agent_domain)
                case MetadataSet() if event.metadata_key != WALLET_KEY:
                    self._metadata.set((*key, key_text(storable(event.metadata_key))), (event.metadata_value,))
        if owner is None:  # burnt, or an event of an agent that was never minted
            self._agents.set(key, None)
            return
        self._agents.set(key, (owner, states.wallets.get(key[2]), uri, domain, *registered, block, time))


def _accounts(event: IdentityEvent) -> tuple[str, ...]:
    """Return the accounts whose primary agent an event may change, but for the agent's former owner and wallet."""
    match event:
        case Transfer():
            return event.from_address, event.to_address
        case PrimaryAgentSet():
            return (event.account,)
        case MetadataSet() if event.metadata_key == WALLET_KEY and len(event.metadata_value) == _ADDRESS_BYTES:
            return (_address(event.metadata_value),)
    return ()


@lru_cache(maxsize=1 << 14)
def _address(raw: bytes) -> str:
    """Return an address in checksum form."""
    return checksummed("0x" + raw.hex())
