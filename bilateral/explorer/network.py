"""The trust network page: its nodes and links, and each node's position."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import cos, pi, sin, sqrt
from threading import Lock
from time import monotonic
from typing import Final

from sqlalchemy import Connection

from bilateral.core.interpreter import tuned_interpreter
from bilateral.core.values.standing import Status
from bilateral.explorer.records import progress_of
from bilateral.index.files.queries import names_of
from bilateral.index.operating.chains import ChainProgress
from bilateral.index.ratings.neighbourhood import MAX_NODES, Link, neighbourhood, newest_links
from bilateral.index.reading.registries import AgentKey, Registries
from bilateral.index.standing.queries import Doubt, doubts_of, flagged_accounts
from bilateral.index.standing.words import MARKS

ROWS: Final = 50
"""The maximum number of links per table page."""

_GOLDEN: Final = pi * (3 - sqrt(5))  # the golden angle, at which a spiral's points never line up
_ROUNDS: Final = 6  # each passes over all links; the first few move most agents
_AROUND: Final = 12  # neighbours whose own links are drawn, because each needs a query
_MOST_AROUND: Final = 60  # the agent's own links; with more, names would overlap
_CACHE_SECONDS: Final = 10.0  # a browser requests the JSON of a page immediately
_MAX_CACHED: Final = 8  # networks, by chain and limit; above it, the cache is emptied


@dataclass(frozen=True, slots=True)
class Node:
    """An agent or account in a network.

    Attributes:
        id: The agent's short id, or the account's address.
        name: The agent's name (untrusted text); None if there is none.
        x: The node's horizontal position, from left to right.
        y: The node's vertical position, from bottom to top.
        ratings: The number of ratings that the agent or account gave and received.
        role: `server` if clients rated the node, otherwise `client`.
        group: The number of the node's group. Nodes in a group mostly rate each other. The largest group is 1.
        is_flagged: True if trust analysis flags the account, or holds the agent back.
        mark: `held back` or `contested`; None if neither applies.
    """

    id: str
    name: str | None
    x: float
    y: float
    ratings: int
    role: str
    group: int
    is_flagged: bool
    mark: str | None = None


@dataclass(frozen=True, slots=True)
class NetworkPage:
    """The page's content.

    Attributes:
        agent: The agent whose neighbourhood is shown; None for a whole chain.
        nodes: The agents and accounts, starting with those that have the most ratings.
        links: The links that show who rated whom, starting with those that have the most ratings.
        doubts: Why agents among the nodes are held back or contested, by short id.
    """

    chain_id: int
    agent: str | None
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    doubts: dict[str, Doubt]
    progress: ChainProgress


class RecentNetworks:
    """A cache of networks, because a page requests its network as HTML and as JSON."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._cached: dict[tuple[int, int], tuple[float, NetworkPage]] = {}

    def get(self, chain_id: int, limit: int, make: Callable[[], NetworkPage]) -> NetworkPage:
        """Return a chain's network. Concurrent callers share one computation."""
        with self._lock:
            now = monotonic()
            self._cached = {key: cached for key, cached in self._cached.items() if now < cached[0]}
            if (chain_id, limit) not in self._cached:
                if len(self._cached) >= _MAX_CACHED:
                    self._cached.clear()
                with tuned_interpreter():
                    page = make()
                self._cached[chain_id, limit] = monotonic() + _CACHE_SECONDS, page
            return self._cached[chain_id, limit][1]


def network_page(connection: Connection, registries: Registries, chain_id: int, limit: int) -> NetworkPage:
    """Read the network that a chain's newest ratings form."""
    identity = registries.identity_of(chain_id)
    links = newest_links(connection, chain_id, identity, limit)
    nodes, caveats = _nodes(connection, registries, links, flagged_accounts(connection, chain_id, identity))
    return NetworkPage(chain_id, None, nodes, links, caveats, progress_of(connection, chain_id))


def neighbourhood_page(connection: Connection, registries: Registries, key: AgentKey) -> NetworkPage:
    """Read the network around an agent: its counterparts, and their counterparts."""
    links = _links_of(connection, key, _MOST_AROUND)
    neighbours = Counter(end for link in links for end in (link.source, link.target) if ":" in end and end != key.id)
    for other, _ in neighbours.most_common(_AROUND):
        links |= _links_of(connection, registries.key(key.chain_id, int(other.partition(":")[2])), _AROUND)
    ordered = tuple(sorted(links, key=lambda link: (-link.count, link.source, link.target, link.side)))
    flagged = flagged_accounts(connection, key.chain_id, key.identity_registry)
    nodes, caveats = _nodes(connection, registries, ordered, flagged)
    return NetworkPage(key.chain_id, key.id, nodes, ordered, caveats, progress_of(connection, key.chain_id))


