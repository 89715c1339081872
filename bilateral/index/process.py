"""One process of the index: a thread for each chain, and threads for the files that the chains' events name."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from bilateral.index.files.worker import FileWorkers
from bilateral.index.follow import ENOUGH_LOGS
from bilateral.index.worker import Worker

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from bilateral.index.settings import IndexSettings

_SIGNAL_SECONDS = 0.2
"""The seconds after which a waiting main thread looks for signals."""


def follow_chains(engine: Engine, settings: IndexSettings, *, stop: threading.Event, until_head: bool = False) -> None:
    """Follow chains and fetch files until the process is told to stop.

    Args:
        engine: The database.
        settings: The chains, and the settings of the queue of files.
        stop: Set to end the process. Steps that are under way are finished or undone; nothing is lost.
        until_head: True to end when every chain is at its head and no file is due.

    Raises:
        NoEndpointError: No endpoint of a chain says which chain it is of.
        UnknownDeploymentError: No deployment was given for a chain, and none is packaged.
        WrongChainError: A deployment is of another chain.
        DatabaseUnavailableError: The database cannot be written.
    """
    failures: list[Exception] = []

    def fail(failure: Exception) -> None:
        failures.append(failure)
        stop.set()

    def follow(worker: Worker) -> None:
        try:
            worker.run(until_head=until_head)
        except Exception as failure:  # noqa: BLE001  # it is raised when all threads have ended
            fail(failure)

    writers = len(settings.chains) + (settings.files.workers > 0)
    enough = max(1, ENOUGH_LOGS // writers)
    workers = [
        Worker(engine, chain, stop=stop, poll_seconds=settings.poll_seconds, enough=enough) for chain in settings.chains
    ]
    threads = [threading.Thread(target=follow, args=(worker,), daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    files = None
    if settings.files.workers:
        files = FileWorkers(engine, [worker.chain_id for worker in workers], settings.files, stop=stop, fail=fail)
        files.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(_SIGNAL_SECONDS)  # a join without end would keep signals waiting
    if files is not None:
        files.wait_until_done()
        stop.set()
        files.close()
    if failures:
        raise failures[0]
