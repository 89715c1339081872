"""Search for agents by words, by what they do, and by how they are rated.

An agent that strangers praise is found like any other: words and capabilities are the claims of the file's author.
Gates are the way to ask for agents that accounts one trusts have rated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, func, select

from bilateral.core.identifiers import global_agent_id
from bilateral.index.agents.tables import agent
from bilateral.index.files import tables as files
from bilateral.index.log.tables import registry
from bilateral.index.ratings.tables import summary
from bilateral.index.reading import pages
from bilateral.index.reading.prepared import Prepared, listed, one_of
from bilateral.index.reading.registries import read_registries
from bilateral.index.reading.values import Wide as WideValue
from bilateral.index.search.conditions import KEY, WITH_FILES
from bilateral.index.search.facets import LOOKED_AT, Facets, count_facets
from bilateral.index.search.filters import AgentSearch, Gate, Order
from bilateral.index.search.gates import figures, is_of_summaries, limited, rating_columns, ratings, source
from bilateral.index.search.plans import plan_of
from bilateral.index.search.reader import has_model
from bilateral.index.search.statements import rows_of, steps
from bilateral.index.standing.queries import statuses


@dataclass(frozen=True, slots=True)
class MatchedRating:
    """The ratings by which an agent passed the first gate of a search.

    Attributes:
        registry: The registry of ratings.
        count: The number of ratings.
        counterparts: The number of distinct clients, or of servers, that gave them.
        mean: Their mean.
        lower_bound: The value that the agent has at least, with a confidence of 95 %; None for a tag without a scale.
    """

    registry: str
    tag: str
    count: int
    counterparts: int
    mean: float
    lower_bound: float | None


def matched_ratings(
    connection: Connection, gate: Gate, order: Order, wanted: Sequence[tuple[int, str, int]]
) -> dict[tuple[int, str, int], MatchedRating]:
    """Return the best ratings of some agents for a gate.

    Args:
        order: The order of the search, which tells the best of several.
        wanted: The agents.
    """
    values, (most_chains, most_identities, most_ids) = listed(KEY, zip(*wanted, strict=True))
    addresses = [row[0] for row in _addresses(most_chains, most_identities).all(connection, values)]
    if is_of_summaries(gate):
        more_values, (most_registries,) = listed(["registry"], [addresses])
        values |= {**more_values, "side": gate.summed_side, "tag": gate.tag}
        rows = _summaries(most_chains, most_registries, most_ids).all(connection, values)
        passing = [row for row in rows if _passes(gate, *row[5:])]
    else:
        # With the registries, the rows are found by their key.
        columns = source(gate).c
        chains, _, ids = (sorted(set(column)) for column in zip(*wanted, strict=True))
        conditions = (columns.chain_id.in_(chains), columns.registry.in_(addresses), columns.agent_id.in_(ids))
        passing = [tuple(row) for row in connection.execute(ratings(gate, *conditions))]
    best_of: dict[tuple[int, str, int], MatchedRating] = {}
    for chain_id, identity, agent_id, address, tag, count, counterparts, mean, bound in passing:
        rating = MatchedRating(
            address, tag, int(count), int(counterparts), float(mean), None if bound is None else float(bound)
        )
        previous = best_of.get((chain_id, identity, agent_id))
        if previous is None or _merit(rating, order) > _merit(previous, order):
            best_of[chain_id, identity, agent_id] = rating
    return best_of


def _merit(rating: MatchedRating, order: Order) -> tuple[Any, ...]:
    """Return what makes one of an agent's ratings better than another."""
    bound = -1.0 if rating.lower_bound is None else rating.lower_bound
    first = {Order.MEAN: rating.mean, Order.ACTIVITY: float(rating.count)}.get(order, bound)
    return first, bound, rating.count, rating.registry, rating.tag


@lru_cache
def _addresses(chains: int, identities: int) -> Prepared:
    """Return the statement for the registries of ratings that belong to some identity registries."""
    existing = registry.c
    asked = (
        one_of("chain_id", existing.chain_id, chains),
        one_of("identity_registry", existing.identity_registry, identities),
    )
    return Prepared(select(existing.address).where(*asked).distinct())


