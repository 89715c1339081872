"""The agent projection: agents' states, which the journal can restore, and the times when agents were last active."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain as joined
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, Table, delete, select

from bilateral.core import events
from bilateral.core.events.agents import ADDRESS_BYTES, WALLET_KEY, AgentStates, address_of_bytes
from bilateral.index.agents import tables as agent_tables
from bilateral.index.agents.queries import feedback_registry
from bilateral.index.agents.tables import AGENT_TABLES, agent_activity
from bilateral.index.log import tables as schema
from bilateral.index.log.batches import EventRows, stored_batches
from bilateral.index.log.journal import DerivedTable, Journal, Writes
from bilateral.index.log.projection import Append, Progress, Projection, Removal
from bilateral.index.log.rows import Row, Rows, key_columns, picker, rows_of
from bilateral.index.log.text import key_text

_Change: TypeAlias = tuple[int, int, type[events.Event], Row]
"""The block, log index, type and row of an event that changes an agent."""

_Texts: TypeAlias = dict[bool, str]
"""An agent's new URI (under the key True) and its new domain (under the key False)."""


IDENTITY_EVENTS: Final[Mapping[type[events.Event], Callable[[Row], Any]]] = {
    event: picker(schema.EVENT_TABLES[event], "agent_id", *names)
    for event, *names in (
        (events.Transfer, "from_address", "to_address"),
        (events.Registered, "agent_uri"),
        (events.URIUpdated, "new_uri"),
        (events.MetadataSet, "metadata_key", "metadata_value"),
        (events.AgentRegistered, "agent_domain", "agent_address"),
        (events.AgentUpdated, "agent_domain", "agent_address"),
        (events.PrimaryAgentSet, "account"),
    )
}
"""The events that change an agent's state. Each maps to a function that picks the relevant columns, agent id first."""

_BLOCK, _TIME, _TRANSACTION, _REGISTRY = (
    list(schema.EVENT_TABLES[events.Transfer].c.keys()).index(name)
    for name in ("block_number", "block_time", "transaction_hash", "registry")
)
_URIS: Final = (events.Registered, events.URIUpdated)
_NAMES: Final = (events.AgentRegistered, events.AgentUpdated)


class AgentTables:
    """The tables `agent`, `agent_metadata` and `primary_agent`, for one batch of events on one chain."""

    def __init__(self, chain_id: int, journal: Journal) -> None:
        self._chain_id = chain_id
        self._journal = journal
        self._agents, self._metadata, self._primary_agents = (DerivedTable(table, journal) for table in AGENT_TABLES)
        self._states: dict[str, AgentStates] = defaultdict(AgentStates)  # by registry

    def derive(self, rows: Rows, batch: EventRows) -> Mapping[Row, Row | None]:
        """Update the tables with new events."""
        changes: list[_Change] = [
            (row[_BLOCK], row[_BLOCK + 1], kind, row)
            for kind in IDENTITY_EVENTS
            for row in batch.get(schema.EVENT_TABLES[kind], ())
        ]
        if not changes:
            return {}
        changes.sort(key=itemgetter(0, 1))
        self._load(rows, changes)
        for number, in_block in groupby(changes, key=itemgetter(0)):
            self._journal.begin_block(number)
            for registry, of_registry in groupby(sorted(in_block, key=_registry), key=_registry):
                self._apply(registry, list(of_registry))
        for table in (self._agents, self._metadata, self._primary_agents):
            table.write(rows)
        return self._agents.loaded

    def _load(self, rows: Rows, changes: Iterable[_Change]) -> None:
        agents, accounts, entries = set[Row](), set[Row](), set[Row]()
        for _, _, kind, row in changes:
            prefix = (self._chain_id, row[_REGISTRY])
            agent_id, *values = IDENTITY_EVENTS[kind](row)
            if kind is not events.PrimaryAgentSet:
                agents.add((*prefix, agent_id))
            accounts.update((*prefix, account) for account in _accounts(kind, values))
            if kind is events.MetadataSet and values[0] != WALLET_KEY:
                entries.add((*prefix, agent_id, key_text(values[0])))
        self._agents.load(rows, agents)
        for key in agents:
            states = self._states[key[1]]
            if (existing := self._agents.get(key)) is not None:
                states.owners[key[2]] = existing[3]
                if existing[4]:
                    states.wallets[key[2]] = existing[4]
                accounts.update((*key[:2], account) for account in existing[3:5] if account)
        self._primary_agents.load(rows, accounts)
        for key in accounts:
            if (chosen := self._primary_agents.get(key)) is not None:
                self._states[key[1]].primary_agents[key[2]] = chosen[3]
        self._metadata.load(rows, entries)

    def _apply(self, registry: str, changes: list[_Change]) -> None:
        states, prefix = self._states[registry], (self._chain_id, registry)
        accounts: set[str] = set()
        texts: dict[int, _Texts] = {}
        transaction = None
        for _, _, kind, row in changes:
            agent_id, *values = IDENTITY_EVENTS[kind](row)
            accounts.update(_accounts(kind, values))
            if row[_TRANSACTION] != transaction:
                states.settle()
                transaction = row[_TRANSACTION]
            if kind is events.PrimaryAgentSet:
                states.choose(values[0], agent_id)
                continue
            if agent_id not in texts:
                texts[agent_id] = {}
                if (existing := self._agents.get((*prefix, agent_id))) is not None:
                    accounts.update(account for account in existing[3:5] if account)
            self._change_agent(states, kind, (*prefix, agent_id), values, texts[agent_id])
        states.settle()
        for account in accounts:
            primary = states.primary_agents.get(account)
            self._primary_agents.set((*prefix, account), None if primary is None else (primary,))
        block, time = changes[0][3][_BLOCK], changes[0][3][_TIME]
        for agent_id, new in texts.items():
            self._set_agent((*prefix, agent_id), states, new, (block, time))

    def _change_agent(
        self, states: AgentStates, kind: type[events.Event], key: tuple[int, str, int], values: list[Any], texts: _Texts
    ) -> None:
        if kind is events.Transfer:
            states.transfer(key[2], *values)
        elif kind is events.MetadataSet and values[0] == WALLET_KEY:
            states.set_wallet(key[2], values[1])
        else:
            states.settle()
            if kind in _NAMES:
                states.name_address(key[2], values[1])
            if kind is events.MetadataSet:
                self._metadata.set((*key, key_text(values[0])), (values[1],))
            else:
                texts[kind in _URIS] = values[0]

    def _set_agent(self, key: tuple[int, str, int], states: AgentStates, texts: _Texts, now: tuple[int, int]) -> None:
        owner = states.owners.get(key[2])
        if owner is None:  # the agent was burnt, or its token was never minted
            self._agents.set(key, None)
            return
        existing = self._agents.get(key)
        uri, domain, *registered = ("", "", *now) if existing is None else existing[5:9]
        texts = {True: uri, False: domain, **texts}
        self._agents.set(key, (owner, states.wallets.get(key[2]), texts[True], texts[False], *registered, *now))


