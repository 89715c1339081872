"""A period's measurements: each endpoint's figures from a week of probes, with confidence bounds, and revenues.

Vantages are merged hour by hour: for each hour, the vantage that reached the endpoint most often counts. Network
problems near one vantage are therefore not failures of the endpoint. Latencies from different vantages are never mixed.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_DOWN, Context, Decimal
from itertools import groupby
from operator import itemgetter
from statistics import NormalDist, median_low
from typing import Any, Final, NamedTuple, Self, TypeAlias

from sqlalchemy import Connection, Engine, func, null, select, union, union_all

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import AgentId
from bilateral.core.text import quoted
from bilateral.core.values.bounds import wilson
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
from bilateral.watchtower.store import OF_CHANGE, Store, change

Leaf: TypeAlias = dict[str, Any]
"""A measurement as JSON: the figures of an endpoint, or the revenues of an agent."""

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
_QUANTILE: Final = NormalDist().inv_cdf(0.975)  # of a two-sided interval with 95 % confidence

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


def measurements(store: Store, index: Engine, period: Period) -> list[Leaf]:
    """Return a period's measurements: the published ones, or current ones from the store and the index."""
    frozen: dict[str, list[Leaf]] = store.setting(_FROZEN) or {}
    if period.name in frozen:
        return frozen[period.name]
    agents = {agent for entry in store.endpoints() for agent in entry.target.agents}
    with snapshot(index) as connection:
        owned = owned_hosts(connection, agents)
        return [*measure(store, period, owned), *revenues(connection, period, agents)]


def freeze(store: Store, index: Engine, period: Period, *, dry_run: bool = False) -> tuple[list[Leaf], list[Leaf]]:
    """Return the measurements of a period and of the one published before it, and store both for later runs."""
    if time.time() < period.end + _SETTLING_SECONDS:
        raise InvalidArgumentError(f"{period.name} cannot be published until an hour after it has ended")
    leaves = measurements(store, index, period)
    if not leaves:
        raise InvalidArgumentError(f"nothing was measured in {period.name}: choose a different period")
    frozen: dict[str, list[Leaf]] = store.setting(_FROZEN) or {}
    previous = max((name for name in frozen if name < period.name), default="")
    if not dry_run:
        frozen[period.name] = leaves
        store.set_setting(_FROZEN, {name: frozen[name] for name in sorted(frozen)[-_RETAINED:]})
    return leaves, frozen.get(previous, [])


def measure(store: Store, period: Period, owned: Collection[tuple[str, str]] = ()) -> list[Leaf]:
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
    states: dict[bytes, dict[str, VantageState]] = defaultdict(lambda: defaultdict(VantageState))
    drifts: dict[bytes, list[dict[str, Any]]] = defaultdict(list)
    for row in sorted(store.changes(change.c.at < period.end), key=lambda row: (row.at, row.kind)):
        if row.kind == "state":
            states[row.endpoint_id][row.vantage] = VantageState(Outcome(row.new), row.code, row.at)
        elif row.at >= period.first:
            drifts[row.endpoint_id].append({name: getattr(row, name) for name in OF_CHANGE})
    leaves = []
    for entry in sorted(store.endpoints(), key=lambda entry: entry.target.endpoint_id):
        target, lag = entry.target, entry.condition.facts.get("lag")
        key = target.endpoint_id
        if target.agents and key in joined and key not in hidden:
            agents = {agent: (agent, secure_host(target.url)) in owned for agent in target.agents}
            leaf: Leaf = {"kind": "endpoint", "period": period.name, "endpoint": key.hex(), "agents": agents}
            leaf |= {"protocol": target.protocol, "url": target.url, "changes": drifts[key][-_MOST_CHANGES:]}
            leaf |= {} if lag is None else {"blocktimeFreshness": str(lag)}
            leaves.append(leaf | _figures(joined[key], by_vantage[key], states[key], period.end))
    return leaves


