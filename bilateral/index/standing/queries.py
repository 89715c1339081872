"""The stored standings of agents."""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, and_, insert, select, update

from bilateral.core.text import printable
from bilateral.core.values.standing import Currency, Side, Standing, StandingReason, StandingsState, Status
from bilateral.index.log import tables as schema
from bilateral.index.log.lists import in_parts
from bilateral.index.reading.registries import AgentKey, Registries, numbers_by_chain
from bilateral.index.standing.tables import AnalysisKey, standing, standing_refresh
from bilateral.index.standing.words import MARKS, why

_MAX_PROBLEM: Final = 500
"""Characters of a problem that are stored."""

STALE_SECONDS: Final = 600.0
"""The least seconds by which standings lag their chain when they are stale."""

_STALE_REFRESHES: Final = 3
"""The refreshes of a large index that take longer, after which its standings are stale."""


def stored_standing(
    connection: Connection, chain_id: int, identity: str, agent_id: int, side: str = "server"
) -> Standing | None:
    """Return the standing of an agent on one side, with its block and time; None before the first analysis."""
    same = [standing_refresh.c[name] == standing.c[name] for name in ("chain_id", "identity_registry")]
    query = (
        select(standing, standing_refresh.c.block_number, standing_refresh.c.made_at)
        .join(standing_refresh, and_(*same))
        .where(standing.c.chain_id == chain_id, standing.c.identity_registry == identity)
        .where(standing.c.side == side, standing.c.agent_id == agent_id)
    )
    row = connection.execute(query).mappings().first()
    if row is None:
        return None
    values = {**row, "agent_id": int(row["agent_id"]), "lower": row["lower_bound"], "upper": row["upper_bound"]}
    return Standing.of(values, row["block_number"], row["made_at"])


def standings_of(connection: Connection, key: AgentKey) -> tuple[Standing, ...]:
    """Return the standing of an agent as a server, and as a client if it was rated as one; none before an analysis."""
    of_sides = (stored_standing(connection, key.chain_id, key.identity_registry, key.agent_id, side) for side in Side)
    return tuple(stored for stored in of_sides if stored is not None and (stored.side == Side.SERVER or stored.raters))


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why an agent carries a mark wherever it is listed.

    Attributes:
        status: `held_back` or `contested`.
        side: The side of that standing, `server` or `client`.
        sentence: Why, in one sentence.
    """

    status: str
    side: str
    sentence: str


def doubts_of(connection: Connection, registries: Registries, ids: Iterable[str | None]) -> dict[str, Doubt]:
    """Return the agents among some that are held back or contested on a side, by short id.

    An agent that is so on both sides has the doubt of the server; and held back comes before contested.
    """
    columns, doubts = standing.c, dict[str, Doubt]()
    for chain_id, requested in numbers_by_chain(ids).items():
        query = select(columns.agent_id, columns.side, columns.status, columns.reasons).where(
            columns.chain_id == chain_id,
            columns.identity_registry == registries.identity_of(chain_id),
            columns.side.in_(tuple(Side)),
            columns.status.in_(tuple(MARKS)),
        )
        for part in in_parts(requested):
            rows = connection.execute(query.where(columns.agent_id.in_(part)))
            for row in sorted(rows, key=lambda row: (row.status == Status.HELD_BACK, row.side)):
                reasons = (StandingReason(**reason) for reason in json.loads(row.reasons))
                doubts[f"{chain_id}:{int(row.agent_id)}"] = Doubt(row.status, row.side, why(row.status, reasons))
    return doubts


def chains_with_standings(connection: Connection, chains: Sequence[int], side: str) -> list[int]:
    """Return the chains on which agents have standings on a side."""
    columns = standing.c
    queries = {chain_id: (columns.chain_id == chain_id, columns.side == side) for chain_id in chains}
    query = select(columns.side).limit(1)
    return [chain_id for chain_id, of in queries.items() if connection.execute(query.where(*of)).first()]


def analysed_chains(connection: Connection, chains: Sequence[int]) -> list[int]:
    """Return the chains of some that have been analysed."""
    columns = standing_refresh.c
    query = select(columns.chain_id).where(columns.chain_id.in_(chains), columns.block_number.is_not(None)).distinct()
    analysed = set(connection.execute(query).scalars())
    return [chain_id for chain_id in chains if chain_id in analysed]


def statuses(
    connection: Connection, keys: Sequence[tuple[int, str, int]], side: str = "server"
) -> dict[tuple[int, str, int], tuple[str, float, str | None, float | None]]:
    """Return status, lower bound, first reason and rating of some agents' standings, by chain, registry and id."""
    columns = standing.c
    key = columns.chain_id, columns.identity_registry, columns.agent_id
    is_requested = [
        column.in_(sorted(set(values))) for column, values in zip(key, zip(*keys, strict=True), strict=True)
    ]
    query = select(*key, columns.status, columns.lower_bound, columns.reasons, columns.rating)
    rows = connection.execute(query.where(*is_requested, columns.side == side))
    return {(row[0], row[1], int(row[2])): (row[3], row[4], first_code(row[5]), row[6]) for row in rows}


