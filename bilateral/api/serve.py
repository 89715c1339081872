"""The service as a process. The index runs in a thread, and the API runs in the main thread or in several processes."""

import json
import logging
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.supervisors import Multiprocess

from bilateral.api.metrics import MULTIPROCESS_FOLDER
from bilateral.api.settings import ApiSettings
from bilateral.buyers.policies import BuyerSettings
from bilateral.core.errors import BilateralError
from bilateral.core.text.log_lines import log_safely
from bilateral.index.operating.settings import IndexSettings

SETTINGS_VARIABLE: Final = "BILATERAL_API_SETTINGS"
"""The environment variable that passes the settings to the API's processes, as JSON."""

_GRACE_SECONDS: Final = 10
"""Seconds that requests in progress have to finish at shutdown before they are aborted."""

_KEEP_ALIVE_SECONDS: Final = 30
"""Seconds for which an idle connection stays open. Pages usually send their next request sooner."""

_PARENT_SECONDS: Final = 1.0
"""Seconds between checks for the parent process. Until it notices, an orphaned process occupies the port."""

_NODE_SECONDS: Final = 5.0
"""The timeout in seconds for querying a node's chain id at startup."""

_LOGGER: Final = logging.getLogger("bilateral.api")


def app_from_environment() -> ASGIApp:
    """Create the application in one of several processes, with the settings in `SETTINGS_VARIABLE`."""
    from bilateral.api.app import make_app  # noqa: PLC0415  # after the folder of the figures is known

    log_safely()
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    values: dict[str, Any] = json.loads(os.environ[SETTINGS_VARIABLE])
    lists = {name: tuple(values[name]) for name in ("trusted_proxies", "readers")}
    return make_app(ApiSettings(**{**values, **lists, "buyers": BuyerSettings(**values["buyers"])}))


def _end_with_parent(parent: int) -> None:
    """End this process after its parent has exited, because a killed parent cannot notify its children."""
    while os.getppid() == parent:
        time.sleep(_PARENT_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


def serve(
    settings: ApiSettings, index: IndexSettings | None = None, *, report: Callable[[str], None] = lambda _: None
) -> None:
    """Serve until SIGINT or SIGTERM is received. Requests in progress are finished before the process exits.

    Without `index`, the service waits for a database that does not exist yet, and responds with 503 in the meantime.
    """
    if index is not None:
        _create_tables(settings)
        settings = replace(settings, nodes={**_nodes(index), **settings.nodes})
    runner: _One | _Several = (_One if settings.workers == 1 else _Several)(settings, report)
    follower = None if index is None else _Follower(replace(index, database=settings.database), runner.stop)
    if follower is not None:
        follower.start()
    for number in (signal.SIGINT, signal.SIGTERM):
        # uvicorn handles these signals while it runs, and raises them again when it ends, so the index must end first.
        signal.signal(number, lambda *_: runner.stop())
    try:
        runner.run()
    finally:
        if follower is not None:
            follower.end()
    if follower is not None and follower.failure is not None:
        raise follower.failure


def _create_tables(settings: ApiSettings) -> None:
    from bilateral.index.log.database import open_database  # noqa: PLC0415  # slow to import

    open_database(settings.database).dispose()


def _nodes(index: IndexSettings) -> dict[str, str]:
    """Return the URL of each indexed chain's first node, by chain id. Omit chains of unknown id."""
    from bilateral.client import Client  # noqa: PLC0415  # slow to import
    from bilateral.client.operations.registries import chain_id_of_node  # noqa: PLC0415

    nodes = {}
    for chain in index.chains:
        url = chain.rpc_urls[0]
        if chain.deployments:
            nodes[str(chain.deployments[0].chain_id)] = url
            continue
        try:
            with Client(url, request_timeout=_NODE_SECONDS) as client:
                nodes[str(client.runner.run(chain_id_of_node()))] = url
        except BilateralError as problem:
            _LOGGER.warning("visitors cannot send transactions on a chain: its node did not respond: %s", problem)
    return nodes


def server_config(app: Any, settings: ApiSettings, **options: Any) -> uvicorn.Config:
    """Return the settings of the HTTP server."""
    from bilateral.api.protocol import BoundedProtocol  # noqa: PLC0415  # it needs httptools

    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=BoundedProtocol,
        ws="none",
        access_log=False,
        log_config=None,
        proxy_headers=False,  # the guard reads them, but only from trusted proxies
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        **options,
    )


class _One(uvicorn.Server):
    """Runs the API in this process, and reports when it is ready."""

    def __init__(self, settings: ApiSettings, report: Callable[[str], None]) -> None:
        from bilateral.api.app import make_app  # noqa: PLC0415  # slow to import

        super().__init__(server_config(make_app(settings), settings))
        self._report = report

    async def startup(self, sockets: Any = None) -> None:
        """Start serving requests."""
        await super().startup(sockets)
        if self.started:
            address = self.servers[0].sockets[0].getsockname()
            self._report(_url(str(address[0]), int(address[1])))

    def stop(self) -> None:
        """Stop the service."""
        self.should_exit = True


class _Several:
    """Runs the API in several processes, which share a port and their metrics."""

    def __init__(self, settings: ApiSettings, report: Callable[[str], None]) -> None:
        self._report = report
        self._folder = tempfile.mkdtemp(prefix="bilateral-figures-")
        os.environ[MULTIPROCESS_FOLDER] = self._folder
        os.environ[SETTINGS_VARIABLE] = json.dumps(asdict(settings))
        self._config = server_config(
            f"{__name__}:{app_from_environment.__name__}", settings, factory=True, workers=settings.workers
        )
        self._socket = self._config.bind_socket()
        self._socket.listen(self._config.backlog)  # connections wait until the processes respond
        self._supervisor = Multiprocess(self._config, sockets=[self._socket])

    def run(self) -> None:
        """Serve until a signal is received or `stop` is called."""
        address = self._socket.getsockname()
        self._report(_url(str(address[0]), int(address[1])))
        try:
            self._supervisor.run()
        finally:
            self._socket.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    def stop(self) -> None:
        """Stop the service."""
        self._supervisor.should_exit.set()


class _Follower:
    """Indexes the chains in a thread while the API serves requests."""

    def __init__(self, settings: IndexSettings, stop_service: Callable[[], None]) -> None:
        self._settings = settings
        self._stop_service = stop_service
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="index", daemon=True)
        self.failure: BilateralError | None = None

    def start(self) -> None:
        """Start indexing."""
        self._thread.start()

    def end(self) -> None:
        """Stop after the step in progress."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        from bilateral.index.log.database import open_database  # noqa: PLC0415

        if self._settings.shards:
            from bilateral.index.shards.process import follow  # noqa: PLC0415  # slow to import
        else:
            from bilateral.index.operating.worker import follow_chains as follow  # noqa: PLC0415  # slow to import
        try:
            engine = open_database(self._settings.database)
            try:
                follow(engine, self._settings, stop=self._stop)
            finally:
                engine.dispose()
        except BilateralError as failure:
            _LOGGER.error("index=failed problem=%r", str(failure))  # noqa: TRY400  # one line is enough
            self.failure = failure
        finally:
            self._stop_service()  # a failure also sets `_stop`; stopping a stopped service does nothing


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
