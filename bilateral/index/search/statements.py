"""A search's statements, as steps that each examine few rows. The search stops when a page is full."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from math import floor
from typing import Any, Final, TypeAlias

import sqlalchemy as sa

from bilateral.index.agents.tables import agent, agent_activity
from bilateral.index.files import tables as files
from bilateral.index.files.tables import agent_file
from bilateral.index.log.dialects import dialect_of, unindexed
from bilateral.index.log.tables import registry
from bilateral.index.ratings.tables import summary
from bilateral.index.search.filters import Order, Side
from bilateral.index.search.plans import TIMES, Plan
from bilateral.index.search.tables import KEY, registration_words
from bilateral.index.standing.tables import standing, standing_refresh

_Place: TypeAlias = tuple[Any, ...] | None
_Listed: TypeAlias = Mapping[int, Sequence[int]] | None
_Conditions: TypeAlias = Sequence[sa.ColumnElement[bool]]

_REAL: Final = sa.Float(53)
"""The type of ranks in SQL."""

_MOST_NEW: Final = 500
"""The maximum number of listed agents that were registered since the last refresh. A refresh takes seconds, during
which no chain gains this many agents."""

_WITHOUT_GATE: Final = (Order.STANDING, Order.MEANING, *TIMES)
"""The sort orders in which an agent's rank does not depend on the first gate."""

_BY_STANDING: Final = (Order.STANDING, Order.MEANING)
"""The sort orders in which withheld agents come last."""

_RANKED: Final = 0.5
"""The bonus in the first rank for having a standing, which puts such agents before others with as many words in their
names."""

_WITHHELD: Final = -100.0
"""The offset for withheld agents in the first rank. It puts them last, as a name matches at most 16 search words."""

_OUT_OF_REACH: Final = -1_000_000.0
"""The offset for withheld agents in the rank by meaning, which is at most 33,000 millionths."""

_LAST_TIME: Final = 2**62
"""A Unix time that is later than all stored times."""


@dataclass(frozen=True)
class _Part:
    """One of a step's statements."""

    write: Callable[[Plan, _Part], sa.Select[Any]]
    place: _Place  # None to begin with the first agent
    where: _Conditions = ()  # in addition to those of every statement of the search
    chain_id: int = 0  # the chain whose index is walked down
    relevance: int | None = None  # the number of words in names; None for any number, in the order of bounds or times
    listed: Sequence[int] | None = None  # the ids of all agents that it can find; on PostgreSQL


def steps(plan: Plan, place: _Place) -> Iterator[Iterable[_Part]]:
    """Yield the steps that find a search's agents, in order. Agents found by the statements of one step are merged."""
    if plan.begin is not None:
        yield [_Part(_all_agents, place, plan.begin)]
    elif plan.search.ranking in (Order.STANDING, Order.RELEVANCE):
        yield from _by_names(plan, place)
    elif plan.walks_bounds:
        yield _walks(plan.chains, _with_words(plan), _Part(_down_bounds, place, plan.words.has))
    else:
        yield _agent_walks(plan, place, None, plan.words.has)


def _by_names(plan: Plan, place: _Place) -> Iterator[Iterable[_Part]]:
    """Find the agents with all words in their names, then those with one word fewer in their names, and so on.

    When sorting by standing, agents with a standing come first in each group, and withheld agents come last overall.
    """
    by_standing, listed = plan.search.ranking is Order.STANDING, cache(partial(_with_words, plan))
    last = None if place is None else floor(place[0])
    for relevance in range(len(plan.words.terms) if last is None else min(len(plan.words.terms), last), -1, -1):
        here = place if relevance == last else None
        names = plan.words.names_with(relevance, plan.most)
        if names.begin is not None and names.files <= plan.few:
            yield _by_files(plan, here, names.begin, names.exactly)
            continue
        among: Callable[[], _Listed] = listed
        if names.begin is not None and names.files <= plan.most:
            among = partial(_agents_of, plan, names.begin)
        where = [*plan.words.has, *names.exactly]
        if by_standing and (here is None or here[0] > relevance):
            part = _Part(_down_ranks, here, where, relevance=relevance)
            yield _walks(plan.chains, among() if plan.walks_bounds else None, part)
            here = None
        if by_standing:
            yield _without_standing(plan, here, relevance, names.exactly)
        elif plan.walks_bounds:
            yield _walks(plan.chains, among(), _Part(_down_bounds, here, where, relevance=relevance))
        else:
            yield _agent_walks(plan, here, relevance, where)
    if by_standing:
        yield [_Part(_withheld_agents, None if place is None or place[0] >= 0 else place, plan.words.has)]


