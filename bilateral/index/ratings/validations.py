"""Validation requests for agents, and the validators' responses."""

from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import BigInteger, ColumnElement, Connection, Integer, Row, Text, column, select, table

from bilateral.core.events import ValidationRequest, ValidationResponse
from bilateral.index.log import tables as schema
from bilateral.index.log.columns import ADDRESS, HASH, WideInteger
from bilateral.index.ratings.tables import event_columns, place_values
from bilateral.index.reading.pages import Page, after, decode_cursor, encode_cursor, page_of, require_limit
from bilateral.index.reading.registries import AgentKey, Wide, hexadecimal

_MOST_ANSWERS: Final = 100  # a request has one validator, which may respond any number of times

VIEW: Final = table(
    "validation",
    *(column(name, BigInteger) for name in ("chain_id", "requested_block", "requested_at")),
    *(column(name, BigInteger) for name in ("answered_block", "answered_at")),
    *(column(name, HASH) for name in ("request_hash", "response_hash")),
    *(column(name, Text) for name in ("request_uri", "response_uri", "tag")),
    *(column(name, ADDRESS) for name in ("registry", "validator_address")),
    column("agent_id", WideInteger),
    column("response", Integer),
)


@dataclass(frozen=True, slots=True)
class Validation:
    """A validation request, with its latest response.

    Attributes:
        request_hash: The hash that identifies the request.
        agent: The short id of the agent.
        agent_id: The agent's token id.
        validator: The validator's address.
        request_uri: The URI of the material to validate.
        requested_block: The block of the request.
        requested_at: The time of the request's block, in Unix seconds.
        response: The response, 0 to 100; None if the validator has not responded yet.
        response_uri: The URI of the evidence.
        response_hash: The on-chain hash of the evidence; None if there is none.
        tag: The tag with which the validator categorises the response.
        answered_block: The block of the latest response.
        answered_at: The time of the latest response's block, in Unix seconds.
    """

    request_hash: str
    agent: str
    agent_id: Wide
    registry: str
    validator: str
    request_uri: str
    requested_block: int
    requested_at: int
    response: int | None
    response_uri: str | None
    response_hash: str | None
    tag: str | None
    answered_block: int | None
    answered_at: int | None


_COLUMNS: Final = (
    *("request_hash", "chain_id", "agent_id", "registry", "validator_address", "request_uri"),
    *("requested_block", "requested_at", "response", "response_uri", "response_hash", "tag"),
    *("answered_block", "answered_at"),
)
_ORDER: Final = (VIEW.c.requested_block, VIEW.c.request_hash)


def validations_of(
    connection: Connection, key: AgentKey, *, limit: int = 20, cursor: str | None = None
) -> Page[Validation]:
    """Return an agent's validations, newest request first."""
    return _page(connection, key.in_registries(VIEW.c), limit, cursor, f"validations of {key.global_id}")


def validations_by(
    connection: Connection, chain_id: int, validator: str, *, limit: int = 20, cursor: str | None = None
) -> Page[Validation]:
    """Return the requests to a validator on a chain, newest first."""
    conditions = [VIEW.c.chain_id == chain_id, VIEW.c.validator_address == validator]
    return _page(connection, conditions, limit, cursor, f"validations by {chain_id}:{validator}")


def _page(
    connection: Connection, conditions: list[ColumnElement[bool]], limit: int, cursor: str | None, kind: str
) -> Page[Validation]:
    require_limit(limit)
    statement = select(*(VIEW.c[name] for name in _COLUMNS)).where(*conditions)
    if cursor is not None:
        statement = after(statement, _ORDER, decode_cursor(kind, cursor, int, bytes), descending=True)
    rows = connection.execute(statement.order_by(*(column.desc() for column in _ORDER)).limit(limit + 1)).all()
    return page_of(rows, limit, _validation, lambda row: encode_cursor(kind, row.requested_block, row.request_hash))


def _validation(row: Row[*tuple[Any, ...]]) -> Validation:
    request, chain_id, agent_id, registry, validator, uri, block, time, response, response_uri, hash_, *rest = row
    requested = f"0x{request.hex()}", f"{chain_id}:{agent_id}", agent_id, registry, validator, uri, block, time
    return Validation(*requested, response, response_uri, hexadecimal(hash_), *rest)


@dataclass(frozen=True, slots=True)
class ValidationAnswer:
    """A response to a validation request.

    Attributes:
        validator: The validator's address.
        response: The response, 0 to 100.
        uri: The URI of the evidence.
        hash: The on-chain hash of the evidence; None if there is none.
        tag: The tag with which the validator categorises the response.
        log_index: The response's position in the block.
        time: The block time, in Unix seconds.
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
    """A validation request with the responses to it.

    Attributes:
        request_hash: The hash that identifies the request.
        agent: The short id of the agent.
        validator: The address of the validator.
        uri: The URI of the material to validate.
        log_index: The request's position in the block.
        time: The block time, in Unix seconds.
        answers: Up to 100 of the newest responses, newest first.
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


def validation_records(connection: Connection, chain_id: int, request: bytes) -> tuple[ValidationRecord, ...]:
    """Return the validation requests with a given hash, at most one per registry."""
    columns = schema.EVENT_TABLES[ValidationRequest].c
    registries = select(schema.registry.c.address).where(schema.registry.c.chain_id == chain_id)
    rows = connection.execute(
        select(*event_columns(columns, "agent_id", "registry", "validator_address", "request_uri"))
        .where(columns.chain_id == chain_id, columns.registry.in_(registries), columns.request_hash == request)
        .order_by(columns.block_number, columns.log_index)
    )
    records = []
    for agent_id, registry, validator, uri, *place in rows.all():
        about = f"0x{request.hex()}", f"{chain_id}:{agent_id}", registry, validator, uri
        answers = _answers(connection, chain_id, registry, request)
        records.append(ValidationRecord(*about, *(*place_values(*place), answers)))
    return tuple(records)


def _answers(connection: Connection, chain_id: int, registry: str, request: bytes) -> tuple[ValidationAnswer, ...]:
    columns = schema.EVENT_TABLES[ValidationResponse].c
    rows = connection.execute(
        select(*event_columns(columns, "validator_address", "response", "response_uri", "response_hash", "tag"))
        .where(columns.chain_id == chain_id, columns.registry == registry, columns.request_hash == request)
        .order_by(columns.block_number.desc(), columns.log_index.desc())
        .limit(_MOST_ANSWERS)
    )
    return tuple(
        ValidationAnswer(validator, response, uri, hexadecimal(hash_), tag, *place_values(*place))
        for validator, response, uri, hash_, tag, *place in rows
    )
