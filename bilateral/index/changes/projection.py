"""Steps of the change feed, stored in the transactions that make the changes.

Numbers of steps have no gap, and become visible in their order: a lock is held from the number to the commit. So a
reader that has seen a step has seen all steps before it.
"""

from __future__ import annotations

import json
import time
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Text, func, insert, select, update

from bilateral.index.changes.tables import EVENT_KINDS, WALLET_KEY, StepKind, change_note, change_step, removed_change
from bilateral.index.log.history import stored_batches
from bilateral.index.log.locks import number_steps
from bilateral.index.log.packed_rows import packed
from bilateral.index.log.rows import rows_of
from bilateral.index.log.tables import EVENT_TABLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection, Table

    from bilateral.index.changes.tables import ChangeKind
    from bilateral.index.log.rows import Row

PRUNED_STEP: Final = 0
"""The step that stands for one that was pruned, in the id of a change that is retracted later."""

MOST_TEXT: Final = 1_000
"""The characters of a text that a change shows. One more is kept, which tells that there are more."""

_EVENTS: Final = tuple(EVENT_KINDS)
_AT_ONCE: Final = 5_000  # rows of an insert: some megabytes of Python objects


@dataclass(frozen=True, slots=True)
class Note:
    """A change that is not on the chain.

    Attributes:
        kind: Its kind.
        registry: The registry of the agent, or the identity registry whose analysis flags the account.
        agent_id: The agent; None if it is about an account.
        account: The account; None if it is about an agent.
        details: The new values, by name.
    """

    kind: ChangeKind
    registry: str
    agent_id: int | None
    account: str | None
    details: dict[str, Any]


def add_blocks(connection: Connection, chain_id: int, first: int, last: int, events: int) -> None:
    """Add the step of blocks that were stored. Blocks without events make none.

    Args:
        connection: The connection, in a transaction that is about to end.
        chain_id: The chain.
        first: The first block.
        last: The last block.
        events: The number of their events.
    """
    if events:
        blocks = {"first_block": first, "last_block": last, "kept_block": last}
        _add(connection, StepKind.BLOCKS, chain_id=chain_id, changes=events, **blocks)


def keep_removed(connection: Connection, chain_id: int, target: int) -> tuple[int, int]:
    """Keep the events after a block for the feed, before they are deleted.

    Args:
        connection: The connection, in a transaction that holds the cursor.
        chain_id: The chain.
        target: The block.

    Returns:
        The number of the removal, and that of the kept events, for `add_rollback`.
    """
    step, removed = change_step.c, removed_change.c
    # A step whose blocks are all gone already tells nothing of the blocks that replaced them.
    cut = (step.chain_id == chain_id) & (step.kept_block > target) & (step.kept_block >= step.first_block)
    told = connection.execute(select(step.first_block, step.step).where(cut).order_by(step.first_block)).all()
    last = select(func.coalesce(func.max(removed.removal), 0)).where(removed.chain_id == chain_id)
    removal, count, rows = connection.execute(last).scalar_one() + 1, 0, rows_of(connection)
    firsts, steps = [first for first, _ in told], [PRUNED_STEP, *(number for _, number in told)]
    for _, events in stored_batches(connection, chain_id, _EVENTS, target + 1):
        for table, stored in events.items():
            names = list(table.c.keys())
            block, index = names.index("block_number"), names.index("log_index")
            key = names.index("metadata_key") if "metadata_key" in names else None
            kept = [
                (
                    *(chain_id, removal, row[block], row[index]),
                    steps[bisect_right(firsts, row[block])],
                    *(table.name, packed(_cut(table, row))),
                )
                for row in stored
                if key is None or row[key] == WALLET_KEY
            ]
            rows.insert(removed_change, kept)
            count += len(kept)
    connection.execute(update(change_step).where(cut).values(kept_block=target))
    return removal, count


def add_rollback(connection: Connection, chain_id: int, blocks: tuple[int, int], removal: int, events: int) -> None:
    """Add the step of a rollback, unless it took nothing back.

    Args:
        connection: The connection, in a transaction that is about to end.
        chain_id: The chain.
        blocks: The first and the last block that were removed.
        removal: The number of the removal, of `keep_removed`.
        events: The number of events that were kept.
    """
    if events:
        removed = {"first_block": blocks[0], "last_block": blocks[1], "removal": removal}
        _add(connection, StepKind.ROLLBACK, chain_id=chain_id, changes=events, **removed)


def add_notes(connection: Connection, chain_id: int, block: int, notes: Sequence[Note]) -> None:
    """Add a step of changes that are not on the chain.

    Args:
        connection: The connection, in a transaction that is about to end.
        chain_id: The chain.
        block: The last indexed block.
        notes: The changes.
    """
    if not notes:
        return
    blocks = {"first_block": block, "last_block": block}
    step = _add(connection, StepKind.NOTES, chain_id=chain_id, changes=len(notes), **blocks)
    for start in range(0, len(notes), _AT_ONCE):
        connection.execute(insert(change_note), list(_note_rows(step, start, notes[start : start + _AT_ONCE])))


def _note_rows(step: int, start: int, notes: Iterable[Note]) -> Iterable[dict[str, Any]]:
    for position, note in enumerate(notes, start):
        yield {
            "step": step,
            "position": position,
            "kind": note.kind,
            "registry": note.registry,
            "agent_id": note.agent_id,
            "account": note.account,
            "details": json.dumps(note.details),
        }


def _add(connection: Connection, kind: StepKind, **columns: int) -> int:
    """Add a step, and return its number."""
    number_steps(connection)
    step = connection.execute(select(func.coalesce(func.max(change_step.c.step), 0))).scalar_one() + 1
    connection.execute(insert(change_step).values(step=step, kind=kind, made_at=int(time.time()), **columns))
    return int(step)


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


TABLES_BY_NAME: Final = {EVENT_TABLES[event].name: (event, EVENT_TABLES[event]) for event in _EVENTS}
"""The events that are changes, and their tables, by the table's name."""
