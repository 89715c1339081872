"""Events as they are stored: read back from the tables, in the order of the chain."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Final

from sqlalchemy import Text, func, select

from bilateral.events import Event, LogPosition, RawLog
from bilateral.index import schema
from bilateral.index.found import Found
from bilateral.text import ChainText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Table

_LAST_BLOCK: Final = 2**63 - 1
_MOST_EVENTS: Final = 5_000
"""Events of one table to read at once, but for those of one block."""


def stored_batches(connection: Connection, chain_id: int, first: int = 0) -> Iterator[list[Found]]:
    """Yield the decoded events of a chain, some blocks at a time.

    Args:
        connection: The connection.
        chain_id: The chain.
        first: The first block.

    Yields:
        The events of some consecutive blocks, in the order of the chain; never an empty list.
    """
    last = max(
        connection.execute(
            select(func.coalesce(func.max(table.c.block_number), -1)).where(table.c.chain_id == chain_id)
        ).scalar_one()
        for table in schema.EVENT_TABLES.values()
    )
    start = first
    while start <= last:
        end = min(last, *(_end_of_batch(connection, table, chain_id, start) for table in schema.EVENT_TABLES.values()))
        if found := stored_events(connection, chain_id, start, end):
            yield found
        start = end + 1


def _end_of_batch(connection: Connection, table: Table, chain_id: int, first: int) -> int:
    """Return the last block up to which a table has about as many events as are read at once."""
    query = (
        select(table.c.block_number)
        .where(table.c.chain_id == chain_id, table.c.block_number >= first)
        .order_by(table.c.block_number)
        .offset(_MOST_EVENTS)
        .limit(1)
    )
    found = connection.execute(query).scalar_one_or_none()
    return _LAST_BLOCK if found is None else max(first, found - 1)


def stored_events(connection: Connection, chain_id: int, first: int, last: int) -> list[Found]:
    """Return the decoded events of a range of blocks.

    Args:
        connection: The connection.
        chain_id: The chain.
        first: The first block.
        last: The last block.

    Returns:
        The events in the order of the chain. Their logs have no topics, and no data but those that were kept.
    """
    found = []
    for kind, table in schema.EVENT_TABLES.items():
        names = [field.name for field in fields(kind)[1:]]
        texts = {name for name in names if isinstance(table.c[name].type, Text)}
        query = select(table).where(table.c.chain_id == chain_id, table.c.block_number.between(first, last))
        for row in connection.execute(query).mappings():
            position = LogPosition(
                row["registry"],
                row["block_number"],
                "0x" + row["block_hash"].hex(),
                "0x" + row["transaction_hash"].hex(),
                row["log_index"],
            )
            values = [ChainText(row[name].encode()) if name in texts else row[name] for name in names]
            event: Event = kind(position, *values)
            log = RawLog(position, (), row.get("raw_data") or b"")
            found.append(Found(log, event, row["block_time"]))
    found.sort(key=lambda it: (it.log.position.block_number, it.log.position.log_index))
    return found
