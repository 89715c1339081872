"""The walks down an index of all agents, where every few agents pass a search."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import ARRAY, Numeric, any_, cast, exists, literal, or_, select, type_coerce

from bilateral.index.derive.activity import agent_activity
from bilateral.index.tables.dialects import dialect_of
from bilateral.index.tables.schema import agent, registry, summary
from bilateral.index.tables.standings import standing
from bilateral.index.tables.unindexed import unindexed
from bilateral.query.search.filters import Order
from bilateral.query.search.gates import has_better, passing
from bilateral.query.search.statements import KEY, RANKED, REAL, TIMES, Statement, is_behind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Select, Table

    from bilateral.query.search.statements import Parts

MOST_COUNTED: Final = 4
"""Words of a query up to which the files with several of them in their names are counted."""

_LAST_TIME: Final = 2**62
"""A Unix time after all others."""


def has_named(parts: Parts, count: int) -> ColumnElement[bool]:
    """Return the condition that a name has just so many words of the search.

    Args:
        parts: The search.
        count: The number of words.
    """
    if len(parts.terms) > MOST_COUNTED:
        return parts.relevance == count
    return parts.matcher.has_named(parts.terms, count)


@contextmanager
def _without_sorting(connection: Connection) -> Iterator[None]:
    """Keep PostgreSQL from sorting all that passes. It expects few agents to have the words, and gets many.

    Args:
        connection: The connection, in a transaction.
    """
    dialect = dialect_of(connection)
    dialect.set_local(connection, "enable_sort", "off")
    yield
    dialect.set_local(connection, "enable_sort", "on")


class Walks:
    """The walks of one search.

    Args:
        parts: The search.
    """

    def __init__(self, parts: Parts) -> None:
        """See the class."""
        self._parts = parts

    def by_agents(self, place: tuple[Any, ...] | None, count: int, relevance: int | None) -> Sequence[Row[Any]]:
        """Walk down the agents of each chain, in the order of their keys or times.

        Args:
            place: The values of the cursor; None for the first page.
            count: The number of agents.
            relevance: The number of words that the names have, in the order of the keys; None for any number, in the
                order of the times.
        """
        rows: list[Row[Any]] = []
        with _without_sorting(self._parts.connection):
            for chain_id in sorted(self._parts.chains):
                is_over = relevance is not None and place is not None and chain_id < place[2]
                if is_over or (relevance is not None and len(rows) >= count):
                    continue  # keys begin with the chain
                for of_chain in self._walked(chain_id):
                    walk = self._walk_agents(of_chain, place, relevance)
                    rows += self._parts.connection.execute(walk.limit(count))
        rows.sort(key=lambda row: (-row.first_rank, *row[:3]))
        return rows[:count]

    def _walked(self, chain_id: int) -> Iterator[list[ColumnElement[bool]]]:
        """Yield the conditions of each walk down the agents of a chain: each has an index of the order of its own."""
        if self._parts.search.ranking is not Order.LAST_ACTIVE:
            yield [agent.c.chain_id == chain_id]
            return
        identities = select(registry.c.identity_registry).where(registry.c.chain_id == chain_id).distinct()
        for identity in self._parts.connection.execute(identities).scalars():
            columns = agent_activity.c
            yield [columns.chain_id == chain_id, columns.identity_registry == identity]

    def _walk_agents(
        self, walked: Sequence[ColumnElement[bool]], place: tuple[Any, ...] | None, relevance: int | None
    ) -> Select[Any]:
        """Return the statement that walks down agents."""
        statement = Statement(self._parts, are_few=True, stands=True)
        where = [*walked, *statement.has_words()]
        time = TIMES.get(self._parts.search.ranking, agent.c.updated_at)
        zero, first = literal(0.0, REAL), cast(time, REAL) if relevance is None else literal(float(relevance), REAL)
        if relevance is not None and self._parts.terms:
            where.append(has_named(self._parts, relevance))
        last = _LAST_TIME if place is None else int(min(max(place[0], -_LAST_TIME), _LAST_TIME))  # of a stranger
        if relevance is None:
            # This is true of the first page too: it lets SQLite begin with the index, at its place.
            where.append(time <= last)
        if place is not None:
            behind = is_behind([agent.c[name] for name in KEY], place[2:])
            where.append(behind if relevance is not None else or_(time < last, behind))
        where += self._without_standing(statement)
        query = statement.select(first, zero, self._parts.relevance, where)
        order = [time.desc()] if relevance is None else []
        return query.order_by(*order, agent.c.identity_registry, agent.c.agent_id)

    def by_bound(
        self,
        place: tuple[Any, ...] | None,
        count: int,
        relevance: int | None,
        among: Mapping[int, Sequence[int]] | None = None,
    ) -> Sequence[Row[Any]]:
        """Walk down the lower bounds of each chain under the tag of the first gate.

        Args:
            place: The values of the cursor; None for the first page.
            count: The number of agents.
            relevance: The number of words that the names have; None for any number, in the order of the bound alone.
            among: The ids of all agents that can be found, by chains, on PostgreSQL; None if they are not known.
        """
        return self._best(lambda chain_id: self._walk(chain_id, place, relevance), summary, count, among)

    def by_rank(
        self,
        place: tuple[Any, ...] | None,
        count: int,
        relevance: int,
        among: Mapping[int, Sequence[int]] | None = None,
    ) -> Sequence[Row[Any]]:
        """Walk down the standings of each chain that rank, on the side of the first gate.

        Args:
            place: The values of the cursor; None for the first page.
            count: The number of agents.
            relevance: The number of words that the names have.
            among: As for `by_bound`.
        """
        return self._best(lambda chain_id: self._walk_ranks(chain_id, place, relevance), standing, count, among)

    def _best(
        self,
        walk_of: Callable[[int], Select[Any]],
        walked: Table,
        count: int,
        among: Mapping[int, Sequence[int]] | None,
    ) -> Sequence[Row[Any]]:
        """Return the first rows of the walks of all chains."""
        rows: list[Row[Any]] = []
        with _without_sorting(self._parts.connection):
            for chain_id in self._parts.chains if among is None else sorted({*self._parts.chains} & {*among}):
                walk = walk_of(chain_id)
                if among is not None:
                    # A sum has no index: PostgreSQL looks each agent up in a table of the ids.
                    known = any_(literal(among[chain_id], ARRAY(Numeric(78, 0))))
                    walk = walk.where(type_coerce(walked.c.agent_id + 0, Numeric(78, 0)) == known)
                rows += self._parts.connection.execute(walk.limit(count))
        rows.sort(key=lambda row: (-row.first_rank, -row.second_rank, *row[:3]))
        return rows[:count]

    def _walk_ranks(self, chain_id: int, place: tuple[Any, ...] | None, relevance: int) -> Select[Any]:
        """Return the statement that walks down the standings of a chain."""
        columns, statement = standing.c, Statement(self._parts, are_few=True, stands=True)
        where = [
            columns.chain_id == chain_id,
            columns.rank.is_not(None),
            *statement.has_standing(looks_up_agents=True),
            *statement.passes_first,
            *statement.has_words(),
        ]
        if self._parts.terms:
            where.append(has_named(self._parts, relevance))
        if place is not None:
            _, rank, *last = place
            limit, behind = literal(rank, REAL), is_behind([agent.c[name] for name in KEY], last)
            where += [columns.rank <= limit, or_(columns.rank < limit, behind)]
        query = statement.select(literal(relevance + RANKED, REAL), columns.rank, self._parts.relevance, where)
        return query.order_by(columns.rank.desc(), columns.identity_registry, columns.agent_id)

    def _without_standing(self, statement: Statement) -> list[ColumnElement[bool]]:
        """Return the condition of an order by standings on the agents that have none."""
        if self._parts.search.ranking is not Order.STANDING:
            return []
        return [~exists().where(*statement.has_standing()).correlate(agent)]

    def _walk(self, chain_id: int, place: tuple[Any, ...] | None, relevance: int | None) -> Select[Any]:
        """Return the statement that walks down the lower bounds of a chain."""
        gate, columns = self._parts.search.gates[0], summary.c
        statement = Statement(self._parts, are_few=True, walks=True, stands=True)
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
        bound = cast(columns.lower_bound, REAL)
        fixed = literal(float(relevance or 0), REAL)
        first, second = (bound, fixed) if relevance is None else (fixed, bound)
        if relevance is not None and self._parts.terms:
            where.append(has_named(self._parts, relevance))
        if place is not None:
            *ranks, chain, identity, agent_id = place
            limit = literal(ranks[relevance is not None], REAL)
            behind = is_behind([agent.c[name] for name in KEY], (chain, identity, agent_id))
            # The first part repeats the second, in a form that finds its place in the index.
            where += [columns.lower_bound <= limit, or_(columns.lower_bound < limit, behind)]
        where += self._without_standing(statement)
        query = statement.select(first, second, self._parts.relevance, where)
        return query.order_by(columns.lower_bound.desc(), registry.c.identity_registry, agent.c.agent_id)
