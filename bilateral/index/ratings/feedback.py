"""Feedback on agents, open and authorised, and the responses to it."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from operator import itemgetter
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import column

from bilateral.core.events import NewFeedback, ResponseAppended
from bilateral.core.values.summaries import Blind
from bilateral.index.files import tables as files
from bilateral.index.log import tables as schema
from bilateral.index.ratings.tables import event_columns, place_values
from bilateral.index.reading.pages import Page, decode_cursor, encode_cursor, newest_page, page_of, require_limit
from bilateral.index.reading.prepared import Prepared
from bilateral.index.reading.registries import AgentKey, Exact, Wide, exact, hexadecimal

VIEW: Final = sa.table(
    "feedback",
    *(column(field.name, field.type) for field in schema.EVENT_TABLES[NewFeedback].c),
    column("revoked_block", sa.BigInteger),
    *(column(name, sa.Boolean) for name in ("is_revoked", "is_blind")),
)


@dataclass(frozen=True, slots=True)
class FileContent:
    """The file of a feedback entry. All texts are untrusted.

    Attributes:
        state: `waiting`, `loaded`, `malformed` or `failed`.
        integrity: What proves the file's authenticity: `inline`, `cid`, `hash` or `variant`; None if nothing does.
        reason: The kind of failure, if loading failed.
        text: The client's comment.
        comment: The client's comment in files of an older format.
        mcp_tool: The MCP tool that was used.
        mcp_prompt: The MCP prompt that was used.
        mcp_resource: The MCP resource that was used.
        a2a_skills: The A2A skills that were used, as a JSON list.
        oasf_skills: The OASF skills that were used, as a JSON list.
        oasf_domains: The OASF domains of the skills that were used, as a JSON list.
        payment_from: The payer, as claimed by the file.
        payment_to: The receiver of the payment.
    """

    state: str
    integrity: str | None
    reason: str | None
    text: str | None
    comment: str | None
    mcp_tool: str | None
    mcp_prompt: str | None
    mcp_resource: str | None
    a2a_skills: str | None
    a2a_task_id: str | None
    oasf_skills: str | None
    oasf_domains: str | None
    payment_from: str | None
    payment_to: str | None
    payment_chain_id: str | None
    payment_transaction: str | None


@dataclass(frozen=True, slots=True)
class Feedback:
    """A client's feedback on an agent.

    Attributes:
        id: The textual id, such as `8453:247:0x742d…:0`, in which the feedback index counts from 0.
        agent: The agent's short id.
        agent_id: The agent's token id.
        client: The client's address.
        feedback_index: The on-chain feedback index, which counts from 1.
        value: The exact value of the feedback.
        tag1: The first tag, which identifies what the value measures.
        tag2: The second tag, a qualifier.
        endpoint: The agent's endpoint that the client used.
        uri: The URI of the feedback file.
        hash: The on-chain hash of the feedback file; None if there is none.
        is_revoked: True if the client revoked the feedback.
        revoked_block: The block of the revocation.
        is_blind: True if the feedback was sealed before either side saw the other's rating.
        log_index: The feedback's position in the block.
        time: The block time, in Unix seconds.
        file: The content of the feedback file; None if there is no file.
    """

    id: str
    agent: str
    agent_id: Wide
    registry: str
    client: str
    feedback_index: Wide
    value: Exact
    tag1: str
    tag2: str
    endpoint: str
    uri: str
    hash: str | None
    is_revoked: bool
    revoked_block: int | None
    is_blind: bool
    block: int
    log_index: int
    time: int
    transaction: str
    file: FileContent | None


@dataclass(frozen=True, slots=True)
class FeedbackFilter:
    """The conditions that returned feedback entries must meet.

    Attributes:
        tag1: The first tag; None for any.
        tag2: The second tag; None for any.
        client: The client; None for any.
        include_revoked: True to include revoked feedback.
        blind: `only` for feedback that was sealed before either side saw the other's rating; None for all feedback.
    """

    tag1: str | None = None
    tag2: str | None = None
    client: str | None = None
    include_revoked: bool = True
    blind: Blind | None = None


_ANY: Final = FeedbackFilter()


def _selection() -> sa.Select[Any]:
    columns, reference, file, read = VIEW.c, files.file_reference, files.file, files.feedback_file
    names = ("chain_id", "agent_id", "registry", "client_address", "feedback_index", "value", "value_decimals")
    texts = ("tag1", "tag2", "endpoint", "feedback_uri", "feedback_hash", "is_revoked", "revoked_block", "is_blind")
    of_file, of_content = ("state", "integrity", "reason"), [field.name for field in fields(FileContent)[3:]]
    # The view `referenced_file` has the same rows, but SQLite would read all of them before joining.
    place = [reference.c[name] == columns[name] for name in ("chain_id", "block_number", "log_index")]
    return (
        sa.select(*event_columns(columns, *names, *texts))
        .add_columns(*(file.c[name] for name in of_file), *(read.c[name] for name in of_content))
        .outerjoin_from(VIEW, reference, sa.and_(*place))
        .outerjoin(file, file.c.file_id == reference.c.file_id)
        .outerjoin(read, sa.and_(read.c.content_hash == file.c.content_hash, file.c.state == files.State.LOADED))
    )


SELECTION: Final = _selection()
_ORDER: Final = (VIEW.c.block_number, VIEW.c.log_index)


def _bound(name: str, column: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    """Return the condition that a column equals a parameter, for statements that are built only once."""
    return column == sa.bindparam(name, type_=column.type)


_OF_AGENT: Final = SELECTION.where(
    _bound("chain", VIEW.c.chain_id), _bound("agent", VIEW.c.agent_id), _bound("registry", VIEW.c.registry)
)
_BY_ACCOUNT: Final = SELECTION.where(_bound("chain", VIEW.c.chain_id), _bound("account", VIEW.c.client_address))


def feedback_of(
    connection: sa.Connection,
    key: AgentKey,
    filters: FeedbackFilter = _ANY,
    *,
    limit: int = 20,
    cursor: str | None = None,
) -> Page[Feedback]:
    """Return the feedback on an agent, newest first."""
    # Run one statement per registry, which stops after one page of the index of the agent's feedback. IN would not.
    registries = key.reputations or key.registries
    parameters = [{"chain": key.chain_id, "agent": key.agent_id, "registry": registry} for registry in registries]
    return _page(connection, _OF_AGENT, parameters, filters, limit, cursor, f"feedback of {key.global_id}")


def feedback_by(  # noqa: PLR0913  # one a filter
    connection: sa.Connection,
    chain_id: int,
    client: str,
    filters: FeedbackFilter = _ANY,
    *,
    limit: int = 20,
    cursor: str | None = None,
) -> Page[Feedback]:
    """Return the feedback that an account gave on a chain, newest first."""
    parameters = [{"chain": chain_id, "account": client}]
    return _page(connection, _BY_ACCOUNT, parameters, filters, limit, cursor, f"feedback by {chain_id}:{client}")


def _page(  # noqa: PLR0913, PLR0917  # one a filter
    connection: sa.Connection,
    statement: sa.Select[Any],
    parameters: Sequence[dict[str, Any]],
    filters: FeedbackFilter,
    limit: int,
    cursor: str | None,
    kind: str,
) -> Page[Feedback]:
    """Run a statement with several sets of parameters, and return one page of the combined feedback."""
    require_limit(limit)
    values = {name: value for name in _FILTERED if (value := getattr(filters, name)) is not None}
    listed = _listed(statement, tuple(values), filters.include_revoked, filters.blind is not None, cursor is None)
    if cursor is not None:
        values |= dict(zip(_LAST, decode_cursor(kind, cursor, int, int), strict=True))
    rows: list[tuple[Any, ...]] = []
    for parameter in parameters:
        rows += listed.all(connection, {**parameter, **values, "limit": limit + 1})
    rows.sort(key=itemgetter(*_PLACE), reverse=True)
    return page_of(
        rows[: limit + 1], limit, feedback_of_row, lambda row: encode_cursor(kind, *(row[place] for place in _PLACE))
    )


_PLACE: Final = tuple([column.name for column in SELECTION.selected_columns].index(part.name) for part in _ORDER)
"""The positions of the block number and log index in a `SELECTION` row."""

_FILTERED: Final = {"tag1": VIEW.c.tag1, "tag2": VIEW.c.tag2, "client": VIEW.c.client_address}
_LAST: Final = ("last_block", "last_index")
"""The names of the parameters for a cursor's position."""


