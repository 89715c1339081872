"""The ratings by which the agents of a page passed the first gate of a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, bindparam, select

from bilateral.index.log.tables import registry
from bilateral.index.ratings.tables import summary
from bilateral.index.reading.prepared import Prepared, listed, one_of
from bilateral.index.search.conditions import KEY
from bilateral.index.search.filters import Gate, Order
from bilateral.index.search.gates import is_of_summaries, limited, named, ratings, source


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


def passed(
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
        former = best_of.get((chain_id, identity, agent_id))
        if former is None or _merit(rating, order) > _merit(former, order):
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
    known = registry.c
    asked = (
        one_of("chain_id", known.chain_id, chains),
        one_of("identity_registry", known.identity_registry, identities),
    )
    return Prepared(select(known.address).where(*asked).distinct())


@lru_cache
def _summaries(chains: int, registries: int, agents: int) -> Prepared:
    """Return the statement for the ratings of some agents by all, for one `side` and `tag`, as `ratings` gives them."""
    columns = summary.c
    sizes = {"chain_id": chains, "registry": registries, "agent_id": agents}
    conditions = (columns[name] == bindparam(name, type_=columns[name].type) for name in ("side", "tag"))
    return Prepared(
        select(*named(summary), columns["count"], columns.counterparts, columns.mean, columns.lower_bound).where(
            registry.c.chain_id == columns.chain_id,
            registry.c.address == columns.registry,
            *conditions,
            *(one_of(name, columns[name], size) for name, size in sizes.items()),
        )
    )


def _passes(gate: Gate, count: int, clients: int, mean: float, bound: float | None) -> bool:
    """Check that ratings fulfil a gate, as SQL checks it."""
    return all(
        figure is not None and (figure >= limit if is_least else figure <= limit)
        for figure, limit, is_least in limited(gate, count, clients, mean, bound)
    )
