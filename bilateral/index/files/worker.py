"""Threads that find the files of chains, and fetch them."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from bilateral.core.text import printable
from bilateral.documents import Limits, Loader, Network
from bilateral.index.files.loading import Failed, Loaded, Outcome, load_file
from bilateral.index.files.projection import collect
from bilateral.index.files.queue import FileQueue, Lease
from bilateral.index.files.reading import Reader
from bilateral.index.files.references import ReferenceScan
from bilateral.index.log.backoff import Backoff
from bilateral.index.log.database import is_lost, is_transient, unavailable

_LOGGER: Final = logging.getLogger("bilateral.index")
_COLLECT_EVERY: Final = 600.0
"""Seconds between two deletions of files that no event names. Such files only take disk space."""

_MOST_IDLE_SECONDS: Final = 1.0
"""The longest wait between two looks for new files: a search finds a new agent about a second after its block."""

_JOIN_SECONDS: Final = 2.0
"""Seconds to wait for threads at a signal. A lease that nobody returns expires."""


@dataclass(frozen=True)
class FileSettings:
    """The settings of the queue that fetches files.

    Attributes:
        workers: The threads that fetch files; 0 to fetch none.
        gateways: The IPFS gateways, tried in order; public ones if empty.
        max_bytes: The largest size of a file.
        seconds: The longest time for a file.
        allow_private: True if files may come from private addresses. Set it in tests and closed networks only: else
            anybody who registers an agent makes this program read from its own network.
    """

    workers: int = 4
    gateways: tuple[str, ...] = ()
    max_bytes: int = 1024 * 1024
    seconds: float = 10.0
    allow_private: bool = False


class FileWorkers:
    """Threads of one process, or none: one finds the files of its chains, the others fetch files of any chain."""

    def __init__(
        self,
        engine: Engine,
        settings: FileSettings,
        readers: Sequence[Reader],
        *,
        stop: threading.Event,
        fail: Callable[[Exception], None],
    ) -> None:
        self._engine = engine
        network = Network(allow_private=settings.allow_private)
        loader = Loader(limits=Limits(bytes=settings.max_bytes, seconds=settings.seconds), network=network)
        self._loader = replace(loader, gateways=settings.gateways) if settings.gateways else loader
        self._readers = readers
        self._queue = FileQueue(engine, lease_seconds=max(60.0, 3 * settings.seconds))
        self._scans: dict[int, ReferenceScan] = {}
        self._stop = stop
        self._fail = fail
        self._leases: dict[bytes, Lease] = {}
        self._hurry = threading.Event()  # ends the pause of the thread that finds files
        self._busy: set[int] = set()
        self._looks = 0
        self._last_idle_look = 0
        works = [self._scan, *[self._fetch] * settings.workers] if settings.workers else []
        self._threads = [threading.Thread(target=self._run, args=(work,), daemon=True) for work in works]

    def add_chain(self, chain_id: int) -> None:
        """Find the files of one more chain."""
        self._scans.setdefault(chain_id, ReferenceScan(self._engine, chain_id, self._loader, self._readers))

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def wait_until_done(self) -> None:
        """Wait until every event is scanned and no file is due, or until the threads are stopped."""
        next_look = self._looks + 1
        while self._threads and not self._stop.is_set():
            if self._last_idle_look >= next_look and not self._busy and self._is_nothing_due():
                return
            self._hurry.set()
            self._stop.wait(0.05)

    def _is_nothing_due(self) -> bool:
        try:
            left = self._queue.seconds_to_next()
        except DBAPIError as problem:
            if not is_lost(problem):
                raise
            return False  # nobody knows
        return left is None or left > 0

    def close(self) -> None:
        """End the threads, and return the leases of fetches that are under way. Call it after `stop` is set."""
        self._hurry.set()
        end = time.monotonic() + _JOIN_SECONDS
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(max(0.0, end - time.monotonic()))
        try:
            self._queue.release(list(self._leases.values()))
        except DBAPIError as problem:
            _LOGGER.warning("files=unreleased problem=%r", str(unavailable(problem)))

    def _run(self, work: Callable[[], None]) -> None:
        """Work until the threads are stopped, and wait while the database does not answer."""
        retry = Backoff(self._stop, None, lambda problem: _LOGGER.warning("files=waiting problem=%r", problem))
        while not self._stop.is_set():
            try:
                work()
                retry.succeeded()
            except DBAPIError as problem:
                if is_lost(problem):
                    retry.wait(unavailable(problem))
                elif not is_transient(problem):
                    self._fail(unavailable(problem))
                    return
            except Exception as problem:  # noqa: BLE001  # without this thread, files would wait and nobody would know
                self._fail(problem)
                return

    def _scan(self) -> None:
        collected = float("-inf")
        if filled := sum(reader.catch_up(self._engine, self._stop) for reader in self._readers):
            _LOGGER.info("outcome=understood files=%d", filled)
        while not self._stop.is_set():
            self._looks += 1
            scans = tuple(self._scans.values())  # a chain may be added meanwhile
            counts = [scan.step() for scan in scans]
            for scan, count in zip(scans, counts, strict=True):
                if count:
                    _LOGGER.info("chain=%d outcome=scanned files=%d", scan.chain_id, count)
            if any(count is not None for count in counts):
                continue
            self._last_idle_look = self._looks
            if time.monotonic() - collected > _COLLECT_EVERY:
                collected = time.monotonic()
                if deleted := collect(self._engine):
                    _LOGGER.info("outcome=collected files=%d", deleted)
            self._hurry.wait(_MOST_IDLE_SECONDS)
            self._hurry.clear()

    def _fetch(self) -> None:
        thread = threading.get_ident()
        self._busy.add(thread)
        try:
            if (lease := self._queue.claim()) is not None:
                self._leases[lease.token] = lease
                self._load(lease)
                return
        finally:
            self._busy.discard(thread)
        left = self._queue.seconds_to_next()
        self._stop.wait(_MOST_IDLE_SECONDS if left is None else min(max(left, 0.05), _MOST_IDLE_SECONDS))

    def _load(self, lease: Lease) -> None:
        """Load a leased file, and store the outcome. At the end of the process `close` returns the lease instead."""
        began = time.monotonic()
        outcome = load_file(self._loader, lease.kind, lease.uri, lease.expected_hash, lease.validators, self._readers)
        if self._stop.is_set():
            return
        is_stored = self._queue.complete(lease, outcome)
        self._leases.pop(lease.token, None)
        _LOGGER.info(
            "file=%s host=%s outcome=%s seconds=%.2f",
            *(lease.kind, printable(lease.host), _log_word(outcome) if is_stored else "late", time.monotonic() - began),
        )


def _log_word(outcome: Outcome) -> str:
    if isinstance(outcome, Failed):
        return outcome.reason
    return "malformed" if isinstance(outcome, Loaded) and outcome.problem else type(outcome).__name__.lower()
