"""Projections: tables derived from one chain's log. The log accesses the other features only through this protocol."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from sqlalchemy import Connection, Engine, Table

from bilateral.index.log.batches import Batch, Block
from bilateral.index.log.journal import Journal
from bilateral.index.log.rows import Rows

Progress: TypeAlias = "Callable[[int], None]"
"""Called periodically with a block number during long computations."""


@dataclass(frozen=True)
class Append:
    """A batch of blocks that is being stored, in one transaction.

    Attributes:
        cursor: The last block before the batch.
        batch: The blocks and the rows of their events.
        journal: Records the previous rows of derived tables.
        rows: Provides access to rows. Within `derive`, a thread may own the connection, and reads may or may not see
            the batch's events. Only select, last_times, insert, replace and delete are therefore allowed, and the rows
            must be the same in both cases.
        connection: The connection. `derive` must not use it.
    """

    chain_id: int
    cursor: Block
    batch: Batch
    journal: Journal
    rows: Rows
    connection: Connection


@dataclass(frozen=True)
class Removal:
    """Blocks that are being removed, in one transaction.

    Attributes:
        cursor: The last block before the removal.
        target: The last block that remains.
        is_journalled: True if the journal restores the derived tables; otherwise each projection rebuilds its own
            tables.
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
        """Start the work, and continue until `end` is called."""

    def refresh_once(self) -> None:
        """Do all work that is due now, and wait until it is done."""

    def end(self) -> None:
        """Stop the work. Unfinished work is redone next time."""


class Projection:
    """Tables derived from one chain's log. Unless overridden, methods do nothing and send no statements.

    Attributes:
        name: The display name.
        tables: Its tables whose rows each belong to one chain: each chain has its own partitions, on the server that
            stores the chain.
        derived: The tables that are derived only from events, so that they can be verified and rebuilt.
        reads: Additional tables that `derive` reads. All of them must be listed, because they are locked before a
            thread writes.
    """

    name: str
    tables: Sequence[Table] = ()
    derived: Sequence[Table] = ()
    reads: Sequence[Table] = ()

    def derive(self, step: Append) -> None:
        """Update the tables for a batch, using only `step.rows`."""

    def finish(self, step: Append) -> None:
        """Change tables through the connection, after everything is written and before the cursor is locked."""

    def seal(self, step: Append) -> None:
        """Change tables while the cursor is locked. Acquire only locks that are ordered after the cursor's."""

    def undo(self, removal: Removal) -> Iterator[None]:
        """Roll blocks back in three stages: with the events still stored, with them deleted, with the cursor locked.

        For the first two stages, projections run in list order; for the last one, in reverse order.
        """
        yield
        yield

    def rebuild(self, connection: Connection, chain_id: int, progress: Progress) -> None:
        """Recompute the tables from the event tables, in a transaction that holds the cursor."""

    def status(self, connection: Connection, chain_id: int) -> Mapping[str, int | float | str | None]:
        """Return statistics for a chain's status, by field name."""
        return {}

    def progress(self, connection: Connection, chain_id: int | None) -> Mapping[int, Mapping[str, Any]]:
        """Return progress fields for one chain or all, by chain id. Responses include them, so it must be cheap."""
        return {}

    def background(self, engine: Engine, rpc_urls: Sequence[Sequence[str]]) -> Background | None:
        """Return the background work; None if there is none. It may query each chain's nodes."""
        return None
