"""Gates (conditions on ratings) as parts of SQL statements, which are built once for each search."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import ge, le
from typing import Any, Final

import sqlalchemy as sa

from bilateral.core.contracts import Registry
from bilateral.core.events import ClientRated, NewAuthorizedFeedback, NewFeedback, ValidatorRated
from bilateral.core.values import STANDARD_TAGS
from bilateral.core.values.bounds import QUANTILE, SHARES, UNITS, scale_of_tag
from bilateral.index.agents.tables import agent
from bilateral.index.files.tables import payment_claim
from bilateral.index.log.dialects import by_rater, unindexed
from bilateral.index.log.tables import EVENT_TABLES, registry
from bilateral.index.ratings.sealed import is_sealed_feedback
from bilateral.index.ratings.tables import counterpart, summary
from bilateral.index.search.filters import OF_GATE, Gate, Order, Payment, Side
from bilateral.index.search.tables import KEY

_REAL: Final = sa.Float(53)
RATED_IN: Final = (Registry.REPUTATION, Registry.BIDIRECTIONAL, Registry.AUTHORIZED)
"""The kinds of registries that have summaries. Agents are looked up in each of these registries."""

_NO_BOUND: Final = -1.0
"""The rank of ratings without a lower bound, which puts them last."""

_RATINGS: Final = ("chain_id", "identity_registry", "agent_id", "registry", "tag")
"""The columns that identify an agent's ratings for a tag."""


_RATING_EVENTS: Final = {
    Side.SERVER: tuple((event, "agent_id", "client_address") for event in (NewFeedback, NewAuthorizedFeedback)),
    Side.CLIENT: ((ClientRated, "client_id", "server_id"),),
    Side.VALIDATOR: ((ValidatorRated, "validator_id", "server_id"),),
}
"""The events that rate each side, with the columns that contain the rated agent and the reviewer."""

_AGENT: Final = re.compile(r"agent (0|[1-9][0-9]{0,77})")
"""The pattern of an agent in the `counterpart` table."""


@dataclass(frozen=True)
class Ranked:
    """A gate as part of a search's statements.

    Attributes:
        rank: The rank of the agent's best ratings that pass the gate; NULL if `agents` is None and no ratings pass.
        agents: The agents that pass the gate, for a join; None if each agent's ratings are looked up instead.
    """

    rank: sa.ColumnElement[Any]
    agents: sa.Subquery | None


@dataclass(frozen=True)
class Bounds:
    """The conditions for reading a gate's lower bounds in descending order ("walking down" their index).

    Attributes:
        passing: The conditions under which a summary passes the gate, keyed by chain; empty if the search does not walk
            down lower bounds.
        is_best: The condition that a summary is the one with the agent's highest lower bound.
    """

    passing: Mapping[int, Sequence[sa.ColumnElement[bool]]] = field(default_factory=dict)
    is_best: Sequence[sa.ColumnElement[bool]] = ()


def ranked(gates: Sequence[Gate], order: Order, chains: Sequence[int], *, are_few: bool) -> tuple[Ranked, ...]:
    """Return a search's gates as parts of its statements."""
    by = order if order in OF_GATE else Order.LOWER_BOUND
    parts = []
    for gate in gates:
        if are_few and not gate.is_of_few:
            parts.append(Ranked(_best_of_agent(gate, by), None))
        else:
            agents = _best(gate, by, chains)
            parts.append(Ranked(agents.c.rank, agents))
    return tuple(parts)


def bounds_of(connection: sa.Connection, gate: Gate, chains: Sequence[int], *, most: int, within: int | None) -> Bounds:
    """Return the conditions for a walk down the lower bounds of a gate; empty if few summaries pass the gate."""
    passing = {chain_id: _passing(gate, chain_id, summary.c) for chain_id in chains}
    remaining = most + 1
    for chain_id, conditions in passing.items():
        columns: Any = summary.c
        counted = conditions
        if within is not None:
            of_tag = columns.chain_id == chain_id, columns.side == gate.summed_side, columns.tag == gate.tag
            columns = sa.select(summary).where(*of_tag).order_by(columns.lower_bound.desc()).limit(within).subquery().c
            counted = _passing(gate, chain_id, columns)
        # The index of lower bounds contains all columns that this reads, and more summaries pass near its top.
        rows = (
            sa.select(sa.literal(1).label("one")).where(*counted).limit(remaining).order_by(columns.lower_bound.desc())
        )
        remaining -= connection.execute(sa.select(sa.func.count()).select_from(rows.subquery())).scalar_one()
        if remaining <= 0:
            return Bounds(passing, [~has_better(passing=gate)])
    return Bounds()


