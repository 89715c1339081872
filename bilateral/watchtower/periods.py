"""A period's measurements: each endpoint's figures from a week of probes, with confidence bounds, and revenues.

Vantages are merged hour by hour: for each hour, the vantage that reached the endpoint most often counts. Network
problems near one vantage are therefore not failures of the endpoint. Latencies from different vantages are never mixed.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_DOWN, Context, Decimal
from itertools import groupby
from math import sqrt
from operator import itemgetter
from statistics import NormalDist, median_low
from typing import Any, Final, NamedTuple, Self

from sqlalchemy import Connection, Engine, func, null, select, union, union_all

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import AgentId
from bilateral.core.text import quoted
from bilateral.index.agents.tables import agent
from bilateral.index.files.reading import secure_host
from bilateral.index.files.tables import registration_domain
from bilateral.index.log.database import snapshot
from bilateral.index.measurements.values import DAY, Outcome, Protocol
from bilateral.index.payments.tables import payment, payment_cursor, payment_return
from bilateral.index.payments.terms import MICROS
from bilateral.index.reading.registries import read_registries
from bilateral.index.search.plans import naming_domains
from bilateral.watchtower.outcomes import Code, measured, quantile, reached
from bilateral.watchtower.store import Store, change

ROUND_SECONDS: Final = 900

LEAST_MEASURED: Final = 90
"""The minimum number of probes for a percentage. After 96 successes in 96 probes, uptime is between 96.2 and 100 %."""

LEAST_COVERAGE: Final = 80
"""The percentage of due probes that must have measured something. The other probes may have been failures."""

PARTIAL: Final = "partial"
"""The code for an endpoint that some vantages reach and others do not."""

_RANKS: Final = (Outcome.UP, Outcome.GATED, Outcome.DEGRADED, Outcome.DOWN)
_PARTIAL_SECONDS: Final = 3 * ROUND_SECONDS
_MOST_CHANGES: Final = 5  # per leaf
_QUANTILE: Final = NormalDist().inv_cdf(0.975)

_SELLER: Final = ("chain_id", "identity_registry", "agent_id")
_LEAST_MICROS: Final = 10_000
"""The smallest revenue that is published: a cent."""

_TWO_DIGITS: Final = Context(prec=2, rounding=ROUND_DOWN)

_SETTLING_SECONDS: Final = 3_600
"""The number of seconds after which the failures at the end of a period are confirmed."""

_FROZEN: Final = "published_leaves"
_RETAINED: Final = 3  # periods, because the latest ones may still have to be published on another chain


@dataclass(frozen=True)
class Period:
    """An ISO week.

    Attributes:
        name: The week's name, such as `2026-W47`.
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


class VantageState(NamedTuple):
    """An endpoint's state as seen by one vantage at the end of a period, and the Unix time when that state began."""

    state: Any = None
    code: str | None = None
    since: Any = None


def join_states(states: Collection[VantageState], end: int) -> VantageState:
    """Return an endpoint's state as seen by the vantages that measured it.

    The endpoint is down if no vantage reaches it, degraded if they disagree for three rounds, and reachable otherwise.
    """
    counted = [entry for entry in states if entry.state in _RANKS]
    if not counted:
        return VantageState()
    best = min(counted, key=lambda entry: (_RANKS.index(entry.state), entry.since, entry.code or ""))
    since = max(best.since, max((entry.since for entry in counted if entry.state is Outcome.DOWN), default=end))
    is_split = best.state is not Outcome.DOWN and end - since >= _PARTIAL_SECONDS
    return VantageState(Outcome.DEGRADED, PARTIAL, since) if is_split else best


def measurements(store: Store, index: Engine, period: Period) -> list[dict[str, Any]]:
    """Return a period's measurements: the published ones, or current ones from the store and the index."""
    frozen: dict[str, list[dict[str, Any]]] = store.setting(_FROZEN) or {}
    if period.name in frozen:
        return frozen[period.name]
    agents = {agent for entry in store.endpoints() for agent in entry.target.agents}
    with snapshot(index) as connection:
        owned = owned_hosts(connection, agents)
        return [*measure(store, period, owned), *revenues(connection, period, agents)]


