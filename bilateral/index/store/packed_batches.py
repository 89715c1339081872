"""Batches as bytes, for the table of ranges that helpers read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from bilateral.index.log import tables as schema
from bilateral.index.log.batches import Batch, Block
from bilateral.index.log.columns import narrowed, widened
from bilateral.index.log.rows import wide_positions

if TYPE_CHECKING:
    from sqlalchemy import Table

_TABLES: Final[dict[str, Table]] = {
    table.name: table for table in (*schema.EVENT_TABLES.values(), schema.undecodable_log)
}


FORMAT: Final = 2
"""The version of the bytes, which grows with each change of `_Content`."""


class _Content(msgspec.Struct, array_like=True):
    """A batch in the form of MessagePack, which has 64 bits for an integer.

    Attributes:
        end: Number, hash and time of its last block.
        checkpoints: The same of the blocks whose hashes are kept.
        size: The bytes that the logs' data takes in memory, about.
        rows: The rows by the name of their table.
        narrow: The tables in whose rows larger integers have the form that they have on SQLite.
    """

    end: tuple[int, bytes, int]
    checkpoints: list[tuple[int, bytes, int]]
    size: int
    rows: dict[str, list[tuple[Any, ...]]]
    narrow: list[str]


_DECODER: Final = msgspec.msgpack.Decoder(_Content)


def packed_batch(batch: Batch) -> bytes:
    """Return the blocks and rows of a batch as bytes."""
    stored = {table: narrowed(of_table, wide_positions(table)) for table, of_table in batch.rows.items()}
    narrow = [str(table.name) for table, of_table in stored.items() if of_table is not batch.rows[table]]
    rows = {table.name: list(of_table) for table, of_table in stored.items()}
    checkpoints = [_parts(block) for block in batch.checkpoints]
    return msgspec.msgpack.encode(_Content(_parts(batch.end), checkpoints, batch.size, rows, narrow))


def unpacked_batch(content: bytes, head: int, finalized: int | None) -> Batch:
    """Return the batch that `packed_batch` made bytes of.

    Args:
        content: The bytes.
        head: The number of the chain's last block, as known now.
        finalized: The number of its last finalized block; None if the node does not say.
    """
    known = _DECODER.decode(content)
    rows = {_TABLES[name]: of_table for name, of_table in known.rows.items()}
    for table in map(_TABLES.__getitem__, known.narrow):
        rows[table] = widened(rows[table], wide_positions(table))
    return Batch(Block(*known.end), rows, [Block(*block) for block in known.checkpoints], head, finalized, known.size)


def _parts(block: Block) -> tuple[int, bytes, int]:
    return block.number, block.hash, block.time
