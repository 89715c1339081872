"""The ways to the first agents of a search, of which each looks at few rows.

A search for agents has two sides, words and ratings, and either may be common. It begins with the rarer one. If both
are common, it walks down the index of lower bounds, where every few agents have the words: first among the agents with
all words in their names, then among those with one word less. A search without ratings walks down the agents in the
same way, in the order of their keys or of their last changes.
"""

from __future__ import annotations

from contextlib import contextmanager
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Float, and_, cast, exists, func, literal, or_, select, tuple_

from bilateral.bounds import scale_of_tag
from bilateral.index.files import schema as files
from bilateral.index.files.schema import State
from bilateral.index.queries.search_filters import OF_GATE, Order
from bilateral.index.queries.search_gates import (
    best,
    best_of_agent,
    by_bound,
    count_passing,
    has_better,
    is_of_few,
    is_rated,
    passing,
)
from bilateral.index.queries.search_words import Matcher, Term, count_up_to
from bilateral.index.queries.unindexed import unindexed
from bilateral.index.schema import agent, agent_metadata, registry, summary
from bilateral.index.search.schema import agent_file, registration_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection, FromClause, Row, Select, Table

    from bilateral.index.queries.search_filters import AgentSearch, Gate

FEW_FILES: Final = 1_000
"""Files with the words of a query up to which a search begins with them, and looks up the ratings of each agent."""

FEW_RATED: Final = 2_000
"""Ratings that pass a gate up to which a search begins with them."""

_MOST_COUNTED: Final = 4
"""Words of a query up to which the files with several of them in their names are counted."""

_LAST_TIME: Final = 2**62
"""A Unix time after all others."""

_REAL: Final = Float(53)
_KEY: Final = ("chain_id", "identity_registry", "agent_id")


def find(  # noqa: PLR0913, PLR0917  # the parts of a search
    connection: Connection,
    search: AgentSearch,
    terms: Sequence[Term],
    chains: Sequence[int],
    place: tuple[Any, ...] | None,
    count: int,
) -> Sequence[Row[Any]]:
    """Return the keys and ranks of the first agents of a search.

    Args:
        connection: The database.
        search: The conditions.
        terms: The words, as `Matcher` returns them.
        chains: The chains.
        place: The values of the cursor; None for the first page.
        count: The number of agents.
    """
    plans = _Plans(connection, search, terms, chains)
    if search.owner is not None or search.wallet is not None:
        return plans.by_agent(place, count)
    if terms and plans.count(terms) <= FEW_FILES:
        return plans.by_files(place, count, plans.matcher.documents(terms))
    if not search.gates and search.ranking in (Order.RELEVANCE, Order.UPDATED):
        walk = plans.by_agents
    elif _has_bounds(search) and count_passing(connection, search.gates[0], chains, FEW_RATED + 1) > FEW_RATED:
        walk = plans.by_bound
    else:
        return plans.by_gates(place, count)
    if search.ranking is not Order.RELEVANCE:
        return walk(place, count, None)
    rows: list[Row[Any]] = []
    most = len(terms) if place is None else min(len(terms), int(place[0]))
    for relevance in range(most, -1, -1):
        here = place if place is not None and relevance == place[0] else None
        few = plans.files_of_relevance(relevance, here, count - len(rows))
        rows += walk(here, count - len(rows), relevance) if few is None else few
        if len(rows) >= count:
            break
    return rows


@contextmanager
def _without_sorting(connection: Connection) -> Iterator[None]:
    """Keep PostgreSQL from sorting all that passes. It expects few agents to have the words, and gets many.

    Args:
        connection: The connection, in a transaction.
    """
    if connection.dialect.name != "postgresql":
        yield
        return
    connection.exec_driver_sql("SET LOCAL enable_sort = off")
    yield
    connection.exec_driver_sql("SET LOCAL enable_sort = on")


def among(table: Table, keys: Sequence[tuple[Any, ...]]) -> list[ColumnElement[bool]]:
    """Return conditions that let SQLite find the rows of some agents by their key, and perhaps of a few others.

    Args:
        table: A table with the key of agents.
        keys: The agents.
    """
    return [table.c[name].in_(sorted(set(values))) for name, values in zip(_KEY, zip(*keys, strict=True), strict=True)]


def _is_behind(columns: Sequence[ColumnElement[Any]], key: Sequence[Any]) -> ColumnElement[bool]:
    """Return the condition that the key in some columns comes after another key."""
    return tuple_(*columns) > tuple_(*key, types=[column.type for column in columns])


