"""Feedback that an agent's owner authorised by a signature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, select

from bilateral.core.events import NewAuthorizedFeedback
from bilateral.index.log import tables as schema
from bilateral.index.log.text import padded_text
from bilateral.index.reading.pages import Page, newest_page
from bilateral.index.reading.registries import AgentKey
from bilateral.index.reading.values import hexadecimal, short_text

_TABLE: Final = schema.EVENT_TABLES[NewAuthorizedFeedback]
_TAG_BYTES: Final = 32  # the registry's tags are bytes32
_MOST_TAGS: Final = 1_000  # of one agent that differ in invalid bytes alone: made to annoy


@dataclass(frozen=True, slots=True)
class AuthorizedFeedback:
    """Feedback that the agent's owner authorised.

    Attributes:
        agent: The agent's short id.
        client: The client's address.
        score: 0 to 100.
        tag1: The first tag; hexadecimal digits if it is not UTF-8.
        tag2: The second tag, likewise.
        uri: The URI of its file.
        hash: The hash of that file on chain; None without one.
        log_index: Its place in the block.
        time: The time of the block, Unix seconds.
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
    """Return the authorised feedback on an agent, the newest first."""
    columns, kind = _TABLE.c, f"authorized feedback of {key.global_id}"
    of_agent = and_(*key.in_registries(columns))
    statement = authorized_selection().where(of_agent)
    if client is not None:
        statement = statement.where(columns.client_address == client)
    if tag is not None:
        statement = statement.where(columns.tag1.in_(_tags_of_text(connection, of_agent, tag)))
    if clients is not None:
        statement = statement.where(columns.client_address.in_(clients))
    place = (columns.block_number, columns.log_index)
    return newest_page(connection, statement, place, authorized_of_row, kind=kind, limit=limit, cursor=cursor)


def authorized_feedback_by(
    connection: Connection, chain_id: int, client: str, limit: int = 20
) -> tuple[AuthorizedFeedback, ...]:
    """Return the newest authorised feedback that an account gave on a chain."""
    columns = _TABLE.c
    query = authorized_selection().where(columns.chain_id == chain_id, columns.client_address == client)
    rows = connection.execute(query.order_by(columns.block_number.desc(), columns.log_index.desc()).limit(limit))
    return tuple(authorized_of_row(row) for row in rows)


def _tags_of_text(connection: Connection, of_agent: ColumnElement[bool], tag: str) -> list[bytes]:
    """Return the tags that a text names: several if it has U+FFFD, none if it has NUL or a lone surrogate."""
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
    """Return the statement for authorised feedback."""
    names = ("chain_id", "agent_id", "registry", "client_address", "score", "tag1", "tag2", "file_uri", "file_hash")
    place = ("block_number", "log_index", "block_time", "transaction_hash")
    return select(*(_TABLE.c[name] for name in (*names, *place)))


def authorized_of_row(row: Row[*tuple[Any, ...]]) -> AuthorizedFeedback:
    """Return a row as authorised feedback."""
    chain_id, agent_id, registry, client, score, tag1, tag2, uri, hash_, block, log_index, time, transaction = row
    return AuthorizedFeedback(
        *(f"{chain_id}:{agent_id}", registry, client, score, short_text(tag1), short_text(tag2), uri),
        *(hexadecimal(hash_), block, log_index, time, f"0x{transaction.hex()}"),
    )
