"""Gates as SQL: the ratings of agents that fulfil a condition, from summaries or from single counterparts."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Float, and_, bindparam, case, cast, exists, func, literal, or_, select, table
from sqlalchemy import column as named_column

from bilateral.contracts import Registry
from bilateral.index.derive.units import UNITS
from bilateral.index.tables.blind import is_blind_feedback
from bilateral.index.tables.schema import agent, counterpart, registry, summary
from bilateral.index.tables.search import payment_claim
from bilateral.index.tables.unindexed import unindexed
from bilateral.query.prepared import Prepared, one_of
from bilateral.query.search.filters import Order, Payment
from bilateral.query.search.reviewers import accounts, are_rated_by_reviewers
from bilateral.values import STANDARD_TAGS
from bilateral.values.bounds import QUANTILE, SHARES, scale_of_tag

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import ColumnElement, ScalarSelect, Select, Subquery, Table

    from bilateral.query.search.filters import Gate

_REAL: Final = Float(53)
_NO_BOUND: Final = -1.0
"""The rank of ratings without a lower bound: after all others."""

_RATED_IN: Final = (Registry.REPUTATION, Registry.BIDIRECTIONAL, Registry.AUTHORIZED)
"""The kinds of registries that have summaries. An agent is looked up in each of them."""

_RATINGS: Final = ("chain_id", "identity_registry", "agent_id", "registry", "tag")
"""The columns that name the ratings of an agent under a tag."""


def is_of_few(gate: Gate) -> bool:
    """Return True for a gate of some reviewers or of claims: their ratings are few, and are best collected first."""
    return gate.payment is not None or bool(gate.reviewers)


def ratings(gate: Gate, *conditions: ColumnElement[bool]) -> Select[Any]:
    """Return the query for the ratings that fulfil a gate.

    Args:
        gate: The gate.
        *conditions: Further conditions on the table that `source` returns, and on `registry`.

    Returns:
        A query with the columns of `_RATINGS`, `count`, `counterparts`, `mean`, `lower_bound`.
    """
    if gate.payment is not None:
        return _of_claims(gate, conditions)
    if gate.reviewers:
        return _of_counterparts(gate, conditions)
    return _of_summaries(gate, conditions)


def source(gate: Gate) -> Table:
    """Return the table whose rows a gate adds up."""
    if gate.payment is not None:
        return payment_claim
    return counterpart if gate.reviewers else summary


def is_of_summaries(gate: Gate) -> bool:
    """Return True for a gate of the ratings by all under one tag: they are summed up already."""
    return source(gate) is summary and gate.tag is not None


@lru_cache
def summaries(chains: int, registries: int, agents: int) -> Prepared:
    """Return the statement for the ratings by all, as `ratings` gives them: of some agents, for one `side` and `tag`.

    Args:
        chains: The number of parameters for the chains, see `one_of`: `chain_id`.
        registries: The number for the registries: `registry`.
        agents: The number for the agents: `agent_id`.
    """
    columns = summary.c
    sizes = {"chain_id": chains, "registry": registries, "agent_id": agents}
    conditions = (columns[name] == bindparam(name, type_=columns[name].type) for name in ("side", "tag"))
    return Prepared(
        select(*_named(summary), columns["count"], columns.counterparts, columns.mean, columns.lower_bound).where(
            registry.c.chain_id == columns.chain_id,
            registry.c.address == columns.registry,
            *conditions,
            *(one_of(name, columns[name], size) for name, size in sizes.items()),
        )
    )


def passes(gate: Gate, count: int, clients: int, mean: float, bound: float | None) -> bool:
    """Check that ratings fulfil a gate, as SQL checks it.

    Args:
        gate: The gate.
        count: The number of ratings.
        clients: The number of those who gave them.
        mean: Their mean.
        bound: Their lower bound; None for a tag without a scale.
    """
    return all(
        figure is not None and (figure >= limit if is_least else figure <= limit)
        for figure, limit, is_least in _limited(gate, count, clients, mean, bound)
    )


def passing(gate: Gate, chain_id: int, columns: Any = summary.c) -> list[ColumnElement[bool]]:
    """Return the conditions that a summary of a chain passes a gate.

    Args:
        gate: The gate. It has a tag, and is not one of `is_of_few`.
        chain_id: The chain.
        columns: The columns of the summary.
    """
    limits = _limits(gate, columns["count"], columns.counterparts, columns.mean, columns.lower_bound)
    return [columns.chain_id == chain_id, columns.side == gate.summed_side, columns.tag == gate.tag, *limits]


def has_better(passing: Gate | None = None) -> ColumnElement[bool]:
    """Return the condition that another registry of the same identity registry has a greater bound of the agent.

    Args:
        passing: The gate that the other ratings pass; None if all count.
    """
    other, of_other = summary.alias("other").c, registry.alias("of_other").c
    same = [other[name] == summary.c[name] for name in ("chain_id", "agent_id", "side", "tag")]
    bound = unindexed(other.lower_bound)  # each other summary is looked up by its whole key
    better = or_(
        bound > summary.c.lower_bound, and_(bound == summary.c.lower_bound, other.registry < summary.c.registry)
    )
    limits = [] if passing is None else _limits(passing, other["count"], other.counterparts, other.mean, bound)
    return (
        exists()
        .where(
            of_other.chain_id == summary.c.chain_id,
            of_other.identity_registry == registry.c.identity_registry,
            of_other.kind.in_(_RATED_IN),
            of_other.address != summary.c.registry,
            other.registry == unindexed(of_other.address),
            *same,
            *limits,
            better,
        )
        .correlate(summary, registry)
    )


def best(gate: Gate, order: Order, chains: Sequence[int]) -> Subquery:
    """Return the agents that pass a gate, each once, with the rank of its best ratings.

    Args:
        gate: The gate.
        order: The order in which the agents are wanted.
        chains: The chains.
    """
    chain_id = source(gate).c.chain_id
    if source(gate) is counterpart:
        conditions = [unindexed(chain_id).in_(chains), *are_rated_by_reviewers(gate, chains)]
    else:
        conditions = [chain_id.in_(chains)]
    query = ratings(gate, *conditions)
    if is_of_summaries(gate) and gate.lower_bound is not None:
        query = query.where(summary.c.lower_bound >= literal(float(gate.lower_bound), _REAL))
    matching = query.subquery()
    key = [matching.c[name] for name in _RATINGS[:3]]
    return select(*key, func.max(_rank(matching.c, order)).label("rank")).group_by(*key).subquery()


def best_of_agent(gate: Gate, order: Order) -> ScalarSelect[Any]:
    """Return the rank of the best ratings of the agent of the query around; NULL if none passes the gate.

    Args:
        gate: The gate, not one of `is_of_few`.
        order: The order.
    """
    columns = summary.c
    limits = (columns["count"], columns.counterparts, columns.mean, unindexed(columns.lower_bound))
    query = select(func.max(_rank(columns, order))).where(
        registry.c.chain_id == agent.c.chain_id,
        registry.c.identity_registry == agent.c.identity_registry,
        registry.c.kind.in_(_RATED_IN),
        # SQLite goes through the few registries of a chain, and looks up the summary by its whole key.
        columns.chain_id == agent.c.chain_id,
        columns.registry == unindexed(registry.c.address),
        columns.agent_id == agent.c.agent_id,
        columns.side == gate.summed_side,
        *([] if gate.tag is None else [columns.tag == gate.tag]),
        *_limits(gate, *limits),
    )
    return query.correlate(agent).scalar_subquery()


def is_rated() -> ColumnElement[bool]:
    """Return the condition that the agent of the query has feedback that counts."""
    return (
        exists()
        .where(
            summary.c.chain_id == agent.c.chain_id,
            registry.c.chain_id == agent.c.chain_id,
            registry.c.identity_registry == agent.c.identity_registry,
            registry.c.kind.in_(_RATED_IN),
            summary.c.registry == unindexed(registry.c.address),
            summary.c.agent_id == agent.c.agent_id,
            summary.c.side == "server",
        )
        .correlate(agent)
    )


def _rank(columns: Any, order: Order) -> ColumnElement[float]:
    """Return the rank of ratings."""
    if order is Order.MEAN:
        return cast(columns["mean"], _REAL)
    if order is Order.ACTIVITY:
        return cast(columns["count"], _REAL)
    return func.coalesce(columns["lower_bound"], literal(_NO_BOUND, _REAL))


def _of_summaries(gate: Gate, conditions: Sequence[ColumnElement[bool]]) -> Select[Any]:
    """Return the ratings by all, which are summed up already."""
    columns = summary.c
    return (
        select(*_named(summary), columns["count"], columns.counterparts, columns.mean, columns.lower_bound)
        .where(*_of_gate(summary, gate), columns.side == gate.summed_side, *conditions)
        .where(*_limits(gate, columns["count"], columns.counterparts, columns.mean, unindexed(columns.lower_bound)))
    )


def _of_counterparts(gate: Gate, conditions: Sequence[ColumnElement[bool]]) -> Select[Any]:
    """Return the ratings by some reviewers."""
    columns = counterpart.c
    count, clients = func.sum(columns["count"]), func.count()
    share = cast(func.sum(columns.share_sum // columns["count"]), _REAL)
    mean = func.sum(cast(columns.unit_sum, _REAL)) / UNITS / count
    bound = _lower_bound(share, cast(clients, _REAL), columns.tag)
    return (
        select(
            *_named(counterpart),
            count.label("count"),
            clients.label("counterparts"),
            mean.label("mean"),
            bound.label("lower_bound"),
        )
        .where(*_of_gate(counterpart, gate), columns.side == gate.summed_side, columns.account.in_(accounts(gate)))
        .where(*conditions)
        .group_by(*_named(counterpart))
        .having(and_(True, *_limits(gate, count, clients, mean, bound)))  # a gate may have no limits
    )


def _of_claims(gate: Gate, conditions: Sequence[ColumnElement[bool]]) -> Select[Any]:
    """Return the ratings with a claimed payment."""
    columns = payment_claim.c
    view = table("feedback", *(named_column(name) for name in ("chain_id", "block_number", "log_index", "is_revoked")))
    revoked = exists().where(
        *(view.c[name] == columns[name] for name in ("chain_id", "block_number", "log_index")), view.c.is_revoked
    )
    wanted = [*_of_gate(payment_claim, gate), *conditions, ~revoked.correlate(payment_claim)]
    if gate.blind is not None:
        wanted.append(is_blind_feedback(payment_claim, "account"))
    if gate.reviewers:
        wanted.append(columns.account.in_(gate.reviewers))
    if gate.payment is Payment.MATCHING:
        payee = agent.alias("payee").c
        is_payee = exists().where(
            payee.chain_id == columns.chain_id,
            payee.identity_registry == registry.c.identity_registry,
            payee.agent_id == columns.agent_id,
            or_(payee.owner == columns.payee, payee.wallet == columns.payee),
        )
        wanted += [columns.is_bound, columns.payer == columns.account, is_payee.correlate(payment_claim, registry)]
    each = (
        select(
            *_named(payment_claim),
            func.count().label("entries"),
            (func.sum(columns.share) // func.count()).label("share"),
            func.sum(cast(columns.units, _REAL)).label("units"),  # as integers they could exceed 64 bits
        )
        .where(*wanted)
        .group_by(*_named(payment_claim), columns.account)
        .subquery()
    )
    key = [each.c[name] for name in _RATINGS]
    count, clients = func.sum(each.c.entries), func.count()
    mean = func.sum(each.c.units) / UNITS / count
    bound = _lower_bound(cast(func.sum(each.c.share), _REAL), cast(clients, _REAL), each.c.tag)
    return (
        select(
            *key,
            count.label("count"),
            clients.label("counterparts"),
            mean.label("mean"),
            bound.label("lower_bound"),
        )
        .group_by(*key)
        .having(and_(True, *_limits(gate, count, clients, mean, bound)))  # a gate may have no limits
    )


def _named(from_table: Table) -> list[ColumnElement[Any]]:
    """Return the columns of `_RATINGS`."""
    columns = from_table.c
    return [columns.chain_id, registry.c.identity_registry, columns.agent_id, columns.registry, columns.tag]


def _of_gate(from_table: Table, gate: Gate) -> list[ColumnElement[bool]]:
    """Return the conditions on the rows of a table, with the join to the registry."""
    columns = from_table.c
    conditions = [registry.c.chain_id == columns.chain_id, registry.c.address == columns.registry]
    return conditions if gate.tag is None else [*conditions, columns.tag == gate.tag]


def _limits(gate: Gate, count: Any, clients: Any, mean: Any, bound: Any) -> list[ColumnElement[bool]]:
    """Return the conditions of a gate that it does not leave open."""
    bounds: list[ColumnElement[bool]] = []
    for figure, limit, is_least in _limited(gate, count, clients, mean, bound):
        value = limit if isinstance(limit, int) else literal(limit, _REAL)
        bounds.append(figure >= value if is_least else figure <= value)
    return bounds


def _limited(gate: Gate, count: Any, clients: Any, mean: Any, bound: Any) -> Iterator[tuple[Any, int | float, bool]]:
    """Yield the figures that a gate does not leave open, each with its limit; True if that is the least value."""
    limits = (
        (gate.minimum, mean, True),
        (gate.maximum, mean, False),
        (gate.lower_bound, bound, True),
        (gate.count if gate.count > 1 else None, count, True),
        (gate.maximum_count, count, False),
        (gate.clients if gate.clients > 1 else None, clients, True),
    )
    for limit, figure, is_least in limits:
        if limit is not None:
            yield figure, limit if isinstance(limit, int) else float(limit), is_least


def _lower_bound(share_sum: Any, clients: Any, tag: Any) -> ColumnElement[Any]:
    """Return `values.bounds.lower_bound` in SQL: the same operations in the same order, on the same numbers."""
    squared = QUANTILE**2
    share = share_sum / (clients * SHARES)
    centre = share + literal(squared, _REAL) / (2 * clients)
    inner = (share * (1 - share) + literal(squared, _REAL) / (4 * clients)) / clients
    spread = literal(QUANTILE, _REAL) * func.sqrt(inner)
    bound = (centre - spread) / (1 + literal(squared, _REAL) / clients)
    positive = case((bound > 0, bound), else_=literal(0.0, _REAL))
    scales = {name: scale_of_tag(name) for name in STANDARD_TAGS}
    ordinary = (0, 100)
    values: list[Any] = [
        (tag == name, None if scale is None else _scaled(positive, scale))
        for name, scale in scales.items()
        if scale != ordinary
    ]
    return case(*values, else_=_scaled(positive, ordinary))


def _scaled(bound: ColumnElement[Any], scale: tuple[int, int]) -> ColumnElement[Any]:
    """Return a bound on its scale."""
    lowest, highest = scale
    return literal(float(lowest), _REAL) + bound * (highest - lowest)
