"""A period's measurements: what a week's probes say about each endpoint, and with what certainty.

Vantages are merged hour by hour: an hour counts as it did for the vantage that reached the endpoint most often, so
trouble near one vantage is not a failure of the endpoint. Latencies of different vantages are never mixed.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from math import sqrt
from statistics import NormalDist, median_low
from typing import Any, Final, Self

import sqlalchemy as sa

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.text import quoted
from bilateral.index.files.reading import secure_host
from bilateral.index.measurements.values import REACHABLE, Outcome, Protocol, Target
from bilateral.watchtower.outcomes import Code
from bilateral.watchtower.store import Store
from bilateral.watchtower.tables import change, day, hour
from bilateral.watchtower.totals import DAY, Totals

ROUND_SECONDS: Final = 900

LEAST_MEASURED: Final = 90
"""The minimum number of probes for a share: with 96 successes of 96, the uptime is 96.2 to 100 %."""

LEAST_COVERAGE: Final = 80
"""The minimum percentage of due probes that measured something. The rest may have been failures."""

PARTIAL: Final = "partial"
"""The code for an endpoint that some vantages reach and others do not."""

_PARTIAL_SECONDS: Final = 3 * ROUND_SECONDS
_MOST_CHANGES: Final = 5  # in a leaf, the last ones
_FOR_EVER: Final = 1 << 62
_QUANTILE: Final = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True)
class Period:
    """An ISO week.

    Attributes:
        name: Its name, such as `2026-W47`.
        first: The Unix time at which the week begins.
        end: The Unix time at which the week ends.
    """

    name: str
    first: int
    end: int

    @classmethod
    def parse(cls, name: str) -> Self:
        """Return the period with a given name."""
        try:
            monday = datetime.strptime(f"{name}-1", "%G-W%V-%u").replace(tzinfo=UTC)
        except ValueError:
            raise InvalidArgumentError(f"{quoted(name)} is not an ISO week such as 2026-W47") from None
        first = int(monday.timestamp())
        return cls(f"{monday:%G-W%V}", first, first + 7 * DAY)

    @property
    def week(self) -> int:
        """The number of the week since 1970."""
        return self.first // (7 * DAY)


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """Return the bounds of the Wilson score interval for a share, with 95 % two-sided confidence."""
    share, squared = successes / trials, _QUANTILE**2
    centre = share + squared / (2 * trials)
    spread = _QUANTILE * sqrt((share * (1 - share) + squared / (4 * trials)) / trials)
    low, high = ((centre + sign * spread) / (1 + squared / trials) for sign in (-1, 1))
    return max(low, 0.0), min(high, 1.0)


@dataclass(frozen=True)
class VantageState:
    """An endpoint's state as seen by one vantage at the end of a period, since a Unix time."""

    state: Outcome
    code: str | None
    since: int


def join_states(states: Collection[VantageState], end: int) -> VantageState | None:
    """Return an endpoint's state as seen by the vantages that measured it; None if none did.

    It is reachable if a vantage reaches it, and down if none does. If they disagree for three rounds, it is degraded.
    """
    measured = [state for state in states if state.state in REACHABLE or state.state is Outcome.DOWN]
    if not measured:
        return None
    best = min(measured, key=lambda state: (_RANKS.index(state.state), state.since, state.code or ""))
    disagreeing_since = max((state.since for state in measured if state.state is Outcome.DOWN), default=end)
    since = max(disagreeing_since, best.since)
    if best.state is not Outcome.DOWN and end - since >= _PARTIAL_SECONDS:
        return VantageState(Outcome.DEGRADED, PARTIAL, since)
    return best


_RANKS: Final = (Outcome.UP, Outcome.GATED, Outcome.DEGRADED, Outcome.DOWN)