def _by_files(plan: Plan, place: _Place, begin: sa.ColumnElement[bool], exactly: _Conditions) -> list[_Part]:
    # SQLite starts with the documents, instead of with all agents of the chains.
    where = [unindexed(agent.c.chain_id).in_(plan.chains), begin, *exactly]
    if plan.search.ranking is Order.STANDING:
        where.append(sa.or_(standing.c.rank.is_not(None), standing.c.agent_id.is_(None)))  # without withheld agents
    return [_Part(_all_agents, place, where)]


def _without_standing(plan: Plan, place: _Place, relevance: int, exactly: _Conditions) -> Iterator[_Part]:
    """Find agents without a standing. Chains with standings have few, because each refresh covers every server."""
    walked = [*plan.chains]
    for chain_id in plan.with_standings if plan.search.rated_side is Side.SERVER else ():
        new = _newest(plan.connection, chain_id)
        if len(new) > _MOST_NEW:
            continue
        walked.remove(chain_id)
        if new:
            among = [agent.c.chain_id == chain_id, agent.c.agent_id.in_(new), standing.c.agent_id.is_(None)]
            yield _Part(_all_agents, place, [*among, *exactly, *plan.words.has])
    where = [*plan.words.has, *exactly]
    if plan.walks_bounds:
        yield from _walks(walked, None, _Part(_down_bounds, place, where, relevance=relevance))
    else:
        yield from _agent_walks(plan, place, relevance, where, walked)


def _agent_walks(
    plan: Plan, place: _Place, relevance: int | None, where: _Conditions, chains: Sequence[int] | None = None
) -> Iterator[_Part]:
    """Walk down the chains' agents. Each walk uses the index for its sort order."""
    for chain_id in sorted(plan.chains if chains is None else chains):
        if relevance is not None and place is not None and chain_id < place[2]:
            continue  # a cursor's key begins with the chain
        if plan.search.ranking is not Order.LAST_ACTIVE:
            yield _Part(_down_agents, place, [agent.c.chain_id == chain_id, *where], chain_id, relevance)
            continue
        identities = sa.select(registry.c.identity_registry).where(registry.c.chain_id == chain_id).distinct()
        for identity in plan.connection.execute(identities).scalars():
            walked = [agent_activity.c.chain_id == chain_id, agent_activity.c.identity_registry == identity]
            yield _Part(_down_agents, place, [*walked, *where], chain_id, relevance)


def _walks(chains: Sequence[int], listed: _Listed, part: _Part) -> Iterator[_Part]:
    """Walk down the chains' lower bounds or standings; if there is a list of agents, only among these."""
    for chain_id in chains if listed is None else sorted({*chains} & {*listed}):
        yield replace(part, chain_id=chain_id, listed=None if listed is None else listed[chain_id])


def _with_words(plan: Plan) -> _Listed:
    """Return the agents with all words, in names or elsewhere, if few files contain the words."""
    return _agents_of(plan, *plan.words.begin()) if plan.lists_agents else None


