"""Answers to some feedback at once, as lists of ratings show them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlalchemy import bindparam, select

from bilateral.events import ResponseAppended
from bilateral.index import schema
from bilateral.index.queries.prepared import Prepared
from bilateral.index.queries.unindexed import newest_first

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sqlalchemy import Connection

    from bilateral.index.queries.feedback import Feedback

_LOOKED_AT: Final = 20


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a feedback that counts most: that of the agent, or else the newest one. Anybody may answer.

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


def _statement() -> Prepared:
    """Return the statement for the newest answers to one feedback."""
    it = schema.EVENT_TABLES[ResponseAppended].c
    names = ("chain_id", "registry", "agent_id", "client_address", "feedback_index")
    query = select(it.responder, it.response_uri, it.block_time).where(
        *(it[name] == bindparam(name, type_=it[name].type) for name in names)
    )
    return Prepared(query.order_by(*newest_first(it)).limit(_LOOKED_AT))


_ANSWERS: Final = _statement()


def answers_to(
    connection: Connection, chain_id: int, given: Iterable[Feedback], of_agent: Collection[str]
) -> tuple[Answer | None, ...]:
    """Return the answer to each of some feedback; None for one without.

    Args:
        connection: The database.
        chain_id: The chain of the feedback.
        given: The feedback.
        of_agent: The agent's owner and wallet.
    """
    found = []
    for it in given:
        values = {
            "chain_id": chain_id,
            "registry": it.registry,
            "agent_id": it.agent_id,
            "client_address": it.client,
            "feedback_index": it.feedback_index,
        }
        rows = _ANSWERS.all(connection, values)
        answers = [Answer(responder, responder in of_agent, uri, time) for responder, uri, time in rows]
        found.append(next((it for it in answers if it.is_by_agent), answers[0] if answers else None))
    return tuple(found)