def _has_bounds(search: AgentSearch) -> bool:
    """Check that a search is in the order of lower bounds under one tag, which has an index."""
    if not search.gates or search.ranking not in (Order.RELEVANCE, Order.LOWER_BOUND):
        return False
    gate = search.gates[0]
    return gate.tag is not None and scale_of_tag(gate.tag) is not None and not is_of_few(gate)


class _Plans:
    """The statements of one search.

    Args:
        connection: The database.
        search: The conditions.
        terms: The words.
        chains: The chains.

    Attributes:
        matcher: Makes the conditions on words.
    """

    def __init__(
        self, connection: Connection, search: AgentSearch, terms: Sequence[Term], chains: Sequence[int]
    ) -> None:
        """See the class."""
        self.matcher = Matcher(connection)
        self._connection = connection
        self._search = search
        self._terms = terms
        self._chains = chains
        self._relevance = self.matcher.relevance(terms)

    def count(self, terms: Sequence[Term], named: int = 0) -> int:
        """Count the files with some words, up to one more than `FEW_FILES`.

        Args:
            terms: The words.
            named: The number of them that the name has at least.
        """
        return count_up_to(self._connection, self.matcher.documents(terms, self._named(named)), FEW_FILES + 1)

    def by_agent(self, place: tuple[Any, ...] | None, count: int) -> Sequence[Row[Any]]:
        """Begin with the agents of an owner or wallet."""
        statement = _Statement(self, are_few=True)
        return statement.rows(place, count, [agent.c.chain_id.in_(self._chains), *statement.has_words()])

    def by_files(
        self, place: tuple[Any, ...] | None, count: int, documents: Select[int], *conditions: ColumnElement[bool]
    ) -> Sequence[Row[Any]]:
        """Begin with the files of some documents."""
        # A sum has no index, so SQLite begins with the documents and not with all agents of the chains.
        begin = [(agent.c.chain_id + 0).in_(self._chains), registration_words.c.document_id.in_(documents)]
        return _Statement(self, are_few=True).rows(place, count, [*begin, *conditions])

    def by_gates(self, place: tuple[Any, ...] | None, count: int) -> Sequence[Row[Any]]:
        """Begin with all ratings that pass the gates; with all agents, if there is none."""
        statement = _Statement(self, are_few=False)
        chain_id = agent.c.chain_id + 0 if self._search.gates else agent.c.chain_id
        return statement.rows(place, count, [chain_id.in_(self._chains), *statement.has_words()])

    def files_of_relevance(
        self, relevance: int, place: tuple[Any, ...] | None, count: int
    ) -> Sequence[Row[Any]] | None:
        """Return the agents with as many words in their names; None if too many files have so many."""
        if relevance == 0 or len(self._terms) > _MOST_COUNTED or self.count(self._terms, relevance) > FEW_FILES:
            return None
        documents = self.matcher.documents(self._terms, self._named(relevance))
        return self.by_files(place, count, documents, self._has_named(relevance))

    def by_agents(self, place: tuple[Any, ...] | None, count: int, relevance: int | None) -> Sequence[Row[Any]]:
        """Walk down the agents of each chain, in the order of their keys or of their last changes.

        Args:
            place: The values of the cursor; None for the first page.
            count: The number of agents.
            relevance: The number of words that the names have, in the order of the keys; None for any number, in the
                order of the last changes.
        """
        rows: list[Row[Any]] = []
        with _without_sorting(self._connection):
            for chain_id in sorted(self._chains):
                is_over = relevance is not None and place is not None and chain_id < place[2]
                if is_over or (relevance is not None and len(rows) >= count):
                    continue  # keys begin with the chain
                rows += self._connection.execute(self._walk_agents(chain_id, place, relevance).limit(count))
        rows.sort(key=lambda row: (-row.first_rank, *row[:3]))
        return rows[:count]

    def _walk_agents(self, chain_id: int, place: tuple[Any, ...] | None, relevance: int | None) -> Select[Any]:
        """Return the statement that walks down the agents of a chain."""
        statement = _Statement(self, are_few=True)
        where = [agent.c.chain_id == chain_id, *statement.has_words()]
        zero, changed = literal(0.0, _REAL), cast(agent.c.updated_at, _REAL)
        first = changed if relevance is None else literal(float(relevance), _REAL)
        if relevance is not None and self._terms:
            where.append(self._has_named(relevance))
        if relevance is None:
            # This is true of the first page too: it lets SQLite begin with the index, at its place.
            where.append(agent.c.updated_at <= (_LAST_TIME if place is None else int(place[0])))
        if place is not None:
            behind = _is_behind([agent.c[name] for name in _KEY], place[2:])
            where.append(behind if relevance is not None else or_(agent.c.updated_at < int(place[0]), behind))
        query = statement.select(first, zero, self._relevance if self._terms else literal(0), where)
        order = [agent.c.updated_at.desc()] if relevance is None else []
        return query.order_by(*order, agent.c.identity_registry, agent.c.agent_id)

    def by_bound(self, place: tuple[Any, ...] | None, count: int, relevance: int | None) -> Sequence[Row[Any]]:
        """Walk down the lower bounds of each chain under the tag of the first gate.

        Args:
            place: The values of the cursor; None for the first page.
            count: The number of agents.
            relevance: The number of words that the names have; None for any number, in the order of the bound alone.
        """
        rows: list[Row[Any]] = []
        with _without_sorting(self._connection):
            for chain_id in self._chains:
                rows += self._connection.execute(self._walk(chain_id, place, relevance).limit(count))
        rows.sort(key=lambda row: (-row.first_rank, -row.second_rank, *row[:3]))
        return rows[:count]

    def _walk(self, chain_id: int, place: tuple[Any, ...] | None, relevance: int | None) -> Select[Any]:
        """Return the statement that walks down the lower bounds of a chain."""
        gate, columns = self._search.gates[0], summary.c
        statement = _Statement(self, are_few=True, walks=True)
        where = [
            *passing(gate, chain_id),
            registry.c.chain_id == chain_id,
            registry.c.address == unindexed(columns.registry),
            agent.c.chain_id == chain_id,
            agent.c.identity_registry == registry.c.identity_registry,
            agent.c.agent_id == unindexed(columns.agent_id),
            ~has_better(passing=gate),
            *statement.has_words(),
        ]
        bound = cast(columns.lower_bound, _REAL)
        fixed = literal(float(relevance or 0), _REAL)
        first, second = (bound, fixed) if relevance is None else (fixed, bound)
        if relevance is not None and self._terms:
            where.append(self._has_named(relevance))
        if place is not None:
            *ranks, chain, identity, agent_id = place
            limit = literal(ranks[relevance is not None], _REAL)
            behind = _is_behind([agent.c[name] for name in _KEY], (chain, identity, agent_id))
            # The first part repeats the second, in a form that finds its place in the index.
            where += [columns.lower_bound <= limit, or_(columns.lower_bound < limit, behind)]
        query = statement.select(first, second, self._relevance if self._terms else literal(0), where)
        return by_bound(query).order_by(columns.lower_bound.desc(), registry.c.identity_registry, agent.c.agent_id)

    def _has_named(self, count: int) -> ColumnElement[bool]:
        """Return the condition that a name has just so many words of the query."""
        if len(self._terms) > _MOST_COUNTED:
            return self._relevance == count
        return self.matcher.has_named(self._terms, count)

    def _named(self, count: int) -> tuple[tuple[Term, ...], ...]:
        """Return the choices of words, of which the name has one."""
        return tuple(combinations(self._terms, count)) if count else ()


