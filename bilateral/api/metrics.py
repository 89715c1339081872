"""The service's metrics for Prometheus, from one process or combined from several."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bilateral.api.load import Recent
from bilateral.index.operating.chains import ChainProgress, chains
from bilateral.index.operating.monitoring import CHAIN, gauge
from bilateral.index.reading.copies import Copies
from bilateral.index.reading.missing_chains import MISSING_FIGURE, without_missing_chains
from bilateral.index.reading.readers import Reader

if TYPE_CHECKING:
    from bilateral.x402.aggregator.service import Aggregator

MULTIPROCESS_FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable that names the folder in which several processes share their metrics."""

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)  # seconds; reads end after two


_FIGURES: Final[tuple[tuple[str, str, Callable[[ChainProgress], float]], ...]] = (
    ("chain_block", "The last indexed block.", lambda chain: chain.block),
    ("chain_head", "The head of the chain.", lambda chain: chain.head),
    ("chain_lag_blocks", "Blocks between the head of the chain and the last indexed block.", lambda chain: chain.lag),
    ("chain_silence_seconds", "Seconds since the chain was last polled.", lambda chain: time.time() - chain.updated_at),
    ("standings_age_seconds", "Seconds since the standings were computed.", lambda chain: chain.standings.age or 0),
    ("standings_fail", "1 if the last analysis failed.", lambda chain: float(chain.standings.problem is not None)),
    ("standings_missing", "1 until the first analysis.", lambda chain: float(chain.standings.is_missing)),
    ("standings_stale", "1 while the standings are out of date.", lambda chain: float(chain.standings.is_stale)),
)
"""The metrics of a chain: name, description and value."""


class Metrics:
    """One application's metrics.

    Args:
        reader: Reads the chains' progress from the database.
        copies: The database and its replicas, whose states are also exported; None if there are no replicas.

    Attributes:
        registry: The registry for additional metrics, which each process counts for itself.
        shared: The registry for additional metrics from the database, which all processes share.
    """

    def __init__(self, reader: Reader, copies: Copies | None = None) -> None:
        self.registry = CollectorRegistry()
        self.shared = CollectorRegistry()
        self.shared.register(_Progress(reader))
        if copies is not None:
            self.shared.register(_Servers(copies))
        self._shared_text = Recent(lambda: generate_latest(self.shared))  # no rate limit applies to monitors
        self._requests = Counter(
            "bilateral_http_requests", "HTTP requests.", ("method", "route", "status"), registry=self.registry
        )
        self._seconds = Histogram(
            "bilateral_http_request_seconds", "Response time.", ("route",), registry=self.registry, buckets=_BUCKETS
        )

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request, and record its duration."""
        self._requests.labels(method if method in _METHODS else "other", route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """Return all metrics in Prometheus's text format."""
        counted = self.registry
        if os.environ.get(MULTIPROCESS_FOLDER):
            counted = CollectorRegistry()
            MultiProcessCollector(counted)  # type: ignore[no-untyped-call]
        return generate_latest(counted) + self._shared_text.get()


class _LazyCollector(Collector):
    """Metrics that are read on each scrape."""

    def describe(self) -> Iterable[Any]:
        """Return nothing, so that registering the metrics does not query the database."""
        return ()


class _Progress(_LazyCollector):
    """The progress of each chain."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def collect(self) -> Iterable[Any]:
        """Read the figures."""
        with without_missing_chains():
            progresses = self._reader.visit(chains)
        for name, text, figure in _FIGURES:
            yield gauge(name, text, CHAIN, ((progress.chain_id, figure(progress)) for progress in progresses))
        chain_ids, missing = {progress.chain_id for progress in progresses}, self._reader.missing
        rows = ((chain_id, chain_id in missing) for chain_id in sorted(chain_ids | missing))
        yield gauge(*MISSING_FIGURE, CHAIN, rows)


class _Servers(_LazyCollector):
    """The state of the database's servers when last checked."""

    def __init__(self, copies: Copies) -> None:
        self._copies = copies

    def collect(self) -> Iterable[Any]:
        """Return the figures."""
        servers = self._copies.all
        yield gauge("database_up", "1 while responding.", ("server",), ((copy.name, copy.is_up) for copy in servers))
        delays = ((copy.name, copy.delay) for copy in servers)
        yield gauge("database_behind_seconds", "Replication lag behind the primary, in seconds.", ("server",), delays)


class Observer:
    """Counts the requests to an application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, began = 500, time.perf_counter()

        async def observe(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, observe)
        finally:
            route = getattr(scope.get("route"), "path", None) or "other"
            metrics: Metrics = scope["app"].state.service.metrics
            metrics.observe(scope["method"], route, status, time.perf_counter() - began)


_PREFIX: Final = "bilateral_aggregator_"
_COUNTERS: Final = {
    "accepted": "Feedback accepted.",
    "submitted": "Transactions signed and sent.",
    "confirmed": "Feedback confirmed on chain.",
    "failed": "Feedback that failed for good.",
    "gas_wei": "The cost of confirmed transactions, in wei.",
}


class AggregatorCounters:
    """Counters of the aggregator's events. Each process counts its own; the Prometheus library adds them up.

    Args:
        registry: The registry for metrics that each process counts.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._plain = {name: Counter(_PREFIX + name, text, registry=registry) for name, text in _COUNTERS.items()}
        self._refused = Counter(_PREFIX + "refused", "Rejected feedback, by error code.", ("code",), registry=registry)

    def observe(self, name: str, amount: int) -> None:
        """Count an event."""
        if name in self._plain:
            self._plain[name].inc(amount)
        else:
            self._refused.labels(name.removeprefix("refused ")).inc(amount)

    def close(self) -> None:
        """Remove the counters from the registry."""
        for counter in (*self._plain.values(), self._refused):
            self._registry.unregister(counter)


class AggregatorFigures(_LazyCollector):
    """The state of the aggregator's queue and budget, read from the database."""

    def __init__(self, aggregator: Aggregator) -> None:
        self._aggregator = aggregator

    def collect(self) -> Iterable[Any]:
        """Read the figures."""
        aggregator, configured = self._aggregator, self._aggregator.settings.chains
        queue = ((*place, count) for place, count in sorted(aggregator.count_by_state().items()))
        yield gauge("aggregator_feedback", "Feedback by chain and state.", ("chain_id", "state"), queue)
        spent = ((chain.chain_id, aggregator.spent_today(chain)) for chain in configured)
        yield gauge("aggregator_spent_today_wei", "Wei charged to today's budget.", CHAIN, spent)
        budgets = ((chain.chain_id, chain.budget) for chain in configured)
        yield gauge("aggregator_budget_wei", "The daily budget, in wei.", CHAIN, budgets)
        yield gauge("aggregator_working", "1 while all workers are running.", (), [(aggregator.is_working,)])
