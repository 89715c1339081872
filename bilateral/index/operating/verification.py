"""Compare what is stored with what an endpoint says, row by row."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Engine, Table, select

from bilateral.core.contracts import Registry
from bilateral.index.chain.extraction import Extraction
from bilateral.index.chain.logs import BlockLogs
from bilateral.index.chain.source import Source
from bilateral.index.errors import EndpointLiesError
from bilateral.index.log import tables as schema
from bilateral.index.log.database import snapshot
from bilateral.index.log.rows import Row

RANGE_BLOCKS: Final = 2_000
"""The blocks that are compared at once."""


@dataclass(frozen=True)
class Comparison:
    """The comparison of one range of blocks.

    Attributes:
        first: The first block.
        last: The last block.
        rows: The number of rows that were compared.
        missing: The rows that the chain has and the index lacks: table, block and log index.
        stale: The rows that the index has and the chain lacks, or has otherwise.
    """

    first: int
    last: int
    rows: int
    missing: tuple[str, ...]
    stale: tuple[str, ...]

    @property
    def is_equal(self) -> bool:
        """True if the index and the chain hold the same."""
        return not self.missing and not self.stale


class Verifier:
    """Reads ranges of blocks again, and compares them with the rows.

    Args:
        source: The chain as an endpoint shows it; best another one than the index was read from.
        registries: The registry at each address.
    """

    def __init__(self, engine: Engine, source: Source, registries: Mapping[str, Registry]) -> None:
        self._engine = engine
        self._source = source
        self._chain_id = source.chain_id()
        self._extraction = Extraction(self._chain_id, registries)

    def compare(self, first: int, last: int, *, samples: int | None = None, seed: int = 0) -> Iterator[Comparison]:
        """Compare blocks.

        Args:
            first: The first block.
            last: The last block.
            samples: The number of ranges to choose at random; None for all.
            seed: The seed of the choice.

        Yields:
            The comparison of each range.

        Raises:
            EndpointRefusesError: The endpoint refuses the logs.
            EndpointLiesError: The endpoint contradicts itself, or has fewer blocks than were indexed.
        """
        if (head := self._source.head()) < last:
            raise EndpointLiesError(self._source.name, f"its last block is {head}, and block {last} is indexed")
        starts = list(range(first, last + 1, RANGE_BLOCKS))
        if samples is not None and samples < len(starts):
            starts = sorted(random.Random(seed).sample(starts, samples))  # noqa: S311  # a sample, not a secret
        for start in starts:
            stop, end = min(start + RANGE_BLOCKS - 1, last), start - 1
            while end < stop:  # an endpoint may give less at once
                begin = end + 1
                logs, end = self._source.logs(begin, stop)
                yield self._compare_range(begin, end, logs)

    def _compare_range(self, first: int, last: int, logs: Sequence[BlockLogs]) -> Comparison:
        for block, header in zip(logs, self._source.headers_of([log.number for log in logs]), strict=True):
            block.time = header.block.time
        expected = counted(self._extraction.rows(logs))
        stored = stored_events(self._engine, self._chain_id, first, last)
        missing, stale = expected - stored, stored - expected
        return Comparison(first, last, expected.total(), _places(missing), _places(stale))


def stored_events(engine: Engine, chain_id: int, first: int, last: int) -> Counter[tuple[str, Row]]:
    """Read the stored rows of the events of a range of blocks. See `counted`."""
    stored = {}
    with snapshot(engine) as connection:
        for table in (*schema.EVENT_TABLES.values(), schema.undecodable_log):
            of_range = (table.c.chain_id == chain_id) & table.c.block_number.between(first, last)
            stored[table] = [tuple(row) for row in connection.execute(select(table).where(of_range))]
    return counted(stored)


def counted(rows: Mapping[Table, Sequence[Row]]) -> Counter[tuple[str, Row]]:
    """Return rows with the names of their tables, and how often each occurs."""
    return Counter((table.name, tuple(row)) for table, rows_of in rows.items() for row in rows_of)


def _places(rows: Counter[tuple[str, Row]]) -> tuple[str, ...]:
    """Return the places of rows, for people."""
    return tuple(f"{name} block {row[1]} log {row[2]}" for name, row in sorted(rows, key=lambda row: row[1][1:3]))