def _agents_of(plan: Plan, begin: sa.ColumnElement[bool]) -> _Listed:
    """Return the ids, by chain, of the agents whose files meet a condition on words; None if there are too many."""
    content, most = registration_words.c.content_hash, plan.most_agents
    tables = registration_words.join(files.file, files.file.c.content_hash == content).join(
        agent_file, agent_file.c.file_id == files.file.c.file_id
    )
    query = sa.select(agent_file.c.chain_id, agent_file.c.agent_id).select_from(tables).where(begin).limit(most + 1)
    rows = plan.connection.execute(query).all()
    if len(rows) > most:
        return None
    places: dict[int, list[int]] = {}
    for chain_id, agent_id in rows:
        places.setdefault(chain_id, []).append(agent_id)
    return places


def _newest(connection: sa.Connection, chain_id: int) -> list[int]:
    """Return a chain's agents registered since its last refresh of standings, up to one more than is allowed."""
    refresh = standing_refresh.c
    refreshed = connection.execute(sa.select(refresh.block_number).where(refresh.chain_id == chain_id)).scalars()
    last = min((number for number in refreshed if number is not None), default=-1)
    columns, new = agent.c, []
    newest = sa.select(columns.agent_id, columns.registered_block).where(columns.chain_id == chain_id)
    for limit in (1, _MOST_NEW + 1):  # often, even the newest agent is older than the refresh
        rows = connection.execute(newest.order_by(columns.registered_at.desc()).limit(limit))
        new = [int(agent_id) for agent_id, block in rows if block > last]
        if len(new) < limit:
            break
    return new


class _Statement:
    """The tables and the conditions that all statements of a search share."""

    def __init__(self, plan: Plan, *, walks_bounds: bool = False, has_standing: bool = False) -> None:
        self._plan = plan
        self._from = plan.tables
        self._where = [*plan.where]
        # The condition that the agent passes the first gate, unless `_where` contains it.
        self.passes_first: list[sa.ColumnElement[bool]] = []
        gates = plan.gates[walks_bounds:]
        for number, gate in enumerate(gates):
            if gate.agents is None:
                (self._where if number or walks_bounds else self.passes_first).append(gate.rank.is_not(None))
            else:
                is_agent = sa.and_(*(gate.agents.c[name] == agent.c[name] for name in KEY))
                self._from = self._from.join(gate.agents, is_agent)
        self._gate_rank = gates[0].rank if gates else None
        if plan.search.ranking in _BY_STANDING and not has_standing:
            self._from = self._from.outerjoin(standing, sa.and_(*self.of_standing()))

    def of_standing(self, *, looks_up_agents: bool = False) -> list[sa.ColumnElement[bool]]:
        columns = standing.c
        agent_id = unindexed(columns.agent_id) if looks_up_agents else columns.agent_id
        return [
            columns.side == self._plan.search.rated_side.value,
            agent.c.chain_id == columns.chain_id,
            agent.c.identity_registry == columns.identity_registry,
            agent.c.agent_id == agent_id,
        ]

    def without_standing(self) -> list[sa.ColumnElement[bool]]:
        if self._plan.search.ranking is not Order.STANDING:
            return []
        return [~sa.exists().where(*self.of_standing()).correlate(agent)]

    def select(
        self, first: sa.ColumnElement[Any], second: sa.ColumnElement[Any], where: Sequence[sa.ColumnElement[bool]]
    ) -> sa.Select[Any]:
        columns = [*(agent.c[name] for name in KEY), self._plan.words.relevance.label("relevance")]
        query = sa.select(*columns, first.label("first_rank"), second.label("second_rank"))
        return query.select_from(self._from).where(*self._where, *where)

    def ranks(self) -> tuple[sa.ColumnElement[float], sa.ColumnElement[float]]:
        """Return an agent's first rank, and the rank among agents with the same first rank."""
        order, zero = self._plan.search.ranking, sa.literal(0.0, _REAL)
        relevance = sa.cast(self._plan.words.relevance, _REAL)
        by_gate = zero if self._gate_rank is None else sa.cast(self._gate_rank, _REAL)
        if order is Order.RELEVANCE:
            return relevance, by_gate
        if order is Order.MEANING and self._plan.closest is not None:
            rank = standing.c.rank
            lowered = sa.case((sa.and_(rank.is_(None), standing.c.agent_id.is_not(None)), _OUT_OF_REACH), else_=0.0)
            closeness = sa.cast(self._plan.closest.c.rank, _REAL) + sa.cast(lowered, _REAL)
            return closeness, sa.case((rank.is_not(None), rank), else_=zero)
        if order is Order.STANDING:
            rank, has_none = standing.c.rank, standing.c.agent_id.is_(None)
            added = sa.case((rank.is_not(None), _RANKED), (has_none, 0.0), else_=_WITHHELD)
            return relevance + sa.cast(added, _REAL), sa.case((rank.is_not(None), rank), else_=zero)
        if order in TIMES:
            return sa.cast(TIMES[order], _REAL), zero
        return by_gate, zero


