"""Derived rows, which are read in bulk, changed in memory, written in bulk, and journalled for rollbacks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, Table, delete, select

from bilateral.index.log import tables as schema
from bilateral.index.log.columns import WideInteger, python_integer, sqlite_integer
from bilateral.index.log.rows import Row, Rows, key_columns

_ENCODER: Final = msgspec.msgpack.Encoder()


class DerivedTable:
    """The rows of one derived table that a batch of events may change.

    Args:
        table: The table. Its first columns are its primary key.
        journal: The journal of the batch.
    """

    def __init__(self, table: Table, journal: Journal) -> None:
        self._table = table
        self._journal = journal
        self._key_length = len(key_columns(table))
        self._rows: dict[Row, Row | None] = {}
        self._previous: dict[Row, Row | None] = {}  # the stored rows whose values have changed

    @property
    def loaded(self) -> Mapping[Row, Row | None]:
        """The loaded rows in their current state, keyed by primary key. A key that has no row maps to None."""
        return self._rows

    def load(self, rows: Rows, keys: Iterable[Row]) -> None:
        """Read the rows that have the given primary keys, unless they are already cached."""
        missing = sorted({key for key in keys if key not in self._rows})  # in the order of the table's pages
        self._rows.update(dict.fromkeys(missing))
        for row in rows.select(self._table, key_columns(self._table), missing):
            self._rows[row[: self._key_length]] = row

    def get(self, key: Row) -> Row | None:
        """Return the row for a key that was loaded; None if there is no such row."""
        return self._rows[key]

    def set(self, key: Row, values: Row | None) -> None:
        """Set the values of the row with a key, or delete the row."""
        previous, new = self._rows[key], None if values is None else (*key, *values)
        if new != previous:
            self._journal.record(self._table, key, previous)
            self._rows[key] = new
            self._previous.setdefault(key, previous)

    def write(self, rows: Rows) -> None:
        """Write all changed rows."""
        writes = Writes(rows, self._table)
        for key, previous in sorted(self._previous.items(), key=itemgetter(0)):
            writes.add(key, previous, self._rows[key])
        writes.write()
        self._previous.clear()


class Journal:
    """The rows as they were before each block that a reorganisation may still remove.

    Args:
        first_block: The first block whose changes are recorded.
    """

    def __init__(self, chain_id: int, first_block: int) -> None:
        self._chain_id = chain_id
        self._first_block = first_block
        self._block = -1
        self._recorded: defaultdict[int, set[tuple[str, Row]]] = defaultdict(set)  # by block
        self._rows: list[Row] = []

    def begin_block(self, number: int) -> None:
        """Record subsequent changes as changes in a block. Each projection calls this for every block in a batch."""
        self._block = number

    def record(self, table: Table, key: Row, previous: Row | None) -> None:
        """Record a row before its first change in the block."""
        if self._block < self._first_block or (table.name, key) in self._recorded[self._block]:
            return
        position = len(self._recorded[self._block])
        self._recorded[self._block].add((table.name, key))
        if previous is None:
            row_key, content = packed(key), None
        else:
            row_key, content = b"", packed(previous)  # a row begins with its key
        self._rows.append((self._chain_id, self._block, position, table.name, row_key, content))

    def write(self, rows: Rows) -> None:
        """Write the recorded rows."""
        rows.insert(schema.journal, self._rows)
        self._rows = []


def undo(rows: Rows, chain_id: int, block: int, tables: Iterable[Table]) -> None:
    """Restore the derived tables to their state after a block, using the journal, and delete later journal entries."""
    table, connection, by_name = schema.journal, rows.connection, {derived.name: derived for derived in tables}
    after = (table.c.chain_id == chain_id) & (table.c.block_number > block)
    query = select(table.c.table_name, table.c.row_key, table.c.former_row).where(after)
    restored: dict[str, dict[Row, Row | None]] = {name: {} for name in by_name}
    # A key's oldest row comes last, so it is the one that is restored.
    for name, key, row in connection.execute(query.order_by(table.c.block_number.desc())):
        previous = None if row is None else unpacked(by_name[name], row)
        row_key = unpacked(by_name[name], key) if previous is None else previous[: len(by_name[name].primary_key)]
        restored[name][row_key] = previous
    for name, changed in restored.items():
        rows.replace(by_name[name], [row for row in changed.values() if row is not None])
        rows.delete(by_name[name], [key for key, row in changed.items() if row is None])
    connection.execute(delete(table).where(after))


def forget(connection: Connection, chain_id: int) -> None:
    """Delete the journal of a chain whose derived tables are being rebuilt."""
    connection.execute(delete(schema.journal).where(schema.journal.c.chain_id == chain_id))


class Writes:
    """Changes to rows, with the previous rows, because inserting a new row costs half as much as replacing one.

    Args:
        rows: Provides access to rows.
    """

    def __init__(self, rows: Rows, table: Table) -> None:
        self._rows = rows
        self._table = table
        self._new: list[Row] = []
        self._changed: list[Row] = []
        self._removed: list[Row] = []

    def add(self, key: Row, previous: Row | None, row: Row | None) -> None:
        """Add a change."""
        if row == previous:
            return
        if row is None:
            self._removed.append(key)
        else:
            (self._new if previous is None else self._changed).append(row)

    def write(self) -> None:
        """Write the changes."""
        self._rows.delete(self._table, self._removed)
        self._rows.insert(self._table, self._new)
        self._rows.replace(self._table, self._changed)


def packed(row: Row) -> bytes:
    """Return a row as bytes. MessagePack integers have at most 64 bits, so larger ones are encoded as for SQLite."""
    try:
        return _ENCODER.encode(row)
    except OverflowError:
        return _ENCODER.encode([sqlite_integer(cell) if type(cell) is int else cell for cell in row])


def unpacked(table: Table, content: bytes) -> Row:
    """Return the row or key that `packed` encoded."""
    values: list[Any] = msgspec.msgpack.decode(content)
    return tuple(
        python_integer(value) if value is not None and isinstance(column.type, WideInteger) else value
        for value, column in zip(values, table.c, strict=False)
    )
