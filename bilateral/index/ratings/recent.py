"""Brief forms of the newest feedback: on an agent, for statistics, and on a whole chain."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import Connection, Select, bindparam, exists, literal, null, select

from bilateral.core.events import ClientRated, FeedbackRevoked, NewFeedback, ResponseAppended
from bilateral.index.files import tables as files
from bilateral.index.log import tables as schema
from bilateral.index.log.dialects import newest_first
from bilateral.index.ratings.feedback import Feedback
from bilateral.index.ratings.tables import event_columns, place_values
from bilateral.index.reading.prepared import CHAIN, Prepared
from bilateral.index.reading.registries import AgentKey, Exact, exact


@dataclass(frozen=True, slots=True)
class Answer:
    """The most relevant response to feedback: the agent's newest response or, without one, anyone's newest response.

    Attributes:
        responder: The account that responded.
        is_by_agent: True if the responder is the agent's owner or wallet.
        uri: The URI of the response, untrusted text.
        time: The time of the response's block, in Unix seconds.
    """

    responder: str
    is_by_agent: bool
    uri: str
    time: int


_FEEDBACK: Final = ("registry", "agent_id", "client_address", "feedback_index")
"""The columns that identify a feedback entry on a chain."""


def _newest_answer(*names: str) -> Prepared:
    """Return the statement for the newest response to a feedback entry, which a database index finds directly."""
    columns = schema.EVENT_TABLES[ResponseAppended].c
    place, key = (columns.block_number, columns.log_index), ("chain_id", *_FEEDBACK, *names)
    is_about = (columns[name] == bindparam(name, type_=columns[name].type) for name in key)
    query = select(columns.responder, columns.response_uri, columns.block_time, *place).where(*is_about)
    return Prepared(query.order_by(*(column.desc() for column in place)).limit(1))


_BY: Final = _newest_answer("responder")
_BY_ANYBODY: Final = _newest_answer()


def answers_to(
    connection: Connection, chain_id: int, entries: Iterable[Feedback], of_agent: Collection[str]
) -> tuple[Answer | None, ...]:
    """Return the most relevant response to each feedback entry; None for an entry without responses."""
    answered = []
    for entry in entries:
        name = entry.registry, entry.agent_id, entry.client, entry.feedback_index
        values = {"chain_id": chain_id, **dict(zip(_FEEDBACK, name, strict=True))}
        own = (_BY.first(connection, {**values, "responder": account}) for account in of_agent)
        by_agent = max((row for row in own if row is not None), key=itemgetter(3, 4), default=None)
        row = by_agent or _BY_ANYBODY.first(connection, values)
        answered.append(None if row is None else Answer(row[0], by_agent is not None, *row[1:3]))
    return tuple(answered)


_NEW: Final = schema.EVENT_TABLES[NewFeedback].c
_RATED: Final = schema.EVENT_TABLES[ClientRated].c
_RATINGS: Final = {
    "server": (_NEW, (_NEW.agent_id, null(), _NEW.client_address, _NEW.value, _NEW.value_decimals, _NEW.tag1)),
    "client": (_RATED, (_RATED.client_id, _RATED.server_id, null(), _RATED.rating, literal(0), literal(""))),
}
"""The rating event of each side, and its columns: agent, rater (server or account), value, decimals and tag."""


@dataclass(frozen=True, slots=True)
class LatestRating:
    """Feedback on a server, or a server's rating of a client.

    Attributes:
        side: The role in which the agent was rated: `server` or `client`.
        agent: The short id of the rated agent.
        by_agent: The short id of the server that gave the rating; None for feedback.
        by_account: The account that gave the feedback; None for a rating.
        tag: The tag; empty for ratings, which have none.
        log_index: The position of the feedback or rating in the block.
        time: The block time, in Unix seconds.
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
    """Return the latest feedback and ratings of clients on a chain, newest first. Revoked feedback is included."""
    rows: list[tuple[Any, ...]] = []
    for rated, (columns, selected) in _RATINGS.items():
        if side in (None, rated):
            query = select(*event_columns(columns), *selected).where(columns.chain_id == chain_id)
            newest = query.order_by(columns.block_number.desc(), columns.log_index.desc()).limit(limit)
            rows += [(rated, *row) for row in connection.execute(newest)]
    rows.sort(key=itemgetter(1, 2), reverse=True)
    return tuple(_rating(chain_id, row) for row in rows[:limit])