@cache
def _listed(
    statement: sa.Select[Any], filters: tuple[str, ...], include_revoked: bool, only_blind: bool, is_first: bool
) -> Prepared:
    """Return a statement with conditions for the given filters. There are 64 variants of each statement."""
    query = statement.where(*(_bound(name, _FILTERED[name]) for name in filters))
    if not include_revoked:
        query = query.where(VIEW.c.is_revoked.is_(False))
    if only_blind:
        query = query.where(VIEW.c.is_blind.is_(True))
    if not is_first:
        last = sa.tuple_(*(sa.bindparam(name, type_=sa.BigInteger) for name in _LAST))
        query = query.where(sa.tuple_(*_ORDER) < last)
    newest = query.order_by(*(place.desc() for place in _ORDER))
    return Prepared(newest.limit(sa.bindparam("limit", type_=sa.BigInteger)))


def feedback(connection: sa.Connection, key: AgentKey, client: str, feedback_index: int) -> tuple[Feedback, ...]:
    """Return the feedback entry from each of the agent's reputation registries that has one."""
    columns = VIEW.c
    is_requested = columns.client_address == client, columns.feedback_index == feedback_index
    statement = SELECTION.where(*key.in_registries(columns), *is_requested)
    rows = connection.execute(statement.order_by(*(column.desc() for column in _ORDER)).limit(100))
    return tuple(feedback_of_row(row) for row in rows)


