"""Whether agents respond: search conditions, counts, and the measurements of one agent."""

import json
import time
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import Connection, func, select

from bilateral.index.agents.tables import agent
from bilateral.index.files.tables import State, agent_file, file
from bilateral.index.log.dialects import in_parts, unindexed, upsert
from bilateral.index.log.tables import chain
from bilateral.index.measurements import tables as schema
from bilateral.index.measurements.values import DAY, REACHABLE, Alive, Outcome
from bilateral.index.reading.registries import AgentKey

RECENT_SECONDS: Final = 7 * DAY
_FRESH_SECONDS: Final = DAY
"""The age at which a state is no longer current: endpoints are probed at least daily."""

_DAYS: Final = 90
_MOST_DRIFTS: Final = 5
_MOST_ROWS: Final = 5_000  # 90 days of five endpoints from eleven vantages

_AGENT: Final = ("chain_id", "identity_registry", "agent_id")
_OF_STATE: Final = ("state", "code", "since", "probed_at", "alive_at", "milliseconds")
_NO_STATE: Final = (None,) * (2 + len(_OF_STATE))  # with an endpoint id and a vantage, as rows have
_STATE: Final = schema.endpoint_state.c
_LISTED: Final = schema.registration_endpoint.c
_ALIVE: Final = schema.registration_alive.c
_IS_LOADED: Final = unindexed(file.c.state) == State.LOADED
_IS_STATE: Final = sa.and_(_STATE.chain_id.in_(select(chain.c.chain_id)), _STATE.endpoint_id == _LISTED.endpoint_id)
"""The condition that a state belongs to a listed endpoint. The chain is included because the key begins with it."""

_MEASURED: Final = agent_file.join(file, sa.and_(file.c.file_id == agent_file.c.file_id, _IS_LOADED)).join(
    schema.registration_alive, _ALIVE.content_hash == file.c.content_hash
)
"""Agents and the times at which their current files were measured."""

_BY_TIME: Final = schema.registration_alive.join(
    file, sa.and_(file.c.content_hash == unindexed(_ALIVE.content_hash), _IS_LOADED)
).join(agent_file, agent_file.c.file_id == unindexed(file.c.file_id))
"""The same, but SQLite starts with the measurements instead of all agents."""


def _ago(seconds: int) -> sa.BindParameter[int]:
    """Return the Unix time that is so many seconds ago when a statement is executed."""
    return sa.bindparam(None, callable_=lambda: int(time.time()) - seconds, type_=sa.BigInteger)


_CONDITIONS: Final[Mapping[Alive, sa.ColumnElement[bool]]] = {
    Alive.NOW: _ALIVE.up_at >= _ago(_FRESH_SECONDS),
    Alive.RECENTLY: (_ALIVE.alive_at >= _ago(RECENT_SECONDS)) & (func.coalesce(_ALIVE.up_at, 0) < _ago(_FRESH_SECONDS)),
    Alive.FORMERLY: _ALIVE.alive_at < _ago(RECENT_SECONDS),
    Alive.NEVER: _ALIVE.alive_at.is_(None),
}
_IS_MEASURED: Final = _ALIVE.probed_at >= _ago(RECENT_SECONDS)
"""The condition that all states but `unknown` share."""


def _is(alive: Alive) -> tuple[sa.ColumnElement[bool], ...]:
    return _CONDITIONS.get(alive, sa.true()), _IS_MEASURED


def is_alive(alive: Alive) -> sa.ColumnElement[bool]:
    """Return the condition that rows of `agent` are in a state."""
    has_row = (
        select(sa.literal(1))
        .select_from(_MEASURED)
        .where(*(agent_file.c[name] == agent.c[name] for name in _AGENT), *_is(alive))
        .correlate(agent)
        .offset(0)  # PostgreSQL would hash the files of all agents first; with this it looks each agent up
        .exists()
    )
    return ~has_row if alive is Alive.UNKNOWN else has_row


AGENTS_ALIVE: Final = (
    select(
        *agent_file.c[_AGENT],
        _LISTED.host,
        sa.case(*((sa.and_(*_is(alive)), alive) for alive in _CONDITIONS), else_=Alive.UNKNOWN).label("alive"),
    )
    .select_from(_MEASURED.join(schema.registration_endpoint, _LISTED.content_hash == _ALIVE.content_hash))
    .where(*(agent_file.c[name].in_(sa.bindparam(name, expanding=True)) for name in _AGENT))
)
"""The states of agents, with a row per endpoint. Agents that were never measured have none. The parameters are lists of
the key's parts."""


