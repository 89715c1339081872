"""The state that all routes share: the service's settings, database and metrics."""

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from anyio import to_thread
from sqlalchemy import Connection
from starlette.requests import HTTPConnection

from bilateral.api.load import HourlyLimit, NodeWork, Recent
from bilateral.api.metrics import Metrics
from bilateral.api.settings import ApiSettings
from bilateral.index.errors import DatabaseUnavailableError, QueryTimeoutError
from bilateral.index.operating.chains import chains
from bilateral.index.payments.queries import payment_progress
from bilateral.index.reading.copies import Copies, ReplicatedReader
from bilateral.index.reading.missing_chains import without_missing_chains
from bilateral.index.reading.readers import Reader
from bilateral.index.reading.registries import AgentKey, Registries, agent_key, read_registries

P = ParamSpec("P")
T = TypeVar("T")

_SHORT_SECONDS: Final = 0.1
"""The time limit in seconds for a read in the event loop. A read that takes longer is restarted in a thread."""

_REGISTRIES_SECONDS: Final = 2.0
"""Seconds after which the list of registries is read again. It changes when the index begins to follow a chain."""


class Service:
    """The state that all routes of an application share, which `service_of(request)` returns.

    Attributes:
        copies: The database and its replicas; None if there are no replicas.
        metrics: The metrics for Prometheus.
        progress: The progress of the chains, cached for a few seconds, for monitors.
        payments: The progress of reading the chains' payments, cached for a few seconds.
        buyer_work: Runs work for buyer routes that may query a node.
        visitor_work: Runs node requests for visitors who prepare actions.
        stored_files: Limits the number of files that an account may store per hour.
    """

    def __init__(self, settings: ApiSettings) -> None:
        self.settings = settings
        self.reader, self.copies = _reader(settings)
        self.metrics = Metrics(self.reader, self.copies)
        self.progress = Recent(partial(self._read_reachable, chains))  # no rate limit applies to monitors
        self.payments = Recent(partial(self._read_reachable, payment_progress))
        # A short read takes less time than switching to a thread and back. Only the event loop uses this connection.
        seconds = min(_SHORT_SECONDS, settings.query_seconds)
        has_server = self.reader.has_server
        self._short = None if has_server else Reader(settings.database, seconds=seconds, connections=1, is_brief=True)
        self._recent: dict[type[Any], Any] = {}
        self.buyer_work = NodeWork()
        self.visitor_work = NodeWork()
        self.stored_files = HourlyLimit()
        self._registries = Registries({})
        self._registries_until = 0.0

    def read(self, query: Callable[Concatenate[Connection, P], T], *arguments: P.args, **options: P.kwargs) -> T:
        """Run a query from `bilateral.index` in a route that is not `async`."""
        return self.reader.read(query, *arguments, **options)

    async def read_aside(
        self, query: Callable[Concatenate[Connection, P], T], *arguments: P.args, **options: P.kwargs
    ) -> T:
        """Run a query in a thread, for callers that are `async`. See `read`."""
        return await to_thread.run_sync(partial(self.reader.read, query, *arguments, **options))

    async def read_briefly(
        self, query: Callable[Concatenate[Connection, P], T], *arguments: P.args, **options: P.kwargs
    ) -> T:
        """Run a query that reads few rows, for `async` callers. On SQLite, it does not need a thread. See `read`."""
        if self._short is not None:
            try:
                return self._short.read(query, *arguments, **options)
            except (QueryTimeoutError, DatabaseUnavailableError):
                pass  # it must not delay other requests
        return await self.read_aside(query, *arguments, **options)

    async def read_reachable(self, query: Callable[[Connection], T]) -> T:
        """Run a query that reads few rows, leaving out chains whose server is not responding. See `read_briefly`."""
        with without_missing_chains():
            return await self.read_briefly(query)

    def _read_reachable(self, query: Callable[[Connection], T]) -> T:
        with without_missing_chains():
            return self.read(query)

    def registries(self) -> Registries:
        """Return the registries that are indexed."""
        if time.monotonic() > self._registries_until:
            self._keep(self.read(read_registries))
        return self._registries

    async def registries_briefly(self) -> Registries:
        """Return the registries that are indexed, for callers that are `async`."""
        if time.monotonic() > self._registries_until:
            self._keep(await self.read_briefly(read_registries))
        return self._registries

    def _keep(self, registries: Registries) -> None:
        self._registries = registries
        self._registries_until = time.monotonic() + _REGISTRIES_SECONDS

    def agent_key(self, text: str) -> AgentKey:
        """Parse an agent's id in any published form."""
        return agent_key(self.registries(), text)

    def require_indexed(self, chains: Iterable[int]) -> None:
        """Reject a query about a chain that is not indexed. See `Registries.require_indexed`."""
        self.registries().require_indexed(chains)

    def recent(self, kind: type[T]) -> T:
        """Return this service's single instance of a class that caches recent results."""
        recent: T = self._recent.get(kind) or self._recent.setdefault(kind, kind())
        return recent

    def close(self) -> None:
        """Close the connections."""
        for reader in (self.reader, self._short):
            if reader is not None:
                reader.close()


def _reader(settings: ApiSettings) -> tuple[Reader, Copies | None]:
    seconds, connections = settings.query_seconds, settings.connections
    if not settings.readers:
        return Reader(settings.database, seconds=seconds, connections=connections), None
    reader = ReplicatedReader(
        settings.database, settings.readers, seconds=seconds, connections=connections, max_delay=settings.max_delay
    )
    return reader, reader.copies


def service_of(request: HTTPConnection) -> Service:
    """Return a request's service."""
    service: Service = request.app.state.service
    return service