def _rating(chain_id: int, row: tuple[Any, ...]) -> LatestRating:
    side, *place, agent_id, server_id, account, value, decimals, tag = row
    server = None if server_id is None else f"{chain_id}:{server_id}"
    rating = side, f"{chain_id}:{agent_id}", server, account, exact(value, decimals), tag
    return LatestRating(*rating, *place_values(*place))


MOST: Final = 300
"""The maximum number of feedback entries to read. The same maximum applies to ratings."""


@dataclass(frozen=True, slots=True)
class RecentFeedback:
    """A feedback entry in brief.

    Attributes:
        registry: The reputation registry.
        log_index: The feedback's position in the block.
        tag: The first tag, which states what the value measures.
        time: The time of the feedback's block, in Unix seconds.
        payment_transaction: The payment transaction that the file claims, untrusted text; None if the file claims none.
        is_answered: True if someone responded to the feedback.
        is_revoked: True if the client revoked the feedback.
    """

    registry: str
    block: int
    log_index: int
    tag: str
    value: Exact
    time: int
    client: str
    payment_transaction: str | None
    is_answered: bool
    is_revoked: bool


def recent_feedback(connection: Connection, key: AgentKey) -> tuple[RecentFeedback, ...]:
    """Return the newest feedback entries on an agent, in descending order of time."""
    rows: list[Any] = []
    for registry in key.reputations or key.registries:
        values = {"chain": key.chain_id, "registry": registry, "agent_id": key.agent_id}
        rows += [(registry, *row) for row in connection.execute(_newest_feedback(), values)]
    rows.sort(key=itemgetter(6), reverse=True)
    feedback = []
    for name, block, index, tag, value, decimals, time, client, transaction, answered, revoked in rows[:MOST]:
        said = tag, exact(value, decimals), time, client, transaction, bool(answered), bool(revoked)
        feedback.append(RecentFeedback(name, block, index, *said))
    return tuple(feedback)


def rating_times(connection: Connection, key: AgentKey) -> tuple[int, ...]:
    """Return the times at which servers rated an agent as their client, newest first."""
    is_about = _RATED.chain_id == key.chain_id, _RATED.registry.in_(key.registries), _RATED.client_id == key.agent_id
    query = select(_RATED.block_time).where(*is_about).order_by(*newest_first(_RATED)).limit(MOST)
    return tuple(connection.execute(query).scalars())


@cache
def _newest_feedback() -> Select[Any]:
    """Return the statement for a registry's newest feedback, which takes longer to build than to run."""
    newest = (
        select(*event_columns(_NEW, *_FEEDBACK, "tag1", "value", "value_decimals"))
        .where(_NEW.chain_id == CHAIN)
        .where(*(_NEW[name] == bindparam(name, type_=_NEW[name].type) for name in ("registry", "agent_id")))
        .order_by(_NEW.block_number.desc(), _NEW.log_index.desc())
        .limit(MOST)
    ).subquery()
    row = newest.c
    return select(
        *(row.block_number, row.log_index, row.tag1, row.value, row.value_decimals, row.block_time, row.client_address),
        _claimed_payment(row),
        *(_has(schema.EVENT_TABLES[event].c, row) for event in (ResponseAppended, FeedbackRevoked)),
    ).order_by(row.block_number.desc(), row.log_index.desc())


def _has(events: Any, row: Any) -> Any:
    return exists().where(events.chain_id == CHAIN, *(events[name] == row[name] for name in _FEEDBACK))


def _claimed_payment(row: Any) -> Any:
    reference, file, read = files.file_reference.c, files.file.c, files.feedback_file.c
    query = select(read.payment_transaction).where(
        reference.chain_id == CHAIN,
        *(reference[name] == row[name] for name in ("block_number", "log_index")),
        file.file_id == reference.file_id,
        read.content_hash == file.content_hash,
    )
    return query.limit(1).scalar_subquery()