def first_code(reasons: str | None) -> str | None:
    """Return the code of the reason that counts most."""
    listed: list[dict[str, Any]] = json.loads(reasons or "[]")
    return listed[0]["code"] if listed else None


def identity_registries(connection: Connection) -> list[AnalysisKey]:
    """Return the identity registries that an index has agents of, by chain and address."""
    table = schema.registry
    query = select(table.c.chain_id, table.c.identity_registry).distinct()
    return [AnalysisKey(*row) for row in connection.execute(query.order_by(*query.selected_columns))]


def stored_problem(connection: Connection, key: AnalysisKey) -> str | None:
    """Return the noted problem of a registry; None without one."""
    return connection.execute(select(standing_refresh.c.problem).where(key.of(standing_refresh))).scalar_one_or_none()


def standings_states(connection: Connection, chain_id: int | None = None) -> dict[int, StandingsState]:
    """Return the state of the standings of each chain. Of several registries, the one with the oldest counts."""
    columns, chain = standing_refresh.c, schema.chain.c
    query = (
        select(columns.chain_id, columns.block_number, columns.made_at, columns.problem, columns.seconds)
        .add_columns(chain.block_number)
        .join(schema.chain, chain.chain_id == columns.chain_id)
        .order_by(columns.made_at.desc().nulls_last())
    )
    if chain_id is not None:  # then it asks no server of another chain
        query = query.where(columns.chain_id == chain_id)
    states: dict[int, StandingsState] = {}
    for number, block, made_at, problem, seconds, head in connection.execute(query):
        states[number] = StandingsState(block, made_at, problem, _currency(block, made_at, seconds or 0.0, head))
    return states


def _currency(block: int | None, made_at: int | None, seconds: float, head: int) -> Currency:
    if block is None or made_at is None:
        return Currency.MISSING
    is_late = time.time() - made_at > max(STALE_SECONDS, _STALE_REFRESHES * seconds)
    return Currency.STALE if block < head and is_late else Currency.CURRENT


def note_problem(connection: Connection, key: AnalysisKey, problem: str | None) -> None:
    """Note why the last analysis of a registry failed, or that it did not."""
    reported = None if problem is None else printable(problem)[:_MAX_PROBLEM]
    note(connection, key, {"problem": reported, "problem_at": None if reported is None else int(time.time())})


def note(connection: Connection, key: AnalysisKey, values: Mapping[str, Any]) -> None:
    """Write values beside the standings of a registry."""
    if connection.execute(update(standing_refresh).where(key.of(standing_refresh)).values(**values)).rowcount == 0:
        connection.execute(insert(standing_refresh).values(**key.columns, **values))
