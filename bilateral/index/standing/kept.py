"""Rows of events that one analysis read and the next one uses again: only rows of later blocks are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, overload

import pyarrow as pa
from sqlalchemy import Connection, text

Place: TypeAlias = tuple[str, int, int | None, bytes | None]
"""The event that a row was made from: table, block number, log index and transaction hash."""

LARGEST_ID: Final = 2**63 - 1
"""The largest id of an agent that an Arrow table of 64-bit integers holds."""

_AT_ONCE: Final = 50_000
"""The rows that are Python's objects at a time: some 30 MB."""

_MOST_CHUNKS: Final = 64
"""The parts of a column from which they are joined: each refresh adds one, and each costs some microseconds a look."""

_PLACE: Final = {"event": pa.string(), "block": pa.int64(), "log": pa.int64(), "hash": pa.binary()}
"""The columns of the event that a row was made from."""


@dataclass(frozen=True)
class Events:
    """A kind of rows that events only add to.

    Attributes:
        query: Its query, with the condition `{later}`. The last three columns are block number, log index and hash.
        tables: The tables of its events. Their rows are counted, to see that none came among those that are kept.
        ended_by: The table of events that end one of its rows; None without one.
        columns: The types of its columns, without those of the place.
        convert: Makes the columns of a row, and the name of its event; None for a row with an id of an agent that is
            too large.
    """

    query: str
    tables: tuple[str, ...]
    ended_by: str | None
    columns: Mapping[str, pa.DataType]
    convert: Callable[[Sequence[Any]], tuple[Any, ...] | None]

    @property
    def schema(self) -> pa.Schema:
        """The columns of the kept rows."""
        return pa.schema([*self.columns.items(), *_PLACE.items()])


class KeptEvents:
    """The rows of a kind of events, of one chain and identity registry."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._mark: tuple[int, ...] = ()
        self._last = -1
        self._rows = events.schema.empty_table()
        self.too_large = 0  # rows that are left out for the id of their agent

    def read(self, connection: Connection, values: Mapping[str, Any]) -> pa.Table:
        """Return all rows as of the last indexed block, by block and log. Rows that still hold are not read again.

        They are read again after a reorganisation, an end of one of them, or an insert among them, such as the
        backfill of an added registry.

        Args:
            connection: The index's database, in a transaction that sees one state of it.
        """
        head, reorganizations, registries = connection.execute(text(_HEAD), values).one()
        ended = _count(connection, self._events.ended_by, values["chain_id"], head) if self._events.ended_by else 0
        if self._mark != (reorganizations, registries, ended, *self._counts(connection, values, self._last)):
            self._last, self._rows, self.too_large = -1, self._events.schema.empty_table(), 0
        later, too_large = self._later(connection, {**values, "last": self._last})
        mark = (reorganizations, registries, ended, *self._counts(connection, values, head))
        self._rows = pa.concat_tables([self._rows, *later])
        if self._rows.column(0).num_chunks > _MOST_CHUNKS:
            self._rows = self._rows.combine_chunks()
        self._last, self._mark, self.too_large = head, mark, self.too_large + too_large
        return self._rows

    def _later(self, connection: Connection, values: Mapping[str, Any]) -> tuple[list[pa.Table], int]:
        """Read the rows after the last block that is kept, some thousands at once, and count those left out."""
        query = self._events.query.format(later="block_number > :last")
        parts, too_large = [], 0
        for rows in connection.execute(text(query), values).partitions(_AT_ONCE):
            converted = [columns for row in rows if (columns := self._events.convert(row)) is not None]
            too_large += len(rows) - len(converted)
            if converted:
                parts.append(self._table(converted))
        return parts, too_large

    def _table(self, rows: list[tuple[Any, ...]]) -> pa.Table:
        schema = self._events.schema
        cells = zip(zip(*rows, strict=True), schema.types, strict=True)
        return pa.table([pa.array(column, kind) for column, kind in cells], schema=schema)

    def _counts(self, connection: Connection, values: Mapping[str, Any], last: int) -> list[int]:
        return [_count(connection, table, values["chain_id"], last) for table in self._events.tables]


class Places(Sequence[Place]):
    """The events that rows were made from. A million of them take 70 MB, and three times as much as tuples."""

    def __init__(self, rows: pa.Table) -> None:
        self._columns = [rows[name] for name in _PLACE]

    def __len__(self) -> int:
        return len(self._columns[0])

    @overload
    def __getitem__(self, position: int) -> Place: ...
    @overload
    def __getitem__(self, position: slice) -> list[Place]: ...
    def __getitem__(self, position: int | slice) -> Place | list[Place]:
        if isinstance(position, slice):
            return [self[at] for at in range(*position.indices(len(self)))]
        event, block, log, hash_ = (column[position].as_py() for column in self._columns)
        return event, block, log, hash_


_HEAD: Final = """
    SELECT block_number, reorganizations, (
      SELECT count(*) FROM registry WHERE chain_id = :chain_id AND identity_registry = :identity)
    FROM chain WHERE chain_id = :chain_id
"""


COUNT: Final = """
    SELECT count(*) FROM {table} WHERE chain_id IN (:chain_id, :chain_id) AND block_number <= :last GROUP BY chain_id
"""
"""Counts the events of all registries of a chain: an index answers that alone.

The group lets a shard count its own events, see `bilateral.index.reading.statistics.count_by_day`.
"""


def _count(connection: Connection, table: str, chain_id: int, last: int) -> int:
    """Count the events of a table up to a block."""
    return connection.execute(text(COUNT.format(table=table)), {"chain_id": chain_id, "last": last}).scalar() or 0