def _figures(
    joined: Counter[str], by_vantage: Mapping[str, Counter[str]], states: Mapping[str, VantageState], end: int
) -> dict[str, Any]:
    scheduled, known, answered, up = joined["scheduled"], measured(joined), joined["answered"], reached(joined)
    vantages: dict[str, dict[str, Any]] = {}
    for name, counts in sorted(by_vantage.items()):
        totals = {"scheduled": counts["scheduled"], "known": measured(counts), "reached": reached(counts)}
        latencies = {"p50": quantile(counts, 0.5), "p95": quantile(counts, 0.95)}
        vantages[name] = {**totals, "state": states[name].state, **latencies}
    latencies_of = {key: [each[key] for each in vantages.values() if each[key] is not None] for key in ("p50", "p95")}
    state = join_states([states[name] for name, entry in vantages.items() if entry["known"]], end)
    is_enough = known >= LEAST_MEASURED and known * 100 >= LEAST_COVERAGE * scheduled
    numbers = {"scheduled": scheduled, "known": known, "answered": answered}
    return {
        **state._asdict() | numbers,
        "vantages": vantages,
        "counts": {outcome: joined[outcome] for outcome in Outcome if joined[outcome]},
        "uptime": _share(up, known) if is_enough else None,
        "successRate": _share(min(up, answered), answered) if is_enough and answered else None,
        **{name: median_low(values) if values else None for name, values in latencies_of.items()},
    }


def _order(entry: tuple[str, Counter[str]]) -> tuple[Any, ...]:
    """Return a sort key for an hour's vantages, with the one that reached the endpoint most often last."""
    vantage, counts = entry
    known = measured(counts)
    return (reached(counts) / known if known else -1.0), known, counts["scheduled"], vantage


def _share(part: int, whole: int) -> list[str]:
    """Return a share as a percentage, rounded down to one decimal so that 100 means always, and its bounds."""
    tenths = part * 1000 // whole
    bounds = wilson(part / whole, whole, _QUANTILE)
    return [f"{tenths // 10}.{tenths % 10}", *(f"{100 * bound:.4f}" for bound in bounds)]


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


def owned_hosts(connection: Connection, agents: Collection[str]) -> set[tuple[str, str]]:
    """Return pairs of an agent's short id and a host of the agent's services that lists the agent."""
    keys = _keys(connection, agents)
    rows = connection.execute(naming_domains(*agent.c[_SELLER], registration_domain.c.host).distinct())
    return {(keys[key], host) for *place, host in rows if (key := tuple(place)) in keys}


def revenues(connection: Connection, period: Period, agents: Collection[str]) -> list[Leaf]:
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
    sums = func.sum(flow.micros).label("micros"), func.min(flow.block_number).label("block")
    net = select(*flow[_SELLER], *sums).group_by(*flow[_SELLER], flow.payer).subquery().c
    total, count = func.sum(net.micros).filter(net.micros > 0), func.count().filter(net.micros > 0)
    query = select(*net[_SELLER], total, count, func.max(net.micros), func.min(net.block)).group_by(*net[_SELLER])
    last_block = dict(map(tuple, connection.execute(select(*payment_cursor.c["chain_id", "block_number"]))))
    leaves, keys = [], _keys(connection, agents)
    for *place, micros, payers, most, first_block in sorted(connection.execute(query.having(total >= _LEAST_MICROS))):
        if (key := tuple(place)) in keys:
            leaf = {"kind": "revenues", "period": period.name, "agents": {keys[key]: True}, "payers": payers}
            share = str(int(most) * 1000 // int(micros) / Decimal(10))
            blocks = [first_block, last_block.get(key[0])]
            leaves.append(leaf | {"dollars": two_digits(int(micros)), "topShare": share, "blocks": blocks})
    return leaves


def two_digits(micros: int) -> str:
    """Return millionths of a dollar as dollars, rounded down to two significant digits."""
    return format(_TWO_DIGITS.create_decimal(Decimal(micros).scaleb(-MICROS)), "f")


def _keys(connection: Connection, agents: Collection[str]) -> dict[tuple[Any, ...], str]:
    """Return the short ids of agents on indexed chains, by their keys in the index."""
    registries = read_registries(connection)
    identities: dict[int | None, str] = {chain_id: registries.identity_of(chain_id) for chain_id in registries.chains}
    listed = (entry for entry in map(AgentId.parse, agents) if entry.chain_id in identities)
    return {(entry.chain_id, identities[entry.chain_id], entry.token_id): str(entry) for entry in listed}
