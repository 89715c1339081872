"""Agents follow the log: their states, restored by the journal, and the times at which they were active."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, delete

from bilateral.index.agents.states import IDENTITY_EVENTS, RAISING, ActivityTable, AgentTables
from bilateral.index.agents.tables import AGENT_TABLES, agent_activity
from bilateral.index.log.batches import stored_batches
from bilateral.index.log.journal import Journal
from bilateral.index.log.projection import Append, Progress, Projection, Removal
from bilateral.index.log.rows import rows_of
from bilateral.index.log.tables import registry


class Agents(Projection):
    """Agents with their metadata, the accounts that name them, and their times."""

    name = "agents"
    tables = derived = (*AGENT_TABLES, agent_activity)
    reads = (*RAISING, registry)

    def derive(self, step: Append) -> None:
        changed = AgentTables(step.chain_id, step.journal).derive(step.rows, step.batch.rows)
        ActivityTable(step.chain_id, step.rows.connection, step.rows).derive(step.batch.rows, changed)

    def undo(self, removal: Removal) -> Iterator[None]:
        activity = ActivityTable(removal.chain_id, removal.connection, removal.rows)
        touched = activity.touched_after(removal.target.number)
        yield
        if not removal.is_journalled:
            self._rebuild_states(removal.connection, removal.chain_id, lambda _: None)
        activity.renew(touched)
        yield

    def rebuild(self, connection: Connection, chain_id: int, progress: Progress) -> None:
        self._rebuild_states(connection, chain_id, progress)
        ActivityTable(chain_id, connection, rows_of(connection)).rebuild()

    @staticmethod
    def _rebuild_states(connection: Connection, chain_id: int, progress: Progress) -> None:
        for table in AGENT_TABLES:
            connection.execute(delete(table).where(table.c.chain_id == chain_id))
        for block, events in stored_batches(connection, chain_id, tuple(IDENTITY_EVENTS)):
            AgentTables(chain_id, Journal(chain_id, 1 << 62)).derive(rows_of(connection), events)
            progress(block)
