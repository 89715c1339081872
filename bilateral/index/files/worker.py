"""Threads that find the files to which the event tables refer, and fetch them.

The scan has its own cursor for each chain, which moves by compare-and-set. A rollback moves this cursor back and
deletes the removed blocks' references in the same transaction. No reference outlives its event, and none is missed.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, Engine, null, select, update
from sqlalchemy.exc import DBAPIError

from bilateral.core.errors import UnsupportedUriError
from bilateral.core.interpreter import tuned_interpreter
from bilateral.core.text import printable
from bilateral.documents import Limits, Loader, Network, Validators
from bilateral.index.files import rows as file_rows
from bilateral.index.files import tables as schema
from bilateral.index.files.loading import Failed, Loaded, Outcome, failure_of, host_of_file, load_file
from bilateral.index.files.observations import note_observations
from bilateral.index.files.projection import collect
from bilateral.index.files.queue import FileQueue, Lease
from bilateral.index.files.reading import Reader, domain_uri, file_id_of
from bilateral.index.files.rows import FILE_EVENTS
from bilateral.index.files.tables import Kind
from bilateral.index.log.backoff import Backoff
from bilateral.index.log.database import is_lost, is_transient, unavailable
from bilateral.index.log.dialects import insert_new
from bilateral.index.log.tables import EVENT_TABLES, chain

_EVENTS_AT_ONCE: Final = 200
"""The number of events to read from a table at once, unless a block has more. Each may contain an entire file."""

_PLACE: Final = ("chain_id", "block_number", "log_index", "registry", "agent_id")
_NO_HASH: Final = bytes(32)

_File: TypeAlias = tuple[Kind, str, bytes | None]
"""A file's kind and URI, and the hash in the event; None if the event contains no hash."""


@dataclass(frozen=True)
class ReferenceScan:
    """Finds the files to which a chain's events refer."""

    engine: Engine
    chain_id: int
    loader: Loader
    readers: Sequence[Reader]
    clock: Callable[[], float] = field(default=time.time, kw_only=True)

    def step(self) -> int | None:
        """Process the events of the next blocks."""
        cursor = self._cursor()
        if cursor is None:
            return None
        scanned, generation = cursor
        with self.engine.connect().execution_options(bilateral_reader=True) as connection:
            indexed = connection.execute(
                select(chain.c.block_number).where(chain.c.chain_id == self.chain_id)
            ).scalar_one()
            if indexed <= scanned:
                return None
            end = self._end(connection, scanned + 1, indexed)
            references, files = self._references(connection, scanned + 1, end)
        with tuned_interpreter():
            new, outcomes = self._decoded(files)
            with self.engine.begin() as connection:
                if self._move(connection, scanned, end, generation) and references:
                    self._store(connection, references, new, outcomes)
        return len(references)

    def _cursor(self) -> tuple[int, int] | None:
        """Return the last scanned block, and the number of rollbacks; None before the chain is indexed."""
        table = schema.file_scan
        query = select(table.c.block_number, table.c.generation).where(table.c.chain_id == self.chain_id)
        with self.engine.connect().execution_options(bilateral_reader=True) as connection:
            cursor = connection.execute(query).one_or_none()
        if cursor is None:
            with self.engine.begin() as connection:
                # Because of the lock, this waits for a rollback that started before the cursor existed.
                locked = select(chain.c.first_block).where(chain.c.chain_id == self.chain_id).with_for_update()
                first = connection.execute(locked).scalar_one_or_none()
                if first is None:
                    return None
                insert_new(connection, table, [{"chain_id": self.chain_id, "block_number": first - 1, "generation": 0}])
                cursor = connection.execute(query).one()
        return cursor.block_number, cursor.generation

    def _end(self, connection: Connection, first: int, last: int) -> int:
        for event in FILE_EVENTS:
            table = EVENT_TABLES[event]
            query = (
                select(table.c.block_number)
                .where(table.c.chain_id == self.chain_id, table.c.block_number.between(first, last))
                .order_by(table.c.block_number)
                .offset(_EVENTS_AT_ONCE)
                .limit(1)
            )
            if (block := connection.execute(query).scalar_one_or_none()) is not None:
                last = min(last, max(first, block - 1))
        return last

    def _references(
        self, connection: Connection, first: int, last: int
    ) -> tuple[list[dict[str, Any]], dict[bytes, _File]]:
        """Return the references in a range of blocks, and their files by id. A removed file's reference has no id."""
        references: list[dict[str, Any]] = []
        files: dict[bytes, _File] = {}
        for event, (kind, uri_column, hash_column) in FILE_EVENTS.items():
            columns = EVENT_TABLES[event].c
            expected = null() if hash_column is None else columns[hash_column]
            query = select(*(columns[name] for name in _PLACE), columns[uri_column], expected)
            of_blocks = (columns.chain_id == self.chain_id, columns.block_number.between(first, last))
            for *place, text, content_hash in connection.execute(query.where(*of_blocks)):
                uri = domain_uri(text) if kind is Kind.DOMAIN else text
                file_id = None
                if uri:
                    expected_hash = None if content_hash in (None, _NO_HASH) else bytes(content_hash)
                    file_id = file_id_of(kind, uri, expected_hash)
                    files.setdefault(file_id, (kind, uri, expected_hash))
                if uri or kind in file_rows.REPLACED:
                    references.append(dict(zip(_PLACE, place, strict=True)) | {"kind": kind, "file_id": file_id})
        return references, files

    def _decoded(self, files: Mapping[bytes, _File]) -> tuple[dict[bytes, dict[str, Any]], dict[bytes, Outcome]]:
        """Return files' rows by id, and the outcomes for files that need no host or that no host can serve."""
        now = int(self.clock())
        new: dict[bytes, dict[str, Any]] = {}
        outcomes: dict[bytes, Outcome] = {}
        for file_id, (kind, uri, expected_hash) in files.items():
            host = None
            try:
                host = host_of_file(uri)
                if host is None:
                    outcomes[file_id] = load_file(self.loader, kind, uri, expected_hash, Validators(), self.readers)
            except UnsupportedUriError as problem:
                outcomes[file_id] = failure_of(uri, problem)
            new[file_id] = file_rows.new_file(file_id, kind, uri, host, self.clock(), expected_hash)
            outcome = outcomes.get(file_id)
            if isinstance(outcome, Loaded | Failed):
                new[file_id] |= file_rows.columns_of(outcome, now)
        return new, outcomes

    def _store(
        self,
        connection: Connection,
        references: Sequence[dict[str, Any]],
        new: Mapping[bytes, dict[str, Any]],
        outcomes: Mapping[bytes, Outcome],
    ) -> None:
        now, blocks, place = self.clock(), [row["block_number"] for row in references], schema.file_reference.c

        def is_of_blocks(columns: Any) -> Any:
            return (columns.chain_id == self.chain_id) & columns.block_number.between(min(blocks), max(blocks))

        # A migration may have moved the cursor back, so some references may already be stored.
        query = select(place.block_number, place.log_index).where(is_of_blocks(place))
        existing = set(map(tuple, connection.execute(query)))
        added = {row["file_id"] for row in references if (row["block_number"], row["log_index"]) not in existing}
        hosted = {file_id for file_id, row in new.items() if row["host"] is not None and file_id in added}
        domains = file_rows.domain_files(
            [(new[file_id]["kind"], outcome) for file_id, outcome in outcomes.items()], now
        )
        rows = {row["file_id"]: row for row in (*new.values(), *domains)}
        # Transactions lock hosts, files and contents in this order, which prevents deadlocks. The hosts of existing
        # files are also locked, because fetches write the same claims of payments.
        file_rows.wake_hosts(connection, {row["host"] for row in rows.values()} - {None}, now)
        insert_new(connection, schema.file, [rows[file_id] for file_id in sorted(rows)])
        file_rows.wake_files(connection, hosted, now)
        loaded = (outcome for outcome in outcomes.values() if isinstance(outcome, Loaded))
        file_rows.store_contents(connection, loaded)
        insert_new(connection, schema.file_reference, references)
        agents = {(row["registry"], row["agent_id"]) for row in references if row["kind"] is Kind.REGISTRATION}
        file_rows.find_files(connection, self.chain_id, agents)
        if any(row["kind"] is Kind.FEEDBACK for row in references):
            file_rows.find_payments(connection, is_of_blocks)
        note_observations(connection, new.keys())

    def _move(self, connection: Connection, before: int, after: int, generation: int) -> bool:
        """Move the cursor, unless it was moved or a rollback took place in the meantime."""
        columns = schema.file_scan.c
        is_unmoved = (columns.block_number == before) & (columns.generation == generation)
        moved = update(schema.file_scan).where(columns.chain_id == self.chain_id, is_unmoved)
        return connection.execute(moved.values(block_number=after)).rowcount == 1