def measure(store: Store, period: Period, owned: Collection[tuple[str, str]] = ()) -> list[dict[str, Any]]:
    """Return the measurement of each listed endpoint in a period, as JSON, in the order of their ids.

    Args:
        owned: The agents, by short id, and the hosts that list them as theirs.
    """
    joined: dict[bytes, Totals] = defaultdict(Totals)
    by_vantage: dict[bytes, dict[str, Totals]] = defaultdict(lambda: defaultdict(Totals))
    hours = store.measured(hour, period.first, period.end)  # millions, and those of an endpoint's hour are neighbours
    for (_, key), rows in groupby(hours, key=lambda row: (row.start, row.endpoint_id)):
        vantages = {row.vantage: Totals.of(row) for row in rows}
        joined[key].add(max(vantages.items(), key=_order)[1])
        for vantage, totals in vantages.items():
            by_vantage[key][vantage].add(totals)
    hidden = {row.endpoint_id for row in store.measured(day, period.first, _FOR_EVER) if Code.OPTED_OUT in row.codes}
    states: dict[bytes, dict[str, VantageState]] = defaultdict(dict)
    drifts: dict[bytes, list[sa.Row[Any]]] = defaultdict(list)
    for row in sorted(store.changes(change.c.at < period.end), key=lambda row: (row.at, row.kind)):
        if row.kind == "state":
            states[row.endpoint_id][row.vantage] = VantageState(Outcome(row.new), row.code, row.at)
        elif row.at >= period.first:
            drifts[row.endpoint_id].append(row)
    leaves = []
    for entry in sorted(store.endpoints(), key=lambda entry: entry.target.endpoint_id):
        target, lag = entry.target, entry.condition.facts.get("lag")
        key = target.endpoint_id
        if target.agents and key in joined and key not in hidden:
            owners = {str(agent): (str(agent), secure_host(target.url)) in owned for agent in target.agents}
            measured = _measured(joined[key], by_vantage[key], states[key], period.end)
            late = {} if lag is None else {"blocktimeFreshness": str(lag)}
            leaves.append(_leaf(period, target, owners, drifts[key]) | measured | late)
    return leaves


def _leaf(period: Period, target: Target, owners: Mapping[str, bool], drifts: Sequence[Any]) -> dict[str, Any]:
    names = ("at", "kind", "old", "new", "code")
    return {
        "kind": "endpoint",
        "period": period.name,
        "endpoint": target.endpoint_id.hex(),
        "protocol": str(target.protocol),
        "url": target.url,
        "agents": owners,
        "changes": [{name: getattr(row, name) for name in names} for row in drifts[-_MOST_CHANGES:]],
    }


def _measured(
    joined: Totals, by_vantage: Mapping[str, Totals], states: Mapping[str, VantageState], end: int
) -> dict[str, Any]:
    known, reached, answered = joined.known, joined.reached, joined.answered
    vantages: dict[str, dict[str, Any]] = {
        name: {
            "scheduled": totals.scheduled,
            "known": totals.known,
            "reached": totals.reached,
            "state": str(states[name].state) if name in states else None,
            "p50": totals.quantile(0.5),
            "p95": totals.quantile(0.95),
        }
        for name, totals in sorted(by_vantage.items())
    }
    state = join_states([states[name] for name, entry in vantages.items() if entry["known"] and name in states], end)
    is_enough = known >= LEAST_MEASURED and known * 100 >= LEAST_COVERAGE * joined.scheduled
    return {
        "state": None if state is None else str(state.state),
        "code": None if state is None else state.code,
        "since": None if state is None else state.since,
        "scheduled": joined.scheduled,
        "known": known,
        "answered": answered,
        "counts": {str(outcome): joined.counts[outcome] for outcome in Outcome if joined.counts[outcome]},
        "uptime": _share(reached, known) if is_enough else None,
        "successRate": _share(min(reached, answered), answered) if is_enough and answered else None,
        "vantages": vantages,
        **{name: _median(entry[name] for entry in vantages.values()) for name in ("p50", "p95")},
    }


def _order(entry: tuple[str, Totals]) -> tuple[Any, ...]:
    """Return a sort key for an hour's vantages, with the one that reached the endpoint most often last."""
    vantage, totals = entry
    return (totals.reached / totals.known if totals.known else -1.0), totals.known, totals.scheduled, vantage


def _median(values: Iterable[int | None]) -> int | None:
    present = [value for value in values if value is not None]
    return median_low(present) if present else None


def _share(part: int, whole: int) -> list[str]:
    """Return a share as a percentage, rounded down to one decimal so that 100 means always, and its bounds."""
    tenths = part * 1000 // whole
    return [f"{tenths // 10}.{tenths % 10}", *(f"{100 * bound:.4f}" for bound in wilson(part, whole))]


def values_of(leaf: Mapping[str, Any], agent: str) -> dict[str, Any]:
    """Return the values of an agent's signals according to a measurement, by tag.

    On a domain that does not list the agent, anyone could borrow a rival's uptime: so only whether it is reachable is
    published.
    """
    if leaf["kind"] != "endpoint":
        return {leaf["kind"]: leaf["dollars"]}
    if leaf["state"] is None:
        return {}
    is_owned = leaf["agents"][agent]
    values: dict[str, Any] = {"reachable": leaf["state"] != Outcome.DOWN, "ownerVerified": is_owned}
    if is_owned and leaf["uptime"] is not None:
        values |= {tag: leaf[tag][0] for tag in ("uptime", "successRate") if leaf[tag] is not None}
        if leaf["p50"] is not None and leaf["protocol"] != Protocol.OASF:  # a document has no latency of a service
            values["responseTime"] = leaf["p50"]
        if "blocktimeFreshness" in leaf:
            values["blocktimeFreshness"] = leaf["blocktimeFreshness"]
    return values