def agents_with(connection: Connection, alive: Alive, most: int) -> list[tuple[int, str, int]] | None:
    """Return the agents that have the given state, which must not be `unknown`; None if there are many such agents."""
    files = connection.execute(select(_ALIVE.probed_at).where(*_is(alive)).limit(most + 1)).all()
    if len(files) > most:
        return None
    keys = select(*agent_file.c[_AGENT]).select_from(_BY_TIME).where(*_is(alive))
    rows = connection.execute(keys.limit(most + 1)).all()
    return None if len(rows) > most else [(row.chain_id, row.identity_registry, int(row.agent_id)) for row in rows]


def renew_alive(connection: Connection, endpoints: Collection[bytes]) -> None:
    """Update `registration_alive` for the files that list the given endpoints."""
    is_counted, is_up = _STATE.state.in_(sorted({*REACHABLE, Outcome.DOWN})), _STATE.state.in_(sorted(REACHABLE))
    times = {"up_at": sa.case((is_up, _STATE.alive_at)), "alive_at": _STATE.alive_at, "probed_at": _STATE.probed_at}
    listing = schema.registration_endpoint.alias("listing").c
    measured = (
        select(_LISTED.content_hash, *(func.max(time).label(name) for name, time in times.items()))
        .select_from(schema.registration_endpoint.join(schema.endpoint_state, _IS_STATE))
        .where(is_counted, _STATE.probed_at.is_not(None))
        .group_by(_LISTED.content_hash)
    )
    for part in in_parts(sorted(endpoints)):
        is_of_part = _LISTED.content_hash.in_(select(listing.content_hash).where(listing.endpoint_id.in_(part)))
        rows = connection.execute(measured.where(is_of_part)).mappings()
        upsert(connection, schema.registration_alive, [dict(row) for row in rows])


@dataclass(frozen=True, slots=True)
class AliveCount:
    """The agents that currently respond.

    Attributes:
        of: The total number of agents.
        hosts: The number of hosts of the responding endpoints, since one operator may have thousands of agents.
        measured_at: The Unix time of the newest probe.
    """

    agents: int
    of: int
    hosts: int
    measured_at: int


_COUNT_SECONDS: Final = 60.0
_COUNTS: Final[dict[tuple[str, int], tuple[float, AliveCount]]] = {}
"""The last count, by database and newest measurement. Counting 6,000 among 100,000 agents takes a tenth of a second."""


def count_alive(connection: Connection) -> AliveCount | None:
    """Return how many agents currently respond; None if no watchtower writes to the index."""
    newest = connection.execute(select(func.max(_ALIVE.up_at))).scalar_one()
    newest = newest or connection.execute(select(func.max(_ALIVE.probed_at))).scalar_one()
    if newest is None:
        return None
    place, seconds = (str(connection.engine.url), newest), time.monotonic()
    counted_at, stored = _COUNTS.get(place, (0.0, None))
    if stored is not None and seconds - counted_at < _COUNT_SECONDS:
        return stored
    endpoints = schema.registration_alive.join(
        schema.registration_endpoint, _LISTED.content_hash == unindexed(_ALIVE.content_hash)
    ).join(schema.endpoint_state, sa.and_(_IS_STATE, _STATE.state.in_(sorted(REACHABLE))))
    agents = select(func.count()).select_from(_BY_TIME).where(*_is(Alive.NOW))
    hosts = select(func.count(_LISTED.host.distinct())).select_from(endpoints).where(*_is(Alive.NOW))
    queries = (agents, select(func.count()).select_from(agent), hosts)
    count, of, number = (connection.execute(query).scalar_one() for query in queries)
    _COUNTS.clear()
    _COUNTS[place] = seconds, (alive := AliveCount(count, of, number, newest))
    return alive


@dataclass(frozen=True, slots=True)
class MeasuredDay:
    """The measurements of an endpoint on one UTC day, from all vantage points.

    Attributes:
        day: The number of days since 1 January 1970.
        measured: The number of conclusive probes.
        reachable: The number of conclusive probes to which the endpoint responded.
        scheduled: The number of probes that were due.
        median_ms: The median time to the first byte in milliseconds, at the vantage point with the longest median.
    """

    day: int
    measured: int
    reachable: int
    scheduled: int
    median_ms: int | None


@dataclass(frozen=True, slots=True)
class MeasuredChange:
    """A change in what an endpoint reports. The old and the new value may contain untrusted text."""

    at: int
    kind: str
    old: Any
    new: Any
    code: str | None


