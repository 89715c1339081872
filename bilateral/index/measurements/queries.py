"""Which agents answer: conditions of searches, counts, and the measurements of one agent."""

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import Connection, func, select

from bilateral.index.agents.tables import agent
from bilateral.index.files.tables import READ_FILES, agent_file, registration_file
from bilateral.index.measurements.tables import endpoint_change, endpoint_day, endpoint_state, registration_endpoint
from bilateral.index.measurements.values import REACHABLE, Alive, Outcome
from bilateral.index.reading.registries import AgentKey

DAY: Final = 86_400
RECENT_SECONDS: Final = 7 * DAY
_FRESH_SECONDS: Final = DAY
"""The age beyond which a state is not one of now: endpoints are probed daily at the least."""

_DAYS: Final = 90
_MOST_DRIFTS: Final = 5
_MOST_ROWS: Final = 5_000  # 90 days of five endpoints from eleven vantages

_AGENT: Final = ("chain_id", "identity_registry", "agent_id")
_STATE: Final = endpoint_state.c
_LISTED: Final = registration_endpoint.c
_MEASURED: Final = READ_FILES.join(
    registration_endpoint, _LISTED.content_hash == registration_file.c.content_hash
).join(
    endpoint_state,
    sa.and_(_STATE.chain_id == agent_file.c.chain_id, _STATE.endpoint_id == _LISTED.endpoint_id),
)
"""The states of the endpoints in the current files of agents."""

_COUNTED: Final = tuple(sorted({*REACHABLE, Outcome.DOWN}))
"""The states that say something about an endpoint."""


def alive_of(rows: Iterable[Any], now: float | None = None) -> Alive:
    """Return whether an agent answers, by the rows of `endpoint_state` of its endpoints."""
    now, rows = time.time() if now is None else now, [row for row in rows if row.state in _COUNTED]
    last = max((row.alive_at or 0 for row in rows), default=0)
    if any(row.state in REACHABLE and row.probed_at >= now - _FRESH_SECONDS for row in rows):
        return Alive.NOW
    if last >= now - RECENT_SECONDS:
        return Alive.RECENTLY
    if all((row.probed_at or 0) < now - RECENT_SECONDS for row in rows):
        return Alive.UNKNOWN
    return Alive.FORMERLY if last else Alive.NEVER


def is_alive(alive: Alive, now: float | None = None) -> sa.ColumnElement[bool]:
    """Return the condition of `alive_of` on rows of `agent`."""
    now = time.time() if now is None else now
    is_recent = _has_state(_STATE.alive_at >= int(now) - RECENT_SECONDS)
    is_now = _has_state(*_is_now(now))
    is_measured = _has_state(_STATE.probed_at >= int(now) - RECENT_SECONDS)
    was_alive = _has_state(_STATE.alive_at.is_not(None))
    conditions = {
        Alive.NOW: is_now,
        Alive.RECENTLY: is_recent & ~is_now,
        Alive.FORMERLY: is_measured & was_alive & ~is_recent,
        Alive.NEVER: is_measured & ~was_alive,
        Alive.UNKNOWN: ~is_recent & ~is_measured,
    }
    return conditions[alive]


def _is_now(now: float) -> tuple[sa.ColumnElement[bool], ...]:
    return _STATE.state.in_(sorted(REACHABLE)), _STATE.probed_at >= int(now) - _FRESH_SECONDS