def _registry(change: _Change) -> str:
    registry: str = change[3][_REGISTRY]
    return registry


def _accounts(kind: type[events.Event], values: list[Any]) -> tuple[str, ...]:
    """Return an event's accounts whose primary agent may change. Callers add the agent's stored owner and wallet."""
    if kind is events.Transfer:
        return values[0], values[1]
    if kind is events.PrimaryAgentSet:
        return (values[0],)
    if kind in _NAMES:
        return (values[1],)
    if kind is events.MetadataSet and values[0] == WALLET_KEY and len(values[1]) == ADDRESS_BYTES:
        return (address_of_bytes(values[1]),)
    return ()


AgentPlace: TypeAlias = tuple[str, int]
"""An agent on a chain: the identity registry's address and the agent's id."""

Times: TypeAlias = tuple[int, int]
"""The times of an agent's last feedback and of its last event of any kind; 0 if there is none."""

_NEVER: Final[Times] = (0, 0)
_RAISING: Final = tuple(
    schema.EVENT_TABLES[event] for event in (events.NewFeedback, events.FeedbackRevoked, events.Approval)
)
"""Events that do not change agent rows but still count as updates to the agent."""

_CHANGING: Final = tuple(schema.EVENT_TABLES[event] for event in IDENTITY_EVENTS if event is not events.PrimaryAgentSet)
_pick: Final = {table: picker(table, "registry", "agent_id", "block_time") for table in (*_RAISING, *_CHANGING)}
_pick_agent = picker(agent_tables.agent, "registered_at", "updated_at")
_KEY: Final = key_columns(agent_activity)


