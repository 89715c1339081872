"""Read ratings of clients and validators by servers, single ratings of any kind, and their files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import Any, Final

import sqlalchemy as sa

from bilateral.core.events import ClientRated, NewAuthorizedFeedback, NewFeedback, ValidatorRated
from bilateral.core.values.summaries import Blind
from bilateral.index.agents import tables as agent_tables
from bilateral.index.files import tables as files
from bilateral.index.log import tables as schema
from bilateral.index.log.dialects import newest_first
from bilateral.index.ratings.authorized import AuthorizedFeedback, authorized_of_row, authorized_selection
from bilateral.index.ratings.feedback import SELECTION, VIEW, Feedback, feedback_of_row
from bilateral.index.ratings.sealed import follows_feedback, is_sealed_rating
from bilateral.index.ratings.tables import event_columns, is_plain, summary
from bilateral.index.reading.pages import Page, Small, after, decode_cursor, encode_cursor, page_of, require_limit
from bilateral.index.reading.prepared import CHAIN, Prepared, one_of, spread
from bilateral.index.reading.registries import AgentKey, Wide, hexadecimal

MAX_ENTRIES: Final = 500
"""The maximum number of an agent's metadata entries, and of its summaries, per response. Anyone can add entries."""
_KEY: Final = ("chain_id", "identity_registry", "agent_id")
_SUMMARY: Final = summary.c
_SUMMARY_COLUMNS: Final = ("registry", "side", "tag", "count", "counterparts", "mean", "lower_bound")


def summaries(connection: sa.Connection, key: AgentKey) -> tuple[RatingSummary, ...]:
    """Return the summaries of an agent's values, in descending order of the number of counterparts."""
    size = len(key.registries)
    rows = _summaries(size).all(connection, {**_parameters(key), **spread("registry", key.registries, size)})
    return tuple(RatingSummary(*row) for row in rows)


def _parameters(key: AgentKey) -> dict[str, Any]:
    """Return an agent as parameters for prebuilt statements. Building a statement takes as long as running it."""
    return dict(zip(_KEY, (key.chain_id, key.identity_registry, key.agent_id), strict=True))


def _is(columns: Any, names: Sequence[str] = _KEY) -> list[sa.ColumnElement[bool]]:
    """Return the conditions that a row belongs to the agent that `_parameters` describes."""
    return [columns[name] == sa.bindparam(name, type_=agent_tables.agent.c[name].type) for name in names]


@cache
def _summaries(registries: int) -> Prepared:
    return Prepared(
        sa.select(*(_SUMMARY[name] for name in _SUMMARY_COLUMNS))
        .where(*_is(_SUMMARY, ("chain_id", "agent_id")), one_of("registry", _SUMMARY.registry, registries))
        .where(is_plain(_SUMMARY.side))
        .order_by(_SUMMARY.counterparts.desc(), _SUMMARY.registry, _SUMMARY.side, _SUMMARY.tag)
        .limit(MAX_ENTRIES)
    )


@dataclass(frozen=True, slots=True)
class RatingSummary:
    """The summary of an agent's values for one side and tag. Values of different tags are never mixed.

    Attributes:
        side: The agent's role: `server` for feedback, `client` or `validator` for ratings by servers.
        tag: The tag; empty for ratings, which have none.
        count: The number of entries that are included in the summary.
        counterparts: The number of distinct accounts or agents that gave the values.
        mean: The mean value.
        lower_bound: The lower bound of the agent's value at 95 % confidence; None for a tag without a scale.
    """

    registry: str
    side: str
    tag: str
    count: int
    counterparts: int
    mean: float
    lower_bound: float | None


class Direction(StrEnum):
    """The direction of a rating from an agent's point of view."""

    RECEIVED = "received"
    """Ratings that the agent received from servers."""

    GIVEN = "given"
    """Ratings that the agent, as a server, gave other agents."""


class RatedSide(StrEnum):
    """The role in which a server rates an agent."""

    CLIENT = "client"
    VALIDATOR = "validator"


SIDES: Final = {
    RatedSide.CLIENT: (schema.EVENT_TABLES[ClientRated], "client_id"),
    RatedSide.VALIDATOR: (schema.EVENT_TABLES[ValidatorRated], "validator_id"),
}
"""For each side, the table that contains the ratings, and the column that identifies the rated agent."""

_LAST: Final = ("last_block", "last_log_index")
"""The parameters for a cursor's position."""


