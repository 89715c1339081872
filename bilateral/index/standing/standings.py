"""Writes the standings of an identity registry's agents, and when they were made."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, Select, Table, delete, insert, select, update

from bilateral.core.text import printable
from bilateral.core.values.standing import Status
from bilateral.index.changes.projection import Note
from bilateral.index.changes.tables import ChangeKind
from bilateral.index.log import tables as schema
from bilateral.index.standing.tables import AnalysisKey, standing, standing_refresh

if TYPE_CHECKING:
    import pyarrow as pa


_MAX_PROBLEM: Final = 500
"""Characters of a problem that are kept."""

STALE_SECONDS: Final = 600.0
"""The least seconds by which standings lag their chain when they are stale."""

_STALE_REFRESHES: Final = 3
"""The refreshes of a large index that take longer, after which its standings are stale."""


def identity_registries(connection: Connection) -> list[AnalysisKey]:
    """Return the identity registries that an index has agents of, by chain and address."""
    table = schema.registry
    query = select(table.c.chain_id, table.c.identity_registry).distinct()
    return [AnalysisKey(*row) for row in connection.execute(query.order_by(*query.selected_columns))]


def stored_problem(connection: Connection, key: AnalysisKey) -> str | None:
    """Return the noted problem of a registry; None without one."""
    query = select(standing_refresh.c.problem).where(key.of(standing_refresh))
    return connection.execute(query).scalar_one_or_none()


def note_problem(connection: Connection, key: AnalysisKey, problem: str | None) -> None:
    """Note why the last analysis of a registry failed, or that it did not."""
    reported = None if problem is None else printable(problem)[:_MAX_PROBLEM]
    note(connection, key, {"problem": reported, "problem_at": None if reported is None else int(time.time())})


def note(connection: Connection, key: AnalysisKey, values: Mapping[str, Any]) -> None:
    """Write values beside the standings of a registry."""
    if connection.execute(update(standing_refresh).where(key.of(standing_refresh)).values(**values)).rowcount == 0:
        connection.execute(insert(standing_refresh).values(**key.columns, **values))


class Currency(StrEnum):
    """The age of a chain's standings."""

    CURRENT = "current"
    """They have all rows of the index but those of the last minutes."""

    STALE = "stale"
    """The analysis lags its chain by more than ten minutes, or by three refreshes if these take longer."""

    MISSING = "missing"
    """No analysis has succeeded yet."""


@dataclass(frozen=True, slots=True)
class StandingsState:
    """The state of a chain's standings.

    Attributes:
        block: The last block that they rest on; None before the first analysis.
        made_at: The time at which they were made or confirmed, in Unix seconds; None before the first analysis.
        problem: The reason why the last analysis failed or cannot run; None if there is none.
        status: `current`, `stale` or `missing`.
    """

    block: int | None = None
    made_at: int | None = None
    problem: str | None = None
    status: str = Currency.MISSING

    @property
    def is_missing(self) -> bool:
        """True before the first analysis."""
        return self.status == Currency.MISSING

    @property
    def is_stale(self) -> bool:
        """True if the analysis lags its chain."""
        return self.status == Currency.STALE

    @property
    def age(self) -> float | None:
        """The seconds since they were made; None before the first analysis."""
        return None if self.made_at is None else max(0.0, time.time() - self.made_at)

    @property
    def lack(self) -> str | None:
        """Why a chain has no current standings, as the end of a sentence; None if it has."""
        cause = "" if self.problem is None else f": {self.problem}"
        if self.is_missing:
            return f"is not analysed yet{cause}"
        if self.is_stale:
            return f"was analysed {(self.age or 0) / 60:,.0f} minutes ago, up to block {self.block}{cause}"
        return None


def standings_states(connection: Connection, chain_id: int | None = None) -> dict[int, StandingsState]:
    """Return the state of the standings of each chain. Of several registries, the one with the oldest counts."""
    columns, chain = standing_refresh.c, schema.chain.c
    query = select(columns.chain_id, columns.block_number, columns.made_at, columns.problem)
    query = query.add_columns(columns.seconds, chain.block_number).join(
        schema.chain, chain.chain_id == columns.chain_id
    )
    states: dict[int, StandingsState] = {}
    requested = of_chain(query, standing_refresh, chain_id).order_by(columns.made_at.desc().nulls_last())
    for number, block, made_at, problem, seconds, head in connection.execute(requested):
        status = _currency(block, made_at, seconds or 0.0, head)
        states[number] = StandingsState(block, made_at, problem, status)
    return states


def _currency(block: int | None, made_at: int | None, seconds: float, head: int) -> Currency:
    """Return the age of standings up to a block, in an index up to another one."""
    if block is None or made_at is None:
        return Currency.MISSING
    is_late = time.time() - made_at > max(STALE_SECONDS, _STALE_REFRESHES * seconds)
    return Currency.STALE if block < head and is_late else Currency.CURRENT


def of_chain(query: Select[Any], table: Table, chain_id: int | None) -> Select[Any]:
    """Return a query about one chain: then it asks no server of another. For None the query is about all."""
    return query if chain_id is None else query.where(table.c.chain_id == chain_id)


_AT_ONCE: Final = 5_000  # rows of an insert: some megabytes of Python objects
_RENAMED: Final = {"lower": "lower_bound", "upper": "upper_bound"}


def replace_standings(
    connection: Connection, key: AnalysisKey, table: pa.Table, block: int, seconds: float
) -> list[Note]:
    """Replace the standings of a registry's agents, in the connection's transaction."""
    previous = _statuses(connection, key)
    connection.execute(delete(standing).where(key.of(standing)))
    for batch in table.to_batches(max_chunksize=_AT_ONCE):
        rows = [key.columns | row for row in _rows(batch)]
        if rows:
            connection.execute(insert(standing), rows)
    note(connection, key, {"block_number": block, "made_at": int(time.time()), "seconds": round(seconds, 3)})
    return _changed(key, previous, _statuses(connection, key))


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
    """Return the stored standings of a registry as rows with the columns of the analysis."""
    query = select(standing).where(key.of(standing)).order_by(standing.c.side, standing.c.agent_id)
    previous = {new: old for old, new in _RENAMED.items()}
    rows = connection.execute(query).mappings()
    return [
        {previous.get(name, name): value for name, value in row.items()} | {"agent_id": int(row["agent_id"])}
        for row in rows
    ]
