"""Numbers and hashes in the form of JSON-RPC."""

from __future__ import annotations

import re
from binascii import unhexlify
from functools import lru_cache
from typing import Final

from bilateral.core.errors import MalformedNodeAnswerError

_QUANTITY: Final = re.compile(r"0x[0-9a-fA-F]{1,64}")
_WORD: Final = re.compile(r"0x[0-9a-fA-F]{64}")
_MAX_NUMBER: Final = 2**63 - 1  # the greatest number of a BIGINT


def quantity(value: str | int) -> int:
    """Read a number: 0x and digits, padded or not, or a JSON number, as some nodes write it."""
    number = value if isinstance(value, int) else int(value, 16) if _QUANTITY.fullmatch(value) else -1
    if not 0 <= number <= _MAX_NUMBER:
        text = repr(value)[:80]
        raise MalformedNodeAnswerError(f"the node answers with {text} instead of a number of at most 63 bits")
    return number


def optional_quantity(value: object) -> int | None:
    """Read a number that a node may omit or write in any form; None if it cannot be read."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    try:
        return quantity(value)
    except MalformedNodeAnswerError:
        return None


def amount(text: str) -> int:
    """Read a number of up to 256 bits, such as a balance."""
    if not _QUANTITY.fullmatch(text):
        raise MalformedNodeAnswerError(f"the node answers with {text[:80]!r} instead of a number of at most 256 bits")
    return int(text, 16)


small_quantity = lru_cache(maxsize=1 << 12)(quantity)
"""The same, remembered: logs share blocks, times and indices."""


def word(text: str) -> bytes:
    """Read 32 bytes."""
    if not _WORD.fullmatch(text):
        raise MalformedNodeAnswerError("the node answers with another form of hash or topic than 32 bytes")
    return unhexlify(text[2:])
