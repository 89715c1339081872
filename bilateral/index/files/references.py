"""References: which event names which file. They are found in the tables of events, after the events are stored.

The scan has a cursor of its own for each chain. It moves by compare-and-set; a rollback moves it back and removes the
references of removed blocks in the same transaction. So no reference outlives its event, and none is missed.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, Engine, null, select, update

from bilateral.core import events
from bilateral.core.errors import UnsupportedUriError
from bilateral.documents import Loader, Validators
from bilateral.index.files import rows as file_rows
from bilateral.index.files import tables as schema
from bilateral.index.files.loading import Failed, Loaded, Outcome, failure_of, host_of_file, load_file
from bilateral.index.files.observations import note_observations
from bilateral.index.files.reading import Reader, domain_uri, file_id_of
from bilateral.index.files.tables import Kind
from bilateral.index.log.dialects import insert_new
from bilateral.index.log.tables import EVENT_TABLES, chain

FILE_EVENTS: Final[Mapping[type[events.Event], tuple[Kind, str, str | None]]] = {
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

_PLACE: Final = ("chain_id", "block_number", "log_index", "registry", "agent_id")
_NO_HASH: Final = bytes(32)

_File: TypeAlias = tuple[Kind, str, bytes | None]
"""The kind and URI of a file, and the hash that the event gives; None without one."""


@dataclass(frozen=True)
class ReferenceScan:
    """Finds the files that the events of a chain name."""

    engine: Engine
    chain_id: int
    loader: Loader
    readers: Sequence[Reader]
    clock: Callable[[], float] = field(default=time.time, kw_only=True)

    def step(self) -> int | None:
        """Take account of the events of the next blocks."""
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
        new, outcomes = self._decoded(files)
        with self.engine.begin() as connection:
            if self._move(connection, scanned, end, generation) and references:
                self._store(connection, references, new, outcomes)
        return len(references)

    def _cursor(self) -> tuple[int, int] | None:
        """Return the last block that is scanned, and the number of rollbacks; None before the chain is indexed."""
        table = schema.file_scan
        query = select(table.c.block_number, table.c.generation).where(table.c.chain_id == self.chain_id)
        with self.engine.connect().execution_options(bilateral_reader=True) as connection:
            cursor = connection.execute(query).one_or_none()
        if cursor is None:
            with self.engine.begin() as connection:
                # The lock makes this wait for a rollback that does not know the cursor yet.
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
        """Return the references of a range of blocks, and their files by id. An agent may give up its file."""
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
        """Return the rows of files by id, and the outcomes of those that need no host or that no host can give."""
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

        # A migration may have moved the cursor back, so some references may be stored already.
        query = select(place.block_number, place.log_index).where(is_of_blocks(place))
        existing = set(map(tuple, connection.execute(query)))
        added = {row["file_id"] for row in references if (row["block_number"], row["log_index"]) not in existing}
        hosted = {file_id for file_id, row in new.items() if row["host"] is not None and file_id in added}
        domains = file_rows.domain_files(
            [(new[file_id]["kind"], outcome) for file_id, outcome in outcomes.items()], now
        )
        rows = {row["file_id"]: row for row in (*new.values(), *domains)}
        # Transactions that lock hosts, files and contents do it in this order, so none waits for another in a circle.
        # The hosts of existing files are locked too: fetches write the same claims of payments.
        file_rows.wake_hosts(connection, {row["host"] for row in rows.values()} - {None}, now)
        insert_new(connection, schema.file, [rows[file_id] for file_id in sorted(rows)])
        file_rows.wake_files(connection, hosted, now)
        loaded = [outcome for outcome in outcomes.values() if isinstance(outcome, Loaded)]
        for outcome in sorted(loaded, key=lambda file: file.content_hash):
            file_rows.store_content(connection, outcome)
        insert_new(connection, schema.file_reference, references)
        agents = {(row["registry"], row["agent_id"]) for row in references if row["kind"] is Kind.REGISTRATION}
        file_rows.find_files(connection, self.chain_id, agents)
        if any(row["kind"] is Kind.FEEDBACK for row in references):
            file_rows.find_payments(connection, is_of_blocks)
        note_observations(connection, new.keys())

    def _move(self, connection: Connection, before: int, after: int, generation: int) -> bool:
        """Move the cursor, if it is where it was, and no rollback took place meanwhile."""
        columns = schema.file_scan.c
        is_unmoved = (columns.block_number == before) & (columns.generation == generation)
        moved = update(schema.file_scan).where(columns.chain_id == self.chain_id, is_unmoved)
        return connection.execute(moved.values(block_number=after)).rowcount == 1