def _has_state(*conditions: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """Return the condition that an endpoint of an agent has a state."""
    return (
        select(sa.literal(1))
        .select_from(_MEASURED)
        .where(*(agent_file.c[name] == agent.c[name] for name in _AGENT), _STATE.state.in_(_COUNTED), *conditions)
        .correlate(agent)
        .offset(0)  # PostgreSQL would hash the endpoints of all agents first; with this it looks each agent up
        .exists()
    )


AGENT_STATES: Final = (
    select(*(agent_file.c[name] for name in _AGENT), _LISTED.host, *_STATE["state", "alive_at", "probed_at"])
    .select_from(_MEASURED)
    .where(*(agent_file.c[name].in_(sa.bindparam(name, expanding=True)) for name in _AGENT))
)
"""The states of the endpoints of agents, by lists of the parts of their keys."""


def agents_with(connection: Connection, alive: Alive, most: int) -> list[tuple[int, str, int]] | None:
    """Return the agents whose measurements may make them so, and perhaps others; None if there are more."""
    now = time.time()
    limits = {Alive.NOW: _is_now(now), Alive.RECENTLY: (_STATE.alive_at >= int(now) - RECENT_SECONDS,)}
    keys = select(*(agent_file.c[name] for name in _AGENT)).select_from(_MEASURED).where(*limits.get(alive, ()))
    rows = connection.execute(keys.distinct().limit(most + 1)).all()
    return None if len(rows) > most else [(row.chain_id, row.identity_registry, int(row.agent_id)) for row in rows]


@dataclass(frozen=True, slots=True)
class AliveCount:
    """The agents that answer now.

    Attributes:
        of: All agents.
        hosts: The hosts of their endpoints that answer: one operator may have thousands of agents.
        measured_at: The Unix time of the newest probe.
    """

    agents: int
    of: int
    hosts: int
    measured_at: int


def count_alive(connection: Connection, chain_id: int | None = None, now: float | None = None) -> AliveCount | None:
    """Return how many agents answer now, on one chain or on all; None if no watchtower writes into the index."""
    of_chain = () if chain_id is None else (_STATE.chain_id == chain_id,)
    newest = connection.execute(select(func.max(_STATE.probed_at)).where(*of_chain)).scalar_one()
    if newest is None:
        return None
    where = (*of_chain, *_is_now(time.time() if now is None else now))
    agents = select(*(agent_file.c[name] for name in _AGENT)).select_from(_MEASURED).where(*where).distinct()
    hosts = select(func.count(_LISTED.host.distinct())).select_from(_MEASURED).where(*where)
    every = select(func.count()).select_from(agent)
    every = every if chain_id is None else every.where(agent.c.chain_id == chain_id)
    alive = select(func.count()).select_from(agents.subquery())
    count, of, number = (connection.execute(query).scalar_one() for query in (alive, every, hosts))
    return AliveCount(count, of, number, newest)


@dataclass(frozen=True, slots=True)
class MeasuredDay:
    """What was measured of an endpoint on one UTC day, from all vantages.

    Attributes:
        day: Days since 1970.
        measured: The probes that say something about the endpoint.
        reachable: Those of them that it answered.
        scheduled: The probes that were due.
        median_ms: The median time to the first byte, from the vantage with the longest one.
    """

    day: int
    measured: int
    reachable: int
    scheduled: int
    median_ms: int | None


@dataclass(frozen=True, slots=True)
class MeasuredChange:
    """A change of what an endpoint says. Both values may hold words of strangers."""

    at: int
    kind: str
    old: Any
    new: Any
    code: str | None


@dataclass(frozen=True, slots=True)
class MeasuredEndpoint:
    """An endpoint of an agent's current registration file, with its measurements. The URL is the word of a stranger.

    Attributes:
        is_probed: False if the file asks not to probe it.
        state: `up`, `gated`, `degraded`, `down`, `unknown` or `unfit`; None if it was never measured.
        code: The reason of the state.
        since: The Unix time from which it has this state.
        probed_at: The Unix time of the last probe that counts.
        alive_at: The Unix time at which it last answered.
        milliseconds: The time to the first byte of the last answer.
        vantages: The places from which it is measured.
        days: The days with measurements among the last 90, the oldest first.
        changes: The last changes of what it says, the newest first.
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
    """Return the endpoints of an agent's current file, in its order."""
    files = READ_FILES.join(registration_endpoint, _LISTED.content_hash == registration_file.c.content_hash)
    query = select(*_LISTED).select_from(files).where(*key.of(agent_file.c)).order_by(_LISTED.position)
    listed = {bytes(row.endpoint_id): row for row in connection.execute(query)}

    def rows_of(table: sa.Table, *conditions: sa.ColumnElement[bool], order: Any, limit: int) -> dict[bytes, list[Any]]:
        rows: dict[bytes, list[Any]] = defaultdict(list)
        of_agent = (table.c.chain_id == key.chain_id, table.c.endpoint_id.in_(list(listed)))
        for row in connection.execute(select(table).where(*of_agent, *conditions).order_by(order).limit(limit)):
            rows[bytes(row.endpoint_id)].append(row)
        return rows

    states = rows_of(endpoint_state, order=_STATE.vantage, limit=_MOST_ROWS)
    first_day, day, change = int(time.time()) // DAY - _DAYS, endpoint_day.c, endpoint_change.c
    days = rows_of(endpoint_day, day.day > first_day, order=day.day, limit=_MOST_ROWS)
    drifts = rows_of(endpoint_change, change.kind != "state", order=change.change_id.desc(), limit=_MOST_DRIFTS)
    return tuple(_endpoint(row, states[name], days[name], drifts[name]) for name, row in listed.items())


def _endpoint(listed: Any, states: list[Any], days: list[Any], drifts: list[Any]) -> MeasuredEndpoint:
    place = {name: getattr(listed, name) for name in ("protocol", "url", "host", "is_probed")}
    if not states:
        return MeasuredEndpoint(**place)
    best = max(states, key=lambda row: (row.state in REACHABLE, row.probed_at or 0))  # one good vantage suffices
    names = ("state", "code", "since", "probed_at", "alive_at", "milliseconds")
    return MeasuredEndpoint(
        **place,
        **{name: getattr(best, name) for name in names},
        vantages=tuple(row.vantage for row in states),
        days=tuple(_day(number, list(rows)) for number, rows in groupby(days, attrgetter("day"))),
        changes=tuple(MeasuredChange(row.at, row.kind, _value(row.old), _value(row.new), row.code) for row in drifts),
    )


def _value(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _day(number: int, rows: Sequence[Any]) -> MeasuredDay:
    reachable = sum(getattr(row, outcome) for row in rows for outcome in REACHABLE)
    medians = [row.median_ms for row in rows if row.median_ms is not None]
    measured, scheduled = reachable + sum(row.down for row in rows), sum(row.scheduled for row in rows)
    return MeasuredDay(number, measured, reachable, scheduled, max(medians, default=None))
