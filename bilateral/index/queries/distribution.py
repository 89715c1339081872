"""The counterparts of an agent's summary by their mean: the histogram behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import func, select

from bilateral.bounds import SHARES
from bilateral.index import schema

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from bilateral.index.queries.agents import RatingSummary
    from bilateral.index.queries.registries import AgentKey

TENTHS: Final = 10
"""The number of parts of a scale."""


def distribution(connection: Connection, key: AgentKey, summary: RatingSummary) -> tuple[int, ...]:
    """Return how many counterparts have their mean in each tenth of the tag's scale, the lowest tenth first.

    A mean at the end of the scale counts in the last tenth. The database reads one row a counterpart.

    Args:
        connection: The database.
        key: The agent.
        summary: One of the agent's summaries; its tag must have a scale.
    """
    it = schema.counterpart.c
    tenth = it.share_sum * TENTHS / (it.count * SHARES)
    if connection.dialect.name == "postgresql":
        tenth = func.floor(tenth)
    tenth = tenth.label("tenth")
    statement = (
        select(tenth, func.count())
        .where(
            it.chain_id == key.chain_id,
            it.registry == summary.registry,
            it.agent_id == key.agent_id,
            it.side == summary.side,
            it.tag == summary.tag,
        )
        .group_by(tenth)
    )
    counts = [0] * TENTHS
    for part, count in connection.execute(statement):
        counts[min(int(part), TENTHS - 1)] += count
    return tuple(counts)
