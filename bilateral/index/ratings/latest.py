"""The latest feedback and ratings of a chain, in both directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Select, literal, null, select

from bilateral.core.events import ClientRated, NewFeedback
from bilateral.index.log import tables as schema
from bilateral.index.reading.values import Exact, exact

_GIVEN: Final = schema.EVENT_TABLES[NewFeedback].c
_RATED: Final = schema.EVENT_TABLES[ClientRated].c


@dataclass(frozen=True, slots=True)
class LatestRating:
    """A feedback on a server, or a server's rating of a client.

    Attributes:
        side: The side of the rated agent: `server` or `client`.
        agent: The short id of the rated agent.
        by_agent: The short id of the server that rated; None for feedback.
        by_account: The account that gave the feedback; None for a rating.
        tag: The tag; a rating has none.
        log_index: Its place in the block.
        time: The time of the block, Unix seconds.
    """

    side: str
    agent: str
    by_agent: str | None
    by_account: str | None
    value: Exact
    tag: str
    block: int
    log_index: int
    time: int
    transaction: str


def latest_ratings(
    connection: Connection, chain_id: int, limit: int = 12, side: str | None = None
) -> tuple[LatestRating, ...]:
    """Return the latest feedback and ratings of clients on a chain, the newest first. Revoked feedback counts too.

    Args:
        limit: The largest number of entries.
        side: Only ratings of agents as `server` or as `client`; None for both.
    """
    feedback = _newest(
        limit, chain_id, _GIVEN, _GIVEN.agent_id, null(), _GIVEN.client_address, _GIVEN.value, _GIVEN.value_decimals
    ).add_columns(_GIVEN.tag1)
    ratings = _newest(
        limit, chain_id, _RATED, _RATED.client_id, _RATED.server_id, null(), _RATED.rating, literal(0)
    ).add_columns(literal(""))
    wanted = {"server": feedback, "client": ratings}
    parts = [
        (rated, *row) for rated, query in wanted.items() if side in (None, rated) for row in connection.execute(query)
    ]
    parts.sort(key=lambda row: row[1:3], reverse=True)
    return tuple(_rating(chain_id, row) for row in parts[:limit])


def _newest(limit: int, chain_id: int, table: Any, *columns: Any) -> Select[Any]:
    """Select the newest rows of a table of events, in the order of its key."""
    return (
        select(table.block_number, table.log_index, table.block_time, table.transaction_hash, *columns)
        .where(table.chain_id == chain_id)
        .order_by(table.block_number.desc(), table.log_index.desc())
        .limit(limit)
    )


def _rating(chain_id: int, row: tuple[Any, ...]) -> LatestRating:
    side, block, log_index, time, transaction, agent_id, server_id, account, value, decimals, tag = row
    return LatestRating(
        side=side,
        agent=f"{chain_id}:{agent_id}",
        by_agent=None if server_id is None else f"{chain_id}:{server_id}",
        by_account=account,
        value=exact(value, decimals),
        tag=tag,
        block=block,
        log_index=log_index,
        time=time,
        transaction=f"0x{bytes(transaction).hex()}",
    )
