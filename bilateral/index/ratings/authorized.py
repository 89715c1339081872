"""Feedback that an agent's owner authorised with a signature."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, select

from bilateral.core.events import NewAuthorizedFeedback
from bilateral.index.log import tables as schema
from bilateral.index.log.text import padded_text
from bilateral.index.ratings.tables import event_columns, place_values
from bilateral.index.reading.pages import Page, newest_page
from bilateral.index.reading.registries import AgentKey, hexadecimal, short_text

_TABLE: Final = schema.EVENT_TABLES[NewAuthorizedFeedback]
_PLACE: Final = (_TABLE.c.block_number, _TABLE.c.log_index)
_TAG_BYTES: Final = 32  # a tag in this registry is a bytes32
_MOST_TAGS: Final = 1_000  # tags of one agent that differ only in invalid bytes, which only an attacker would create


@dataclass(frozen=True, slots=True)
class AuthorizedFeedback:
    """Feedback that the agent's owner authorised.

    Attributes:
        agent: The agent's short id.
        client: The client's address.
        score: The score, 0 to 100.
        tag1: The first tag, as text or, if the tag is not UTF-8, as hexadecimal digits.
        tag2: The second tag, in the same form as `tag1`.
        uri: The URI of the feedback file.
        hash: The on-chain hash of the feedback file; None if there is none.
        log_index: The feedback's position in the block.
        time: The block time, in Unix seconds.
    """

    agent: str
    registry: str
    client: str
    score: int
    tag1: str
    tag2: str
    uri: str
    hash: str | None
    block: int
    log_index: int
    time: int
    transaction: str


def authorized_feedback_of(  # noqa: PLR0913  # one a filter
    connection: Connection,
    key: AgentKey,
    client: str | None = None,
    *,
    tag: str | None = None,
    clients: Sequence[str] | None = None,
    limit: int = 20,
    cursor: str | None = None,
) -> Page[AuthorizedFeedback]:
    """Return the authorised feedback on an agent, newest first."""
    columns, kind = _TABLE.c, f"authorized feedback of {key.global_id}"
    of_agent = and_(*key.in_registries(columns))
    statement = authorized_selection().where(of_agent)
    if client is not None:
        statement = statement.where(columns.client_address == client)
    if tag is not None:
        statement = statement.where(columns.tag1.in_(_tags_of_text(connection, of_agent, tag)))
    if clients is not None:
        statement = statement.where(columns.client_address.in_(clients))
    return newest_page(connection, statement, _PLACE, authorized_of_row, kind=kind, limit=limit, cursor=cursor)


def authorized_feedback_by(
    connection: Connection, chain_id: int, client: str, limit: int = 20
) -> tuple[AuthorizedFeedback, ...]:
    """Return the newest authorised feedback that an account gave on a chain."""
    statement = authorized_selection().where(_TABLE.c.chain_id == chain_id, _TABLE.c.client_address == client)
    kind = f"authorized feedback by {client}"
    return newest_page(connection, statement, _PLACE, authorized_of_row, kind=kind, limit=limit, cursor=None).items


def _tags_of_text(connection: Connection, of_agent: ColumnElement[bool], tag: str) -> list[bytes]:
    """Return the stored tags displayed as the given text: several if it contains U+FFFD, none if no tag can match."""
    try:
        raw = tag.encode()
    except UnicodeEncodeError:
        return []
    if b"\0" in raw:
        return []
    exact, replaced, _ = tag.partition("\N{REPLACEMENT CHARACTER}")
    if not replaced:
        return [raw.ljust(_TAG_BYTES, b"\0")]
    tag1, start = _TABLE.c.tag1, exact.encode()
    is_alike = tag1.between(start.ljust(_TAG_BYTES, b"\0"), start.ljust(_TAG_BYTES, b"\xff"))
    used = select(tag1).distinct().where(of_agent, is_alike).order_by(tag1).limit(_MOST_TAGS)
    return [value for value in connection.execute(used).scalars() if padded_text(value) == tag]


def authorized_selection() -> Select[Any]:
    """Return the statement that selects authorised feedback."""
    names = ("chain_id", "agent_id", "registry", "client_address", "score", "tag1", "tag2", "file_uri", "file_hash")
    return select(*event_columns(_TABLE.c, *names))


def authorized_of_row(row: Row[*tuple[Any, ...]]) -> AuthorizedFeedback:
    """Convert a row to authorised feedback."""
    chain_id, agent_id, registry, client, score, tag1, tag2, uri, hash_, *place = row
    texts = short_text(tag1), short_text(tag2), uri, hexadecimal(hash_)
    return AuthorizedFeedback(f"{chain_id}:{agent_id}", registry, client, score, *texts, *place_values(*place))
