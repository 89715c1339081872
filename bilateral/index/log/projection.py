"""Projections: tables that follow from the log of one chain. The log knows its features only through this protocol."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from sqlalchemy import Connection, Engine, Table

from bilateral.index.log.batches import Batch, Block
from bilateral.index.log.journal import Journal
from bilateral.index.log.rows import Rows

Progress: TypeAlias = "Callable[[int], None]"
"""Takes the number of a block now and then, where much must be computed."""


@dataclass(frozen=True)
class Append:
    """A batch of blocks that is being stored, in one transaction.

    Attributes:
        cursor: The last block before the batch.
        batch: The blocks and the rows of their events.
        journal: Takes the former rows of derived tables.
        rows: The access to rows. Within `derive` a thread may own the connection, and reads see the batch's events or
            not, so only select, last_times, insert, replace and delete are allowed, and both must give the same rows.
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
        target: The last block that stays.
        is_journalled: True if the journal restores the derived tables; else projections rebuild theirs.
        rows: The access to rows.
    """

    chain_id: int
    cursor: Block
    target: Block
    is_journalled: bool
    rows: Rows
    connection: Connection


class Background(Protocol):
    """Work beside the log, in threads or processes of its own."""

    def start(self) -> None:
        """Begin, and go on until the end."""

    def refresh_once(self) -> None:
        """Do what is due now, and wait for it."""

    def end(self) -> None:
        """End. What is unfinished is done again next time."""


class Projection:
    """Tables that follow from the log of one chain. Methods do nothing unless overridden, and send no statement then.

    Attributes:
        name: The name, for people.
        tables: Its tables whose rows are of one chain: each chain gets its partitions, and its server the rows.
        derived: Those of them that follow from events alone: they are verified and rebuilt.
        reads: Further tables that `derive` reads. All must be listed: they are locked before a thread writes.
    """

    name: str
    tables: Sequence[Table] = ()
    derived: Sequence[Table] = ()
    reads: Sequence[Table] = ()

    def derive(self, step: Append) -> None:
        """Bring the tables up to date with a batch, by `step.rows` alone."""

    def finish(self, step: Append) -> None:
        """Change tables on the connection, after all is written and before the cursor is owned."""

    def seal(self, step: Append) -> None:
        """Change tables while the cursor is owned. Only locks that come after the cursor's may be taken."""

    def undo(self, removal: Removal) -> Iterator[None]:
        """Take blocks back, in three stages: the events are still stored, they are gone, the cursor is owned.

        The first two run in the order of the list, the last one in reverse.
        """
        yield
        yield

    def rebuild(self, connection: Connection, chain_id: int, progress: Progress) -> None:
        """Compute the tables again from the tables of events, in a transaction that holds the cursor."""

    def status(self, connection: Connection, chain_id: int) -> Mapping[str, int | float | str | None]:
        """Return figures for the status of a chain, by the names of its fields."""
        return {}

    def progress(self, connection: Connection, chain_id: int | None) -> Mapping[int, Mapping[str, Any]]:
        """Return fields of the progress of one chain or all, by chain id. Answers show it, so it must be cheap."""
        return {}

    def background(self, engine: Engine, rpc_urls: Sequence[Sequence[str]]) -> Background | None:
        """Return the work beside the log; None without any. It may ask the nodes of each chain."""
        return None
