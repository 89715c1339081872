"""Payments that feedback files claim: a row for each feedback whose file names a transaction.

A claim is made by the file's author. It is not compared with the payments in the index.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, delete, insert, literal, null, select, union_all

from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.events import NewAuthorizedFeedback, NewFeedback
from bilateral.core.identifiers import AccountId, checksummed
from bilateral.core.values import MAX_DECIMALS
from bilateral.core.values.bounds import scale_of_tag, share_of_scale
from bilateral.core.values.units import units_of
from bilateral.index.files import tables as files
from bilateral.index.files.tables import Kind, State, payment_claim
from bilateral.index.log import tables as schema
from bilateral.index.log.text import key_text, padded_text

_TRANSACTION: Final = re.compile(r"0x[0-9a-fA-F]{64}")
_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}")
_AT_ONCE: Final = 1_000  # rows in memory, and of one insert


def find_payments(connection: Connection, is_chosen: Callable[[Any], ColumnElement[bool]]) -> None:
    """Find again the payments that the files of some feedback claim.

    Args:
        is_chosen: Returns the condition on the columns of claims, and likewise on those of references.
    """
    connection.execute(delete(payment_claim).where(is_chosen(payment_claim.c)))
    for rows in connection.execute(_query(is_chosen(files.file_reference.c))).partitions(_AT_ONCE):
        claims = [claim for row in rows if (claim := _claim(row)) is not None]
        if claims:
            connection.execute(insert(payment_claim), claims)


def _query(is_chosen: ColumnElement[bool]) -> Any:
    reference, file, read = files.file_reference.c, files.file.c, files.feedback_file.c
    place = ("chain_id", "block_number", "log_index")
    parts = []
    for event, (value, decimals) in _VALUES.items():
        columns = schema.EVENT_TABLES[event].c
        is_open = event is NewFeedback
        parts.append(
            select(
                *(columns[name] for name in (*place, "registry", "agent_id", "client_address")),
                (columns.tag1 if is_open else literal("")).label("open_tag"),
                (null() if is_open else columns.tag1).label("raw_tag"),
                columns[value].label("value"),
                (columns[decimals] if decimals else literal(0)).label("decimals"),
                *(read[name] for name in ("payment_from", "payment_to", "payment_transaction")),
                file.file_id,
                file.integrity,
            ).where(
                is_chosen,
                reference.kind == Kind.FEEDBACK,
                *(columns[name] == reference[name] for name in place),
                file.file_id == reference.file_id,
                file.state == State.LOADED,
                read.content_hash == file.content_hash,
                read.payment_transaction.is_not(None),
            )
        )
    return union_all(*parts)


_VALUES: Final = {NewFeedback: ("value", "value_decimals"), NewAuthorizedFeedback: ("score", None)}
"""The columns of the value and of its decimals, by event."""


def _claim(row: Row[Any]) -> dict[str, Any] | None:
    """Return the row of a claim; None if the file names no transaction, or the value does not count."""
    if not _TRANSACTION.fullmatch(row.payment_transaction) or row.decimals > MAX_DECIMALS:
        return None
    tag = key_text(row.open_tag) if row.raw_tag is None else padded_text(bytes(row.raw_tag))
    scale = scale_of_tag(tag)
    value, decimals = int(row.value), row.decimals
    return {
        **{name: getattr(row, name) for name in ("chain_id", "block_number", "log_index", "registry", "agent_id")},
        "tag": tag,
        "account": row.client_address,
        "share": 0 if scale is None else share_of_scale(value, decimals, scale),
        "units": units_of(value, decimals),
        "payer": _address(row.payment_from),
        "payee": _address(row.payment_to),
        "is_bound": row.integrity is not None,
        "file_id": row.file_id,
    }


def _address(text: str | None) -> str | None:
    """Return an address, alone or within an account id, in checksum form; None if there is none."""
    address = text or ""
    if not _ADDRESS.fullmatch(address):
        try:
            address = AccountId.parse(address, verify_checksum=False).address
        except MalformedIdentifierError:
            return None
    return checksummed(address) if _ADDRESS.fullmatch(address) else None
