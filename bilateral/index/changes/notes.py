"""Steps of the feed: of stored blocks, of rollbacks, and of changes that are not on the chain."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, func, insert, select

from bilateral.index.changes.tables import ChangeKind, StepKind, change_note, change_step
from bilateral.index.log.locks import number_steps

_AT_ONCE: Final = 5_000  # rows of an insert: some megabytes of Python objects


@dataclass(frozen=True, slots=True)
class Note:
    """A change that is not on the chain.

    Attributes:
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


def add_notes(connection: Connection, chain_id: int, block: int, notes: Sequence[Note]) -> None:
    """Add a step of changes that are not on the chain."""
    if not notes:
        return
    blocks = {"first_block": block, "last_block": block}
    step = add_step(connection, StepKind.NOTES, chain_id=chain_id, changes=len(notes), **blocks)
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


def add_step(connection: Connection, kind: StepKind, **columns: int) -> int:
    """Add a step, and return its number."""
    number_steps(connection)
    step = connection.execute(select(func.coalesce(func.max(change_step.c.step), 0))).scalar_one() + 1
    connection.execute(insert(change_step).values(step=step, kind=kind, made_at=int(time.time()), **columns))
    return int(step)
