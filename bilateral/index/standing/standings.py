"""Writes the standings of an identity registry's agents, and when they were made."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, delete, insert, select

from bilateral.core.values.standing import Status
from bilateral.index.changes.notes import Note
from bilateral.index.changes.tables import ChangeKind
from bilateral.index.standing.notes import note
from bilateral.index.standing.tables import AnalysisKey, standing

if TYPE_CHECKING:
    import pyarrow as pa

_AT_ONCE: Final = 5_000  # rows of an insert: some megabytes of Python objects
_RENAMED: Final = {"lower": "lower_bound", "upper": "upper_bound"}


def replace_standings(
    connection: Connection, key: AnalysisKey, table: pa.Table, block: int, seconds: float
) -> list[Note]:
    """Replace the standings of a registry's agents, in the connection's transaction.

    Args:
        connection: The index's database.
        key: The identity registry.
        table: The standings, with the columns of `bilateral.trust.standing.SCHEMA`.
        block: The last block that they rest on.
        seconds: The time that it took to make them.

    Returns:
        The changes of status, for the change feed.
    """
    former = _statuses(connection, key)
    connection.execute(delete(standing).where(key.of(standing)))
    for batch in table.to_batches(max_chunksize=_AT_ONCE):
        rows = [key.columns | row for row in _rows(batch)]
        if rows:
            connection.execute(insert(standing), rows)
    note(connection, key, {"block_number": block, "made_at": int(time.time()), "seconds": round(seconds, 3)})
    return _changed(key, former, _statuses(connection, key))


def _statuses(connection: Connection, key: AnalysisKey) -> dict[tuple[str, int], str]:
    """Return the status of each agent and side, but for the thin ones: an agent without a standing is thin, too."""
    columns = standing.c
    query = select(columns.side, columns.agent_id, columns.status)
    rows = connection.execute(query.where(key.of(standing), columns.status != Status.THIN))
    return {(side, int(agent_id)): status for side, agent_id, status in rows}


def _changed(key: AnalysisKey, former: dict[tuple[str, int], str], current: dict[tuple[str, int], str]) -> list[Note]:
    """Return the changes of status between two states."""
    thin = Status.THIN.value
    states = {part: (former.get(part, thin), current.get(part, thin)) for part in sorted(former.keys() | current)}
    return [
        Note(
            ChangeKind.VERDICT,
            key.identity_registry,
            agent_id,
            None,
            {"side": side, "former_status": before, "status": after},
        )
        for (side, agent_id), (before, after) in states.items()
        if before != after
    ]


def _rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Yield the rows of the table from standings."""
    for row in batch.to_pylist():
        columns = {_RENAMED.get(name, name): value for name, value in row.items()}
        yield columns | {"rank": None if row["status"] == Status.HELD_BACK else row["lower"]}


def stored_standings(connection: Connection, key: AnalysisKey) -> list[dict[str, Any]]:
    """Return the stored standings of a registry as rows with the columns of `bilateral.trust.standing.SCHEMA`.

    Args:
        connection: The index's database.
        key: The identity registry.
    """
    query = select(standing).where(key.of(standing)).order_by(standing.c.side, standing.c.agent_id)
    former = {new: old for old, new in _RENAMED.items()}
    rows = connection.execute(query).mappings()
    return [
        {former.get(name, name): value for name, value in row.items()} | {"agent_id": int(row["agent_id"])}
        for row in rows
    ]
