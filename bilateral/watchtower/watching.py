"""A run's threads: the loop, request threads, one that stores results, and one that shares them with the index."""

import logging
import threading
import time
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
from bilateral.index.measurements.values import Change, Current, Day, Outcome
from bilateral.index.operating.monitoring import gauge
from bilateral.watchtower.endpoints import Endpoint
from bilateral.watchtower.run import THREADS, Watchtower
from bilateral.watchtower.store import PUBLISHED, Store
from bilateral.watchtower.tables import change, day, endpoint
from bilateral.watchtower.totals import DAY, Totals

_log = logging.getLogger("bilateral.watchtower")

ALL_THREADS: Final = THREADS + 8
"""The number of request threads. Those beyond the number of probes are for location checks, which must not wait."""

_BATCH: Final = 100
_BATCH_SECONDS: Final = 1.0
_PRUNE_SECONDS: Final = 5.0
_SHARE_SECONDS: Final = 15.0
_TARGET_SECONDS: Final = 300.0
_DAY_SECONDS: Final = 600.0
_REPORT_SECONDS: Final = 1.0
_OVERLAP_SECONDS: Final = 60
"""The overlap in seconds that is shared twice: results wait for the writer at most this long."""

_RECORDED: Final = "recorded_change"


class Writer:
    """Writes a run's results.

    Args:
        tower: The run.
    """

    def __init__(self, tower: Watchtower) -> None:
        self._tower = tower
        self._pruned_at = tower.time.now

    def write(self) -> None:
        """Store a batch of results, and delete old ones. A failed batch is retained."""
        tower = self._tower
        batch = [tower.pending[at] for at in range(min(_BATCH, len(tower.pending)))]
        if batch:
            tower.store.save(batch)
        for _ in batch:
            tower.pending.popleft()
        if tower.time.now - self._pruned_at > _PRUNE_SECONDS:
            self._pruned_at = tower.time.now
            tower.store.prune(tower.time.earliest)
            tower.published = tower.store.setting(PUBLISHED) or 0

    def run(self, is_over: threading.Event) -> None:
        """Store results until the run is over and all results are stored."""
        while not is_over.is_set() or self._tower.pending:
            if not _attempt(self.write) and is_over.is_set():
                return
            if len(self._tower.pending) < _BATCH:
                is_over.wait(_BATCH_SECONDS)


class Shared:
    """Shares part of the results with the index.

    Args:
        index: The index's database.
        chain_ids: The chains whose agents are measured; None for all.
        vantage: The name of the location.
    """

    def __init__(self, store: Store, index: Engine, chain_ids: Sequence[int] | None, vantage: str) -> None:
        self._store, self._index, self._chain_ids, self._vantage = store, index, chain_ids, vantage
        self._currents_at, self._days_at = 0, -DAY

    def take_targets(self) -> None:
        """Fetch the endpoints that agents in the index currently list."""
        with snapshot(self._index) as connection:
            chain_ids = self._chain_ids or connection.execute(select(chain.c.chain_id)).scalars().all()
            targets = read_targets(connection, chain_ids)
        self._store.set_targets(targets)

    def share(self, now: int) -> None:
        """Store what is new in the index: changes and states, and occasionally the days."""
        last = self._store.setting(_RECORDED) or 0
        rows = self._store.changes(change.c.number > last, change.c.vantage == self._vantage)
        changes = [Change(row.endpoint_id, row.at, row.kind, row.old, row.new, row.code) for row in rows]
        probed = self._store.endpoints(endpoint.c.probed_at >= self._currents_at)
        has_days = now - self._days_at >= _DAY_SECONDS
        days = self._store.measured(day, self._days_at // DAY * DAY, now + DAY) if has_days else ()
        record(self._index, changes=changes, currents=map(self._current, probed), days=map(_day, days))
        if rows:
            self._store.set_setting(_RECORDED, rows[-1].number)
        self._currents_at, self._days_at = now - _OVERLAP_SECONDS, now if has_days else self._days_at

    def _current(self, entry: Endpoint) -> Current:
        names = ("state", "code", "since", "probed_at", "failures", "milliseconds")
        values = {name: getattr(entry.condition, name) for name in names}
        return Current(entry.target.endpoint_id, self._vantage, **values)

    def run(self, tower: Watchtower, stop: threading.Event) -> None:
        """Exchange endpoints and results with the index until an event is set."""
        targets_at = time.monotonic()
        while not stop.wait(_SHARE_SECONDS):
            _attempt(lambda: self.share(int(tower.time.wall)))
            if time.monotonic() - targets_at > _TARGET_SECONDS and _attempt(self.take_targets):
                targets_at = time.monotonic()
                tower.is_outdated = True


def watch(tower: Watchtower, shared: Shared | None, stop: threading.Event, report: Callable[[], None]) -> None:
    """Run until an event is set, and report occasionally. All measurements up to then are stored."""
    is_over, reported_at = threading.Event(), tower.time.now
    with ThreadPoolExecutor(2) as helpers:
        tasks = [helpers.submit(Writer(tower).run, is_over)]
        if shared is not None:
            tasks.append(helpers.submit(shared.run, tower, stop))
        for task in tasks:  # without either the run is of no use
            task.add_done_callback(lambda _: stop.set())
        try:
            while not stop.is_set():
                tower.wait(tower.step())
                if tower.time.now - reported_at > _REPORT_SECONDS:
                    reported_at = tower.time.now
                    report()
        finally:
            stop.set()
            is_over.set()
    for task in tasks:
        task.result()
    if shared is not None:
        _attempt(lambda: shared.share(int(tower.time.wall)))


def _day(row: Any) -> Day:
    totals = Totals.of(row)
    counts = {outcome: totals.counts[outcome] for outcome in Outcome}
    latencies = totals.quantile(0.5), totals.quantile(0.95)
    return Day(row.endpoint_id, row.start // DAY, row.vantage, row.scheduled, counts, *latencies)


def _attempt(action: Callable[[], None]) -> bool:
    """Use a database, and return False if it fails temporarily: this does not mean that any endpoint is down."""
    try:
        action()
    except DBAPIError as problem:
        _log.warning("%s", unavailable(problem))
        return False
    return True


class Figures(Collector):
    """A run's figures, for monitors."""

    def __init__(self, tower: Watchtower) -> None:
        self._tower = tower

    def collect(self) -> Iterable[Any]:
        """Read the figures."""
        tower, name = self._tower, "watchtower"
        probes = CounterMetricFamily(f"bilateral_{name}_probes", "Results.", labels=("protocol", "outcome"))
        for labels, number in tower.outcomes.copy().items():
            probes.add_metric(labels, number)
        yield probes
        yield CounterMetricFamily(f"bilateral_{name}_published", "Transactions of publish.", value=tower.published)
        states = Counter(str(entry.condition.state) for entry in list(tower.endpoints.values()))
        yield gauge(f"{name}_endpoints", "Endpoints by state.", ("state",), states.items())
        for figure, text, value in (
            ("round_seconds", "The time that the last whole round took.", tower.round_seconds),
            ("lag_seconds", "The delay of the probe that waits longest.", tower.lag),
            ("vantage_up", "1 if enough reference hosts are reached.", tower.vantage.is_online),
            ("shared_cause", "1 while failures have a shared cause.", tower.quorum.is_shared(tower.time.now)),
            ("due", "Endpoints that are due.", tower.waiting),
            ("queue", "Results that are not stored yet.", len(tower.pending)),
            ("clock_steps", "Steps of the wall clock.", tower.time.steps),
        ):
            yield gauge(f"{name}_{figure}", text, (), [(value,)])
