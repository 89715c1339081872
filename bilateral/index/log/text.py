"""Convert text from the chain to a form that every database can store."""

from hashlib import sha256
from typing import Final

from bilateral.core.text import ChainText

_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"

MAX_KEY_BYTES: Final = 400
"""The maximum length of text in a derived table's key. PostgreSQL indexes reject keys longer than 2,704 bytes."""

_PREFIX_CHARACTERS: Final = 64  # enough to distinguish texts by eye; with the hash, 323 bytes at most


def storable(text: ChainText) -> str:
    """Return a string with U+FFFD in place of NUL, which PostgreSQL cannot store. Invalid UTF-8 is already replaced."""
    return text.replace("\0", _REPLACEMENT) if "\0" in text else str(text)


def is_exact(text: ChainText) -> bool:
    """Check that a text can be stored unchanged, because its bytes are UTF-8 without NUL."""
    return "\0" not in text and (_REPLACEMENT not in text or text.is_valid)


def key_text(text: str) -> str:
    """Return a text in a storable form that is short enough for a table's key."""
    if 4 * len(text) <= MAX_KEY_BYTES or len(raw := text.encode()) <= MAX_KEY_BYTES:
        return text
    return f"{text[:_PREFIX_CHARACTERS]}…{sha256(raw).hexdigest()}"


def padded_text(tag: bytes) -> str:
    """Return the text of a zero-padded tag, as used by authorised feedback."""
    return tag.rstrip(b"\0").decode(errors="replace").replace("\0", _REPLACEMENT)
