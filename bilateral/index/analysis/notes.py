"""Notes when the standings of a registry were made, and why the last analysis failed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import insert, select, update

from bilateral.index.tables.standings import standing_refresh
from bilateral.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection, Select, Table

    from bilateral.index.tables.analysis import AnalysisKey

_MAX_PROBLEM: Final = 500
"""Characters of a problem that are kept."""


def note_problem(connection: Connection, key: AnalysisKey, problem: str | None) -> None:
    """Note why the last analysis of a registry failed, or that it did not.

    Args:
        connection: The index's database.
        key: The identity registry.
        problem: The reason; None to take back a former one.
    """
    told = None if problem is None else printable(problem)[:_MAX_PROBLEM]
    note(connection, key, {"problem": told, "problem_at": None if told is None else int(time.time())})


def note(connection: Connection, key: AnalysisKey, values: Mapping[str, Any]) -> None:
    """Write values beside the standings of a registry.

    Args:
        connection: The index's database.
        key: The identity registry.
        values: Columns of `standing_refresh`.
    """
    if connection.execute(update(standing_refresh).where(key.of(standing_refresh)).values(**values)).rowcount == 0:
        connection.execute(insert(standing_refresh).values(**key.columns, **values))


@dataclass(frozen=True, slots=True)
class StandingsState:
    """The state of a chain's standings.

    Attributes:
        block: The last block that they rest on; None before the first were made.
        made_at: The time at which they were made, in Unix seconds; None before the first were made.
        basis: `analysis`, or `ratings` if no analysis succeeded; None before the first were made.
        problem: The reason why the last analysis failed; None if it did not.
    """

    block: int | None = None
    made_at: int | None = None
    basis: str | None = None
    problem: str | None = None

    @property
    def age(self) -> float | None:
        """The seconds since they were made; None before the first were made."""
        return None if self.made_at is None else max(0.0, time.time() - self.made_at)


def standings_states(connection: Connection, chain_id: int | None = None) -> dict[int, StandingsState]:
    """Return the state of the standings of each chain. Of several registries, the one with the oldest counts.

    Args:
        connection: The index's database.
        chain_id: The only chain; None for all.
    """
    columns = standing_refresh.c
    query = select(columns.chain_id, columns.block_number, columns.made_at, columns.basis, columns.problem)
    states: dict[int, StandingsState] = {}
    wanted = of_chain(query, standing_refresh, chain_id)
    for chain, *values in connection.execute(wanted.order_by(columns.made_at.desc())):
        states[chain] = StandingsState(*values)
    return states


def of_chain(query: Select[Any], table: Table, chain_id: int | None) -> Select[Any]:
    """Return a query about one chain: then it asks no server of another. For None the query is about all."""
    return query if chain_id is None else query.where(table.c.chain_id == chain_id)