def has_better(passing: Gate | None = None) -> sa.ColumnElement[bool]:
    """Return the condition that a summary from a related registry gives the agent a higher lower bound."""
    other, of_other = summary.alias("other").c, registry.alias("of_other").c
    same = [other[name] == summary.c[name] for name in ("chain_id", "agent_id", "side", "tag")]
    bound = unindexed(other.lower_bound)  # other summaries are looked up by their whole key
    better = sa.or_(
        bound > summary.c.lower_bound, sa.and_(bound == summary.c.lower_bound, other.registry < summary.c.registry)
    )
    limits = [] if passing is None else _limits_of(passing, *figures(other, bound))
    return (
        sa.exists()
        .where(
            of_other.chain_id == summary.c.chain_id,
            of_other.identity_registry == registry.c.identity_registry,
            of_other.kind.in_(RATED_IN),
            of_other.address != summary.c.registry,
            other.registry == unindexed(of_other.address),
            *same,
            *limits,
            better,
        )
        .correlate(summary, registry)
    )


def _passing(gate: Gate, chain_id: int, columns: Any) -> list[sa.ColumnElement[bool]]:
    of_tag = columns.chain_id == chain_id, columns.side == gate.summed_side, columns.tag == gate.tag
    return [*of_tag, *_limits_of(gate, *figures(columns))]


def _best(gate: Gate, order: Order, chains: Sequence[int]) -> sa.Subquery:
    conditions: list[sa.ColumnElement[bool]] = [source(gate).c.chain_id.in_(chains)]
    if source(gate) is counterpart:
        conditions = [unindexed(counterpart.c.chain_id).in_(chains), *_are_rated_by_reviewers(gate, chains)]
    query = ratings(gate, *conditions)
    if is_of_summaries(gate) and gate.lower_bound is not None:
        query = query.where(summary.c.lower_bound >= sa.literal(float(gate.lower_bound), _REAL))
    matching = query.subquery()
    key = [matching.c[name] for name in KEY]
    return sa.select(*key, sa.func.max(_rank(matching.c, order)).label("rank")).group_by(*key).subquery()


def _best_of_agent(gate: Gate, order: Order) -> sa.ScalarSelect[Any]:
    """Return the rank of the best ratings of the agent in the outer query; NULL if no ratings pass the gate."""
    columns = summary.c
    query = sa.select(sa.func.max(_rank(columns, order))).where(
        registry.c.chain_id == agent.c.chain_id,
        registry.c.identity_registry == agent.c.identity_registry,
        registry.c.kind.in_(RATED_IN),
        # SQLite iterates over the few registries of a chain, and looks up the summary by its whole key.
        columns.chain_id == agent.c.chain_id,
        columns.registry == unindexed(registry.c.address),
        columns.agent_id == agent.c.agent_id,
        columns.side == gate.summed_side,
        *([] if gate.tag is None else [columns.tag == gate.tag]),
        *_limits_of(gate, *figures(columns, unindexed(columns.lower_bound))),
    )
    return query.correlate(agent).scalar_subquery()


def _rank(columns: Any, order: Order) -> sa.ColumnElement[float]:
    if order is Order.MEAN:
        return sa.cast(columns["mean"], _REAL)
    if order is Order.ACTIVITY:
        return sa.cast(columns["count"], _REAL)
    return sa.func.coalesce(columns["lower_bound"], sa.literal(_NO_BOUND, _REAL))


