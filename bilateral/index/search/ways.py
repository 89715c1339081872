"""The ways to the first agents of a search, as steps that each look at few rows. A search stops when a page is full."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cache, partial
from math import floor
from typing import Any, Final, TypeAlias

from sqlalchemy import ColumnElement, Connection, or_, select

from bilateral.index.agents.tables import agent, agent_activity
from bilateral.index.files import tables as files
from bilateral.index.files.tables import agent_file
from bilateral.index.log.tables import registry
from bilateral.index.log.unindexed import unindexed
from bilateral.index.search.filters import Order, Side
from bilateral.index.search.plans import Plan
from bilateral.index.search.tables import registration_words
from bilateral.index.standing.tables import standing, standing_refresh

Place: TypeAlias = tuple[Any, ...] | None
Listed: TypeAlias = Mapping[int, Sequence[int]] | None
Conditions: TypeAlias = Sequence[ColumnElement[bool]]

_MOST_NEW: Final = 500
"""Agents that were registered since the last refresh up to which they are listed. A refresh takes seconds, and as many
registrations take longer on any chain."""


class Way(Enum):
    """The forms of the statements of a search."""

    ALL = auto()
    """All agents that fulfil the conditions, sorted by their ranks."""

    HELD_BACK = auto()
    """All agents that are held back. They are few, and the index of ranks has them together."""

    AGENTS = auto()
    """Down the agents of a chain, in the order of their keys; for any names, in that of the times."""

    BOUNDS = auto()
    """Down the lower bounds of a chain under the tag of the first gate."""

    RANKS = auto()
    """Down the standings of a chain that rank, on the side of the first gate."""


@dataclass(frozen=True)
class Part:
    """A statement of a step.

    Attributes:
        way: The form of the statement.
        place: The values of the cursor; None to begin with the first agent.
        where: Its conditions, beside those of every statement of the search.
        chain_id: The chain that it walks down.
        relevance: The number of words that the names have; None for any number, in the order of bounds or times alone.
        listed: The ids of all agents that it can find, on PostgreSQL; None if they are not known.
    """

    way: Way
    place: Place
    where: Conditions = ()
    chain_id: int = 0
    relevance: int | None = None
    listed: Sequence[int] | None = None


def steps(plan: Plan, place: Place) -> Iterator[Iterable[Part]]:
    """Yield the steps to the agents of a search, in their order. The agents of each step's statements are merged."""
    if plan.begin is not None:
        yield [Part(Way.ALL, place, plan.begin)]
    elif plan.search.ranking in (Order.STANDING, Order.RELEVANCE):
        yield from _by_names(plan, place)
    elif plan.walks_bounds:
        yield _down(plan.chains, _with_words(plan), Part(Way.BOUNDS, place, plan.words.has))
    else:
        yield _down_agents(plan, place, None, plan.words.has)


def _by_names(plan: Plan, place: Place) -> Iterator[Iterable[Part]]:
    """Find the agents with all words in their names, then those with one word less, and so on.

    In the order of standings, those with a standing come first each time; and those that are held back at last.
    """
    by_standing, listed = plan.search.ranking is Order.STANDING, cache(partial(_with_words, plan))
    last = None if place is None else floor(place[0])
    for relevance in range(len(plan.words.terms) if last is None else min(len(plan.words.terms), last), -1, -1):
        here = place if relevance == last else None
        names = plan.words.names_with(relevance, plan.sizes.most)
        if names.begin is not None and names.files <= plan.few:
            yield _by_files(plan, here, names.begin, names.exactly)
            continue
        among: Callable[[], Listed] = listed
        if names.begin is not None and names.files <= plan.sizes.most:
            among = partial(_agents_of, plan, names.begin)
        where = [*plan.words.has, *names.exactly]
        if not by_standing:
            if plan.walks_bounds:
                yield _down(plan.chains, among(), Part(Way.BOUNDS, here, where, relevance=relevance))
            else:
                yield _down_agents(plan, here, relevance, where)
            continue
        if here is None or here[0] > relevance:
            part = Part(Way.RANKS, here, where, relevance=relevance)
            yield _down(plan.chains, among() if plan.walks_bounds else None, part)
            here = None
        yield _without_standing(plan, here, relevance, names.exactly)
    if by_standing:
        yield [Part(Way.HELD_BACK, None if place is None or place[0] >= 0 else place, plan.words.has)]


