"""Texts of callers, before a database compares them."""

from __future__ import annotations

from typing import TypeVar

from bilateral.core.errors import InvalidArgumentError

T = TypeVar("T", str, str | None)


def require_storable(text: T) -> T:
    """Check that a database can compare a text.

    Args:
        text: The text, or None.

    Raises:
        InvalidArgumentError: It has NUL, which PostgreSQL cannot store, or half of a surrogate pair.
    """
    if text is not None and ("\0" in text or any("\ud800" <= character <= "\udfff" for character in text)):
        raise InvalidArgumentError("a text has a character that no record can have: U+0000 or a lone surrogate")
    return text
