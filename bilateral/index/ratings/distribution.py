"""The counterparts of an agent's summary by their mean: the histogram behind it."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, func, select

from bilateral.core.values.bounds import SHARES
from bilateral.index.log.dialects import dialect_of
from bilateral.index.ratings import tables as rating_tables
from bilateral.index.ratings.summaries import RatingSummary
from bilateral.index.reading.registries import AgentKey

TENTHS: Final = 10
"""The number of parts of a scale, as many as the bars of a histogram."""

MAX_COUNTERPARTS: Final = 10_000
"""The largest number of counterparts that are counted, or looked at for those with the most ratings."""


def distribution(connection: Connection, key: AgentKey, summary: RatingSummary) -> tuple[int, ...]:
    """Return how many counterparts have their mean in each tenth of the tag's scale, the lowest tenth first.

    A mean at the end of the scale counts in the last tenth. The database reads one row a counterpart, of
    `MAX_COUNTERPARTS` at most: the first ones in the order of their addresses, which says nothing about them.

    Args:
        key: The agent.
        summary: One of the agent's summaries; its tag must have a scale.
    """
    columns = rating_tables.counterpart.c
    tally = (
        select(columns.share_sum, columns.count)
        .where(
            columns.chain_id == key.chain_id,
            columns.registry == summary.registry,
            columns.agent_id == key.agent_id,
            columns.side == summary.side,
            columns.tag == summary.tag,
        )
        .order_by(columns.account)
        .limit(MAX_COUNTERPARTS)
        .subquery()
        .c
    )
    tenth = dialect_of(connection).quotient(tally.share_sum * TENTHS, tally.count * SHARES).label("tenth")
    counts = [0] * TENTHS
    for part, count in connection.execute(select(tenth, func.count()).group_by(tenth)):
        counts[min(int(part), TENTHS - 1)] += count
    return tuple(counts)