_LOGGER: Final = logging.getLogger("bilateral.index")
_COLLECT_EVERY: Final = 600.0
"""Seconds between deletions of files to which no event refers. Such files only take up disk space."""

_MOST_IDLE_SECONDS: Final = 1.0
"""The longest interval in seconds between checks for new files, so that searches soon find new agents."""

_JOIN_SECONDS: Final = 2.0
"""Seconds to wait for threads after a signal. A lease that is not released expires."""


@dataclass(frozen=True)
class FileSettings:
    """The settings of the queue that fetches files.

    Attributes:
        workers: The number of threads that fetch files; 0 to fetch none.
        gateways: The IPFS gateways, tried in order; if empty, public gateways.
        max_bytes: The maximum size of a file, in bytes.
        seconds: The maximum time for loading a file, in seconds.
        allow_private: True if files may come from private addresses. Use this only in tests and closed networks.
            Elsewhere, anyone who registers an agent could make this program read from the program's own network.
    """

    workers: int = 4
    gateways: tuple[str, ...] = ()
    max_bytes: int = 1024 * 1024
    seconds: float = 10.0
    allow_private: bool = False


class FileWorkers:
    """The threads of one process. One finds files for the process's chains; the others fetch files for any chain."""

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
        self._hurry = threading.Event()  # wakes the thread that finds files
        self._busy: set[int] = set()
        self._looks = 0
        self._last_idle_look = 0
        works = [self._scan, *[self._fetch] * settings.workers] if settings.workers else []
        self._threads = [threading.Thread(target=self._run, args=(work,), daemon=True) for work in works]

    def add_chain(self, chain_id: int) -> None:
        """Also find the files of another chain."""
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
            return False  # the database did not respond
        return left is None or left > 0

    def close(self) -> None:
        """Stop the threads, and release the leases of fetches in progress. Call this after `stop` is set."""
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
        """Work until the threads are stopped. While the database is not responding, wait."""
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
            scans = tuple(self._scans.values())  # a chain may be added in the meantime
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
        """Load a leased file, and store the outcome. When the process ends, `close` releases the lease instead."""
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
