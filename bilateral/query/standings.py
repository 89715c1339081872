"""The stored standings of agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import and_, select

from bilateral.index.tables.standings import standing, standing_refresh
from bilateral.values.standing import Standing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection


def stored_standing(
    connection: Connection, chain_id: int, identity: str, agent_id: int, side: str = "server"
) -> Standing | None:
    """Return the standing of an agent on one side, with its block and time; None before the first refresh.

    Args:
        connection: The database.
        chain_id: The chain.
        identity: The identity registry.
        agent_id: The agent.
        side: `server` or `client`.
    """
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
    named = {**row, "agent_id": int(row["agent_id"]), "lower": row["lower_bound"], "upper": row["upper_bound"]}
    return Standing.of(named, row["block_number"], row["made_at"])


def statuses(
    connection: Connection, keys: Sequence[tuple[int, str, int]], side: str = "server"
) -> dict[tuple[int, str, int], tuple[str, float]]:
    """Return status and lower bound of some agents' standings, by chain, registry and id.

    Args:
        connection: The database.
        keys: The agents.
        side: `server` or `client`.
    """
    columns = standing.c
    asked = [
        column.in_(sorted(set(values)))
        for column, values in zip(
            (columns.chain_id, columns.identity_registry, columns.agent_id), zip(*keys, strict=True), strict=True
        )
    ]
    query = select(columns.chain_id, columns.identity_registry, columns.agent_id, columns.status, columns.lower_bound)
    rows = connection.execute(query.where(*asked, columns.side == side))
    return {(row[0], row[1], int(row[2])): (row[3], row[4]) for row in rows}