@dataclass(frozen=True, slots=True)
class Rating:
    """A server's rating of a client or validator. Ratings are final.

    Attributes:
        side: The role in which the agent was rated, `client` or `validator`.
        agent: The short id of the rated agent.
        agent_id: The rated agent's token id.
        server: The short id of the server that gave the rating.
        server_id: The server's token id.
        rating: The rating, 0 to 100.
        is_blind: True if the rating was sealed before either side saw the other's rating.
        is_answer: True if the rating was not sealed, and the client gave the server feedback within the preceding day.
        log_index: The rating's position in the block.
        time: The block time, in Unix seconds.
    """

    side: str
    agent: str
    agent_id: Wide
    server: str
    server_id: Wide
    registry: str
    rating: int
    is_blind: bool
    is_answer: bool
    block: int
    log_index: int
    time: int
    transaction: str


def ratings_of(  # noqa: PLR0913  # one a filter
    connection: sa.Connection,
    key: AgentKey,
    direction: Direction = Direction.RECEIVED,
    side: RatedSide | None = None,
    *,
    servers: Sequence[int] | None = None,
    sealed: Blind | None = None,
    limit: int = 20,
    cursor: str | None = None,
) -> Page[Rating]:
    """Return the ratings that an agent received or gave, newest first."""
    require_limit(limit)
    kind = f"{direction} ratings of {key.global_id}"
    values = {"chain": key.chain_id, "registries": key.registries, "agent": key.agent_id, "limit": limit + 1}
    if cursor is not None:
        values |= dict(zip(_LAST, decode_cursor(kind, cursor, int, Small), strict=True))
    if servers is not None:
        values["servers"] = servers
    options = {"has_cursor": cursor is not None, "has_servers": servers is not None, "only_sealed": sealed is not None}
    rows = connection.execute(_statement(direction, side, **options), values).all()
    return page_of(rows, limit, rating_of_row, lambda row: encode_cursor(kind, row.block_number, row.log_index))


def client_rating(connection: sa.Connection, key: AgentKey, server_id: int, reputation: str) -> int | None:
    """Return the rating that a server gave a client (EIP-8004a, `getClientRating`); None if the index has none."""
    table, subject = SIDES[RatedSide.CLIENT]
    columns = table.c
    conditions = columns.chain_id == key.chain_id, columns.registry == reputation, columns[subject] == key.agent_id
    statement = sa.select(columns.rating).where(*conditions, columns.server_id == server_id).limit(1)
    return connection.execute(statement).scalar_one_or_none()


@cache
def _statement(direction: Direction, side: RatedSide | None, **options: bool) -> sa.Select[Any]:
    """Return the statement for a page of ratings, which takes longer to build than to run."""
    parts = [_part(part_side, direction, **options) for part_side in RatedSide if side in (None, part_side)]
    united = sa.union_all(*(part.subquery().select() for part in parts)).subquery()
    place = (united.c.block_number.desc(), united.c.log_index.desc())
    # Here, this is computed only for one page of ratings, and not for all ratings that the parts sort.
    is_open = sa.and_(united.c.side == RatedSide.CLIENT.value, sa.not_(united.c.is_blind))
    answers = sa.and_(is_open, follows_feedback(united, "agent_id", CHAIN)).label("is_answer")
    return sa.select(united, answers).order_by(*place).limit(sa.bindparam("limit", type_=sa.BigInteger))


def rating_selection(side: RatedSide, chain: Any) -> sa.Select[Any]:
    """Return the statement for one side's ratings, without `is_answer`, which `rating_of_row` also requires."""
    table, subject = SIDES[side]
    columns = table.c
    is_blind = is_sealed_rating(table, chain) if side is RatedSide.CLIENT else sa.false()
    return sa.select(
        *(sa.literal(side.value).label("side"), columns.chain_id, columns[subject].label("agent_id")),
        *(columns.server_id, columns.registry, columns.rating, is_blind.label("is_blind"), *event_columns(columns)),
    )


def _part(
    side: RatedSide, direction: Direction, *, has_cursor: bool, has_servers: bool, only_sealed: bool
) -> sa.Select[Any]:
    table, subject = SIDES[side]
    columns = table.c
    agent_id = columns[subject] if direction is Direction.RECEIVED else columns.server_id
    statement = rating_selection(side, CHAIN).where(
        columns.chain_id == CHAIN,
        columns.registry.in_(sa.bindparam("registries", expanding=True, type_=columns.registry.type)),
        agent_id == sa.bindparam("agent", type_=agent_id.type),
    )
    if has_servers:
        servers = sa.bindparam("servers", expanding=True, type_=columns.server_id.type)
        statement = statement.where(columns.server_id.in_(servers))
    if only_sealed:
        statement = statement.where(is_sealed_rating(table) if side is RatedSide.CLIENT else sa.false())
    if has_cursor:
        place = (columns.block_number, columns.log_index)
        last = tuple(sa.bindparam(name, type_=column.type) for name, column in zip(_LAST, place, strict=True))
        statement = after(statement, place, last, descending=True)
    return statement.order_by(*newest_first(columns)).limit(sa.bindparam("limit", type_=sa.BigInteger))


