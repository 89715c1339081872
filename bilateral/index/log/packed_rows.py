"""Rows as bytes, for tables that keep rows of other tables."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from sqlalchemy import Table

from bilateral.index.log.columns import WideInteger, python_integer, sqlite_integer
from bilateral.index.log.rows import Row

_ENCODER: Final = msgspec.msgpack.Encoder()


def packed(row: Row) -> bytes:
    """Return a row as bytes. MessagePack has 64 bits for an integer, so larger ones take their form on SQLite."""
    try:
        return _ENCODER.encode(row)
    except OverflowError:
        return _ENCODER.encode([sqlite_integer(cell) if type(cell) is int else cell for cell in row])


def unpacked(table: Table, content: bytes) -> Row:
    """Return the row, or the key, that `packed` made bytes of."""
    values: list[Any] = msgspec.msgpack.decode(content)
    return tuple(
        python_integer(value) if value is not None and isinstance(column.type, WideInteger) else value
        for value, column in zip(values, table.c, strict=False)
    )
