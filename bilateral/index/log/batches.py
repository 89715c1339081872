"""Blocks, batches of rows for a range of blocks, and the stored rows of events in chain order."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, Engine, Table, func, select

from bilateral.core.events import Event
from bilateral.index.log import tables as schema
from bilateral.index.log.database import snapshot
from bilateral.index.log.rows import Row, rows_of

EventRows: TypeAlias = "Mapping[Table, Sequence[Row]]"
"""Rows of event tables, keyed by table, in chain order within each table."""

_LAST_BLOCK: Final = 2**63 - 1  # the largest BIGINT
_MOST_EVENTS: Final = 5_000
"""The number of events to read from a table at once, unless a single block has more."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of the chain.

    Attributes:
        hash: The block's 32-byte hash.
        time: The block's time, in Unix seconds.
    """

    number: int
    hash: bytes
    time: int


@dataclass(frozen=True, slots=True)
class Batch:
    """A range of blocks with the logs of all registries in these blocks.

    Attributes:
        end: The last block of the range.
        rows: The rows for the registries' logs in the range, keyed by table.
        checkpoints: The blocks in the range whose hashes are stored, so that the block at which a later reorganisation
            forks off can be found.
        head: The number of the chain's last block, as last reported.
        finalized: The number of the last block that the node reports as finalized; None if the node reports none.
        size: The approximate size of the logs' data in memory, in bytes.
    """

    end: Block
    rows: EventRows
    checkpoints: Sequence[Block]
    head: int
    finalized: int | None = None
    size: int = 0

    @property
    def count(self) -> int:
        """The number of logs."""
        return sum(len(rows) for rows in self.rows.values())

    @classmethod
    def joined(cls, batches: Sequence[Batch]) -> Batch:
        """Merge consecutive batches."""
        if len(batches) == 1:
            return batches[0]
        rows: dict[Table, list[Row]] = defaultdict(list)
        for batch in batches:
            for table, of_batch in batch.rows.items():
                rows[table] += of_batch
        last, size = batches[-1], sum(batch.size for batch in batches)
        checkpoints = [block for batch in batches for block in batch.checkpoints]
        return cls(last.end, rows, checkpoints, last.head, last.finalized, size)


def stored_batches(  # noqa: PLR0913  # three have defaults
    connection: Connection,
    chain_id: int,
    events: Sequence[type[Event]],
    first: int = 0,
    *,
    columns: Collection[str] = (),
    latest_first: bool = False,
) -> Iterator[tuple[int, EventRows]]:
    """Yield a chain's stored events, a few blocks at a time."""
    tables = [schema.EVENT_TABLES[event] for event in events]
    newest = [select(func.max(table.c.block_number)).where(table.c.chain_id == chain_id) for table in tables]
    numbers = [connection.execute(query).scalar_one() for query in newest]
    last = max((number for number in numbers if number is not None), default=-1)
    ranges = []
    while first <= last:
        end = min(last, *(_end_of_batch(connection, table, chain_id, first) for table in tables))
        ranges.append((first, end))
        first = end + 1
    rows = rows_of(connection)
    for start, end in reversed(ranges) if latest_first else ranges:
        yield end, {table: rows.of_blocks(table, chain_id, start, end, columns) for table in tables}


def _end_of_batch(connection: Connection, table: Table, chain_id: int, first: int) -> int:
    """Return the last block of a range that contains about one batch of events."""
    later = select(table.c.block_number).where(table.c.chain_id == chain_id, table.c.block_number >= first)
    query = later.order_by(table.c.block_number).offset(_MOST_EVENTS).limit(1)
    number = connection.execute(query).scalar_one_or_none()
    return _LAST_BLOCK if number is None else max(first, number - 1)


def stored_events(engine: Engine, chain_id: int, first: int, last: int) -> Counter[tuple[str, Row]]:
    """Read the stored event rows for a range of blocks. See `counted`."""
    stored = {}
    with snapshot(engine) as connection:
        for table in schema.LOG_TABLES:
            of_range = (table.c.chain_id == chain_id) & table.c.block_number.between(first, last)
            stored[table] = connection.execute(select(table).where(of_range)).all()
    return counted(stored)


def counted(rows: Mapping[Table, Iterable[Sequence[Any]]]) -> Counter[tuple[str, Row]]:
    """Return each row with its table's name and its number of occurrences."""
    return Counter((table.name, tuple(row)) for table, rows_of in rows.items() for row in rows_of)