class ActivityTable:
    """The table `agent_activity`, for one chain's events."""

    def __init__(self, chain_id: int, rows: Rows) -> None:
        self._chain_id = chain_id
        self._rows = rows
        self._identities = self._feedback_registries()

    def derive(self, batch: EventRows, agents: Mapping[Row, Row | None]) -> None:
        """Update the table with new events, whether or not the event tables already contain them."""
        # Use each combination of registry, agent and time once: most events of an agent share a block's time.
        raising = ((table, *entry) for table in _RAISING for entry in set(map(_pick[table], batch.get(table, ()))))
        times = self._times(raising)
        raised = {(self._chain_id, *agent) for agent in times}
        changed = sorted(raised | agents.keys())  # in the order of the table's pages
        stored = {row[:3]: row for row in self._rows.select(agent_activity, _KEY, changed)}
        new = [key[1:] for key, row in agents.items() if row is not None and key not in stored]
        earlier = self._stored_times(new)
        writes = Writes(self._rows, agent_activity)
        for key in changed:
            existing, agent = stored.get(key), agents.get(key)
            if existing is None and agent is None:
                continue  # the agent is not registered
            if agent is None and key in agents:
                writes.add(key, existing, None)
                continue
            registered, updated = _pick_agent(agent) if agent is not None else existing[4:6]  # type: ignore[index]
            before = existing[5:7] if existing is not None else (0, 0)
            spans = [times.get(key[1:], _NEVER), earlier.get(key[1:], _NEVER)]
            updated = max(updated, before[0], *(span[1] for span in spans))
            active = max(registered, before[1], *(span[0] for span in spans))
            writes.add(key, existing, (*key, str(key[2]), registered, updated, active))
        writes.write()

    def touched_after(self, block: int) -> set[AgentPlace]:
        """Return the agents affected by events after a block. The event tables must still contain these events."""
        touched: set[AgentPlace] = set()
        for table in (*_RAISING, *_CHANGING):
            for registry, agent_id in self._rows.values_after(table, ("registry", "agent_id"), self._chain_id, block):
                identity = self._identity(table, registry)
                if identity is not None:
                    touched.add((identity, agent_id))
        return touched

    def renew(self, agents: Iterable[AgentPlace]) -> None:
        """Recompute the given agents' rows from the event and agent tables."""
        keys = [(self._chain_id, *agent) for agent in sorted(agents)]
        self._rows.delete(agent_activity, keys)
        present = {row[:3]: _pick_agent(row) for row in self._rows.select(agent_tables.agent, _KEY, keys)}
        times, rows = self._stored_times([key[1:] for key in present]), []
        for key, (registered, updated) in present.items():
            feedback, last = times.get(key[1:], _NEVER)
            rows.append((*key, str(key[2]), registered, max(updated, last), max(registered, feedback)))
        self._rows.insert(agent_activity, rows)

    def rebuild(self) -> None:
        """Recompute the rows of all agents."""
        self._rows.connection.execute(delete(agent_activity).where(agent_activity.c.chain_id == self._chain_id))
        agent = agent_tables.agent.c
        query = select(agent.identity_registry, agent.agent_id).where(agent.chain_id == self._chain_id)
        self.renew(map(tuple, self._rows.connection.execute(query)))

    def _feedback_registries(self) -> dict[str, str]:
        """Map each registry whose open feedback counts to its identity registry."""
        column = schema.registry.c
        query = select(column.identity_registry, column.kind, column.address).order_by(
            column.first_block, column.address
        )
        by_identity: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for identity, kind, address in self._rows.connection.execute(query.where(column.chain_id == self._chain_id)):
            by_identity[identity].append((kind, address))
        counted = ((feedback_registry(registries), identity) for identity, registries in by_identity.items())
        return {address: identity for address, identity in counted if address is not None}

    def _identity(self, table: Table, registry: str) -> str | None:
        """Return the identity registry of an event's agent; None if the event's registry does not count."""
        is_of_identity = table is _RAISING[-1] or table in _CHANGING
        return registry if is_of_identity else self._identities.get(registry)

    def _stored_times(self, agents: Iterable[Any]) -> dict[AgentPlace, Times]:
        requested = list(agents)
        addresses = {identity: address for address, identity in self._identities.items()}
        entries: list[Iterable[tuple[Table, str, int, int]]] = []
        for table in _RAISING:
            places = ((place[0] if table is _RAISING[-1] else addresses.get(place[0]), place[1]) for place in requested)
            keys = [(self._chain_id, *place) for place in places if place[0] is not None]
            rows = self._rows.last_times(table, ("chain_id", "registry", "agent_id"), keys)
            entries.append([(table, *row[1:]) for row in rows])
        return self._times(joined.from_iterable(entries))

    def _times(self, entries: Iterable[tuple[Table, str, int, int]]) -> dict[AgentPlace, Times]:
        times: dict[AgentPlace, Times] = {}
        for table, registry, agent_id, time in entries:
            identity = self._identity(table, registry)
            if identity is not None:
                feedback, last = times.get((identity, agent_id), _NEVER)
                feedback = max(feedback, time) if table is _RAISING[0] else feedback
                times[identity, agent_id] = feedback, max(last, time)
        return times


class Agents(Projection):
    """Agents with their metadata and activity, and each account's primary agent."""

    name = "agents"
    tables = derived = (*AGENT_TABLES, agent_activity)
    reads = (*_RAISING, schema.registry)

    def derive(self, step: Append) -> None:
        changed = AgentTables(step.chain_id, step.journal).derive(step.rows, step.batch.rows)
        ActivityTable(step.chain_id, step.rows).derive(step.batch.rows, changed)

    def undo(self, removal: Removal) -> Iterator[None]:
        activity = ActivityTable(removal.chain_id, removal.rows)
        touched = activity.touched_after(removal.target.number)
        yield
        if not removal.is_journalled:
            self._rebuild_states(removal.connection, removal.chain_id, lambda _: None)
        activity.renew(touched)
        yield

    def rebuild(self, connection: Connection, chain_id: int, progress: Progress) -> None:
        self._rebuild_states(connection, chain_id, progress)
        ActivityTable(chain_id, rows_of(connection)).rebuild()

    @staticmethod
    def _rebuild_states(connection: Connection, chain_id: int, progress: Progress) -> None:
        for table in AGENT_TABLES:
            connection.execute(delete(table).where(table.c.chain_id == chain_id))
        for block, batch in stored_batches(connection, chain_id, tuple(IDENTITY_EVENTS)):
            AgentTables(chain_id, Journal(chain_id, 1 << 62)).derive(rows_of(connection), batch)
            progress(block)
