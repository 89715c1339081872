"""Serve an indexing process's health and metrics over HTTP, for monitoring systems."""

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from typing import Any, Final
from wsgiref.simple_server import WSGIRequestHandler, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.registry import Collector
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from bilateral.core.errors import InvalidArgumentError
from bilateral.index.changes.webhooks import webhook_figures
from bilateral.index.log.database import snapshot, unavailable
from bilateral.index.operating.status import ChainStatus, IndexStatus, chain_statuses
from bilateral.index.reading.missing_chains import MISSING_FIGURE

_MAX_SILENCE: Final = 120.0
"""Seconds without a check for blocks after which a chain is reported as not ready. Workers check every second."""

_REQUEST_SECONDS: Final = 10.0
"""Seconds within which a monitor must send its request, so that an idle connection does not occupy a thread."""


@contextmanager
def monitored(
    engine: Engine, host: str, port: int, look: Callable[[], IndexStatus] | None = None, *, needs_analysis: bool = True
) -> Iterator[int]:
    """Serve `/healthz`, `/readyz` and `/metrics` within the context."""
    registry = CollectorRegistry()
    look_once = look or partial(_look, engine)
    registry.register(_Figures(engine, look_once, has_servers=look is not None))
    figures: Any = make_wsgi_app(registry)

    def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path == "/metrics":
            text: Iterable[bytes] = figures(environ, start_response)
            return text
        status, content = _state(look_once, path, needs_analysis=needs_analysis)
        headers = [("Content-Type", "application/json"), ("Cache-Control", "no-store")]
        start_response(f"{status.value} {status.phrase}", headers)
        return [json.dumps(content).encode()]

    try:
        server = make_server(host, port, answer, ThreadingWSGIServer, _QuietHandler)
    except (OSError, OverflowError) as problem:
        raise InvalidArgumentError(f"the monitoring endpoint cannot listen at {host}, port {port}: {problem}") from None
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def _look(engine: Engine) -> IndexStatus:
    """Return the progress of all chains, or the reason why the database cannot be read."""
    try:
        return IndexStatus(chain_statuses(engine), [], [])
    except DBAPIError as problem:
        return IndexStatus([], [], [unavailable(problem)])


def _state(look: Callable[[], IndexStatus], path: str, *, needs_analysis: bool) -> tuple[HTTPStatus, dict[str, Any]]:
    """Return the response to a request for `/healthz` or `/readyz`."""
    if path == "/healthz":
        return HTTPStatus.OK, {"status": "ok"}
    if path != "/readyz":
        return HTTPStatus.NOT_FOUND, {"detail": "not found: use /healthz, /readyz or /metrics"}
    statuses = look()
    problems = [str(problem) for problem in statuses.problems]
    if statuses.chains or not problems:  # the index is ready as long as one chain can be read
        problems = _problems(statuses.chains, needs_analysis=needs_analysis)
    status = HTTPStatus.SERVICE_UNAVAILABLE if problems else HTTPStatus.OK
    missing = {"missing": statuses.missing} if statuses.missing else {}
    return status, {"ready": not problems, "problems": problems, **missing}


def _problems(chains: list[ChainStatus], *, needs_analysis: bool) -> list[str]:
    problems = [] if chains else ["no chain is indexed yet"]
    for chain in chains:
        if chain.problem is not None:
            problems.append(f"chain {chain.chain_id}: {chain.problem}")
        elif (seconds := _silence(chain)) > _MAX_SILENCE:
            problems.append(f"chain {chain.chain_id} was last polled {seconds:.0f} seconds ago")
        if needs_analysis and (lack := chain.standings.lack):
            problems.append(f"chain {chain.chain_id} {lack}")
    return problems


def _silence(chain: ChainStatus) -> float:
    return max(0.0, time.time() - chain.updated_at.timestamp())


CHAIN: Final = ("chain_id",)
_FIGURES: Final[tuple[tuple[str, str, Callable[[ChainStatus], float]], ...]] = (
    ("chain_block", "The last indexed block.", lambda chain: chain.block),
    ("chain_head", "The head of the chain.", lambda chain: chain.head),
    ("chain_lag_blocks", "Blocks between the head of the chain and the last indexed block.", lambda chain: chain.lag),
    ("chain_silence_seconds", "Seconds since the chain was last polled.", _silence),
    ("chain_events", "Stored events.", lambda chain: chain.event_rows),
    ("chain_reorganizations", "Reorganisations that removed blocks.", lambda chain: chain.reorganizations),
    ("chain_waits", "1 while a problem stops indexing of the chain.", lambda chain: chain.problem is not None),
    ("chain_files_waiting", "Files that have not been fetched yet.", lambda chain: chain.files_waiting),
    ("standings_age_seconds", "Seconds since the standings were computed.", lambda chain: chain.standings.age or 0),
    ("standings_fail", "1 if the last analysis failed.", lambda chain: chain.standings.problem is not None),
    ("standings_missing", "1 until the first analysis.", lambda chain: chain.standings.is_missing),
    ("standings_stale", "1 while the standings are out of date.", lambda chain: chain.standings.is_stale),
)


class _Figures(Collector):
    """The metrics of each chain, which are read on request."""

    def __init__(self, engine: Engine, look: Callable[[], IndexStatus], *, has_servers: bool) -> None:
        self._engine = engine
        self._look = look
        self._has_servers = has_servers

    def describe(self) -> Iterable[Any]:
        """Return no metrics, so that registering the collector does not query the database."""
        return ()

    def collect(self) -> Iterable[Any]:
        """Read the metrics. If the database is unavailable, return no metrics; monitoring systems can detect this."""
        statuses = self._look()
        for name, text, figure in _FIGURES:
            yield gauge(name, text, CHAIN, ((chain.chain_id, figure(chain)) for chain in statuses.chains))
        if self._has_servers:
            chains = sorted({*statuses.missing, *(chain.chain_id for chain in statuses.chains)})
            yield gauge(*MISSING_FIGURE, CHAIN, ((chain_id, chain_id in statuses.missing) for chain_id in chains))
        yield from self._webhooks()

    def _webhooks(self) -> Iterable[Any]:
        try:
            with snapshot(self._engine) as connection:
                figures = webhook_figures(connection)
        except DBAPIError:
            return
        states = ((state, getattr(figures, state)) for state in ("active", "failing", "stopped"))
        yield gauge("webhooks", "Webhooks, by state.", ("state",), states)
        seconds = figures.failing_seconds
        yield GaugeMetricFamily("bilateral_webhook_failing_seconds", "The longest current failure.", seconds)
        yield CounterMetricFamily("bilateral_webhook_deliveries", "Accepted deliveries.", figures.delivered)
        yield CounterMetricFamily("bilateral_webhook_failures", "Failed delivery attempts.", figures.failed)


def gauge(name: str, text: str, labels: tuple[str, ...], values: Iterable[tuple[object, ...]]) -> GaugeMetricFamily:
    """Return a metric. Each row in `values` starts with the label values."""
    family = GaugeMetricFamily(f"bilateral_{name}", text, labels=labels)
    for *row, value in values:
        family.add_metric(list(map(str, row)), float(value))  # type: ignore[arg-type]  # it is a number
    return family


class _QuietHandler(WSGIRequestHandler):
    """Responds to requests without logging each one."""

    timeout = _REQUEST_SECONDS

    def log_message(self, *_: Any) -> None:
        """Log nothing."""
