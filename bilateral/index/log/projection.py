"""Projections: tables derived from one chain's log. The log only accesses features through this protocol."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from sqlalchemy import Connection, Engine, Table

from bilateral.index.log.batches import Batch, Block
from bilateral.index.log.journal import Journal
from bilateral.index.log.rows import Rows

Progress: TypeAlias = "Callable[[int], None]"
"""Called with the number of a block periodically during long computations."""


@dataclass(frozen=True)
class Append:
    """A batch of blocks that is being stored, in one transaction.

    Attributes:
        cursor: The last block before the batch.
        batch: The blocks and the rows of their events.
        journal: Records the previous rows of derived tables.
        rows: Provides access to rows. Within `derive` a thread may own the connection, and reads may or may not see the
            batch's events, so only select, last_times, insert, replace and delete are allowed, and both cases must
            produce the same rows.
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
        is_journalled: True if the journal restores the derived tables; otherwise projections rebuild theirs.
        rows: Provides access to rows.
    """

    chain_id: int
    cursor: Block
    target: Block
    is_journalled: bool
    rows: Rows
    connection: Connection


class Background(Protocol):
    """Background work in addition to the log, in its own threads or processes."""

    def start(self) -> None:
        """Start, and continue until `end` is called."""

    def refresh_once(self) -> None:
        """Do all work that is due now, and wait for it."""

    def end(self) -> None:
        """Stop. Unfinished work is redone next time."""


class Projection:
    """Tables derived from one chain's log. Methods do nothing, and send no statement, unless overridden.

    Attributes:
        name: The display name.
        tables: Its tables with rows of one chain: each chain gets its own partitions, and its server stores the rows.
        derived: Those of them that are derived only from events: they can be verified and rebuilt.
        reads: Additional tables that `derive` reads. All must be listed: they are locked before a thread writes.
    """

    name: str
    tables: Sequence[Table] = ()
    derived: Sequence[Table] = ()
    reads: Sequence[Table] = ()

    def derive(self, step: Append) -> None:
        """Update the tables with a batch, using only `step.rows`."""

    def finish(self, step: Append) -> None:
        """Change tables on the connection, after everything is written and before the cursor is locked."""

    def seal(self, step: Append) -> None:
        """Change tables while the cursor is locked. Only locks that come after the cursor's may be taken."""

    def undo(self, removal: Removal) -> Iterator[None]:
        """Roll blocks back in three stages: with the events still stored, with them deleted, with the cursor locked.

        The first two run in list order, the last one in reverse.
        """
        yield
        yield

    def rebuild(self, connection: Connection, chain_id: int, progress: Progress) -> None:
        """Recompute the tables from the event tables, in a transaction that holds the cursor."""

    def status(self, connection: Connection, chain_id: int) -> Mapping[str, int | float | str | None]:
        """Return figures for a chain's status, by field name."""
        return {}

    def progress(self, connection: Connection, chain_id: int | None) -> Mapping[int, Mapping[str, Any]]:
        """Return progress fields for one chain or all, by chain id. Responses include them, so it must be cheap."""
        return {}

    def background(self, engine: Engine, rpc_urls: Sequence[Sequence[str]]) -> Background | None:
        """Return the background work; None if there is none. It may query the nodes of each chain."""
        return None
