"""Single ratings by their place in the chain, and single validations by their request, with files and answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import Connection, Table, false, select

from bilateral.core.events import NewAuthorizedFeedback, NewFeedback, ValidationRequest, ValidationResponse
from bilateral.index.files import tables as files
from bilateral.index.files.tables import agent_file
from bilateral.index.log import tables as schema
from bilateral.index.ratings.authorized import AuthorizedFeedback, authorized_of_row, authorized_selection
from bilateral.index.ratings.blind import follows_feedback
from bilateral.index.ratings.feedback import SELECTION, VIEW, Feedback, feedback_of_row
from bilateral.index.ratings.queries import SIDES, RatedSide, Rating, rating_of_row, rating_selection
from bilateral.index.reading.registries import AgentKey
from bilateral.index.reading.values import hexadecimal

_MOST_ANSWERS: Final = 100  # a request has one validator, which may answer as often as it likes


@dataclass(frozen=True, slots=True)
class FileEvidence:
    """A file: how it was checked, and the signatures in that of a feedback. All texts are the word of a stranger.

    Attributes:
        state: `waiting`, `loaded`, `malformed` or `failed`.
        integrity: `inline`, `cid`, `hash` or `variant` if the hash holds; None: only the server's word.
        content_hash: The SHA-256 under which the index stores its bytes; None without any.
        size: The number of its bytes.
        interaction_hash: The hash of the request and answer that the file is about.
        agent_signature: The agent's signature in the file; nobody checked it.
        client_signature: The client's signature in the file; nobody checked it.
        payment_from: The payer, by the word of the file of a feedback.
        payment_to: The receiver of that payment.
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


@dataclass(frozen=True, slots=True)
class ValidationAnswer:
    """An answer to a validation request.

    Attributes:
        validator: The validator's address.
        response: 0 to 100.
        uri: The URI of the evidence.
        hash: The hash of the evidence on chain; None without one.
        tag: The validator's category.
        log_index: Its place in the block.
        time: The time of the block, Unix seconds.
    """

    validator: str
    response: int
    uri: str
    hash: str | None
    tag: str
    block: int
    log_index: int
    time: int
    transaction: str


@dataclass(frozen=True, slots=True)
class ValidationRecord:
    """A validation request with all answers to it.

    Attributes:
        request_hash: The request's name.
        agent: The short id of the agent.
        validator: The address that is asked.
        uri: The URI of the validator's material.
        log_index: Its place in the block.
        time: The time of the block, Unix seconds.
        answers: The answers, the newest first: the first 100.
    """

    request_hash: str
    agent: str
    registry: str
    validator: str
    uri: str
    block: int
    log_index: int
    time: int
    transaction: str
    answers: tuple[ValidationAnswer, ...]


Record = Feedback | Rating | AuthorizedFeedback
"""A rating of any kind."""


def rating_at(connection: Connection, chain_id: int, block: int, log_index: int) -> Record | None:
    """Return the rating at a place in the chain."""
    place = (chain_id, block, log_index)
    columns = schema.EVENT_TABLES[NewFeedback].c
    if connection.execute(select(columns.registry).where(*_at(columns, *place))).first() is not None:
        row = connection.execute(SELECTION.where(*_at(VIEW.c, *place))).first()
        return None if row is None else feedback_of_row(row)
    return _rating_by_server(connection, *place) or _authorized(connection, *place)


def file_evidence(connection: Connection, chain_id: int, block: int, log_index: int) -> FileEvidence | None:
    """Return the file that an event names; None if it names none."""
    named = files.file_reference
    return _file(connection, named, *_at(named.c, chain_id, block, log_index))


def registration_evidence(connection: Connection, key: AgentKey) -> FileEvidence | None:
    """Return the registration file that an agent names now; None if it names none, or it is not found yet."""
    names = ("chain_id", "identity_registry", "agent_id")
    return _file(connection, agent_file, *(agent_file.c[name] == getattr(key, name) for name in names))


