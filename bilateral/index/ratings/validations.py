"""Validation requests for agents, and the validators' answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import BigInteger, Connection, Integer, Row, Select, Text, column, select, table

from bilateral.index.log.columns import ADDRESS, HASH, WideInteger
from bilateral.index.reading.pages import Page, after, decode_cursor, encode_cursor, page_of, require_limit
from bilateral.index.reading.registries import AgentKey
from bilateral.index.reading.values import Wide, hexadecimal

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
    """A validation request, with its last answer.

    Attributes:
        request_hash: The request's name.
        agent: The short id of the agent.
        agent_id: The id of its token.
        validator: The validator's address.
        request_uri: The URI of the validator's material.
        requested_block: The block of the request.
        requested_at: The time of that block, Unix seconds.
        response: 0 to 100; None without an answer.
        response_uri: The URI of the evidence.
        response_hash: The hash of the evidence on chain; None without one.
        tag: The validator's category.
        answered_block: The block of the last answer.
        answered_at: The time of that block, Unix seconds.
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


_ORDER: Final = (VIEW.c.requested_block, VIEW.c.request_hash)


def validations_of(
    connection: Connection, key: AgentKey, *, limit: int = 20, cursor: str | None = None
) -> Page[Validation]:
    """Return the validations of an agent, the newest request first."""
    columns = VIEW.c
    statement = _selection().where(*key.in_registries(columns))
    return _page(connection, statement, limit, cursor, f"validations of {key.global_id}")


def validations_by(
    connection: Connection, chain_id: int, validator: str, *, limit: int = 20, cursor: str | None = None
) -> Page[Validation]:
    """Return the requests to a validator on a chain, the newest first."""
    statement = _selection().where(VIEW.c.chain_id == chain_id, VIEW.c.validator_address == validator)
    return _page(connection, statement, limit, cursor, f"validations by {chain_id}:{validator}")


def _selection() -> Select[Any]:
    """Return the statement for validations."""
    asked = ("request_hash", "chain_id", "agent_id", "registry", "validator_address", "request_uri")
    times = ("requested_block", "requested_at")
    answered = ("response", "response_uri", "response_hash", "tag", "answered_block", "answered_at")
    return select(*(VIEW.c[name] for name in (*asked, *times, *answered)))


def _page(
    connection: Connection, statement: Select[Any], limit: int, cursor: str | None, kind: str
) -> Page[Validation]:
    require_limit(limit)
    if cursor is not None:
        block, request = decode_cursor(kind, cursor, int, bytes)
        statement = after(statement, _ORDER, (block, request), descending=True)
    rows = connection.execute(statement.order_by(*(column.desc() for column in _ORDER)).limit(limit + 1)).all()
    return page_of(rows, limit, _validation, lambda row: encode_cursor(kind, row.requested_block, row.request_hash))


def _validation(row: Row[*tuple[Any, ...]]) -> Validation:
    request, chain_id, agent_id, registry, validator, uri, block, time, response, response_uri, hash_, *rest = row
    values: tuple[Any, ...] = (
        *(f"0x{request.hex()}", f"{chain_id}:{agent_id}", agent_id, registry, validator, uri, block, time),
        *(response, response_uri, hexadecimal(hash_), *rest),
    )
    return Validation(*values)