def _by_files(plan: Plan, place: Place, begin: ColumnElement[bool], exactly: Conditions) -> list[Part]:
    """Begin with the files that have words in their names."""
    # SQLite begins with the documents, and not with all agents of the chains.
    where = [unindexed(agent.c.chain_id).in_(plan.chains), begin, *exactly]
    if plan.search.ranking is Order.STANDING:
        where.append(or_(standing.c.rank.is_not(None), standing.c.agent_id.is_(None)))  # not held back
    return [Part(Way.ALL, place, where)]


def _without_standing(plan: Plan, place: Place, relevance: int, exactly: Conditions) -> Iterator[Part]:
    """Find agents without a standing.

    Every server has a standing from the first refresh after its registration, so those of chains with standings are
    few. Clients have one if they are rated.
    """
    walked = [*plan.chains]
    for chain_id in plan.with_standings if plan.search.rated_side is Side.SERVER else ():
        new = _newest(plan.connection, chain_id)
        if len(new) > _MOST_NEW:
            continue
        walked.remove(chain_id)
        if new:
            among = [agent.c.chain_id == chain_id, agent.c.agent_id.in_(new), standing.c.agent_id.is_(None)]
            yield Part(Way.ALL, place, [*among, *exactly, *plan.words.has])
    where = [*plan.words.has, *exactly]
    if plan.walks_bounds:
        yield from _down(walked, None, Part(Way.BOUNDS, place, where, relevance=relevance))
    else:
        yield from _down_agents(plan, place, relevance, where, walked)


def _down_agents(
    plan: Plan, place: Place, relevance: int | None, where: Conditions, chains: Sequence[int] | None = None
) -> Iterator[Part]:
    """Walk down the agents of chains. Each walk has an index of the order of its own."""
    for chain_id in sorted(plan.chains if chains is None else chains):
        if relevance is not None and place is not None and chain_id < place[2]:
            continue  # keys begin with the chain
        if plan.search.ranking is not Order.LAST_ACTIVE:
            yield Part(Way.AGENTS, place, [agent.c.chain_id == chain_id, *where], chain_id, relevance)
            continue
        identities = select(registry.c.identity_registry).where(registry.c.chain_id == chain_id).distinct()
        for identity in plan.connection.execute(identities).scalars():
            walked = [agent_activity.c.chain_id == chain_id, agent_activity.c.identity_registry == identity]
            yield Part(Way.AGENTS, place, [*walked, *where], chain_id, relevance)


def _down(chains: Sequence[int], listed: Listed, part: Part) -> Iterator[Part]:
    """Walk down the lower bounds or the standings of chains, among the listed agents if they are known."""
    for chain_id in chains if listed is None else sorted({*chains} & {*listed}):
        yield replace(part, chain_id=chain_id, listed=None if listed is None else listed[chain_id])


def _with_words(plan: Plan) -> Listed:
    """Return the agents with all words, if few files have them. They are the same for each number of words in names."""
    return _agents_of(plan, *plan.words.begin()) if plan.lists_agents else None


def _agents_of(plan: Plan, begin: ColumnElement[bool]) -> Listed:
    """Return the ids of the agents whose files fulfil a condition on their words, by chains; None for too many."""
    content, most = registration_words.c.content_hash, plan.sizes.most_agents
    tables = registration_words.join(files.file, files.file.c.content_hash == content).join(
        agent_file, agent_file.c.file_id == files.file.c.file_id
    )
    query = select(agent_file.c.chain_id, agent_file.c.agent_id).select_from(tables).where(begin).limit(most + 1)
    rows = plan.connection.execute(query).all()
    if len(rows) > most:
        return None
    places: dict[int, list[int]] = {}
    for chain_id, agent_id in rows:
        places.setdefault(chain_id, []).append(agent_id)
    return places


def _newest(connection: Connection, chain_id: int) -> list[int]:
    """Return the agents of a chain that were registered since its last refresh, up to one more than are listed."""
    made = standing_refresh.c
    refreshed = connection.execute(select(made.block_number).where(made.chain_id == chain_id)).scalars()
    last = min((number for number in refreshed if number is not None), default=-1)
    columns, new = agent.c, []
    newest = select(columns.agent_id, columns.registered_block).where(columns.chain_id == chain_id)
    for limit in (1, _MOST_NEW + 1):  # often the newest agent is older than the refresh
        rows = connection.execute(newest.order_by(columns.registered_at.desc()).limit(limit))
        new = [int(agent_id) for agent_id, block in rows if block > last]
        if len(new) < limit:
            break
    return new