class _Statement:
    """One statement of a search: its tables, and the conditions that every plan has.

    Args:
        plans: The search.
        are_few: True to look the ratings of each agent up, False to collect all that pass.
        walks: True if the statement begins with the summaries of the first gate.
    """

    def __init__(self, plans: _Plans, *, are_few: bool, walks: bool = False) -> None:
        """See the class."""
        self._plans = plans
        self._search = plans._search
        self._terms = plans._terms
        self._from: FromClause = agent
        self._where: list[ColumnElement[bool]] = [*self._of_agent()]
        self._add_file()
        self._gate_rank = self._add_gates(plans._chains, self._search.gates[walks:], are_few=are_few)

    def has_words(self) -> list[ColumnElement[bool]]:
        """Return the condition that the file of a row has all words."""
        return [self._plans.matcher.has(self._terms)] if self._terms else []

    def select(
        self,
        first: ColumnElement[Any],
        second: ColumnElement[Any],
        relevance: Any,
        where: Sequence[ColumnElement[bool]],
    ) -> Select[Any]:
        """Return the statement for keys and ranks.

        Args:
            first: The first rank.
            second: The rank among agents with the same first rank.
            relevance: The number of words in the name.
            where: Further conditions.
        """
        columns = [*(agent.c[name] for name in _KEY), relevance.label("relevance")]
        query = select(*columns, first.label("first_rank"), second.label("second_rank"))
        return query.select_from(self._from).where(*self._where, *where)

    def rows(
        self, place: tuple[Any, ...] | None, count: int, where: Sequence[ColumnElement[bool]]
    ) -> Sequence[Row[Any]]:
        """Run the statement, in the order of the ranks.

        Args:
            place: The values of the cursor; None for the first page.
            count: The number of agents.
            where: Further conditions.
        """
        relevance = self._plans._relevance if self._terms else literal(0)
        inner = self.select(*self._ranks(relevance), relevance, where).subquery()
        key = [inner.c[name] for name in _KEY]
        query = select(inner).order_by(inner.c.first_rank.desc(), inner.c.second_rank.desc(), *key)
        if place is not None:
            first, second, *last = place
            first_rank, second_rank = (literal(it, _REAL) for it in (first, second))
            behind = _is_behind(key, last)
            tied = or_(inner.c.second_rank < second_rank, and_(inner.c.second_rank == second_rank, behind))
            query = query.where(or_(inner.c.first_rank < first_rank, and_(inner.c.first_rank == first_rank, tied)))
        return self._plans._connection.execute(query.limit(count)).all()

    def _ranks(self, relevance: ColumnElement[Any]) -> tuple[ColumnElement[float], ColumnElement[float]]:
        """Return what ranks an agent, and what ranks agents with the same first rank."""
        order, zero = self._search.ranking, literal(0.0, _REAL)
        by_gate = zero if self._gate_rank is None else cast(self._gate_rank, _REAL)
        if order is Order.RELEVANCE:
            return cast(relevance, _REAL), by_gate
        if order is Order.UPDATED:
            return cast(agent.c.updated_at, _REAL), zero
        if order is Order.REGISTERED:
            return cast(agent.c.registered_at, _REAL), zero
        return by_gate, zero

    def _of_agent(self) -> Iterator[ColumnElement[bool]]:
        """Yield the conditions on the agent's state on chain."""
        search, columns = self._search, agent.c
        for limit, column, is_least in (
            (search.registered_from, columns.registered_at, True),
            (search.registered_to, columns.registered_at, False),
            (search.updated_from, columns.updated_at, True),
            (search.updated_to, columns.updated_at, False),
        ):
            if limit is not None:
                yield column >= limit if is_least else column <= limit
        if search.owner is not None:
            yield columns.owner == search.owner
        if search.wallet is not None:
            yield columns.wallet == search.wallet
        for key, value in search.metadata:
            entry = agent_metadata.c
            wanted = [*(entry[name] == columns[name] for name in _KEY), entry.metadata_key == key]
            yield exists().where(*wanted, *([] if value is None else [entry.metadata_value == value])).correlate(agent)
        if search.rated is not None:
            yield is_rated() if search.rated else ~is_rated()

    def _add_file(self) -> None:
        """Add the conditions on the agent's registration file, without its words."""
        search, content = self._search, files.file.c.content_hash
        reads = search.active is not None or search.x402 is not None
        if not (self._terms or search.capabilities or search.services or reads):
            return
        current = and_(*(agent_file.c[name] == agent.c[name] for name in _KEY))
        is_loaded = and_(files.file.c.file_id == agent_file.c.file_id, unindexed(files.file.c.state) == State.LOADED)
        self._from = self._from.join(agent_file, current).join(files.file, is_loaded)
        if self._terms:
            self._from = self._from.join(registration_words, registration_words.c.content_hash == content)
        if reads:
            read = files.registration_file
            self._from = self._from.join(read, read.c.content_hash == content)
            for wanted, column in ((search.active, read.c.active), (search.x402, read.c.x402_support)):
                if wanted is not None:
                    self._where.append(column.is_(wanted))
        capability, service = files.registration_capability.c, files.registration_service.c
        for kind, value in search.capabilities:
            same = (capability.kind == kind.value, capability.value == value)
            self._where.append(exists().where(capability.content_hash == content, *same).correlate(files.file))
        for name in search.services:
            same_name = func.lower(service.name) == name.lower()
            self._where.append(exists().where(service.content_hash == content, same_name).correlate(files.file))

    def _add_gates(self, chains: Sequence[int], gates: Sequence[Gate], *, are_few: bool) -> ColumnElement[Any] | None:
        """Add the conditions on ratings, and return the rank by the first gate."""
        order = self._search.ranking if self._search.ranking in OF_GATE else Order.LOWER_BOUND
        ranks: list[ColumnElement[Any]] = []
        for gate in gates:
            if are_few and not is_of_few(gate):
                rank = best_of_agent(gate, order)
                self._where.append(rank.is_not(None))
                ranks.append(rank)
                continue
            passed = best(gate, order, chains)
            self._from = self._from.join(passed, and_(*(passed.c[name] == agent.c[name] for name in _KEY)))
            ranks.append(passed.c.rank)
        return ranks[0] if ranks else None
