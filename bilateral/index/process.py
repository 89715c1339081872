"""One process of the index: a thread for each chain, and threads for the files that the chains' events name."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Final

from bilateral.index.chain.follow import ENOUGH_LOGS
from bilateral.index.files.worker import FileWorkers
from bilateral.index.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Engine

    from bilateral.index.settings import IndexSettings

_SIGNAL_SECONDS: Final = 0.2
"""The seconds after which a waiting main thread looks for signals."""

_GRACE_SECONDS: Final = 5.0
"""Seconds for a step to end after the process was told to. One that takes longer ends with the process, undone."""


def follow_chains(engine: Engine, settings: IndexSettings, *, stop: threading.Event, until_head: bool = False) -> None:
    """Follow chains and fetch files until the process is told to stop.

    Args:
        engine: The database.
        settings: The chains, and the settings of the queue of files.
        stop: Set to end the process. Steps that are under way are finished, or undone when the process ends; nothing is
            lost. A thread that waits for a node's answer is left behind after some seconds.
        until_head: True to end when every chain is at its head and no file is due.

    Raises:
        NoEndpointError: No endpoint of a chain says which chain it is of.
        UnknownDeploymentError: No deployment was given for a chain, and none is packaged.
        WrongChainError: A deployment is of another chain.
        OtherFirstBlockError: The database has a chain from another first block on than the settings name.
        FirstBlockAheadError: The first block of a chain is after the head at which the process should end.
        DatabaseUnavailableError: The database cannot be written.
    """
    process = _Process(engine, settings, stop)
    process.begin()
    process.follow(until_head=until_head)
    if process.failures:
        raise process.failures[0]


class _Process:
    """The threads of one process.

    Args:
        engine: The database.
        settings: The chains, and the settings of the queue of files.
        stop: Set to end the threads.

    Attributes:
        failures: The errors that ended threads, in order.
    """

    def __init__(self, engine: Engine, settings: IndexSettings, stop: threading.Event) -> None:
        """See the class. No thread runs yet."""
        self.failures: list[Exception] = []
        self._engine = engine
        self._settings = settings
        self._stop = stop
        self._workers: list[Worker] = []

    def begin(self) -> None:
        """Ask the nodes which chains they are of."""
        self._wait([self._started(self._make_workers)])

    def follow(self, *, until_head: bool) -> None:
        """Follow the chains and fetch files, unless the process was told to stop."""
        if self._stop.is_set():
            return
        threads = [self._started(partial(worker.run, until_head=until_head)) for worker in self._workers]
        if not self._settings.files.workers:
            self._wait(threads)
            return
        chain_ids = [worker.chain_id for worker in self._workers]
        files = FileWorkers(self._engine, chain_ids, self._settings.files, stop=self._stop, fail=self._fail)
        files.start()
        self._wait(threads)
        files.wait_until_done()
        self._stop.set()
        files.close()

    def _make_workers(self) -> None:
        """Make a worker for each chain."""
        chains, poll_seconds = self._settings.chains, self._settings.poll_seconds
        enough = max(1, ENOUGH_LOGS // (len(chains) + (self._settings.files.workers > 0)))
        self._workers = [
            Worker(self._engine, chain, stop=self._stop, poll_seconds=poll_seconds, enough=enough) for chain in chains
        ]

    def _fail(self, failure: Exception) -> None:
        """End all threads, because an error ended one."""
        self.failures.append(failure)
        self._stop.set()

    def _started(self, work: Callable[[], None]) -> threading.Thread:
        """Start a thread that does some work."""

        def run() -> None:
            try:
                work()
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
