"""One process of the index: a thread for each chain, and threads for the files that the chains' events name."""

import logging
import threading
import time
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from bilateral.index.chain.follow import ENOUGH_LOGS
from bilateral.index.changes.worker import keep_pruned
from bilateral.index.errors import FirstBlockAheadError, NoEndpointError
from bilateral.index.files.worker import FileWorkers
from bilateral.index.log.backoff import Backoff
from bilateral.index.log.database import passing_failure
from bilateral.index.operating.settings import ChainSettings, IndexSettings
from bilateral.index.operating.worker import Worker
from bilateral.index.projections import PROJECTIONS, READERS

_LOGGER: Final = logging.getLogger("bilateral.index")

_SIGNAL_SECONDS: Final = 0.2
"""The seconds after which a waiting main thread looks for signals."""

_GRACE_SECONDS: Final = 5.0
"""Seconds for a step to end after the process was told to. One that takes longer ends with the process, undone."""


def follow_chains(engine: Engine, settings: IndexSettings, *, stop: threading.Event, until_head: bool = False) -> bool:
    """Follow chains and fetch files until the process is stopped."""
    return _Process(engine, settings, stop).follow(until_head=until_head)


class _Process:
    """The threads of one process."""

    def __init__(self, engine: Engine, settings: IndexSettings, stop: threading.Event) -> None:
        self._failures: list[Exception] = []  # that ended threads, in order
        self._engine = engine
        self._settings = settings
        self._stop = stop
        self._files = FileWorkers(engine, settings.files, READERS, stop=stop, fail=self._fail)

    def follow(self, *, until_head: bool) -> bool:
        """Follow the chains and fetch files. Return True if nothing told the process to stop before the end."""
        self._files.start()
        pruning = partial(keep_pruned, self._engine, self._settings.feed, self._stop)
        threading.Thread(target=pruning, name="pruning", daemon=True).start()
        urls = [chain.rpc_urls for chain in self._settings.chains]
        works = [projection.background(self._engine, urls) for projection in PROJECTIONS if self._settings.analyses]
        background = [work for work in works if work is not None]
        if not until_head:
            for work in background:
                work.start()
        self._wait([self._started(chain, until_head) for chain in self._settings.chains])
        self._files.wait_until_done()
        is_done = not self._stop.is_set()
        self._stop.set()
        for work in background:
            if until_head and is_done:
                work.refresh_once()
            work.end()
        self._files.close()
        if self._failures:
            raise self._failures[0]
        return is_done

    def _worker_of(self, chain: ChainSettings, until_head: bool) -> Worker | None:
        """Make the worker of a chain, and wait while that fails. Return None at the end of the process."""
        settings = self._settings
        writers = len(settings.chains) + (settings.files.workers > 0)
        options: dict[str, Any] = {"enough": max(1, ENOUGH_LOGS // writers), "max_wait": settings.max_wait}
        report = partial(_LOGGER.warning, "outcome=waits problem=%r")
        retry = Backoff(self._stop, settings.max_wait if until_head else None, report)
        while not self._stop.is_set():
            try:
                return Worker(self._engine, chain, stop=self._stop, poll_seconds=settings.poll_seconds, **options)
            except NoEndpointError as problem:
                if until_head and problem.is_final:
                    raise
                retry.wait(problem)
            except DBAPIError as problem:
                retry.wait(passing_failure(problem))
        return None

    def _fail(self, failure: Exception) -> None:
        self._failures.append(failure)
        self._stop.set()

    def _started(self, chain: ChainSettings, until_head: bool) -> threading.Thread:
        def run() -> None:
            try:
                if (worker := self._worker_of(chain, until_head)) is not None:
                    self._files.add_chain(worker.chain_id)
                    worker.run(until_head=until_head)
            except (NoEndpointError, FirstBlockAheadError) as failure:  # of one chain: the others go on
                self._failures.append(failure)
                if len(self._settings.chains) > 1:
                    _LOGGER.warning("outcome=ended problem=%r", str(failure))
            except Exception as failure:  # noqa: BLE001  # it is raised when all threads have ended
                self._fail(failure)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def _wait(self, threads: Sequence[threading.Thread]) -> None:
        """Wait until threads have ended; not for long once they were told to, as a node may not answer for minutes."""
        end = None
        for thread in threads:
            while thread.is_alive() and (end is None or time.monotonic() < end):
                thread.join(_SIGNAL_SECONDS)  # a join without end would keep signals waiting
                if end is None and self._stop.is_set():
                    end = time.monotonic() + _GRACE_SECONDS