def freeze(
    store: Store, index: Engine, period: Period, *, dry_run: bool = False
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the measurements of a period and of the one published before it, and store both for later runs."""
    if time.time() < period.end + _SETTLING_SECONDS:
        raise InvalidArgumentError(f"{period.name} can be published no earlier than an hour after its end")
    leaves = measurements(store, index, period)
    if not leaves:
        raise InvalidArgumentError(f"nothing was measured in {period.name}")
    frozen: dict[str, list[dict[str, Any]]] = store.setting(_FROZEN) or {}
    previous = max((name for name in frozen if name < period.name), default="")
    if not dry_run:
        frozen[period.name] = leaves
        store.set_setting(_FROZEN, {name: frozen[name] for name in sorted(frozen)[-_RETAINED:]})
    return leaves, frozen.get(previous, [])


def measure(store: Store, period: Period, owned: Collection[tuple[str, str]] = ()) -> list[dict[str, Any]]:
    """Return the measurements of all listed endpoints in a period, as JSON, in the order of the endpoints' ids.

    Args:
        owned: Pairs of an agent's short id and a host that lists the agent.
    """
    joined: dict[bytes, Counter[str]] = defaultdict(Counter)
    by_vantage: dict[bytes, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    hidden = set()
    # There are millions of hours. Those that vantages share are neighbours.
    for (start, key), rows in groupby(store.hours(period.first), key=itemgetter(0, 1)):
        vantages = {vantage: counts for *_, vantage, counts in rows}
        if any(Code.OPTED_OUT in counts for counts in vantages.values()):
            hidden.add(key)
        if start < period.end:
            joined[key].update(max(vantages.items(), key=_order)[1])
            for vantage, counts in vantages.items():
                by_vantage[key][vantage].update(counts)
    states: dict[bytes, dict[str, VantageState]] = defaultdict(dict)
    drifts: dict[bytes, list[dict[str, Any]]] = defaultdict(list)
    names = ("at", "kind", "old", "new", "code")
    for row in sorted(store.changes(change.c.at < period.end), key=lambda row: (row.at, row.kind)):
        if row.kind == "state":
            states[row.endpoint_id][row.vantage] = VantageState(Outcome(row.new), row.code, row.at)
        elif row.at >= period.first:
            drifts[row.endpoint_id].append({name: getattr(row, name) for name in names})
    leaves = []
    for entry in sorted(store.endpoints(), key=lambda entry: entry.target.endpoint_id):
        target, lag = entry.target, entry.condition.facts.get("lag")
        key = target.endpoint_id
        if target.agents and key in joined and key not in hidden:
            leaf = {
                "kind": "endpoint",
                "period": period.name,
                "endpoint": key.hex(),
                "protocol": str(target.protocol),
                "url": target.url,
                "agents": {str(agent): (str(agent), secure_host(target.url)) in owned for agent in target.agents},
                "changes": drifts[key][-_MOST_CHANGES:],
            }
            late = {} if lag is None else {"blocktimeFreshness": str(lag)}
            leaves.append(leaf | _figures(joined[key], by_vantage[key], states[key], period.end) | late)
    return leaves


def _figures(
    joined: Counter[str], by_vantage: Mapping[str, Counter[str]], states: Mapping[str, VantageState], end: int
) -> dict[str, Any]:
    known, answered = measured(joined), joined["answered"]
    vantages: dict[str, dict[str, Any]] = {
        name: {
            "scheduled": counts["scheduled"],
            "known": measured(counts),
            "reached": reached(counts),
            "state": states.get(name, VantageState()).state,
            "p50": quantile(counts, 0.5),
            "p95": quantile(counts, 0.95),
        }
        for name, counts in sorted(by_vantage.items())
    }
    state = join_states([states[name] for name, entry in vantages.items() if entry["known"] and name in states], end)
    is_enough = known >= LEAST_MEASURED and known * 100 >= LEAST_COVERAGE * joined["scheduled"]
    return {
        **state._asdict(),
        "scheduled": joined["scheduled"],
        "known": known,
        "answered": answered,
        "counts": {str(outcome): joined[outcome] for outcome in Outcome if joined[outcome]},
        "uptime": _share(reached(joined), known) if is_enough else None,
        "successRate": _share(min(reached(joined), answered), answered) if is_enough and answered else None,
        "vantages": vantages,
        **{name: _median(entry[name] for entry in vantages.values()) for name in ("p50", "p95")},
    }


def _order(entry: tuple[str, Counter[str]]) -> tuple[Any, ...]:
    """Return a sort key for an hour's vantages, with the one that reached the endpoint most often last."""
    vantage, counts = entry
    known = measured(counts)
    return (reached(counts) / known if known else -1.0), known, counts["scheduled"], vantage


def _median(values: Iterable[int | None]) -> int | None:
    present = [value for value in values if value is not None]
    return median_low(present) if present else None


def _share(part: int, whole: int) -> list[str]:
    """Return a share as a percentage, rounded down to one decimal so that 100 means always, and its bounds."""
    tenths = part * 1000 // whole
    return [f"{tenths // 10}.{tenths % 10}", *(f"{100 * bound:.4f}" for bound in wilson(part, whole))]


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """Return the bounds of the Wilson score interval for a share, with 95 % two-sided confidence."""
    share, squared = successes / trials, _QUANTILE**2
    centre = share + squared / (2 * trials)
    spread = _QUANTILE * sqrt((share * (1 - share) + squared / (4 * trials)) / trials)
    low, high = ((centre + sign * spread) / (1 + squared / trials) for sign in (-1, 1))
    return max(low, 0.0), min(high, 1.0)


def values_of(leaf: Mapping[str, Any], agent: str) -> dict[str, Any]:
    """Return the values of an agent's signals from a measurement, by tag.

    If the domain does not list the agent, only whether it is reachable is published. Otherwise, anyone could borrow a
    rival's uptime.
    """
    if leaf["kind"] != "endpoint":
        return {leaf["kind"]: leaf["dollars"]}
    if leaf["state"] is None:
        return {}
    is_owned = leaf["agents"][agent]
    values: dict[str, Any] = {"reachable": leaf["state"] != Outcome.DOWN, "ownerVerified": is_owned}
    if is_owned and leaf["uptime"] is not None:
        values |= {tag: leaf[tag][0] for tag in ("uptime", "successRate") if leaf[tag] is not None}
        if leaf["p50"] is not None and leaf["protocol"] != Protocol.OASF:  # documents have none
            values["responseTime"] = leaf["p50"]
        if "blocktimeFreshness" in leaf:
            values["blocktimeFreshness"] = leaf["blocktimeFreshness"]
    return values


def owned_hosts(connection: Connection, agents: Collection[AgentId]) -> set[tuple[str, str]]:
    """Return pairs of an agent's short id and a host of the agent's services that lists the agent."""
    keys = _keys(connection, agents)
    rows = connection.execute(naming_domains(*agent.c[_SELLER], registration_domain.c.host).distinct())
    return {(keys[key], host) for *place, host in rows if (key := tuple(place)) in keys}


def revenues(connection: Connection, period: Period, agents: Collection[AgentId]) -> list[dict[str, Any]]:
    """Return what agents were paid by the end of the period, minus what they paid back, as JSON.

    A payment counts for the agent whose wallet received it at that time, unless the payer is its owner or wallet, or
    acts for it. Dollars are rounded down to two significant digits.
    """
    paid, back = payment.c, payment_return.c
    is_counted = paid.kinship.is_(None) & (paid.block_time < period.end)
    received = select(*paid[_SELLER], paid.payer, paid.micros, paid.block_number).where(is_counted)
    sellers = (select(*paid[_SELLER], own.label("account")).where(is_counted) for own in (paid.payee, paid.owner))
    seller = union(*sellers).subquery().c
    returned = select(*seller[_SELLER], back.receiver, -back.micros, null()).where(
        back.chain_id == seller.chain_id, back.payee == seller.account, back.block_time < period.end
    )
    flow = union_all(received, returned).subquery().c
    sums = select(*flow[_SELLER], func.sum(flow.micros), func.min(flow.block_number))
    paid_by: dict[tuple[Any, ...], list[tuple[int, int]]] = defaultdict(list)
    for *place, micros, block in connection.execute(sums.group_by(*flow[_SELLER], flow.payer)):
        paid_by[tuple(place)].append((int(micros), block))
    last_block = dict(map(tuple, connection.execute(select(*payment_cursor.c["chain_id", "block_number"]))))
    leaves = []
    for key, short_id in sorted(_keys(connection, agents).items()):
        rest = sorted(micros for micros, _ in paid_by[key] if micros > 0)
        if sum(rest) >= _LEAST_MICROS:
            leaf = {"kind": "revenues", "period": period.name, "agents": {short_id: True}}
            share = str(rest[-1] * 1000 // sum(rest) / Decimal(10))
            figures = {"dollars": two_digits(sum(rest)), "payers": len(rest), "topShare": share}
            first_block = min(block for _, block in paid_by[key] if block is not None)
            leaves.append(leaf | figures | {"blocks": [first_block, last_block.get(key[0])]})
    return leaves


def two_digits(micros: int) -> str:
    """Return millionths of a dollar as dollars, rounded down to two significant digits."""
    return format(_TWO_DIGITS.create_decimal(Decimal(micros).scaleb(-MICROS)), "f")


def _keys(connection: Connection, agents: Collection[AgentId]) -> dict[tuple[Any, ...], str]:
    """Return the short ids of agents on indexed chains, by their keys in the index."""
    registries = read_registries(connection)
    identities: dict[int | None, str] = {chain_id: registries.identity_of(chain_id) for chain_id in registries.chains}
    listed = (entry for entry in agents if entry.chain_id in identities)
    return {(entry.chain_id, identities[entry.chain_id], entry.token_id): str(entry) for entry in listed}