def ratings(gate: Gate, *conditions: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """Return the query that selects the ratings that pass a gate."""
    if gate.payment is not None:
        return _of_claims(gate, conditions)
    if gate.reviewers:
        return _of_counterparts(gate, conditions)
    columns = summary.c
    return (
        sa.select(*rating_columns(summary), *figures(columns))  # everyone's ratings, which are already summed up
        .where(*_of_gate(summary, gate), columns.side == gate.summed_side, *conditions)
        .where(*_limits_of(gate, *figures(columns, unindexed(columns.lower_bound))))
    )


def figures(columns: Any, bound: Any = None) -> tuple[Any, ...]:
    """Return the columns on which gates set limits. The lower bound can be replaced with another expression."""
    return columns["count"], columns.counterparts, columns.mean, columns.lower_bound if bound is None else bound


def source(gate: Gate) -> sa.Table:
    """Return the table whose rows a gate aggregates."""
    if gate.payment is not None:
        return payment_claim
    return counterpart if gate.reviewers else summary


def is_of_summaries(gate: Gate) -> bool:
    """Return True for a gate on the ratings of all raters for one tag, which are already summarized."""
    return source(gate) is summary and gate.tag is not None


def _limits(gate: Gate, count: Any, clients: Any, mean: Any, bound: Any) -> Iterator[Any]:
    """Yield a gate's conditions on the given figures, which may be SQL expressions or Python values."""
    for compare, figure, limit in (
        (ge, mean, gate.minimum),
        (le, mean, gate.maximum),
        (ge, bound, gate.lower_bound),
        (ge, count, gate.count if gate.count > 1 else None),
        (le, count, gate.maximum_count),
        (ge, clients, gate.clients if gate.clients > 1 else None),
    ):
        if limit is not None:
            yield compare, figure, limit if isinstance(limit, int) else float(limit)


def passes(gate: Gate, *figures_of: Any) -> bool:
    """Check whether ratings pass a gate, in Python but with the same result as in SQL."""
    return all(figure is not None and compare(figure, limit) for compare, figure, limit in _limits(gate, *figures_of))


def _limits_of(gate: Gate, *figures_of: Any) -> list[sa.ColumnElement[bool]]:
    return [
        compare(figure, limit if isinstance(limit, int) else sa.literal(limit, _REAL))
        for compare, figure, limit in _limits(gate, *figures_of)
    ]


def _summed(gate: Gate, key: Sequence[Any], count: Any, mean: Any, share: Any) -> sa.Select[Any]:
    """Return the query that aggregates rows of ratings, which contain one row per client."""
    clients = sa.func.count()
    bound = _lower_bound(sa.cast(share, _REAL), sa.cast(clients, _REAL), key[-1])
    labels = count.label("count"), clients.label("counterparts"), mean.label("mean"), bound.label("lower_bound")
    limits = _limits_of(gate, count, clients, mean, bound)
    return sa.select(*key, *labels).group_by(*key).having(sa.and_(True, *limits))  # a gate may have no limits


def _of_counterparts(gate: Gate, conditions: Sequence[sa.ColumnElement[bool]]) -> sa.Select[Any]:
    columns = counterpart.c
    count, share = sa.func.sum(columns["count"]), sa.func.sum(columns.share_sum // columns["count"])
    mean = sa.func.sum(sa.cast(columns.unit_sum, _REAL)) / UNITS / count
    return (
        _summed(gate, rating_columns(counterpart), count, mean, share)
        .where(*_of_gate(counterpart, gate), columns.side == gate.summed_side, columns.account.in_(_accounts(gate)))
        .where(*conditions)
    )


def _are_rated_by_reviewers(gate: Gate, chains: Sequence[int]) -> list[sa.ColumnElement[bool]]:
    """Return the conditions for the agents in reviewers' events: counterparts cannot be looked up by reviewer."""
    reviewers = _accounts(gate)
    raters = reviewers if gate.side is Side.SERVER else [int(reviewer.removeprefix("agent ")) for reviewer in reviewers]
    queries = []
    for event, subject, rater in _RATING_EVENTS[gate.side]:
        columns = EVENT_TABLES[event].c
        names = ("chain_id", "registry", subject, rater)
        events = by_rater(EVENT_TABLES[event].name, *(sa.column(name, columns[name].type) for name in names)).c
        conditions = [events.chain_id.in_(chains), events[rater].in_(raters)]
        if gate.side is not Side.SERVER:  # the index of these events has the registry before the rater
            conditions.append(events.registry.in_(sa.select(registry.c.address).where(registry.c.chain_id.in_(chains))))
        queries.append(
            sa.select(events.chain_id, events.registry, events[subject].label("agent_id")).where(*conditions).distinct()
        )
    rated = sa.union(*queries).subquery()
    return [counterpart.c[name] == rated.c[name] for name in ("chain_id", "registry", "agent_id")]


def _accounts(gate: Gate) -> list[str]:
    return [reviewer for reviewer in gate.reviewers if gate.side is Side.SERVER or _AGENT.fullmatch(reviewer)]


def _of_claims(gate: Gate, conditions: Sequence[sa.ColumnElement[bool]]) -> sa.Select[Any]:
    columns = payment_claim.c
    place = ("chain_id", "block_number", "log_index")
    view = sa.table("feedback", *(sa.column(name) for name in (*place, "is_revoked"))).c
    revoked = sa.exists().where(*(view[name] == columns[name] for name in place), view.is_revoked)
    required = [*_of_gate(payment_claim, gate), *conditions, ~revoked.correlate(payment_claim)]
    if gate.only_sealed:
        required.append(is_sealed_feedback(payment_claim, "account"))
    if gate.reviewers:
        required.append(columns.account.in_(gate.reviewers))
    if gate.payment is Payment.MATCHING:
        payee = agent.alias("payee").c
        is_payee = sa.exists().where(
            payee.chain_id == columns.chain_id,
            payee.identity_registry == registry.c.identity_registry,
            payee.agent_id == columns.agent_id,
            sa.or_(payee.owner == columns.payee, payee.wallet == columns.payee),
        )
        required += [columns.is_bound, columns.payer == columns.account, is_payee.correlate(payment_claim, registry)]
    by_client = (
        sa.select(
            *rating_columns(payment_claim),
            sa.func.count().label("entries"),
            (sa.func.sum(columns.share) // sa.func.count()).label("share"),
            sa.func.sum(sa.cast(columns.units, _REAL)).label("units"),  # integers could exceed 64 bits
        )
        .where(*required)
        .group_by(*rating_columns(payment_claim), columns.account)
        .subquery()
    )
    count, share = sa.func.sum(by_client.c.entries), sa.func.sum(by_client.c.share)
    mean = sa.func.sum(by_client.c.units) / UNITS / count
    return _summed(gate, [by_client.c[name] for name in _RATINGS], count, mean, share)


def rating_columns(from_table: sa.Table) -> list[sa.ColumnElement[Any]]:
    """Return the columns that `_RATINGS` lists."""
    columns = from_table.c
    return [columns.chain_id, registry.c.identity_registry, columns.agent_id, columns.registry, columns.tag]


def _of_gate(from_table: sa.Table, gate: Gate) -> list[sa.ColumnElement[bool]]:
    columns = from_table.c
    conditions = [registry.c.chain_id == columns.chain_id, registry.c.address == columns.registry]
    return conditions if gate.tag is None else [*conditions, columns.tag == gate.tag]


def _lower_bound(share_sum: Any, clients: Any, tag: Any) -> sa.ColumnElement[Any]:
    """Return the SQL form of `values.bounds.lower_bound`, with the same operations in the same order."""
    squared = QUANTILE**2
    share = share_sum / (clients * SHARES)
    centre = share + sa.literal(squared, _REAL) / (2 * clients)
    inner = (share * (1 - share) + sa.literal(squared, _REAL) / (4 * clients)) / clients
    spread = sa.literal(QUANTILE, _REAL) * sa.func.sqrt(inner)
    bound = (centre - spread) / (1 + sa.literal(squared, _REAL) / clients)
    positive = sa.case((bound > 0, bound), else_=sa.literal(0.0, _REAL))
    scales = {name: scale_of_tag(name) for name in STANDARD_TAGS}
    ordinary = (0, 100)
    values: list[Any] = [
        (tag == name, None if scale is None else _scaled(positive, scale))
        for name, scale in scales.items()
        if scale != ordinary
    ]
    return sa.case(*values, else_=_scaled(positive, ordinary))


def _scaled(bound: sa.ColumnElement[Any], scale: tuple[int, int]) -> sa.ColumnElement[Any]:
    lowest, highest = scale
    return sa.literal(float(lowest), _REAL) + bound * (highest - lowest)
