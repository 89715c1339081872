"""The process that keeps the standings in an index current. If this process crashes, the index is not affected."""

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.synchronize import Event
from typing import Any, Final

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from bilateral.core.errors import NODE_FAILURES, require_modules
from bilateral.core.text.log_lines import log_safely
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.source import Source
from bilateral.index.log.database import open_database
from bilateral.index.standing.queries import identity_registries, note_problem, stored_problem

_LOGGER: Final = logging.getLogger("bilateral.index")

_RESTART_SECONDS: Final = 10.0
"""Seconds after which a crashed process is restarted."""

_GRACE_SECONDS: Final = 5.0
"""Seconds within which a process may exit by itself and store its results."""

_NOTE_SECONDS: Final = 2.0
"""The interval in seconds at which a lasting problem is recorded for registries that were indexed since."""

_NODE_SECONDS: Final = 10.0
"""Seconds after which nodes are queried again if they did not report their chain."""

_LOOK_SECONDS: Final = 0.5
"""Seconds between checks of a process, so that a crash or exit is detected within half a second."""


class StandingsProcess:
    """A separate process that keeps a database's standings current, and the thread that supervises the process.

    Args:
        rpc_urls: The URLs of each chain's nodes, which are queried for accounts' initial funds.
    """

    def __init__(self, engine: Engine, rpc_urls: Sequence[Sequence[str]]) -> None:
        self._engine = engine
        self._url = engine.url.render_as_string(hide_password=False)
        self._rpc_urls = tuple(tuple(urls) for urls in rpc_urls)
        self._context = multiprocessing.get_context("spawn")  # a fork would share the database's connections
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="standings", daemon=True)

    def start(self) -> None:
        """Start to keep standings current."""
        self._thread.start()

    def end(self) -> None:
        """Stop the process. Results that have not been stored are lost, and are recomputed in the next run."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(2 * _GRACE_SECONDS)

    def refresh_once(self) -> None:
        """Compute the current standings, and wait until they are stored."""
        stop = self._context.Event()  # without a reference, the system deletes the event before the process opens it
        process = self._process(stop, is_once=True)
        process.start()
        process.join()
        self._note_end(process.exitcode)

    def _process(self, stop: Event, *, is_once: bool) -> Any:
        arguments = (self._url, self._rpc_urls, stop, os.getpid(), is_once)
        return self._context.Process(target=_keep_current, args=arguments, daemon=True)

    def _watch(self) -> None:
        while not self._stop.is_set():
            stop = self._context.Event()
            process = self._process(stop, is_once=False)
            process.start()
            while process.is_alive() and not self._stop.wait(_LOOK_SECONDS):
                pass
            if self._stop.is_set():
                stop.set()
                process.join(_GRACE_SECONDS)
                if process.is_alive():
                    process.kill()
                return
            self._note_end(process.exitcode)
            self._stop.wait(_RESTART_SECONDS)

    def _note_end(self, code: int | None) -> None:
        """Record that the process ended unexpectedly, unless it has recorded a problem itself."""
        if code not in (0, _NOTED):
            _LOGGER.warning("standings=ended code=%s", code)
            note_everywhere(self._engine, f"the analysis process exited with code {code} and will be restarted")


_NOTED: Final = 3
"""The exit code of a process that recorded its problem itself."""


def note_everywhere(engine: Engine, problem: str) -> None:
    """Record a problem for each of an index's identity registries that has no record of it yet."""
    try:
        with engine.begin() as connection:
            for key in identity_registries(connection):
                if stored_problem(connection, key) != problem:
                    note_problem(connection, key, problem)
    except DBAPIError as failure:  # the database may be the problem
        _LOGGER.warning("standings=unnoted problem=%r", str(failure.orig))


def _keep_current(url: str, rpc_urls: Sequence[Sequence[str]], stop: Event, parent: int, is_once: bool) -> None:
    """Keep standings current in this process until the event is set or the parent process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all processes; the parent ends this one
    log_safely()
    engine = open_database(url, creates=False)

    def goes_on(seconds: float = _LOOK_SECONDS) -> bool:
        return not stop.wait(seconds) and os.getppid() == parent

    try:
        require_modules("index", "numpy", "pyarrow", "scipy")
        from bilateral.index.standing.analysis import Refresher  # noqa: PLC0415  # slow to import
    except ImportError as problem:  # missing, or not loadable on this machine
        _LOGGER.warning("standings=off: nothing is ranked or rated without an analysis: %s", problem)
        note_everywhere(engine, str(problem))
        while not is_once and goes_on(_NOTE_SECONDS):
            note_everywhere(engine, str(problem))  # also for registries that were added in the meantime
        raise SystemExit(_NOTED) from None
    if is_once:
        Refresher(engine, dict(filter(None, map(_with_chain, rpc_urls)))).refresh()
        return
    refresher = Refresher(engine, only_followed=bool(rpc_urls))
    ended = threading.Event()
    work = threading.Thread(target=refresher.run, args=(ended,), daemon=True)
    work.start()
    unanswered, asks_at = list(rpc_urls), 0.0
    while goes_on():
        if not work.is_alive():
            raise SystemExit(1)
        if unanswered and time.monotonic() >= asks_at:
            answers = {tuple(urls): _with_chain(urls) for urls in unanswered}
            refresher.add_nodes(dict(filter(None, answers.values())))
            unanswered = [urls for urls, answer in answers.items() if answer is None]
            asks_at = time.monotonic() + _NODE_SECONDS
    ended.set()


def _with_chain(urls: Sequence[str]) -> tuple[int, tuple[str, ...]] | None:
    """Return the chain id that nodes report, and the URLs of the responding nodes; None if no node responds."""
    chains: dict[str, int] = {}
    for url in urls:
        with suppress(*NODE_FAILURES):
            chains[url] = Source(Endpoint(url), ()).chain_id()
    return (list(chains.values())[-1], tuple(chains)) if chains else None