def feedback_of_row(row: Sequence[Any]) -> Feedback:
    """Convert a row to a feedback entry."""
    chain_id, agent_id, registry, client, index, value, decimals, tag1, tag2, endpoint, uri, *rest = row
    hash_, is_revoked, revoked_block, is_blind, block, log_index, time, transaction, state, *content = rest
    agent = f"{chain_id}:{agent_id}"
    values: tuple[Any, ...] = (
        *(_feedback_id(agent, client, index), agent, agent_id, registry, client, index, exact(value, decimals)),
        *(tag1, tag2, endpoint, uri, hexadecimal(hash_), bool(is_revoked), revoked_block, bool(is_blind)),
        *place_values(block, log_index, time, transaction),
        None if state is None else FileContent(state, *content),
    )
    return Feedback(*values)


def _feedback_id(agent: str, client: str, index: int) -> str:
    """Return the textual id. Feedback with index 0, which third-party registries may emit, has no textual id."""
    # `FeedbackId` would check again what the tables guarantee: checksummed addresses, and numbers within their ranges.
    return f"{agent}:{client}:{index - 1}" if index else f"{agent}:{client}:"


@dataclass(frozen=True, slots=True)
class Response:
    """A response to feedback. Anyone can respond.

    Attributes:
        feedback: The textual id of the feedback.
        responder: The address that responded.
        uri: The URI of the response.
        hash: The on-chain hash of the file at the URI; None if there is none.
        log_index: The response's position in the block.
        time: The block time, in Unix seconds.
    """

    feedback: str
    registry: str
    responder: str
    uri: str
    hash: str | None
    block: int
    log_index: int
    time: int
    transaction: str


def responses_of(  # noqa: PLR0913  # one a filter
    connection: sa.Connection,
    key: AgentKey,
    client: str | None = None,
    feedback_index: int | None = None,
    *,
    limit: int = 20,
    cursor: str | None = None,
) -> Page[Response]:
    """Return the responses to the feedback on an agent, newest first."""
    columns, agent = schema.EVENT_TABLES[ResponseAppended].c, key.id
    names = ("client_address", "feedback_index", "registry", "responder", "response_uri", "response_hash")
    statement = sa.select(*event_columns(columns, *names)).where(*key.in_registries(columns))
    if client is not None:
        statement = statement.where(columns.client_address == client)
    if feedback_index is not None:
        statement = statement.where(columns.feedback_index == feedback_index)

    def convert(row: sa.Row[*tuple[Any, ...]]) -> Response:
        rater, index, registry, responder, uri, hash_, *place = row
        answered = _feedback_id(agent, rater, index), registry, responder
        return Response(*answered, uri, hexadecimal(hash_), *place_values(*place))

    order, kind = (columns.block_number, columns.log_index), f"responses of {key.global_id}"
    return newest_page(connection, statement, order, convert, kind=kind, limit=limit, cursor=cursor)