def _links_of(connection: Connection, key: AgentKey, limit: int) -> set[Link]:
    """Return one agent's links, without links to validators."""
    values: dict[tuple[str, str, str], list[tuple[int, float | None]]] = defaultdict(list)
    for edge in neighbourhood(connection, key, limit=limit).edges:
        other = edge.agent or edge.account
        if edge.side != "validator" and other is not None and other != key.id:
            ends = (other, key.id) if edge.direction == "received" else (key.id, other)
            values[(*ends, edge.side)].append((edge.count, edge.share))
    links = set()
    for (source, target, side), figures in values.items():
        scaled = [(count, share) for count, share in figures if share is not None]
        weight = sum(count for count, _ in scaled)
        mean = 100 * sum(count * share for count, share in scaled) / weight if weight else None
        links.add(Link(source, target, side, sum(count for count, _ in figures), mean))
    return links


def _nodes(
    connection: Connection, registries: Registries, links: Sequence[Link], flagged: frozenset[str]
) -> tuple[tuple[Node, ...], dict[str, Doubt]]:
    """Return the linked nodes with their positions, grouped by community, and why any are held back or contested."""
    ratings: Counter[str] = Counter()
    for link in links:
        ratings[link.source] += link.count
        ratings[link.target] += link.count
    servers = {link.target for link in links if link.side == "server"}
    order = [name for name, _ in sorted(ratings.items(), key=lambda rating: (-rating[1], rating[0]))][:MAX_NODES]
    names = names_of(connection, registries, (node for node in order if ":" in node))
    caveats = doubts_of(connection, registries, (node for node in order if ":" in node))
    label = _communities(order, links)
    members: dict[int, list[str]] = defaultdict(list)
    for name, of in zip(order, label, strict=True):
        members[of].append(name)
    groups = sorted(members.values(), key=lambda member: (-len(member), member[0]))
    number = {member: place for place, group in enumerate(groups, 1) for member in group}
    places = _places(groups)
    marks = {node: MARKS[Status(caveat.status)] for node, caveat in caveats.items()}
    nodes = tuple(
        Node(
            *(node, names.get(node), *places[node], ratings[node]),
            "server" if node in servers else "client",
            number[node],
            node in flagged or marks.get(node) == MARKS[Status.HELD_BACK],
            marks.get(node),
        )
        for node in order
    )
    return nodes, caveats


def _communities(order: Sequence[str], links: Iterable[Link]) -> list[int]:
    """Return each node's community, by index. In each round, a node joins the community with most of its links."""
    place = {name: number for number, name in enumerate(order)}
    near: list[list[tuple[int, int]]] = [[] for _ in order]
    for link in links:
        source, target = place[link.source], place[link.target]
        near[source].append((target, link.count))
        near[target].append((source, link.count))
    rank = [0] * len(order)
    for number, name in enumerate(sorted(order)):
        rank[place[name]] = number
    label = list(range(len(order)))
    for _ in range(_ROUNDS):
        has_changed = False
        for neighbour, neighbours in enumerate(near):
            weights: dict[int, int] = {}
            for other, count in neighbours:
                of = label[other]
                weights[of] = weights.get(of, 0) + count
            best, most = label[neighbour], (0, 0)
            for of, weight in weights.items():
                if weight >= most[0] and (weight, rank[of]) > most:
                    best, most = of, (weight, rank[of])
            has_changed |= best != label[neighbour]
            label[neighbour] = best
        if not has_changed:
            break
    return label


def _places(groups: Iterable[Sequence[str]]) -> dict[str, tuple[float, float]]:
    """Return the positions: groups along a spiral, the largest in the middle, and each group's nodes along a spiral."""
    places, area = {}, 0.0
    for number, group in enumerate(groups):
        radius = sqrt(len(group))
        distance = 0.0 if number == 0 else 1.35 * sqrt(area) + radius
        centre = distance * cos(number * _GOLDEN), distance * sin(number * _GOLDEN)
        area += (radius + 0.6) ** 2
        for place, name in enumerate(group):
            from_centre = 0.9 * sqrt(place)
            x, y = (c + from_centre * f(place * _GOLDEN) for c, f in zip(centre, (cos, sin), strict=True))
            places[name] = round(x, 2), round(y, 2)
    return places
