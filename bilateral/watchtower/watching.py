"""A run's threads: the loop, request threads, and threads that store results or share them with the index."""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector
from sqlalchemy import Engine, select
from sqlalchemy.exc import DBAPIError

from bilateral.index.log.database import snapshot, unavailable
from bilateral.index.log.tables import chain
from bilateral.index.measurements.recording import record
from bilateral.index.measurements.targets import read_targets
from bilateral.index.measurements.values import DAY, Change, Outcome
from bilateral.index.operating.monitoring import gauge
from bilateral.watchtower.outcomes import quantile
from bilateral.watchtower.run import THREADS, Watchtower
from bilateral.watchtower.store import PUBLISHED, Store, change, endpoint

_log = logging.getLogger("bilateral.watchtower")

ALL_THREADS: Final = THREADS + 8
"""The number of request threads. Those beyond the concurrent probes are for location checks, which must not wait."""

_SAVE_SECONDS: Final = 1.0
_SHARE_SECONDS: Final = 15.0
_TARGET_SECONDS: Final = 300.0
_REPORT_SECONDS: Final = 1.0
_OVERLAP_SECONDS: Final = 60
"""How far back, in seconds, results are shared again: they may have waited this long to be stored."""

_RECORDED: Final = "recorded_change"
_SHARED: Final = ("state", "code", "since", "probed_at", "failures", "milliseconds")


class Shared:
    """Shares part of the results with the index.

    Args:
        index: The index's database.
        chain_ids: The chains whose agents are measured; None for all.
        vantage: The name of the location.
    """

    def __init__(self, store: Store, index: Engine, chain_ids: Sequence[int] | None, vantage: str) -> None:
        self._store, self._index, self._chain_ids, self._vantage = store, index, chain_ids, vantage
        self._shared_at = 0

    def take_targets(self) -> None:
        """Fetch the endpoints that agents in the index currently list."""
        with snapshot(self._index) as connection:
            chain_ids = self._chain_ids or connection.execute(select(chain.c.chain_id)).scalars().all()
            targets = read_targets(connection, chain_ids)
        self._store.set_targets(targets)

    def share(self) -> None:
        """Store, in the index, new changes, and the current states and daily counts of endpoints with new results."""
        now = self._store.last_stamp()
        last = self._store.setting(_RECORDED) or 0
        rows = self._store.changes(change.c.number > last, change.c.vantage == self._vantage)
        changes = [Change(row.endpoint_id, row.at, row.kind, row.old, row.new, row.code) for row in rows]
        currents, days = [], []
        for entry in self._store.endpoints(endpoint.c.updated_at >= self._shared_at):
            condition, (start, counts) = entry.condition, entry.condition.day
            place = {"endpoint_id": entry.target.endpoint_id, "vantage": self._vantage}
            latencies = {"median_ms": quantile(counts, 0.5), "p95_ms": quantile(counts, 0.95)}
            numbers = {name: counts[name] for name in ("scheduled", *Outcome)}
            days.append({**place, "day": start // DAY, **numbers, **latencies})
            if (condition.probed_at or -1) >= self._shared_at:
                currents.append({**place, **{name: getattr(condition, name) for name in _SHARED}})
        record(self._index, changes=changes, currents=currents, days=days)
        if rows:
            self._store.set_setting(_RECORDED, rows[-1].number)
        self._shared_at = now - _OVERLAP_SECONDS


def watch(tower: Watchtower, shared: Shared | None, stop: threading.Event, report: Callable[[], None]) -> None:
    """Run until an event is set, and report about once a second. All measurements made until then are stored."""
    jobs: list[tuple[float, Callable[[], None]]] = [(_SAVE_SECONDS, tower.save)]
    if shared is not None:
        jobs += [(_SHARE_SECONDS, shared.share), (_TARGET_SECONDS, shared.take_targets)]
    reported_at = tower.time.now
    with ThreadPoolExecutor(len(jobs)) as threads:
        tasks = [threads.submit(_repeat, stop, *job) for job in jobs]
        for task in tasks:  # a run without one of them is useless
            task.add_done_callback(lambda _: stop.set())
        try:
            while not stop.is_set():
                tower.wait(tower.step())
                if tower.time.now - reported_at > _REPORT_SECONDS:
                    reported_at = tower.time.now
                    report()
        finally:
            stop.set()
    for _, job in jobs[:2]:  # what was measured in the meantime
        _attempt(job)
    for task in tasks:
        task.result()


def _repeat(stop: threading.Event, seconds: float, job: Callable[[], None]) -> None:
    while not stop.wait(seconds):
        _attempt(job)


def _attempt(job: Callable[[], None]) -> None:
    """Use a database. A temporary failure does not mean that any endpoint is down."""
    try:
        job()
    except DBAPIError as problem:
        _log.warning("%s", unavailable(problem))


class Figures(Collector):
    """A run's metrics."""

    def __init__(self, tower: Watchtower) -> None:
        self._tower = tower

    def collect(self) -> Iterable[Any]:
        """Read the metrics."""
        tower, name = self._tower, "watchtower"
        probes = CounterMetricFamily(f"bilateral_{name}_probes", "Probe results.", labels=("protocol", "outcome"))
        for labels, number in tower.outcomes.copy().items():
            probes.add_metric(labels, number)
        delays, published = tower.delays, tower.store.setting(PUBLISHED) or 0
        yield probes
        yield CounterMetricFamily(f"bilateral_{name}_published", "Transactions sent by publish.", value=published)
        states = Counter(str(entry.condition.state) for entry in list(tower.endpoints.values()))
        yield gauge(f"{name}_endpoints", "Endpoints, by state.", ("state",), states.items())
        for figure, text, value in (
            ("round_seconds", "The duration of the last complete round.", tower.round_seconds),
            ("lag_seconds", "The delay of the most overdue probe.", max(delays, default=0.0)),
            ("vantage_up", "1 if enough reference hosts are reachable.", tower.vantage.is_online),
            ("shared_cause", "1 while failures have a shared cause.", tower.vantage.has_shared_cause(tower.time.now)),
            ("due", "Endpoints due for a probe.", len(delays)),
            ("queue", "Results not stored yet.", len(tower.pending)),
            ("clock_steps", "Jumps of the wall clock.", tower.time.steps),
        ):
            yield gauge(f"{name}_{figure}", text, (), [(value,)])
