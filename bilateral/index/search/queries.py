"""Search for agents by words, capabilities and ratings, and count facets: properties in which the agents differ.

Words and capabilities are only claims by a file's author. Use gates on reviewers to find agents that are rated by
accounts that you trust.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final

from sqlalchemy import Connection, bindparam, func, select

from bilateral.core.values import STANDARD_TAGS
from bilateral.index.agents.tables import agent
from bilateral.index.files import tables as files
from bilateral.index.files.tables import READ_FILES, agent_file
from bilateral.index.log.tables import registry
from bilateral.index.measurements.queries import AGENTS_ALIVE
from bilateral.index.measurements.values import Alive
from bilateral.index.ratings.tables import summary
from bilateral.index.reading import pages
from bilateral.index.reading.registries import read_registries
from bilateral.index.search.filters import AgentSearch, Order
from bilateral.index.search.plans import has_verified_domain, plan_of
from bilateral.index.search.reader import has_model
from bilateral.index.search.results import FoundAgent as FoundAgent  # noqa: PLC0414  # public here
from bilateral.index.search.results import Key, agents_of_rows, is_listed, rows_about
from bilateral.index.search.results import MatchedRating as MatchedRating  # noqa: PLC0414
from bilateral.index.search.results import matched_ratings as matched_ratings  # noqa: PLC0414
from bilateral.index.search.statements import rows_of, steps
from bilateral.index.search.tables import KEY

FACET_SAMPLE: Final = 50
"""The number of agents for which facets are counted. Counting 100,000 agents would take seconds."""

_MOST_VALUES: Final = 6
"""The maximum number of values per facet. The most frequent values are included."""

_MOST_SERVICES: Final = 1_000
"""The maximum number of services to read for facets, because a file may list any number."""


@dataclass(frozen=True, slots=True)
class Facet:
    """A property with different values among the found agents.

    Attributes:
        name: `chain`, `service`, `tag`, `x402`, `verified_domain` or `alive`, which is also the name of the search
            condition for it.
        values: The property's values with the number of agents for each, starting with the most frequent. Values of
            `service` are untrusted text.
        hosts: The number of hosts for each value of `alive`, because one host may serve thousands of agents.
    """

    name: str
    values: tuple[tuple[str, int], ...]
    hosts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Facets:
    """A search's facets.

    Attributes:
        agents: The number of agents that were counted, at most the first 50.
        has_more: True if the search finds more agents.
        facets: The facets that have at least one value.
    """

    agents: int
    has_more: bool
    facets: tuple[Facet, ...]


def search_agents(
    connection: Connection, search: AgentSearch, *, limit: int = pages.DEFAULT_LIMIT, cursor: str | None = None
) -> pages.Page[FoundAgent]:
    """Return the agents that meet all conditions of a search, in the order of the search.

    Args:
        search: The conditions.
        limit: The maximum number of agents.
        cursor: The cursor from the previous page. A cursor identifies a rank and an agent, so new blocks do not shift
            pages. An agent whose rank changes between two pages may appear twice or not at all.

    Raises:
        InvalidArgumentError: The limit is out of range, or the sort order is by meaning and the `semantic` extra is not
            installed.
        InvalidCursorError: The cursor is from a different search.
    """
    page, _ = search_with_facets(connection, search, limit=limit, cursor=cursor, sample=0)
    return page


@dataclass(frozen=True, slots=True)
class FoundAgents(pages.Page[FoundAgent]):
    """A page of search results.

    Attributes:
        items: The agents.
        next: The cursor of the next page; None at the end of the list.
        is_closest: True if no agent has all words and `items` are the agents that are closest in meaning.
    """

    items: tuple[FoundAgent, ...]  # pydantic does not see the base class's field
    next: str | None
    is_closest: bool = False


def by_meaning(search: AgentSearch) -> AgentSearch | None:
    """Return a search's fallback by meaning; None if the search sets an order or the `semantic` extra is missing."""
    if search.order is not None or not search.words or not has_model():
        return None
    return replace(search, order=Order.MEANING)


def search_indexed(
    connection: Connection, search: AgentSearch, *, limit: int = pages.DEFAULT_LIMIT, cursor: str | None = None
) -> FoundAgents:
    """Return agents as `search_agents` does or, if no agent has all words, the agents that are closest in meaning.

    Raises:
        ChainNotIndexedError: A chain in the search is not indexed.
    """
    if search.chains:
        read_registries(connection).require_indexed(search.chains)
    closest = by_meaning(search)
    try:
        page = search_agents(connection, search, limit=limit, cursor=cursor)
    except pages.InvalidCursorError:
        if closest is None:
            raise
    else:
        if page.items or cursor is not None or closest is None:
            return FoundAgents(page.items, page.next)
    page = search_agents(connection, closest, limit=limit, cursor=cursor)  # may be a later page of the closest
    return FoundAgents(page.items, page.next, is_closest=bool(page.items))


