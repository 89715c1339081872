"""Steps of the change feed, stored in the transactions that make the changes.

Numbers of steps have no gap, and become visible in their order: a lock is held from the number to the commit. So a
reader that has seen a step has seen all steps before it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection, Table, Text, func, select, update

from bilateral.index.changes.notes import add_step
from bilateral.index.changes.tables import EVENT_KINDS, MOST_TEXT, WALLET_KEY, StepKind, change_step, removed_change
from bilateral.index.log.batches import stored_batches
from bilateral.index.log.journal import packed
from bilateral.index.log.projection import Append, Projection, Removal
from bilateral.index.log.rows import Row, rows_of

PRUNED_STEP: Final = 0
"""The step that stands for one that was pruned, in the id of a change that is retracted later."""


class Changes(Projection):
    """The feed: one step for each transaction that changes what the index says."""

    name = "changes"

    def seal(self, step: Append) -> None:
        if step.batch.count:  # blocks without events make no step
            last = step.batch.end.number
            blocks = {"first_block": step.cursor.number + 1, "last_block": last, "kept_block": last}
            add_step(step.connection, StepKind.BLOCKS, chain_id=step.chain_id, changes=step.batch.count, **blocks)

    def undo(self, removal: Removal) -> Iterator[None]:
        connection, chain_id, target = removal.connection, removal.chain_id, removal.target.number
        number, events = _keep_removed(connection, chain_id, target)
        yield
        yield
        if events:
            removed = {"first_block": target + 1, "last_block": removal.cursor.number, "removal": number}
            add_step(connection, StepKind.ROLLBACK, chain_id=chain_id, changes=events, **removed)


def _keep_removed(connection: Connection, chain_id: int, target: int) -> tuple[int, int]:
    """Keep the events after a block for the feed, before they are deleted."""
    step, removed = change_step.c, removed_change.c
    # A step whose blocks are all gone already tells nothing of the blocks that replaced them.
    cut = (step.chain_id == chain_id) & (step.kept_block > target) & (step.kept_block >= step.first_block)
    reported = connection.execute(select(step.first_block, step.step).where(cut).order_by(step.first_block)).all()
    last = select(func.coalesce(func.max(removed.removal), 0)).where(removed.chain_id == chain_id)
    removal, count, rows = connection.execute(last).scalar_one() + 1, 0, rows_of(connection)
    firsts, steps = [first for first, _ in reported], [PRUNED_STEP, *(number for _, number in reported)]
    for _, events in stored_batches(connection, chain_id, tuple(EVENT_KINDS), target + 1):
        for table, stored in events.items():
            names = list(table.c.keys())
            block, index = names.index("block_number"), names.index("log_index")
            key = names.index("metadata_key") if "metadata_key" in names else None
            retained = [
                (
                    *(chain_id, removal, row[block], row[index]),
                    steps[bisect_right(firsts, row[block])],
                    *(table.name, packed(_cut(table, row))),
                )
                for row in stored
                if key is None or row[key] == WALLET_KEY
            ]
            rows.insert(removed_change, retained)
            count += len(retained)
    connection.execute(update(change_step).where(cut).values(kept_block=target))
    return removal, count


def _cut(table: Table, row: Row) -> Row:
    """Return a row with its texts as long as the feed needs them, and without raw data."""
    return tuple(
        None
        if column.name == "raw_data"
        else cell[: MOST_TEXT + 1]
        if isinstance(column.type, Text) and isinstance(cell, str)
        else cell
        for column, cell in zip(table.c, row, strict=True)
    )
