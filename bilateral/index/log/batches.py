"""Blocks, and batches of the rows that a range of blocks holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sqlalchemy import Table

from bilateral.index.log.rows import Row

Reader: TypeAlias = Callable[[Sequence[str], str], Row]
"""Returns the values of an event's columns from the log's topics and its data, or raises one of `_DECLINED`."""

_Plan: TypeAlias = tuple[str, Mapping[str, tuple[Callable[[Row], None], Reader]]]


EventRows: TypeAlias = "Mapping[Table, Sequence[Row]]"
"""Rows of tables of events by table, each table's in the order of the chain."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of the chain.

    Attributes:
        hash: Its hash, 32 bytes.
        time: Its time, in Unix seconds.
    """

    number: int
    hash: bytes
    time: int


@dataclass(frozen=True, slots=True)
class Batch:
    """A range of blocks with all logs of the registries in it.

    Attributes:
        end: The last block of the range.
        rows: The rows of all logs of the registries in it, by table.
        checkpoints: Blocks of the range whose hashes are kept, to find the fork of a later reorganisation.
        head: The number of the chain's last block, as known now.
        finalized: The number of the last block that the node calls finalized; None if it does not say.
        size: The bytes that the logs' data takes in memory, about.
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
        """Return consecutive batches as one."""
        if len(batches) == 1:
            return batches[0]
        rows: dict[Table, list[Row]] = defaultdict(list)
        for batch in batches:
            for table, of_batch in batch.rows.items():
                rows[table] += of_batch
        last, size = batches[-1], sum(batch.size for batch in batches)
        checkpoints = [block for batch in batches for block in batch.checkpoints]
        return cls(last.end, rows, checkpoints, last.head, last.finalized, size)
