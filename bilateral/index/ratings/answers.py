"""Answers to some feedback at once, as lists of ratings show them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from sqlalchemy import Connection, bindparam, select

from bilateral.core.events import ResponseAppended
from bilateral.index.log import tables as schema
from bilateral.index.ratings.feedback import Feedback
from bilateral.index.reading.prepared import Prepared


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a feedback that counts most: the agent's newest one, or else the newest one. Anybody may answer.

    Attributes:
        responder: The account that answered.
        is_by_agent: True if it is the agent's owner or wallet.
        uri: The URI of the answer, the word of a stranger.
        time: The time of its block, Unix seconds.
    """

    responder: str
    is_by_agent: bool
    uri: str
    time: int


def _newest(*names: str) -> Prepared:
    """Return the statement for the newest answer to one feedback. An index has its order."""
    columns = schema.EVENT_TABLES[ResponseAppended].c
    known = ("chain_id", "registry", "agent_id", "client_address", "feedback_index", *names)
    query = select(
        columns.responder, columns.response_uri, columns.block_time, columns.block_number, columns.log_index
    ).where(*(columns[name] == bindparam(name, type_=columns[name].type) for name in known))
    return Prepared(query.order_by(columns.block_number.desc(), columns.log_index.desc()).limit(1))


_BY: Final = _newest("responder")
_BY_ANYBODY: Final = _newest()


def answers_to(
    connection: Connection, chain_id: int, entries: Iterable[Feedback], of_agent: Collection[str]
) -> tuple[Answer | None, ...]:
    """Return the answer to each of some feedback; None for one without.

    Args:
        chain_id: The chain of the feedback.
        entries: The feedback.
        of_agent: The agent's owner and wallet.
    """
    answered = []
    for entry in entries:
        values = {
            "chain_id": chain_id,
            "registry": entry.registry,
            "agent_id": entry.agent_id,
            "client_address": entry.client,
            "feedback_index": entry.feedback_index,
        }
        own = (_BY.first(connection, {**values, "responder": account}) for account in of_agent)
        by_agent = max((row for row in own if row is not None), key=itemgetter(3, 4), default=None)
        row = by_agent or _BY_ANYBODY.first(connection, values)
        answered.append(None if row is None else Answer(row[0], by_agent is not None, *row[1:3]))
    return tuple(answered)