@lru_cache
def _summaries(chains: int, registries: int, agents: int) -> Prepared:
    """Return the statement for the ratings of some agents by all, for one `side` and `tag`, as `ratings` gives them."""
    columns = summary.c
    sizes = {"chain_id": chains, "registry": registries, "agent_id": agents}
    conditions = (columns[name] == bindparam(name, type_=columns[name].type) for name in ("side", "tag"))
    return Prepared(
        select(*rating_columns(summary), *figures(columns)).where(
            registry.c.chain_id == columns.chain_id,
            registry.c.address == columns.registry,
            *conditions,
            *(one_of(name, columns[name], size) for name, size in sizes.items()),
        )
    )


def _passes(gate: Gate, *figures_of: Any) -> bool:
    """Check that ratings fulfil a gate, as SQL checks it."""
    limits = limited(gate, *figures_of)
    return all(figure is not None and compare(figure, limit) for compare, figure, limit in limits)


_SHOWN: Final = 300
"""Characters of a description that a search shows."""


@dataclass(frozen=True, slots=True)
class FoundAgent:
    """An agent that a search found. Name and description are the word of a stranger.

    Attributes:
        id: The short id, such as `8453:247`.
        global_id: The id among all registries.
        identity_registry: The address of its identity registry.
        agent_id: The id of its token.
        owner: The owner's address.
        wallet: The address that receives its payments; None without one.
        name: Its name; None without a file.
        description: The beginning of its description.
        active: True if its file says that it works; None if it does not say.
        x402_support: True if its file says that it takes payments by x402.
        registered_at: The time of its registration, Unix seconds.
        updated_at: The time of its last change on chain.
        relevance: The number of words of the query with which a word of the name begins. 0 without a text.
        rating: The ratings by which it passed the first gate; None without a gate.
        status: The status of its standing on the first gate's side: `ok`, `thin`, `contested` or `held_back`, which
            says not to pay it; None before the first analysis that sees the agent.
        standing: The lower bound of its standing.
        reason: The code of the reason that counts most for its standing.
        standing_rating: The rating of its standing, 0 to 100, which every page shows; None without one.
    """

    id: str
    global_id: str
    chain_id: int
    identity_registry: str
    agent_id: WideValue
    owner: str
    wallet: str | None
    name: str | None
    description: str | None
    active: bool | None
    x402_support: bool | None
    registered_at: int
    updated_at: int
    relevance: int
    rating: MatchedRating | None
    status: str | None = None
    standing: float | None = None
    reason: str | None = None
    standing_rating: float | None = None


def search_agents(
    connection: Connection, search: AgentSearch, *, limit: int = pages.DEFAULT_LIMIT, cursor: str | None = None
) -> pages.Page[FoundAgent]:
    """Return the agents that fulfil all conditions of a search, in its order.

    Args:
        search: The conditions.
        limit: The largest number of agents.
        cursor: The cursor of the former page. It names a rank and an agent, so new blocks shift nothing; an agent whose
            rank changed meanwhile may come twice, or not.

    Raises:
        InvalidArgumentError: The limit is out of range; or the order is that of meaning, and the extra `semantic` is
            not installed.
        InvalidCursorError: The cursor is of another search.
    """
    page, _ = search_with_facets(connection, search, limit=limit, cursor=cursor, sample=0)
    return page


@dataclass(frozen=True, slots=True)
class FoundAgents(pages.Page[FoundAgent]):
    """A page of a search.

    Attributes:
        items: The agents.
        next: The cursor of the next page; None at the end of the list.
        is_closest: True if no agent has all words, and these come closest to their meaning.
    """

    items: tuple[FoundAgent, ...]  # pydantic does not see it in the base
    next: str | None
    is_closest: bool = False


def by_meaning(search: AgentSearch) -> AgentSearch | None:
    """Return the search that is made if no agent has all words; None with an order, or without the extra `semantic`."""
    if search.order is not None or not search.words or not has_model():
        return None
    return replace(search, order=Order.MEANING)


def search_indexed(
    connection: Connection, search: AgentSearch, *, limit: int = pages.DEFAULT_LIMIT, cursor: str | None = None
) -> FoundAgents:
    """Return the agents as `search_agents` does, or if none has all words those that come closest to their meaning.

    Raises:
        ChainNotIndexedError: A chain of the search is not indexed.
    """
    if search.chains:
        read_registries(connection).require_indexed(search.chains)
    closest = by_meaning(search)
    try:
        page = search_agents(connection, search, limit=limit, cursor=cursor)
    except pages.InvalidCursorError:
        if closest is None:
            raise
        page = search_agents(connection, closest, limit=limit, cursor=cursor)  # a further page of the closest
    else:
        if page.items or cursor is not None or closest is None:
            return FoundAgents(page.items, page.next)
        page = search_agents(connection, closest, limit=limit)
    return FoundAgents(page.items, page.next, is_closest=bool(page.items))


