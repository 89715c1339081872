"""The steps of the change feed, each stored in the same transaction as its changes.

Step numbers have no gaps and become visible in order, because a lock is held from the assignment of a number to the
commit. A reader that has seen a step has therefore seen all earlier steps.
"""

import json
import time
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, func, insert, select, update

from bilateral.core.events.agents import WALLET_KEY
from bilateral.index.changes import tables as schema
from bilateral.index.log.batches import stored_batches
from bilateral.index.log.dialects import in_parts, number_steps
from bilateral.index.log.journal import packed
from bilateral.index.log.projection import Append, Projection, Removal
from bilateral.index.log.rows import Row, rows_of

_AT_ONCE: Final = 5_000  # rows per insert: a few megabytes of Python objects


@dataclass(frozen=True, slots=True)
class Note:
    """An off-chain change to an agent or an account.

    Attributes:
        registry: The agent's registry, or the identity registry whose analysis flagged the account.
        details: The new values, by name.
    """

    kind: schema.ChangeKind
    registry: str
    agent_id: int | None
    account: str | None
    details: dict[str, Any]


def add_notes(connection: Connection, chain_id: int, block: int, notes: Sequence[Note]) -> None:
    """Add a feed step with off-chain changes."""
    if not notes:
        return
    blocks = {"first_block": block, "last_block": block}
    step = add_step(connection, schema.StepKind.NOTES, chain_id=chain_id, changes=len(notes), **blocks)
    rows = (
        {
            "step": step,
            "position": position,
            "kind": note.kind,
            "registry": note.registry,
            "agent_id": note.agent_id,
            "account": note.account,
            "details": json.dumps(note.details),
        }
        for position, note in enumerate(notes)
    )
    for part in in_parts(rows, _AT_ONCE):
        connection.execute(insert(schema.change_note), part)


def add_step(connection: Connection, kind: schema.StepKind, **columns: int) -> int:
    """Add a step, and return its number."""
    number_steps(connection)
    step = connection.execute(select(func.coalesce(func.max(schema.change_step.c.step), 0))).scalar_one() + 1
    connection.execute(insert(schema.change_step).values(step=step, kind=kind, made_at=int(time.time()), **columns))
    return int(step)


PRUNED_STEP: Final = 0
"""The step number in the `retracts` id if the step that reported the retracted change was pruned."""


class Changes(Projection):
    """The change feed, with one step per transaction that changes the index's contents."""

    name = "changes"

    def seal(self, step: Append) -> None:
        if step.batch.count:  # blocks without events do not create a step
            last = step.batch.end.number
            values = {"chain_id": step.chain_id, "changes": step.batch.count, "kept_block": last}
            first = step.cursor.number + 1
            add_step(step.connection, schema.StepKind.BLOCKS, first_block=first, last_block=last, **values)

    def undo(self, removal: Removal) -> Iterator[None]:
        connection, chain_id, target = removal.connection, removal.chain_id, removal.target.number
        number, events = _keep_removed(connection, chain_id, target)
        yield
        yield
        if events:
            removed = {"first_block": target + 1, "last_block": removal.cursor.number, "removal": number}
            add_step(connection, schema.StepKind.ROLLBACK, chain_id=chain_id, changes=events, **removed)


def _keep_removed(connection: Connection, chain_id: int, target: int) -> tuple[int, int]:
    """Store the events after a block for the feed before they are deleted."""
    step, removed = schema.change_step.c, schema.removed_change.c
    # If all blocks of a step are already gone, the step says nothing about the blocks that replaced them.
    cut = (step.chain_id == chain_id) & (step.kept_block > target) & (step.kept_block >= step.first_block)
    reported = connection.execute(select(step.first_block, step.step).where(cut).order_by(step.first_block)).all()
    last = select(func.coalesce(func.max(removed.removal), 0)).where(removed.chain_id == chain_id)
    removal, count, rows = connection.execute(last).scalar_one() + 1, 0, rows_of(connection)
    firsts, steps = [first for first, _ in reported], [PRUNED_STEP, *(number for _, number in reported)]
    for _, batch in stored_batches(connection, chain_id, tuple(schema.EVENT_KINDS), target + 1):
        for table, stored in batch.items():
            retained = []
            for row in stored:
                cells = dict(zip(table.c.keys(), row, strict=True))
                if cells.get("metadata_key", WALLET_KEY) == WALLET_KEY:
                    block, index = cells["block_number"], cells["log_index"]
                    number = steps[bisect_right(firsts, block)]
                    retained.append((chain_id, removal, block, index, number, table.name, packed(_cut(cells))))
            rows.insert(schema.removed_change, retained)
            count += len(retained)
    connection.execute(update(schema.change_step).where(cut).values(kept_block=target))
    return removal, count


def _cut(cells: Mapping[str, Any]) -> Row:
    """Return a row without raw data, and with texts truncated to the length that the feed needs."""
    cut = (cell[: schema.MOST_TEXT + 1] if isinstance(cell, str) else cell for cell in cells.values())
    return tuple(None if name == "raw_data" else cell for name, cell in zip(cells, cut, strict=True))
