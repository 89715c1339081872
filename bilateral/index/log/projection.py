"""Projections: tables derived from one chain's log. The log accesses the index's other features only through these."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from sqlalchemy import Connection, Engine, Table

from bilateral.index.log.batches import Batch, Block
from bilateral.index.log.journal import Journal
from bilateral.index.log.rows import Rows

Progress: TypeAlias = "Callable[[int], None]"
"""Called with a block number from time to time during long computations."""


@dataclass(frozen=True)
class Append:
    """A batch of blocks that is being stored in one transaction.

    Attributes:
        cursor: The last block before the batch.
        batch: The blocks and the rows of their events.
        journal: Records the previous rows of derived tables.
        rows: Provides access to rows. During `derive`, a thread may own the connection, and reads may or may not
            include the batch's events. Only select, last_times, insert, replace and delete are therefore allowed, and
            only where the rows that they return are the same in both cases.
        connection: The connection, which `derive` must not use.
    """

    chain_id: int
    cursor: Block
    batch: Batch
    journal: Journal
    rows: Rows
    connection: Connection


@dataclass(frozen=True)
class Removal:
    """Blocks that are being removed in one transaction.

    Attributes:
        cursor: The last block before the removal.
        target: The last block that remains.
        is_journalled: True if the derived tables are restored from the journal; otherwise, each projection rebuilds its
            own tables.
        rows: Provides access to rows.
    """

    chain_id: int
    cursor: Block
    target: Block
    is_journalled: bool
    rows: Rows
    connection: Connection


class Background(Protocol):
    """Background work that runs alongside the log, in its own threads or processes."""

    def start(self) -> None:
        """Start the work, which continues until `end` is called."""

    def refresh_once(self) -> None:
        """Do all work that is due now, and return when it is done."""

    def end(self) -> None:
        """Stop the work. Unfinished work is repeated next time."""


class Projection:
    """Tables derived from one chain's log. Methods do nothing and send no statements unless they are overridden.

    Attributes:
        name: The name for display.
        tables: The projection's tables in which each row belongs to one chain. Each chain has its own partitions of
            these tables, on the server that stores the chain.
        derived: The tables that are derived only from events, so that they can be verified and rebuilt.
        reads: Other tables that `derive` reads. The list must be complete, because these tables are locked before a
            thread writes.
    """

    name: str
    tables: Sequence[Table] = ()
    derived: Sequence[Table] = ()
    reads: Sequence[Table] = ()

    def derive(self, step: Append) -> None:
        """Update the tables for a batch, using only `step.rows`."""

    def finish(self, step: Append) -> None:
        """Change tables through the connection after everything has been written and before the cursor is locked."""

    def seal(self, step: Append) -> None:
        """Change tables while the cursor is locked. Acquire only locks that follow the cursor's in the lock order."""

    def undo(self, removal: Removal) -> Iterator[None]:
        """Roll blocks back in three stages: before their events are deleted, afterwards, and with the cursor locked.

        For the first two stages, projections run in list order; for the last stage, they run in reverse order.
        """
        yield
        yield

    def rebuild(self, connection: Connection, chain_id: int, progress: Progress) -> None:
        """Recompute the tables from the event tables, in a transaction that has locked the cursor."""

    def status(self, connection: Connection, chain_id: int) -> Mapping[str, int | float | str | None]:
        """Return statistics for a chain's status, keyed by field name."""
        return {}

    def progress(self, connection: Connection, chain_id: int | None) -> Mapping[int, Mapping[str, Any]]:
        """Return the progress of one chain or all, keyed by chain id. This must be fast: all responses include it."""
        return {}

    def background(self, engine: Engine, rpc_urls: Sequence[Sequence[str]]) -> Background | None:
        """Return the background work, which may query each chain's nodes; None if there is none."""
        return None