def rows_of(plan: Plan, parts: Iterable[_Part], count: int) -> list[sa.Row[Any]]:
    """Run a step's statements, and return the first agents that they find."""
    rows: list[sa.Row[Any]] = []
    dialect, sorts, by_key, statements = dialect_of(plan.connection), True, 0, 0
    for part in parts:
        if sorts and part.write not in (_all_agents, _withheld_agents):
            # PostgreSQL underestimates how many agents have the words, and would sort all agents that pass.
            dialect.set_local(plan.connection, "enable_sort", "off")
            sorts = False
        is_by_key = part.write is _down_agents and part.relevance is not None
        if is_by_key and by_key >= count:
            continue  # keys begin with the chain, and earlier chains have filled the page
        more_rows = plan.connection.execute(part.write(plan, part).limit(count)).all()
        by_key += len(more_rows) if is_by_key else 0
        rows += more_rows
        statements += 1
    if not sorts:
        dialect.set_local(plan.connection, "enable_sort", "on")
    if statements > 1:  # each statement only sorts its own rows
        rows.sort(key=lambda row: (-row.first_rank, -row.second_rank, *row[:3]))
    return rows[:count]


def _all_agents(plan: Plan, part: _Part) -> sa.Select[Any]:
    return _sorted(plan, _Statement(plan), part.place, part.where)


def _withheld_agents(plan: Plan, part: _Part) -> sa.Select[Any]:
    """Find all withheld agents, which are few and adjacent in the index on ranks."""
    statement = _Statement(plan, has_standing=True)
    is_withheld = [standing.c.chain_id.in_(plan.chains), standing.c.rank.is_(None)]
    of_agent = statement.of_standing(looks_up_agents=True)
    return _sorted(plan, statement, part.place, [*is_withheld, *of_agent, *part.where])


def _sorted(
    plan: Plan, statement: _Statement, place: _Place, where: Sequence[sa.ColumnElement[bool]]
) -> sa.Select[Any]:
    first_rank, second_rank = statement.ranks()
    is_ranked = plan.search.ranking not in _WITHOUT_GATE
    inner = (
        statement.select(first_rank, second_rank, where if is_ranked else [*statement.passes_first, *where])
        .offset(0)  # prevents the engine from computing ranks both here and in the outer query
        .subquery()
    )
    ranks = inner.c.first_rank.desc(), inner.c.second_rank.desc()
    query = sa.select(inner).order_by(*ranks, *(inner.c[name] for name in KEY))
    if is_ranked and statement.passes_first:
        by_gate = inner.c.second_rank if plan.search.ranking is Order.RELEVANCE else inner.c.first_rank
        query = query.where(by_gate.is_not(None))
    if place is not None:
        first_rank, second_rank = (sa.literal(rank, _REAL) for rank in place[:2])
        is_after = _comes_after(inner.c, place)
        tied = sa.or_(inner.c.second_rank < second_rank, sa.and_(inner.c.second_rank == second_rank, is_after))
        query = query.where(sa.or_(inner.c.first_rank < first_rank, sa.and_(inner.c.first_rank == first_rank, tied)))
    return query