def _file(connection: Connection, named: Table, *which: Any) -> FileEvidence | None:
    """Return the file that a row of a table names."""
    file, content, read = files.file, files.file_content, files.feedback_file
    tables = (
        named.join(file, file.c.file_id == named.c.file_id)
        .outerjoin(content, content.c.content_hash == file.c.content_hash)
        .outerjoin(read, read.c.content_hash == file.c.content_hash)
    )
    row = connection.execute(
        select(
            *(file.c[name] for name in ("uri", "state", "integrity", "content_hash")),
            content.c.size,
            *(read.c[name] for name in ("interaction_hash", "agent_signature", "client_signature")),
            *(read.c[name] for name in ("payment_from", "payment_to", "payment_chain_id", "payment_transaction")),
        )
        .select_from(tables)
        .where(*which)
    ).first()
    if row is None:
        return None
    uri, state, integrity, hash_, *rest = row
    return FileEvidence(uri, state, integrity, hexadecimal(hash_), *rest)


def validation_records(connection: Connection, chain_id: int, request: bytes) -> tuple[ValidationRecord, ...]:
    """Return the validation requests with a name. Each registry may have one."""
    columns = schema.EVENT_TABLES[ValidationRequest].c
    registries = select(schema.registry.c.address).where(schema.registry.c.chain_id == chain_id)
    rows = connection.execute(
        select(
            *(columns.registry, columns.agent_id, columns.validator_address, columns.request_uri),
            *(columns.block_number, columns.log_index, columns.block_time, columns.transaction_hash),
        )
        .where(columns.chain_id == chain_id, columns.registry.in_(registries), columns.request_hash == request)
        .order_by(columns.block_number, columns.log_index)
    )
    return tuple(
        ValidationRecord(
            *(f"0x{request.hex()}", f"{chain_id}:{agent_id}", registry, validator, uri, block, log_index, time),
            f"0x{transaction.hex()}",
            _answers(connection, chain_id, registry, request),
        )
        for registry, agent_id, validator, uri, block, log_index, time, transaction in rows.all()
    )


def _answers(connection: Connection, chain_id: int, registry: str, request: bytes) -> tuple[ValidationAnswer, ...]:
    columns = schema.EVENT_TABLES[ValidationResponse].c
    rows = connection.execute(
        select(
            *(columns.validator_address, columns.response, columns.response_uri, columns.response_hash, columns.tag),
            *(columns.block_number, columns.log_index, columns.block_time, columns.transaction_hash),
        )
        .where(columns.chain_id == chain_id, columns.registry == registry, columns.request_hash == request)
        .order_by(columns.block_number.desc(), columns.log_index.desc())
        .limit(_MOST_ANSWERS)
    )
    return tuple(
        ValidationAnswer(validator, response, uri, hexadecimal(hash_), tag, block, log_index, time, f"0x{sent.hex()}")
        for validator, response, uri, hash_, tag, block, log_index, time, sent in rows
    )


def _rating_by_server(connection: Connection, chain_id: int, block: int, log_index: int) -> Rating | None:
    """Return a server's rating."""
    for side, (table, _) in SIDES.items():
        is_late = follows_feedback(table, chain=chain_id) if side is RatedSide.CLIENT else false()
        query = rating_selection(side, chain_id).add_columns(is_late)
        row = connection.execute(query.where(*_at(table.c, chain_id, block, log_index))).first()
        if row is not None:
            rating = rating_of_row(row)
            return replace(rating, is_answer=rating.is_answer and not rating.is_blind)
    return None


def _authorized(connection: Connection, chain_id: int, block: int, log_index: int) -> AuthorizedFeedback | None:
    """Return a feedback that the agent's owner authorised."""
    columns = schema.EVENT_TABLES[NewAuthorizedFeedback].c
    row = connection.execute(authorized_selection().where(*_at(columns, chain_id, block, log_index))).first()
    return None if row is None else authorized_of_row(row)


def _at(columns: Any, chain_id: int, block: int, log_index: int) -> tuple[Any, ...]:
    """Return the conditions that select the row of an event."""
    return columns.chain_id == chain_id, columns.block_number == block, columns.log_index == log_index