@dataclass(frozen=True, slots=True)
class MeasuredEndpoint:
    """An endpoint listed in an agent's current registration file, with its measurements. The URL is untrusted.

    Attributes:
        is_probed: False if the file opts the endpoint out of probing.
        state: `up`, `gated`, `degraded`, `down`, `unknown` or `unfit`; None if the endpoint was never measured.
        code: The reason for the state.
        since: The Unix time since which the endpoint has had this state.
        probed_at: The Unix time of the last conclusive probe.
        alive_at: The Unix time of the endpoint's last response.
        milliseconds: The time to the first byte of the last response.
        vantages: The locations from which the endpoint is measured.
        days: Those of the last 90 days on which the endpoint was measured, oldest first.
        changes: The latest changes in what the endpoint reports, newest first.
    """

    protocol: str
    url: str
    host: str
    is_probed: bool
    state: str | None = None
    code: str | None = None
    since: int | None = None
    probed_at: int | None = None
    alive_at: int | None = None
    milliseconds: int | None = None
    vantages: tuple[str, ...] = ()
    days: tuple[MeasuredDay, ...] = ()
    changes: tuple[MeasuredChange, ...] = ()


def endpoints_of(connection: Connection, key: AgentKey) -> tuple[MeasuredEndpoint, ...]:
    """Return the endpoints in an agent's current file, in the order of the file."""
    query = select(*_LISTED["endpoint_id", "protocol", "url", "host", "is_probed"]).select_from(schema.LISTINGS)
    listed = connection.execute(query.where(*key.of(agent_file.c)).order_by(_LISTED.position)).all()
    keys = [row.endpoint_id for row in listed]

    def rows_of(columns: Any, query: sa.Select[Any], most: int = _MOST_ROWS) -> dict[bytes, list[Any]]:
        rows: dict[bytes, list[Any]] = defaultdict(list)
        of_agent = query.where(columns.chain_id == key.chain_id, columns.endpoint_id.in_(keys)).limit(most)
        for row in connection.execute(of_agent):
            rows[row.endpoint_id].append(row)
        return rows

    first_day, day, change = int(time.time()) // DAY - _DAYS, schema.endpoint_day.c, schema.endpoint_change.c
    reached = day.up + day.gated + day.degraded
    sums = *map(func.sum, (reached + day.down, reached, day.scheduled)), func.max(day.median_ms)
    of_days = select(day.endpoint_id, day.day, *sums).where(day.day > first_day).group_by(day.endpoint_id, day.day)
    of_changes = select(*change["endpoint_id", "at", "kind", "old", "new", "code"]).where(change.kind != "state")
    states = rows_of(_STATE, select(*_STATE["endpoint_id", "vantage", *_OF_STATE]).order_by(_STATE.vantage))
    days = rows_of(day, of_days.order_by(day.day))
    drifts = rows_of(change, of_changes.order_by(change.change_id.desc()), _MOST_DRIFTS)
    return tuple(_endpoint(row, *(rows[row.endpoint_id] for rows in (states, days, drifts))) for row in listed)


def _endpoint(listed: Any, states: list[Any], days: list[Any], drifts: list[Any]) -> MeasuredEndpoint:
    # One good vantage suffices.
    best: Any = max(states, key=lambda row: (row.state in REACHABLE, row.probed_at or 0), default=_NO_STATE)
    vantages, of_days = tuple(row.vantage for row in states), tuple(MeasuredDay(*row[1:]) for row in days)
    changes = (MeasuredChange(row.at, row.kind, _value(row.old), _value(row.new), row.code) for row in drifts)
    values = *listed[1:], *best[2:], vantages, of_days, tuple(changes)
    return MeasuredEndpoint(*values)


def _value(text: str | None) -> Any:
    return None if text is None else json.loads(text)


@dataclass(frozen=True, slots=True)
class Measurements:
    """The measurements of an agent.

    Attributes:
        alive: Whether the agent responds, judged by the endpoint that responded last.
    """

    alive: Alive
    endpoints: tuple[MeasuredEndpoint, ...]


def measurements_of(connection: Connection, key: AgentKey) -> Measurements:
    """Return whether an agent responds, and the measurements of the agent's endpoints."""
    row = connection.execute(AGENTS_ALIVE, {name: [getattr(key, name)] for name in _AGENT}).first()
    return Measurements(Alive.UNKNOWN if row is None else Alive(row.alive), endpoints_of(connection, key))
