"""The statements of a search: each is put together from the parts that its plan has made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import sqlalchemy as sa

from bilateral.index.agents.tables import agent
from bilateral.index.log.dialects import dialect_of
from bilateral.index.log.tables import registry
from bilateral.index.log.unindexed import unindexed
from bilateral.index.ratings.tables import summary
from bilateral.index.search.conditions import KEY, TIMES
from bilateral.index.search.filters import Order
from bilateral.index.search.plans import Plan
from bilateral.index.search.ways import Part, Way
from bilateral.index.standing.tables import standing

_REAL: Final = sa.Float(53)
"""The type of ranks."""

_WITHOUT_GATE: Final = (Order.STANDING, Order.MEANING, *TIMES)
"""The orders in which agents that pass the first gate have a rank without it."""

_BY_STANDING: Final = (Order.STANDING, Order.MEANING)
"""The orders in which agents that are held back come last."""

_RANKED: Final = 0.5
"""The addition of a standing to the first rank: those with one precede others with as many words in their names."""

_HELD_BACK: Final = -100.0
"""The addition of being held back to the first rank. It puts agents last: a name has at most 16 words of a search."""

_OUT_OF_REACH: Final = -1_000_000.0
"""The addition of being held back to the rank by meaning, which is at most 33,000 millionths."""

_WALKS: Final = (Way.AGENTS, Way.BOUNDS, Way.RANKS)
"""The ways that go down an index, whose order they keep."""

_LAST_TIME: Final = 2**62
"""A Unix time after all others."""


class _Statement:
    """One statement of a search: its tables, and the conditions that every statement of the search has.

    Args:
        walks: True if the statement begins with the summaries of the first gate.
        stands: True if conditions on the standing of the agent are added later. Without, an order by standings takes
            agents with and without one.

    Attributes:
        passes_first: The conditions that the agent passes the first gate, if they are not among all others.
    """

    def __init__(self, plan: Plan, *, walks: bool = False, stands: bool = False) -> None:
        self._plan = plan
        self._from = plan.conditions.tables
        self._where = [*plan.conditions.where]
        self.passes_first: list[sa.ColumnElement[bool]] = []
        gates = plan.gates[walks:]
        for number, gate in enumerate(gates):
            if gate.agents is None:
                (self._where if number or walks else self.passes_first).append(gate.rank.is_not(None))
            else:
                is_agent = sa.and_(*(gate.agents.c[name] == agent.c[name] for name in KEY))
                self._from = self._from.join(gate.agents, is_agent)
        self._gate_rank = gates[0].rank if gates else None
        if plan.search.ranking in _BY_STANDING and not stands:
            self._from = self._from.outerjoin(standing, sa.and_(*self.has_standing()))

    def has_standing(self, *, looks_up_agents: bool = False) -> list[sa.ColumnElement[bool]]:
        """Return the conditions that a standing is that of the agent, on the side of the first gate."""
        columns = standing.c
        agent_id = unindexed(columns.agent_id) if looks_up_agents else columns.agent_id
        return [
            columns.side == self._plan.search.rated_side.value,
            agent.c.chain_id == columns.chain_id,
            agent.c.identity_registry == columns.identity_registry,
            agent.c.agent_id == agent_id,
        ]

    def without_standing(self) -> list[sa.ColumnElement[bool]]:
        """Return the condition of an order by standings on the agents that have none."""
        if self._plan.search.ranking is not Order.STANDING:
            return []
        return [~sa.exists().where(*self.has_standing()).correlate(agent)]

    def select(
        self, first: sa.ColumnElement[Any], second: sa.ColumnElement[Any], where: Sequence[sa.ColumnElement[bool]]
    ) -> sa.Select[Any]:
        """Return the statement for keys and ranks."""
        columns = [*(agent.c[name] for name in KEY), self._plan.words.relevance.label("relevance")]
        query = sa.select(*columns, first.label("first_rank"), second.label("second_rank"))
        return query.select_from(self._from).where(*self._where, *where)

    def ranks(self) -> tuple[sa.ColumnElement[float], sa.ColumnElement[float]]:
        """Return what ranks an agent, and what ranks agents with the same first rank."""
        order, zero, relevance = (
            self._plan.search.ranking,
            sa.literal(0.0, _REAL),
            sa.cast(self._plan.words.relevance, _REAL),
        )
        by_gate = zero if self._gate_rank is None else sa.cast(self._gate_rank, _REAL)
        if order is Order.RELEVANCE:
            return relevance, by_gate
        if order is Order.MEANING and self._plan.closest is not None:
            rank = standing.c.rank
            is_held_back = sa.and_(rank.is_(None), standing.c.agent_id.is_not(None))
            lowered = sa.case((is_held_back, _OUT_OF_REACH), else_=0.0)
            closeness = sa.cast(self._plan.closest.c.rank, _REAL) + sa.cast(lowered, _REAL)
            return closeness, sa.case((rank.is_not(None), rank), else_=zero)
        if order is Order.STANDING:
            rank, has_none = standing.c.rank, standing.c.agent_id.is_(None)
            added = sa.case((rank.is_not(None), _RANKED), (has_none, 0.0), else_=_HELD_BACK)
            return relevance + sa.cast(added, _REAL), sa.case((rank.is_not(None), rank), else_=zero)
        if order in TIMES:
            return sa.cast(TIMES[order], _REAL), zero
        return by_gate, zero


def rows_of(plan: Plan, parts: Iterable[Part], count: int) -> list[sa.Row[Any]]:
    """Run the statements of a step, and return the first of their agents."""
    rows: list[sa.Row[Any]] = []
    dialect, sorts, by_key, statements = dialect_of(plan.connection), True, 0, 0
    for part in parts:
        if part.way in _WALKS and sorts:
            # PostgreSQL expects few agents to have the words, and would sort all that passes.
            dialect.set_local(plan.connection, "enable_sort", "off")
            sorts = False
        is_by_key = part.way is Way.AGENTS and part.relevance is not None
        if is_by_key and by_key >= count:
            continue  # keys begin with the chain, and the walks of earlier chains have filled the page
        more_rows = plan.connection.execute(_STATEMENTS[part.way](plan, part).limit(count)).all()
        by_key += len(more_rows) if is_by_key else 0
        rows += more_rows
        statements += 1
    if not sorts:
        dialect.set_local(plan.connection, "enable_sort", "on")
    if statements > 1:  # each statement sorts its own
        rows.sort(key=lambda row: (-row.first_rank, -row.second_rank, *row[:3]))
    return rows[:count]


def _of_all(plan: Plan, part: Part) -> sa.Select[Any]:
    """Return the statement for all agents that fulfil the conditions."""
    return _sorted(plan, _Statement(plan), part.place, part.where)


def _of_held_back(plan: Plan, part: Part) -> sa.Select[Any]:
    statement = _Statement(plan, stands=True)
    is_held_back = [standing.c.chain_id.in_(plan.chains), standing.c.rank.is_(None)]
    of_agent = statement.has_standing(looks_up_agents=True)
    return _sorted(plan, statement, part.place, [*is_held_back, *of_agent, *part.where])


def _sorted(
    plan: Plan, statement: _Statement, place: tuple[Any, ...] | None, where: Sequence[sa.ColumnElement[bool]]
) -> sa.Select[Any]:
    """Return a statement in the order of the ranks."""
    first_rank, second_rank = statement.ranks()
    is_ranked = plan.search.ranking not in _WITHOUT_GATE
    inner = (
        statement.select(first_rank, second_rank, where if is_ranked else [*statement.passes_first, *where])
        .offset(0)  # keeps the engine from computing ranks both here and around
        .subquery()
    )
    key = [inner.c[name] for name in KEY]
    query = sa.select(inner).order_by(inner.c.first_rank.desc(), inner.c.second_rank.desc(), *key)
    if is_ranked and statement.passes_first:
        by_gate = inner.c.second_rank if plan.search.ranking is Order.RELEVANCE else inner.c.first_rank
        query = query.where(by_gate.is_not(None))
    if place is not None:
        first, second, *last = place
        first_rank, second_rank = (sa.literal(rank, _REAL) for rank in (first, second))
        behind = _comes_after(key, last)
        tied = sa.or_(inner.c.second_rank < second_rank, sa.and_(inner.c.second_rank == second_rank, behind))
        query = query.where(sa.or_(inner.c.first_rank < first_rank, sa.and_(inner.c.first_rank == first_rank, tied)))
    return query


def _down_agents(plan: Plan, part: Part) -> sa.Select[Any]:
    """Return the statement that walks down agents, in the order of their keys or times."""
    place, relevance, statement = part.place, part.relevance, _Statement(plan, stands=True)
    time = TIMES.get(plan.search.ranking, agent.c.updated_at)
    zero, first = (
        sa.literal(0.0, _REAL),
        sa.cast(time, _REAL) if relevance is None else sa.literal(float(relevance), _REAL),
    )
    last = _LAST_TIME if place is None else int(min(max(place[0], -_LAST_TIME), _LAST_TIME))  # of a stranger
    # This is true of the first page too: it lets SQLite begin with the index, at its place.
    where = [*part.where, *([time <= last] if relevance is None else [])]
    if place is not None:
        behind = _comes_after([agent.c[name] for name in KEY], place[2:])
        where.append(behind if relevance is not None else sa.or_(time < last, behind))
    query = statement.select(first, zero, [*where, *statement.without_standing()])
    order = [time.desc()] if relevance is None else []
    return query.order_by(*order, agent.c.identity_registry, agent.c.agent_id)


def _down_bounds(plan: Plan, part: Part) -> sa.Select[Any]:
    """Return the statement that walks down the lower bounds of a chain under the tag of the first gate.

    In the order of standings it finds the agents without one, by their keys: a bound counts false ratings, too.
    """
    is_by_key = plan.search.ranking is Order.STANDING
    columns, statement = summary.c, _Statement(plan, walks=True, stands=True)
    where = [
        *plan.bounds.passing[part.chain_id],
        registry.c.chain_id == part.chain_id,
        registry.c.address == unindexed(columns.registry),
        agent.c.chain_id == part.chain_id,
        agent.c.identity_registry == registry.c.identity_registry,
        agent.c.agent_id == unindexed(columns.agent_id),
        *plan.bounds.is_best,
        *part.where,
    ]
    bound = sa.cast(columns.lower_bound, _REAL)
    fixed = sa.literal(float(part.relevance or 0), _REAL)
    first, second = (
        (bound, fixed) if part.relevance is None else (fixed, sa.literal(0.0, _REAL) if is_by_key else bound)
    )
    if part.place is not None and is_by_key:
        where.append(_comes_after([agent.c[name] for name in KEY], part.place[2:]))
    elif part.place is not None:
        *ranks, chain, identity, agent_id = part.place
        limit = sa.literal(ranks[part.relevance is not None], _REAL)
        behind = _comes_after([agent.c[name] for name in KEY], (chain, identity, agent_id))
        # The first part repeats the second, in a form that finds its place in the index.
        where += [columns.lower_bound <= limit, sa.or_(columns.lower_bound < limit, behind)]
    query = statement.select(first, second, [*where, *statement.without_standing()]).where(*_among(part, columns))
    order = [] if is_by_key else [columns.lower_bound.desc()]
    return query.order_by(*order, registry.c.identity_registry, agent.c.agent_id)


def _down_ranks(plan: Plan, part: Part) -> sa.Select[Any]:
    """Return the statement that walks down the standings of a chain that rank, on the side of the first gate."""
    columns, statement = standing.c, _Statement(plan, stands=True)
    where = [
        columns.chain_id == part.chain_id,
        columns.rank.is_not(None),
        *statement.has_standing(looks_up_agents=True),
        *statement.passes_first,
        *part.where,
    ]
    if part.place is not None:
        _, rank, *last = part.place
        limit, behind = sa.literal(rank, _REAL), _comes_after([agent.c[name] for name in KEY], last)
        where += [columns.rank <= limit, sa.or_(columns.rank < limit, behind)]
    first = sa.literal((part.relevance or 0) + _RANKED, _REAL)
    query = statement.select(first, columns.rank, where).where(*_among(part, columns))
    return query.order_by(columns.rank.desc(), columns.identity_registry, columns.agent_id)


def _among(part: Part, columns: Any) -> list[sa.ColumnElement[bool]]:
    """Return the condition that a row is of a listed agent. PostgreSQL looks it up in a table of the ids."""
    if part.listed is None:
        return []
    # A sum has no index.
    return [
        sa.type_coerce(columns.agent_id + 0, sa.Numeric(78, 0))
        == sa.any_(sa.literal(part.listed, sa.ARRAY(sa.Numeric(78, 0))))
    ]


def _comes_after(columns: Sequence[sa.ColumnElement[Any]], key: Sequence[Any]) -> sa.ColumnElement[bool]:
    """Return the condition that the key in some columns comes after another key."""
    return sa.tuple_(*columns) > sa.tuple_(*key, types=[column.type for column in columns])


_STATEMENTS: Final = {
    Way.ALL: _of_all,
    Way.HELD_BACK: _of_held_back,
    Way.AGENTS: _down_agents,
    Way.BOUNDS: _down_bounds,
    Way.RANKS: _down_ranks,
}
"""The functions that write the statement of each way."""