def search_with_facets(
    connection: Connection,
    search: AgentSearch,
    *,
    limit: int = pages.DEFAULT_LIMIT,
    cursor: str | None = None,
    sample: int = FACET_SAMPLE,
) -> tuple[pages.Page[FoundAgent], Facets]:
    """Return agents as `search_agents` does, and the facets of the first agents.

    Args:
        search: The conditions.
        limit: As in `search_agents`.
        cursor: As in `search_agents`. Facets cover the agents after the cursor.
        sample: The number of agents for which facets are counted; 0 to count no facets.

    Raises:
        InvalidArgumentError: As in `search_agents`.
        InvalidCursorError: As in `search_agents`.
    """
    pages.require_limit(limit)
    none = Facets(0, False, ())
    # Cursors of other searches are rejected.
    kind = f"agents {sha256(repr(search).encode()).hexdigest()[:16]}"
    place = None if cursor is None else pages.decode_cursor(kind, cursor, float, float, int, str, pages.Wide)
    plan = plan_of(connection, search)
    if plan is None:
        return pages.Page((), None), none
    rows: list[Any] = []
    requested = max(limit, sample) + 1
    for step in steps(plan, place):
        rows += rows_of(plan, step, requested - len(rows))
        if len(rows) >= requested:
            break
    agents, facets = agents_of_rows(connection, plan.search, rows[:limit]), none
    if sample:
        counted = [(row.chain_id, row.identity_registry, int(row.agent_id)) for row in rows[:sample]]
        facets = _count_facets(connection, counted, plan.search.rated_side.value, has_more=len(rows) > sample)
    if len(rows) <= limit:
        return pages.Page(agents, None), facets
    *key, _, first_rank, second_rank = rows[limit - 1]
    return pages.Page(agents, pages.encode_cursor(kind, float(first_rank), float(second_rank), *key)), facets


def _count_facets(connection: Connection, agents: Sequence[Key], side: str, *, has_more: bool) -> Facets:
    counts: dict[str, Counter[str]] = {"chain": Counter(str(chain_id) for chain_id, *_ in agents)}
    if agents:
        rows = rows_about(connection, _FILES, agents)
        contents = Counter(row.content_hash for row in rows)
        counts["service"] = Counter()
        for content, name in connection.execute(_SERVICES, {"content_hash": sorted(contents)}):
            counts["service"][name] += contents[content]
        chains, identities, _ = (sorted(set(column)) for column in zip(*agents, strict=True))
        listed = {"chain_id": chains, "identity_registry": identities}
        registries = sorted(set(connection.execute(_REGISTRIES, listed).scalars()))
        rated = rows_about(connection, _RATED, agents, registry=registries, side=side)
        counts["tag"] = Counter(row.tag for row in rated)
        counts["x402"] = Counter({"yes": sum(row.x402_support is True for row in rows)})
        counts["verified_domain"] = Counter({"yes": len(rows_about(connection, _VERIFIED, agents))})
    facets = [
        Facet(name, tuple(sorted(values.items(), key=lambda value: (-value[1], value[0]))[:_MOST_VALUES]))
        for name, values in ((name, +values) for name, values in counts.items())
        if values
    ]
    if agents and (measured := rows_about(connection, AGENTS_ALIVE, agents)):
        facets.append(_alive_facet(agents, measured))
    return Facets(len(agents), has_more, tuple(facets))


def _alive_facet(agents: Sequence[Key], measured: Sequence[Any]) -> Facet:
    rows, hosts = defaultdict[Key, list[Any]](list), defaultdict[str, set[str]](set)
    for row in measured:
        rows[row.chain_id, row.identity_registry, int(row.agent_id)].append(row)
    states = {key: Alive(rows[key][0].alive) if rows[key] else Alive.UNKNOWN for key in agents}
    for key, alive in states.items():
        hosts[alive].update(row.host for row in rows[key])
    values = tuple((alive.value, count) for alive in Alive if (count := [*states.values()].count(alive)))
    return Facet("alive", values, tuple(len(hosts[alive]) for alive, _ in values))


# Statements are built only once, because building them takes as long as running them.
_FILES: Final = (
    select(
        *(agent_file.c[name] for name in KEY),
        *(files.registration_file.c[name] for name in ("content_hash", "x402_support")),
    )
    .select_from(READ_FILES)
    .where(*is_listed(agent_file.c, *KEY))
)
_SERVICES: Final = (
    select(files.registration_service.c.content_hash, func.lower(files.registration_service.c.name))
    .where(*is_listed(files.registration_service.c, "content_hash"))
    .distinct()
    .limit(_MOST_SERVICES)
)
_RATED: Final = (
    select(summary.c.chain_id, registry.c.identity_registry, summary.c.agent_id, summary.c.tag)
    .where(
        registry.c.chain_id == summary.c.chain_id,
        registry.c.address == summary.c.registry,
        summary.c.side == bindparam("side"),
        summary.c.tag.in_(tuple(STANDARD_TAGS)),  # strangers may rate an agent under any number of other tags
        *is_listed(summary.c, "chain_id", "registry", "agent_id"),
    )
    .distinct()
)
_REGISTRIES: Final = select(registry.c.address).where(*is_listed(registry.c, "chain_id", "identity_registry"))
_VERIFIED: Final = select(*(agent.c[name] for name in KEY)).where(*is_listed(agent.c, *KEY), has_verified_domain())
