"""An agent's newest feedback, briefly: for shares of it, its values by tag, and its activity by day."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from sqlalchemy import Connection, Select, bindparam, exists, select

from bilateral.core.events import ClientRated, FeedbackRevoked, NewFeedback, ResponseAppended
from bilateral.index.files import tables as files
from bilateral.index.log import tables as schema
from bilateral.index.log.unindexed import newest_first
from bilateral.index.reading.prepared import CHAIN
from bilateral.index.reading.registries import AgentKey
from bilateral.index.reading.values import Exact, exact

MOST: Final = 300
"""The largest number of feedback, and of ratings, that are looked at."""


@dataclass(frozen=True, slots=True)
class RecentFeedback:
    """A feedback, briefly.

    Attributes:
        tag: The measure.
        time: The time of its block, Unix seconds.
        payment_transaction: The transaction of a payment that its file names, the word of a stranger; None without one.
        is_answered: True if somebody responded.
        is_revoked: True if the client revoked it.
    """

    tag: str
    value: Exact
    time: int
    client: str
    payment_transaction: str | None
    is_answered: bool
    is_revoked: bool


def recent_feedback(connection: Connection, key: AgentKey) -> tuple[RecentFeedback, ...]:
    """Return the newest feedback on an agent, the newest first.

    Args:
        key: The agent.
    """
    rows: list[Any] = []
    for registry in key.reputations or key.registries:
        values = {"chain": key.chain_id, "registry": registry, "agent": key.agent_id}
        rows += connection.execute(_newest_feedback(), values).all()
    rows.sort(key=lambda row: -row[3])
    return tuple(
        RecentFeedback(tag, exact(value, decimals), time, client, transaction, *map(bool, flags))
        for tag, value, decimals, time, client, transaction, *flags in rows[:MOST]
    )


def rating_times(connection: Connection, key: AgentKey) -> tuple[int, ...]:
    """Return the times at which servers rated an agent as their client, the newest first.

    Args:
        key: The agent.
    """
    columns = schema.EVENT_TABLES[ClientRated].c
    rows = connection.execute(
        select(columns.block_time)
        .where(
            columns.chain_id == key.chain_id, columns.registry.in_(key.registries), columns.client_id == key.agent_id
        )
        .order_by(*newest_first(columns))
        .limit(MOST)
    )
    return tuple(rows.scalars())


@cache
def _newest_feedback() -> Select[Any]:
    """Return the statement for the newest feedback of one registry. To build it takes longer than to run it."""
    columns = schema.EVENT_TABLES[NewFeedback].c
    newest = (
        select(
            *(columns.registry, columns.agent_id, columns.client_address, columns.feedback_index),
            *(columns.tag1, columns.value, columns.value_decimals, columns.block_time),
            *(columns.block_number, columns.log_index),
        )
        .where(
            columns.chain_id == CHAIN,
            columns.registry == bindparam("registry", type_=columns.registry.type),
            columns.agent_id == bindparam("agent", type_=columns.agent_id.type),
        )
        .order_by(columns.block_number.desc(), columns.log_index.desc())
        .limit(MOST)
    ).subquery()
    row = newest.c
    return select(
        *(row.tag1, row.value, row.value_decimals, row.block_time, row.client_address),
        _claimed_payment(row),
        *(_has(schema.EVENT_TABLES[event].c, row) for event in (ResponseAppended, FeedbackRevoked)),
    ).order_by(row.block_number.desc(), row.log_index.desc())


def _has(events: Any, row: Any) -> Any:
    """Return the condition that an event about a feedback exists."""
    names = ("registry", "agent_id", "client_address", "feedback_index")
    return exists().where(events.chain_id == CHAIN, *(events[name] == row[name] for name in names))


def _claimed_payment(row: Any) -> Any:
    """Return the transaction that the file of a feedback names as its payment."""
    named, file, read = files.file_reference.c, files.file.c, files.feedback_file.c
    query = select(read.payment_transaction).where(
        named.chain_id == CHAIN,
        *(named[name] == row[name] for name in ("block_number", "log_index")),
        file.file_id == named.file_id,
        read.content_hash == file.content_hash,
    )
    return query.limit(1).scalar_subquery()
