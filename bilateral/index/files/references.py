"""References: which event names which file. They are found in the tables of events, after the events are stored.

The scan has a cursor of its own for each chain. It moves by compare-and-set; a rollback moves it back and removes the
references of removed blocks in the same transaction. So no reference outlives its event, and none is missed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Engine, select, update

from bilateral.core import events
from bilateral.core.errors import UnsupportedUriError
from bilateral.documents import Loader, Validators
from bilateral.index.files import tables as schema
from bilateral.index.files.claims import find_payments_of_blocks
from bilateral.index.files.loading import Failed, Loaded, Outcome, failure_of, host_of_file, load_file
from bilateral.index.files.observations import note_sights
from bilateral.index.files.reading import Reader, domain_uri, file_id_of
from bilateral.index.files.rows import (
    REPLACED,
    columns_of,
    domain_files,
    find_files,
    new_file,
    store_content,
    wake_files,
    wake_hosts,
)
from bilateral.index.files.tables import Kind
from bilateral.index.log.dialects import insert_new
from bilateral.index.log.tables import EVENT_TABLES, chain

NAMED: Final[Mapping[type[events.Event], tuple[Kind, str, str | None]]] = {
    events.Registered: (Kind.REGISTRATION, "agent_uri", None),
    events.URIUpdated: (Kind.REGISTRATION, "new_uri", None),
    events.NewFeedback: (Kind.FEEDBACK, "feedback_uri", "feedback_hash"),
    events.NewAuthorizedFeedback: (Kind.FEEDBACK, "file_uri", "file_hash"),
    events.ResponseAppended: (Kind.RESPONSE, "response_uri", "response_hash"),
    events.ValidationRequest: (Kind.REQUEST, "request_uri", "request_hash"),
    events.ValidationResponse: (Kind.VALIDATION, "response_uri", "response_hash"),
    events.AgentRegistered: (Kind.DOMAIN, "agent_domain", None),
    events.AgentUpdated: (Kind.DOMAIN, "agent_domain", None),
}
"""The events that name files: the kind of the file, the column of its URI or domain, and that of its hash."""

_EVENTS_AT_ONCE: Final = 200
"""Events of one table to read at once, but for those of one block: each may hold a whole file in a data URI."""


_NO_HASH: Final = bytes(32)
_NOT_FETCHED: Final = Validators()


@dataclass(frozen=True)
class _Reference:
    """A reference that an event makes.

    Attributes:
        row: Its columns but for the file.
        kind: The kind of the file.
        uri: The file's URI; empty if an agent gave up its file or its domain.
        expected_hash: The hash that the event gives; None without one.
    """

    row: dict[str, Any]
    kind: Kind
    uri: str
    expected_hash: bytes | None

    @property
    def file_id(self) -> bytes | None:
        """The id of the file: the same kind, URI and hash make the same id. None without a URI."""
        if not self.uri:
            return None
        return file_id_of(self.kind, self.uri, self.expected_hash)


class ReferenceScan:
    """Finds the files that the events of a chain name."""

    def __init__(
        self,
        engine: Engine,
        chain_id: int,
        loader: Loader,
        readers: Sequence[Reader],
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._engine = engine
        self.chain_id = chain_id
        self._loader = loader
        self._readers = readers
        self._clock = clock

    def step(self) -> int | None:
        """Take account of the events of the next blocks."""
        cursor = self._cursor()
        if cursor is None:
            return None
        scanned, generation = cursor
        with self._engine.connect().execution_options(bilateral_reader=True) as connection:
            indexed = connection.execute(
                select(chain.c.block_number).where(chain.c.chain_id == self.chain_id)
            ).scalar_one()
            if indexed <= scanned:
                return None
            end = self._end(connection, scanned + 1, indexed)
            references = self._references(connection, scanned + 1, end)
        new, outcomes = self._decoded(references)
        with self._engine.begin() as connection:
            if self._move(connection, scanned, end, generation):
                self._store(connection, references, new, outcomes)
        return len(references)

    def _cursor(self) -> tuple[int, int] | None:
        """Return the last block that is scanned, and the number of rollbacks; None before the chain is indexed."""
        table = schema.file_scan
        query = select(table.c.block_number, table.c.generation).where(table.c.chain_id == self.chain_id)
        with self._engine.connect().execution_options(bilateral_reader=True) as connection:
            domain = connection.execute(query).one_or_none()
        if domain is None:
            with self._engine.begin() as connection:
                # The lock makes this wait for a rollback that does not know the cursor yet.
                locked = select(chain.c.first_block).where(chain.c.chain_id == self.chain_id).with_for_update()
                first = connection.execute(locked).scalar_one_or_none()
                if first is None:
                    return None
                row = {"chain_id": self.chain_id, "block_number": first - 1, "generation": 0}
                insert_new(connection, table, [row])
                domain = connection.execute(query).one()
        return domain.block_number, domain.generation

    def _end(self, connection: Connection, first: int, last: int) -> int:
        """Return the last block of the next batch."""
        for event in NAMED:
            table = EVENT_TABLES[event]
            query = (
                select(table.c.block_number)
                .where(table.c.chain_id == self.chain_id, table.c.block_number.between(first, last))
                .order_by(table.c.block_number)
                .offset(_EVENTS_AT_ONCE)
                .limit(1)
            )
            beyond = connection.execute(query).scalar_one_or_none()
            last = last if beyond is None else min(last, max(first, beyond - 1))
        return last

    def _references(self, connection: Connection, first: int, last: int) -> list[_Reference]:
        """Return the references of a range of blocks."""
        references = []
        for event, (kind, uri_column, hash_column) in NAMED.items():
            table = EVENT_TABLES[event]
            place = ("chain_id", "block_number", "log_index", "registry", "agent_id")
            columns = [*(table.c[name] for name in place), table.c[uri_column]]
            columns += [] if hash_column is None else [table.c[hash_column]]
            query = select(*columns).where(table.c.chain_id == self.chain_id, table.c.block_number.between(first, last))
            for row in connection.execute(query):
                uri, content_hash = row[len(place)], None if hash_column is None else bytes(row[-1])
                if kind is Kind.DOMAIN:
                    uri = domain_uri(uri)
                if uri or kind in REPLACED:
                    at = dict(zip(place, row, strict=False))
                    references.append(
                        _Reference(at, kind, uri or "", None if content_hash == _NO_HASH else content_hash)
                    )
        return references

    def _decoded(self, references: Iterable[_Reference]) -> tuple[dict[bytes, dict[str, Any]], dict[bytes, Outcome]]:
        """Return the rows of files by id, and the outcomes of those that need no host or that no host can give."""
        now = int(self._clock())
        new: dict[bytes, dict[str, Any]] = {}
        outcomes: dict[bytes, Outcome] = {}
        for reference in references:
            file_id, uri = reference.file_id, reference.uri
            if file_id is None or file_id in new:
                continue
            host = None
            try:
                host = host_of_file(uri)
                if host is None:
                    outcomes[file_id] = load_file(
                        self._loader, reference.kind, uri, reference.expected_hash, _NOT_FETCHED, self._readers
                    )
            except UnsupportedUriError as problem:
                outcomes[file_id] = failure_of(problem)
            new[file_id] = new_file(file_id, reference.kind, uri, host, self._clock(), reference.expected_hash)
            outcome = outcomes.get(file_id)
            if isinstance(outcome, Loaded | Failed):
                new[file_id] |= columns_of(outcome, now)
        return new, outcomes

    def _store(
        self,
        connection: Connection,
        candidates: Iterable[_Reference],
        new: Mapping[bytes, dict[str, Any]],
        outcomes: Mapping[bytes, Outcome],
    ) -> None:
        """Store references and their files, and make the files due that may have changed."""
        now, existing = self._clock(), self._stored_places(connection, candidates)
        named = {
            reference.file_id
            for reference in candidates
            if (reference.row["block_number"], reference.row["log_index"]) not in existing
        }
        hosted = {file_id for file_id, row in new.items() if row["host"] is not None and file_id in named}
        domains = domain_files([(new[file_id]["kind"], outcome) for file_id, outcome in outcomes.items()], now)
        hosts = {row["host"] for row in (*new.values(), *domains)} - {None}
        # Transactions that lock hosts, files and contents do it in this order, so none waits for another in a circle.
        # The hosts of known files are locked too: fetches write the same claims of payments.
        wake_hosts(connection, hosts, now)
        rows = {row["file_id"]: row for row in (*new.values(), *domains)}
        insert_new(connection, schema.file, [rows[file_id] for file_id in sorted(rows)])
        wake_files(connection, hosted, now)
        loaded = [outcome for outcome in outcomes.values() if isinstance(outcome, Loaded)]
        for outcome in sorted(loaded, key=lambda file: file.content_hash):
            store_content(connection, outcome)
        references = [
            reference.row | {"kind": reference.kind, "file_id": reference.file_id} for reference in candidates
        ]
        insert_new(connection, schema.file_reference, references)  # a migration may have moved the cursor back
        agents = {
            (reference.row["registry"], reference.row["agent_id"])
            for reference in candidates
            if reference.kind is Kind.REGISTRATION
        }
        find_files(connection, self.chain_id, agents)
        if any(reference.kind is Kind.FEEDBACK for reference in candidates):
            blocks = [reference.row["block_number"] for reference in candidates]
            find_payments_of_blocks(connection, self.chain_id, min(blocks), max(blocks))
        note_sights(connection, new.keys())

    def _stored_places(self, connection: Connection, references: Iterable[_Reference]) -> set[tuple[int, int]]:
        """Return the places of references that are stored already: a migration may have moved the cursor back."""
        table, blocks = schema.file_reference.c, [reference.row["block_number"] for reference in references]
        if not blocks:
            return set()
        of_blocks = (table.chain_id == self.chain_id) & table.block_number.between(min(blocks), max(blocks))
        return {
            (row[0], row[1]) for row in connection.execute(select(table.block_number, table.log_index).where(of_blocks))
        }

    def _move(self, connection: Connection, before: int, after: int, generation: int) -> bool:
        """Move the cursor, if it is where it was, and no rollback took place meanwhile."""
        table = schema.file_scan
        is_as_known = (table.c.block_number == before) & (table.c.generation == generation)
        moved = update(table).where(table.c.chain_id == self.chain_id, is_as_known).values(block_number=after)
        return connection.execute(moved).rowcount == 1
