"""An agent's newest feedback, briefly: for shares of it, its values by tag, and its activity by day."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import bindparam, exists, select

from bilateral.events import ClientRated, FeedbackRevoked, NewFeedback, ResponseAppended
from bilateral.index.tables import files, schema
from bilateral.index.tables.unindexed import newest_first
from bilateral.query.values import Exact, exact

if TYPE_CHECKING:
    from sqlalchemy import Connection, Select

    from bilateral.query.registries import AgentKey

MOST: Final = 300
"""The largest number of feedback, and of ratings, that are looked at."""


@dataclass(frozen=True, slots=True)
class RecentFeedback:
    """A feedback, briefly.

    Attributes:
        tag: The measure.
        value: The value.
        time: The time of its block, Unix seconds.
        client: The client.
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
        connection: The database.
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
        connection: The database.
        key: The agent.
    """
    it = schema.EVENT_TABLES[ClientRated].c
    rows = connection.execute(
        select(it.block_time)
        .where(it.chain_id == key.chain_id, it.registry.in_(key.registries), it.client_id == key.agent_id)
        .order_by(*newest_first(it))
        .limit(MOST)
    )
    return tuple(rows.scalars())


@cache
def _newest_feedback() -> Select[Any]:
    """Return the statement for the newest feedback of one registry. To build it takes longer than to run it."""
    given = schema.EVENT_TABLES[NewFeedback].c
    newest = (
        select(
            *(given.chain_id, given.registry, given.agent_id, given.client_address, given.feedback_index),
            *(given.tag1, given.value, given.value_decimals, given.block_time),
            *(given.block_number, given.log_index),
        )
        .where(
            given.chain_id == bindparam("chain", type_=given.chain_id.type),
            given.registry == bindparam("registry", type_=given.registry.type),
            given.agent_id == bindparam("agent", type_=given.agent_id.type),
        )
        .order_by(given.block_number.desc(), given.log_index.desc())
        .limit(MOST)
    ).subquery()
    it = newest.c
    return select(
        *(it.tag1, it.value, it.value_decimals, it.block_time, it.client_address),
        _claimed_payment(it),
        *(_has(schema.EVENT_TABLES[event].c, it) for event in (ResponseAppended, FeedbackRevoked)),
    ).order_by(it.block_number.desc(), it.log_index.desc())


def _has(events: Any, it: Any) -> Any:
    """Return the condition that an event about a feedback exists."""
    names = ("chain_id", "registry", "agent_id", "client_address", "feedback_index")
    return exists().where(*(events[name] == it[name] for name in names))


def _claimed_payment(it: Any) -> Any:
    """Return the transaction that the file of a feedback names as its payment."""
    named, file, read = files.file_reference.c, files.file.c, files.feedback_file.c
    query = select(read.payment_transaction).where(
        *(named[name] == it[name] for name in ("chain_id", "block_number", "log_index")),
        file.file_id == named.file_id,
        read.content_hash == file.content_hash,
    )
    return query.limit(1).scalar_subquery()
