"""Pages of long lists. A cursor identifies the last entry of a page, so new blocks do not shift the next page."""

import json
import math
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from sqlalchemy import ColumnElement, Connection, Select, tuple_

from bilateral.core.errors import FormattedError, InvalidArgumentError

T = TypeVar("T")
R = TypeVar("R")

DEFAULT_LIMIT: Final = 20  # entries that a person can read; programs request more
MAX_LIMIT: Final = 1_000
"""The maximum number of entries per page."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_HEXADECIMAL: Final = re.compile("(?:[0-9a-f]{2})*")
_MAX_CURSOR: Final = 1_200  # characters: two texts of `MAX_KEY_BYTES` in base64, and numbers


class Wide(int):
    """The type of values of up to 256 bits in a cursor, such as agents' ids. `int` is for values of up to 63 bits."""


class Small(int):
    """The type of values of up to 31 bits in a cursor, such as an event's position in the block."""


class InvalidCursorError(FormattedError, InvalidArgumentError):
    """A cursor was not issued for this list."""

    reason = "invalid_cursor"
    template = "the cursor belongs to a different list: pass the previous page's `next` unchanged"


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A part of a list.

    Attributes:
        items: The entries.
        next: The cursor of the next page; None at the end of the list.
    """

    items: tuple[T, ...]
    next: str | None


def encode_cursor(kind: str, *key: str | float | bytes) -> str:
    """Return the cursor for an entry."""
    displayed = [part.hex() if isinstance(part, bytes) else part for part in key]
    text = json.dumps([kind, *displayed], separators=(",", ":"), ensure_ascii=False)
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_cursor(kind: str, cursor: str, *types: type) -> tuple[Any, ...]:
    """Decode a cursor, which is untrusted."""
    try:
        decoded = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))) if len(cursor) <= _MAX_CURSOR else 0
    except (ValueError, Base64Error, RecursionError):
        raise InvalidCursorError from None
    if not isinstance(decoded, list) or len(decoded) != len(types) + 1 or decoded[0] != kind:
        raise InvalidCursorError
    if not all(map(_is_of, decoded[1:], types)):
        raise InvalidCursorError
    return tuple(_CONVERSIONS[expected](part) for part, expected in zip(decoded[1:], types, strict=True))


def after(
    statement: Select[Any], columns: Sequence[ColumnElement[Any]], key: Sequence[Any], *, descending: bool
) -> Select[Any]:
    """Return a statement for the entries after a cursor."""
    place, last = tuple_(*columns), tuple_(*key, types=[column.type for column in columns])
    return statement.where(place < last if descending else place > last)


def page_of(rows: Sequence[R], limit: int, convert: Callable[[R], T], cursor_of: Callable[[R], str]) -> Page[T]:
    """Return a page with the given rows, and the cursor of the next page."""
    displayed = rows[:limit]
    return Page(tuple(convert(row) for row in displayed), cursor_of(displayed[-1]) if len(rows) > limit else None)


def newest_page(  # noqa: PLR0913  # one a part of the list
    connection: Connection,
    statement: Select[Any],
    place: Sequence[ColumnElement[Any]],
    convert: Callable[[Any], T],
    *,
    kind: str,
    limit: int,
    cursor: str | None,
) -> Page[T]:
    """Return a page of events, newest first."""
    require_limit(limit)
    if cursor is not None:
        statement = after(statement, place, decode_cursor(kind, cursor, int, Small), descending=True)
    rows = connection.execute(statement.order_by(*(column.desc() for column in place)).limit(limit + 1)).all()
    return page_of(rows, limit, convert, lambda row: encode_cursor(kind, row.block_number, row.log_index))


def require_limit(limit: int) -> int:
    """Check that a caller may request this number of entries."""
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidArgumentError(f"limit {limit} is out of range 1..{MAX_LIMIT}")
    return limit


def _is_of(value: object, expected: type) -> bool:
    """Check the type and range of a cursor's value, because an invalid value would cause a database error."""
    if expected is bytes:
        return isinstance(value, str) and _HEXADECIMAL.fullmatch(value) is not None
    if expected is str:
        return isinstance(value, str) and "\0" not in value and not _SURROGATE.search(value)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    if expected is float:
        try:
            return math.isfinite(float(value))
        except OverflowError:
            return False
    return isinstance(value, int) and value.bit_length() <= _BITS[expected]


_BITS: Final[dict[type, int]] = {int: 63, Small: 31, Wide: 256}  # for a BIGINT, an INTEGER and an agent's id
_CONVERSIONS: Final[dict[type, Callable[[Any], Any]]] = {
    **dict.fromkeys((int, Wide, Small), int), float: float, str: str, bytes: bytes.fromhex,
}  # fmt: skip
"""Conversions for bytes, which JSON cannot represent, and for floats such as 1.0, which would become integers."""
