"""A plan of disk, memory, machines, hours and money for an index of any size, by arithmetic on measured constants."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Final

from bilateral.core.errors import InvalidArgumentError

MOST: Final = 10**13
"""The most agents or ratings of a plan: beyond it, no constant is worth anything."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A figure that the plan rests on.

    Attributes:
        value: The figure.
        source: The page or command that measured it, or the words "assumed" and why.
    """

    name: str
    value: float
    unit: str
    source: str


_INDEX: Final = "docs/index.md"
_NOTES: Final = "docs/scale.md"

RATING_BYTES: Final = Constant(
    "disk of a rating, all tables and indexes",
    1_315,
    "B",
    "measured: python -m bench.scale, PostgreSQL 16, 1,000,000 ratings",
)
EVENT_BYTES: Final = Constant("disk of another event", 600, "B", "measured: docs/index.md, 1,000,000 events on SQLite")
EVENTS_OF_AGENT: Final = Constant("events of an agent", 4, "", "assumed: registration, wallet, URI, one change")
EVENT_RATE: Final = Constant("events a second of one worker", 30_000, "/s", f"measured: {_INDEX}, bound on PostgreSQL")
WORKER_GB: Final = Constant("memory of a worker", 0.25, "GB", f"measured: {_INDEX}, at most 250 MiB")
ANSWER_RATE: Final = Constant("answers a second of one process", 1_000, "/s", "measured: docs/search.md, one agent")
PROCESS_GB: Final = Constant("memory of a process that answers", 0.3, "GB", "assumed")
PARQUET_BYTES: Final = Constant(
    "coded Parquet of a rating with its payments", 28, "B", f"measured: {_NOTES}, 11 + 0.6 x 20 + 0.3 x 17"
)
SHUFFLE_BYTES: Final = Constant("largest shuffle, of distinct pairs", 16, "B/rating", "two codes of 8 bytes")
ARRAY_BYTES: Final = Constant(
    "memory of an analysis by arrays", 390, "B/rating", f"measured: {_NOTES}, 3.9 GB at 10 million"
)
ARRAY_SECONDS: Final = Constant(
    "processor time of an analysis by arrays", 14.8, "µs/rating", f"measured: {_NOTES}, 148 s at 10 million"
)
ENGINE_TIMES: Final = Constant("an engine's time, in those of arrays", 2, "", f"measured: {_NOTES}, 1.8 to 2.0")
CLUSTER_TIMES: Final = Constant("network, logs and skew", 1.5, "", "assumed")
ROUND_SECONDS: Final = Constant(
    "processor time of a round of trust", 0.3, "µs/rating", f"measured: {_NOTES}, 3 s at 10 million"
)
ROUNDS: Final = Constant("rounds of trust", 130, "", f"measured: {_NOTES}, to 1e-9")
SERVER_DISK: Final = Constant("disk of a server", 3.75, "TB", "assumed: a usual NVMe machine of 8 vCPU and 64 GB")
SERVER_FULL: Final = Constant(
    "share of a disk that is used", 0.6, "", "assumed: room for rewriting tables and for logs"
)
SERVER_GB: Final = Constant("memory of a server", 64, "GB", "assumed: the same machine")
SERVER_PRICE: Final = Constant("price of a server", 0.6, "$/h", "assumed")
NODE_CPUS: Final = Constant("vCPU of a node of an analysis", 16, "", "assumed: 64 GB and 1 TB NVMe each")
NODE_BUSY: Final = Constant("share of time that a node computes", 0.6, "", "assumed")
CPU_PRICE: Final = Constant("price of a vCPU", 0.05, "$/h", "assumed")
LARGEST: Final = Constant("share of the largest chain", 0.25, "", "assumed; one chain alone has all")

CONSTANTS: Final = tuple(value for value in list(globals().values()) if isinstance(value, Constant))
"""All figures that the plan rests on, in the order of their definition."""

_HOURS_OF_MONTH: Final = 730  # a twelfth of 365 days
_MOST_NODES: Final = 16
"""The nodes of a large analysis: more of them shorten hours and leave the price as it is."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a plan.

    Attributes:
        part: `index`, `api` or `analysis`.
        arithmetic: The arithmetic, with numbers.
        answer: The answer, with its unit.
    """

    part: str
    question: str
    arithmetic: str
    answer: str


@dataclass(frozen=True, slots=True)
class Size:
    """The size of an index.

    Attributes:
        agents: The number of agents.
        ratings: The number of ratings.
        chains: The number of chains.
        answers: The answers a second at the busiest time.
    """

    agents: int
    ratings: int
    chains: int
    answers: int = 1_000

    def __post_init__(self) -> None:
        """Refuse sizes that no plan is for."""
        for name in ("agents", "ratings", "chains", "answers"):
            value = getattr(self, name)
            if not 1 <= value <= MOST:
                raise InvalidArgumentError(f"{name} {value} is out of range 1..{MOST:,}")

    @property
    def largest_share(self) -> float:
        """The share of the largest chain."""
        return max(LARGEST.value, 1 / self.chains)


def plan(size: Size) -> list[Line]:
    """Return the plan of an index, its service and its analysis."""
    return [*_index(size), *_api(size), *_analysis(size)]


def _index(size: Size) -> list[Line]:
    """Return the lines about the tables, the servers and the backfill."""
    ratings, agents = size.ratings * RATING_BYTES.value, size.agents * EVENTS_OF_AGENT.value * EVENT_BYTES.value
    total = ratings + agents
    largest = total * size.largest_share
    usable = SERVER_DISK.value * 1e12 * SERVER_FULL.value
    shards = max(1, min(size.chains, ceil(total / usable)))
    rate, share = EVENT_RATE.value, size.largest_share
    events = size.ratings + size.agents * EVENTS_OF_AGENT.value
    price = 2 * shards * SERVER_PRICE.value * _HOURS_OF_MONTH
    fits = "one server holds it" if largest <= usable else "it needs a larger disk, or parts by blocks"
    return [
        Line("index", "disk of ratings", f"{size.ratings:.3g} x {RATING_BYTES.value:,.0f} B", _bytes(ratings)),
        Line("index", "disk of agents", f"{size.agents:.3g} x 4 x 600 B", _bytes(agents)),
        Line("index", "disk in all", "the sum", _bytes(total)),
        Line("index", "largest chain", f"{_bytes(total)} x {share:.2f}", f"{_bytes(largest)}: {fits}"),
        Line("index", "servers (shards)", f"{_bytes(total)} / ({SERVER_DISK.value:g} TB x 0.6)", f"{shards}"),
        Line("index", "memory of servers", f"{shards} x 64 GB, and as much for replicas", f"{2 * shards * 64:,} GB"),
        Line("index", "memory of workers", f"{size.chains} x 0.25 GB", f"{size.chains * WORKER_GB.value:.2f} GB"),
        Line("index", "backfill, one worker", f"{events:.3g} / {rate:,.0f}/s", _time(events / rate)),
        Line(
            "index",
            "backfill, a worker a chain",
            f"{events:.3g} x {share:.2f} / {rate:,.0f}/s",
            _time(events * share / rate),
        ),
        Line("index", "servers and a replica each", f"2 x {shards} x $0.60 x 730 h", f"${price:,.0f} a month"),
    ]


def _api(size: Size) -> list[Line]:
    """Return the lines about the processes that answer."""
    processes = ceil(size.answers / ANSWER_RATE.value)
    price = processes * CPU_PRICE.value * _HOURS_OF_MONTH
    return [
        Line("api", "processes", f"{size.answers:,} / {ANSWER_RATE.value:,.0f}/s", f"{processes}"),
        Line("api", "memory of processes", f"{processes} x 0.3 GB", f"{processes * PROCESS_GB.value:.1f} GB"),
        Line("api", "a vCPU a process", f"{processes} x $0.05 x 730 h", f"${price:,.0f} a month"),
    ]


def _analysis(size: Size) -> list[Line]:
    """Return the lines about one run of the trust analysis."""
    memory = size.ratings * ARRAY_BYTES.value
    detectors = size.ratings * ARRAY_SECONDS.value * 1e-6
    trust = size.ratings * ROUND_SECONDS.value * 1e-6 * ROUNDS.value
    lines = [
        Line("analysis", "tables in Parquet", f"{size.ratings:.3g} x 28 B", _bytes(size.ratings * PARQUET_BYTES.value)),
        Line("analysis", "by arrays: memory", f"{size.ratings:.3g} x 390 B", _bytes(memory)),
    ]
    if memory <= SERVER_GB.value * 1e9:
        price = detectors / 3600 * NODE_CPUS.value * CPU_PRICE.value
        return [
            *lines,
            Line("analysis", "by arrays: time", f"{size.ratings:.3g} x 14.8 µs", _time(detectors)),
            Line("analysis", "one run on one machine", f"{_time(detectors)} x 16 x $0.05", f"${price:,.2f}"),
        ]
    work = detectors * ENGINE_TIMES.value * CLUSTER_TIMES.value + trust
    hours = work / 3600 / (_MOST_NODES * NODE_CPUS.value * NODE_BUSY.value)
    price = hours * _MOST_NODES * NODE_CPUS.value * CPU_PRICE.value
    return [
        *lines,
        Line("analysis", "by arrays on one machine", f"{_bytes(memory)} > 64 GB", "no"),
        Line("analysis", "largest shuffle", f"{size.ratings:.3g} x 16 B", _bytes(size.ratings * SHUFFLE_BYTES.value)),
        Line("analysis", "detectors on an engine", f"{size.ratings:.3g} x 14.8 µs x 2 x 1.5", _work(detectors * 3)),
        Line("analysis", "trust on an engine", f"{size.ratings:.3g} x 0.3 µs x 130", _work(trust)),
        Line("analysis", "time on 16 nodes of 16 vCPU", f"{_work(work)} / (256 x 0.6)", _time(hours * 3600)),
        Line("analysis", "one run", f"{hours:.2f} h x 256 x $0.05", f"${price:,.0f}"),
    ]


def _bytes(count: float) -> str:
    """Return a size in the unit that suits it."""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:,.2f} {unit}"
    return f"{count / 1e3:,.2f} kB"


def _time(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:,.1f} s"


def _work(seconds: float) -> str:
    """Return processor time in core-hours."""
    return f"{seconds / 3600:,.0f} core-h"
