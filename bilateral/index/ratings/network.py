"""The network of trust of a chain: who rated whom in its newest ratings."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import BigInteger, ColumnElement, Connection, Subquery, and_, bindparam, or_, select, type_coerce
from sqlalchemy.types import NullType

from bilateral.core.events import ClientRated, Event, NewFeedback
from bilateral.core.values.bounds import SHARES, scale_of_tag, share_of_scale
from bilateral.index.agents import tables as agent_tables
from bilateral.index.log import tables as schema
from bilateral.index.log.columns import python_integer
from bilateral.index.reading.prepared import CHAIN, Prepared

MAX_RATINGS: Final = 20_000
"""The newest ratings of each direction that make a network."""

MAX_NODES: Final = 5_000
"""The largest number of agents and accounts of a network: those with the most ratings."""


@dataclass(slots=True, unsafe_hash=True)  # a network makes 20,000, and frozen ones take four times as long
class Link:
    """The ratings of one rater for one agent.

    Attributes:
        source: The rater: the short id of an agent, or an address.
        target: The short id of the rated agent.
        side: The side of the rated agent, `server` or `client`.
        count: The number of ratings.
        mean: Their mean as percents of each tag's scale; None if no tag has a scale.
    """

    source: str
    target: str
    side: str
    count: int
    mean: float | None


def newest_links(connection: Connection, chain_id: int, identity: str, limit: int = MAX_RATINGS) -> tuple[Link, ...]:
    """Return who rated whom in the newest ratings of a chain, those with the most ratings first.

    An account that speaks as an agent counts as that agent. Revoked feedback counts too. The number of nodes is limited
    to `MAX_NODES`.
    """
    registries = select(schema.registry.c.address).where(
        schema.registry.c.chain_id == chain_id, schema.registry.c.identity_registry == identity
    )
    allowed = set(connection.execute(registries).scalars())
    values = {"chain": chain_id, "identity": identity, "limit": limit}
    names = _Names(chain_id)
    shares: dict[tuple[str, Any, int], int | None] = {}
    sums: dict[tuple[str, str, str], list[int]] = {}
    for registry, agent, client, value, decimals, tag, speaker in _FEEDBACK.all(connection, values):
        if registry in allowed and (speaker is None or speaker != agent):
            source = client if speaker is None else names[speaker]
            key = tag, value, decimals
            if key not in shares:
                shares[key] = _share(*key)
            _add(sums, (source, names[agent], "server"), shares[key])
    for registry, agent, server, rating in _RATINGS.all(connection, values):
        if registry in allowed:
            _add(sums, (names[server], names[agent], "client"), rating * SHARES // 100)
    return _largest(sums)


class _Names(dict[Any, str]):
    """The short ids of agents, by the numbers of their tokens in the form of the database.

    To convert the numbers of all rows takes as long as all the rest.
    """

    def __init__(self, chain_id: int) -> None:
        super().__init__()
        self._chain_id = chain_id

    def __missing__(self, agent: Any) -> str:
        name = self[agent] = f"{self._chain_id}:{python_integer(agent)}"
        return name


def _share(tag: str, value: Any, decimals: int) -> int | None:
    """Return a value's share of its tag's scale; None for a tag without one."""
    scale = scale_of_tag(tag)
    return None if scale is None else share_of_scale(python_integer(value), decimals, scale)


def _newest(event: type[Event], *names: str) -> Subquery:
    """Return the newest rows of a table of events: registry, and some columns."""
    columns = schema.EVENT_TABLES[event].c
    query = select(columns.registry, *(columns[name] for name in names)).where(columns.chain_id == CHAIN)
    newest = query.order_by(columns.block_number.desc(), columns.log_index.desc())
    return newest.limit(bindparam("limit", type_=BigInteger)).subquery("newest")


def _feedback() -> Prepared:
    """Return the statement for the newest feedback, with the agent as which its client speaks; NULL for none."""
    newest = _newest(NewFeedback, "agent_id", "client_address", "value", "value_decimals", "tag1")
    primary, agent = agent_tables.primary_agent, agent_tables.agent
    chosen = and_(
        primary.c.chain_id == CHAIN,
        primary.c.identity_registry == bindparam("identity", type_=primary.c.identity_registry.type),
        primary.c.account == newest.c.client_address,
    )
    holds = and_(
        agent.c.chain_id == CHAIN,
        agent.c.identity_registry == primary.c.identity_registry,
        agent.c.agent_id == primary.c.agent_id,
        or_(agent.c.owner == primary.c.account, agent.c.wallet == primary.c.account),
    )
    speaker = type_coerce(agent.c.agent_id, NullType()).label("speaker")
    return Prepared(
        select(*_raw(newest), speaker).select_from(newest.outerjoin(primary, chosen).outerjoin(agent, holds))
    )


def _ratings() -> Prepared:
    """Return the statement for the newest ratings of clients."""
    newest = _newest(ClientRated, "client_id", "server_id", "rating")
    return Prepared(select(*_raw(newest)))


def _raw(subquery: Subquery) -> list[ColumnElement[Any]]:
    """Return the columns of events, in the form of the database."""
    return [type_coerce(column, NullType()).label(column.name) for column in subquery.c]


_FEEDBACK: Final = _feedback()
_RATINGS: Final = _ratings()


def _add(sums: dict[tuple[str, str, str], list[int]], ends: tuple[str, str, str], share: int | None) -> None:
    """Count a rating."""
    total = sums.get(ends)
    if total is None:
        total = sums[ends] = [0, 0, 0]
    total[0] += 1
    if share is not None:
        total[1] += 1
        total[2] += share


def _largest(sums: dict[tuple[str, str, str], list[int]]) -> tuple[Link, ...]:
    """Return the links between the nodes with the most ratings."""
    ratings: dict[str, int] = defaultdict(int)
    for (source, target, _), (count, _, _) in sums.items():
        ratings[source] += count
        ratings[target] += count
    retained = set(sorted(sorted(ratings), key=ratings.__getitem__, reverse=True)[:MAX_NODES])
    ends = sorted(pair for pair in sums if pair[0] in retained and pair[1] in retained)
    ends.sort(key=lambda pair: -sums[pair][0])
    links = []
    for end in ends:
        count, scaled, share = sums[end]
        links.append(Link(*end, count, 100 * share / (scaled * SHARES) if scaled else None))
    return tuple(links)