def _down_agents(plan: Plan, part: _Part) -> sa.Select[Any]:
    """Walk down a chain's agents in the order of their keys or, without conditions on names, in order of time."""
    place, relevance, statement = part.place, part.relevance, _Statement(plan, has_standing=True)
    time = TIMES.get(plan.search.ranking, agent.c.updated_at)
    where, order = [] if place is None else [_comes_after(agent.c, place)], []
    first = sa.cast(time, _REAL) if relevance is None else sa.literal(float(relevance), _REAL)
    if relevance is None:
        last = _LAST_TIME if place is None else int(min(max(place[0], -_LAST_TIME), _LAST_TIME))  # untrusted
        # This also holds on the first page. It lets SQLite start at the right position in the index.
        where, order = [time <= last, *(sa.or_(time < last, is_after) for is_after in where)], [time.desc()]
    query = statement.select(first, sa.literal(0.0, _REAL), [*part.where, *where, *statement.without_standing()])
    return query.order_by(*order, agent.c.identity_registry, agent.c.agent_id)


def _down_bounds(plan: Plan, part: _Part) -> sa.Select[Any]:
    """Walk down a chain's lower bounds for the first gate's tag.

    When sorting by standing, lower bounds (which include false ratings) are not used: agents without a standing are
    found in the order of their keys.
    """
    is_by_key = plan.search.ranking is Order.STANDING
    columns, statement = summary.c, _Statement(plan, walks_bounds=True, has_standing=True)
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
    bound = sa.literal(0.0, _REAL) if is_by_key else sa.cast(columns.lower_bound, _REAL)
    fixed = sa.literal(float(part.relevance or 0), _REAL)
    first, second = (bound, fixed) if part.relevance is None else (fixed, bound)
    if part.place is not None:
        rank = part.place[part.relevance is not None]
        where += [_comes_after(agent.c, part.place)] if is_by_key else _from(columns.lower_bound, rank, part.place)
    query = statement.select(first, second, [*where, *statement.without_standing()]).where(*_among(part, columns))
    order = [] if is_by_key else [columns.lower_bound.desc()]
    return query.order_by(*order, registry.c.identity_registry, agent.c.agent_id)


def _down_ranks(plan: Plan, part: _Part) -> sa.Select[Any]:
    """Walk down a chain's standings on the side of the first gate, in order of rank."""
    columns, statement = standing.c, _Statement(plan, has_standing=True)
    where = [
        columns.chain_id == part.chain_id,
        columns.rank.is_not(None),
        *statement.of_standing(looks_up_agents=True),
        *statement.passes_first,
        *part.where,
    ]
    if part.place is not None:
        where += _from(columns.rank, part.place[1], part.place)
    first = sa.literal((part.relevance or 0) + _RANKED, _REAL)
    query = statement.select(first, columns.rank, where).where(*_among(part, columns))
    return query.order_by(columns.rank.desc(), columns.identity_registry, columns.agent_id)


def _among(part: _Part, columns: Any) -> list[sa.ColumnElement[bool]]:
    if part.listed is None:
        return []
    # A sum cannot be looked up in an index.
    return [
        sa.type_coerce(columns.agent_id + 0, sa.Numeric(78, 0))
        == sa.any_(sa.literal(part.listed, sa.ARRAY(sa.Numeric(78, 0))))
    ]


def _from(column: sa.ColumnElement[Any], rank: float, place: tuple[Any, ...]) -> list[sa.ColumnElement[bool]]:
    limit = sa.literal(rank, _REAL)
    # The first part repeats the second in a form that lets the database seek in the index.
    return [column <= limit, sa.or_(column < limit, _comes_after(agent.c, place))]


def _comes_after(columns: Any, place: tuple[Any, ...]) -> sa.ColumnElement[bool]:
    key = [columns[name] for name in KEY]
    return sa.tuple_(*key) > sa.tuple_(*place[2:], types=[column.type for column in key])