def search_with_facets(
    connection: Connection,
    search: AgentSearch,
    *,
    limit: int = pages.DEFAULT_LIMIT,
    cursor: str | None = None,
    sample: int = LOOKED_AT,
) -> tuple[pages.Page[FoundAgent], Facets]:
    """Return the agents as `search_agents` does, and the facets of the first ones.

    Args:
        search: The conditions.
        limit: As of `search_agents`.
        cursor: As of `search_agents`. Facets are those of the agents from there on.
        sample: The number of agents of which facets are counted; 0 for none.

    Raises:
        InvalidArgumentError: As of `search_agents`.
        InvalidCursorError: As of `search_agents`.
    """
    pages.require_limit(limit)
    none = Facets(0, False, ())
    kind = _kind(search)
    place = None if cursor is None else pages.decode_cursor(kind, cursor, float, float, int, str, pages.Wide)
    plan = plan_of(connection, search)
    if plan is None:
        return pages.Page((), None), none
    rows: list[Row[Any]] = []
    requested = max(limit, sample) + 1
    for step in steps(plan, place):
        rows += rows_of(plan, step, requested - len(rows))
        if len(rows) >= requested:
            break
    displayed = rows[:limit]
    details = _details(connection, plan.search, displayed)
    agents = tuple(_found(row, *detail) for row, detail in zip(displayed, details, strict=True))
    facets = none
    if sample:
        counted = [(row.chain_id, row.identity_registry, int(row.agent_id)) for row in rows[:sample]]
        facets = count_facets(connection, counted, plan.search.rated_side.value, has_more=len(rows) > sample)
    if len(rows) <= limit:
        return pages.Page(agents, None), facets
    last = displayed[-1]
    key = (float(last.first_rank), float(last.second_rank), last.chain_id, last.identity_registry, last.agent_id)
    return pages.Page(agents, pages.encode_cursor(kind, *key)), facets


def _details(connection: Connection, search: AgentSearch, rows: Sequence[Row[Any]]) -> list[tuple[Any, ...]]:
    """Return for each agent of a page what the search shows of it, its ratings for the first gate, and its standing."""
    if not rows:
        return []
    requested = [(row.chain_id, row.identity_registry, int(row.agent_id)) for row in rows]
    values, sizes = listed(KEY, zip(*requested, strict=True))
    by_key = {tuple(row[:3]): row for row in _details_of(*sizes).records(connection, values)}
    ratings = matched_ratings(connection, search.gates[0], search.ranking, requested) if search.gates else {}
    side = search.gates[0].side.value if search.gates else "server"
    standings = statuses(connection, requested, side)
    return [(by_key[key], ratings.get(key), *standings.get(key, ())) for key in requested]


@lru_cache
def _details_of(*sizes: int) -> Prepared:
    """Return the statement for what a search shows of agents, whose chains, registries and ids are lists."""
    read = files.registration_file
    displayed = select(
        *(agent.c[name] for name in (*KEY, "owner", "wallet", "registered_at", "updated_at")),
        read.c.name,
        func.substr(read.c.description, 1, _SHOWN).label("description"),
        read.c.active,
        read.c.x402_support,
    )
    asked = (one_of(name, agent.c[name], size) for name, size in zip(KEY, sizes, strict=True))
    return Prepared(displayed.select_from(WITH_FILES).where(*asked))


def _found(row: Row[Any], shown: Row[Any], rating: MatchedRating | None, *standing: Any) -> FoundAgent:
    chain_id, identity, agent_id = row.chain_id, row.identity_registry, int(row.agent_id)
    return FoundAgent(
        f"{chain_id}:{agent_id}",
        global_agent_id(chain_id, identity, agent_id),
        *(chain_id, identity, agent_id, shown.owner, shown.wallet, shown.name, shown.description),
        *(shown.active, shown.x402_support, shown.registered_at, shown.updated_at, row.relevance, rating),
        *standing,
    )


def _kind(search: AgentSearch) -> str:
    """Return the name of a search in its cursors, so that a cursor of another search is refused."""
    return f"agents {sha256(repr(search).encode()).hexdigest()[:16]}"