def rating_of_row(row: sa.Row[*tuple[Any, ...]]) -> Rating:
    """Convert a row to a rating."""
    side, chain_id, agent_id, server_id, registry, rating, is_blind, *place, transaction, is_answer = row
    return Rating(
        *(side, f"{chain_id}:{agent_id}", agent_id, f"{chain_id}:{server_id}", server_id, registry, rating),
        *(bool(is_blind), bool(is_answer), *place, f"0x{transaction.hex()}"),
    )


@dataclass(frozen=True, slots=True)
class FileEvidence:
    """A file to which an event refers, its verification, and a feedback file's signatures. All texts are untrusted.

    Attributes:
        state: `waiting`, `loaded`, `malformed` or `failed`.
        integrity: What proves the file's authenticity: `inline`, `cid`, `hash` or `variant`; None if nothing does.
        content_hash: The SHA-256 hash under which the index stores the file's bytes; None if no bytes are stored.
        size: The file's total size in bytes.
        interaction_hash: The hash of the request and response that the file is about.
        agent_signature: The agent's signature in the file, which is not verified.
        client_signature: The client's signature in the file, which is not verified.
        payment_from: The payer, as claimed by a feedback file.
        payment_to: The receiver of the claimed payment.
    """

    uri: str
    state: str
    integrity: str | None
    content_hash: str | None
    size: int | None
    interaction_hash: str | None
    agent_signature: str | None
    client_signature: str | None
    payment_from: str | None
    payment_to: str | None
    payment_chain_id: str | None
    payment_transaction: str | None


def rating_at(
    connection: sa.Connection, chain_id: int, block: int, log_index: int
) -> Feedback | Rating | AuthorizedFeedback | None:
    """Return the feedback or rating at a position in the chain."""

    def at(columns: Any) -> tuple[sa.ColumnElement[bool], ...]:
        return columns.chain_id == chain_id, columns.block_number == block, columns.log_index == log_index

    columns, authorized = schema.EVENT_TABLES[NewFeedback].c, schema.EVENT_TABLES[NewAuthorizedFeedback].c
    if connection.execute(sa.select(columns.registry).where(*at(columns))).first() is not None:
        row = connection.execute(SELECTION.where(*at(VIEW.c))).first()
        return None if row is None else feedback_of_row(row)
    for side, (table, _) in SIDES.items():
        is_late = follows_feedback(table, chain=chain_id) if side is RatedSide.CLIENT else sa.false()
        row = connection.execute(rating_selection(side, chain_id).add_columns(is_late).where(*at(table.c))).first()
        if row is not None:
            rating = rating_of_row(row)
            return replace(rating, is_answer=rating.is_answer and not rating.is_blind)
    row = connection.execute(authorized_selection().where(*at(authorized))).first()
    return None if row is None else authorized_of_row(row)


def file_evidence(connection: sa.Connection, chain_id: int, block: int, log_index: int) -> FileEvidence | None:
    """Return the file to which an event refers; None if there is none."""
    reference = files.file_reference
    place = {"chain_id": chain_id, "block_number": block, "log_index": log_index}
    return _file(connection, reference, *(reference.c[name] == value for name, value in place.items()))


def registration_evidence(connection: sa.Connection, key: AgentKey) -> FileEvidence | None:
    """Return an agent's current registration file; None if the agent has none or the file has not been found yet."""
    return _file(connection, files.agent_file, *key.of(files.agent_file.c))


def _file(connection: sa.Connection, reference: sa.Table, *conditions: sa.ColumnElement[bool]) -> FileEvidence | None:
    file, content, read = files.file, files.file_content, files.feedback_file
    contents = ("interaction_hash", "agent_signature", "client_signature")
    payment = ("payment_from", "payment_to", "payment_chain_id", "payment_transaction")
    row = connection.execute(
        sa.select(*(file.c[name] for name in ("uri", "state", "integrity", "content_hash")), content.c.size)
        .add_columns(*(read.c[name] for name in (*contents, *payment)))
        .select_from(reference)
        .join(file, file.c.file_id == reference.c.file_id)
        .outerjoin(content, content.c.content_hash == file.c.content_hash)
        .outerjoin(read, read.c.content_hash == file.c.content_hash)
        .where(*conditions)
    ).first()
    if row is None:
        return None
    uri, state, integrity, hash_, *rest = row
    return FileEvidence(uri, state, integrity, hexadecimal(hash_), *rest)
