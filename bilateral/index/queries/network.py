"""The network of trust of a chain: who rated whom in its newest ratings."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import and_, or_, select

from bilateral.bounds import SHARES, scale_of_tag, share_of_scale
from bilateral.events import ClientRated, NewFeedback
from bilateral.index import schema

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

MAX_RATINGS: Final = 20_000
"""The newest ratings of each direction that make a network."""

MAX_NODES: Final = 5_000
"""The largest number of agents and accounts of a network: those with the most ratings."""

_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
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

    Args:
        connection: The database.
        chain_id: The chain.
        identity: The identity registry of the agents.
        limit: The largest number of ratings of each direction.
    """
    given, rated = (schema.EVENT_TABLES[it].c for it in (NewFeedback, ClientRated))
    registries = select(schema.registry.c.address).where(
        schema.registry.c.chain_id == chain_id, schema.registry.c.identity_registry == identity
    )
    allowed = set(connection.execute(registries).scalars())
    feedback = _newest(
        connection, chain_id, limit, given, "agent_id", "client_address", "value", "value_decimals", "tag1"
    )
    ratings = _newest(connection, chain_id, limit, rated, "client_id", "server_id", "rating")
    speaks_as = _speakers(connection, chain_id, identity, {row[2] for row in feedback})
    sums: dict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for registry, agent_id, client, value, decimals, tag in feedback:
        speaker = speaks_as.get(client)
        source = client if speaker is None else f"{chain_id}:{speaker}"
        if registry in allowed and speaker != agent_id:
            scale = scale_of_tag(tag)
            share = None if scale is None else share_of_scale(value, decimals, scale)
            _add(sums[source, f"{chain_id}:{agent_id}", "server"], share)
    for registry, agent_id, server_id, rating in ratings:
        if registry in allowed:
            _add(sums[f"{chain_id}:{server_id}", f"{chain_id}:{agent_id}", "client"], rating * SHARES // 100)
    return _largest(sums)


def _newest(connection: Connection, chain_id: int, limit: int, it: Any, *names: str) -> list[tuple[Any, ...]]:
    """Return the newest rows of a table of events: the registry, and some columns."""
    query = select(it.registry, *(it[name] for name in names)).where(it.chain_id == chain_id)
    rows = connection.execute(query.order_by(it.block_number.desc(), it.log_index.desc()).limit(limit))
    return [tuple(row) for row in rows]


def _add(sums: list[int], share: int | None) -> None:
    """Count a rating."""
    sums[0] += 1
    if share is not None:
        sums[1] += 1
        sums[2] += share


def _largest(sums: dict[tuple[str, str, str], list[int]]) -> tuple[Link, ...]:
    """Return the links between the nodes with the most ratings."""
    ratings: dict[str, int] = defaultdict(int)
    for (source, target, _), (count, *_rest) in sums.items():
        ratings[source] += count
        ratings[target] += count
    kept = set(sorted(ratings, key=lambda it: (-ratings[it], it))[:MAX_NODES])
    found = [
        Link(source, target, side, count, 100 * share / (scaled * SHARES) if scaled else None)
        for (source, target, side), (count, scaled, share) in sums.items()
        if source in kept and target in kept
    ]
    return tuple(sorted(found, key=lambda it: (-it.count, it.source, it.target, it.side)))


def _speakers(connection: Connection, chain_id: int, identity: str, accounts: Iterable[str]) -> dict[str, int]:
    """Return the agents as which accounts speak."""
    primary, agent = schema.primary_agent.c, schema.agent.c
    holds = and_(
        agent.chain_id == primary.chain_id,
        agent.identity_registry == primary.identity_registry,
        agent.agent_id == primary.agent_id,
        or_(agent.owner == primary.account, agent.wallet == primary.account),
    )
    query = select(primary.account, primary.agent_id).select_from(schema.primary_agent.join(schema.agent, holds))
    query = query.where(primary.chain_id == chain_id, primary.identity_registry == identity)
    wanted = sorted(accounts)
    found: dict[str, int] = {}
    for begin in range(0, len(wanted), _AT_ONCE):
        rows = connection.execute(query.where(primary.account.in_(wanted[begin : begin + _AT_ONCE])))
        found.update((row.account, int(row.agent_id)) for row in rows)
    return found
