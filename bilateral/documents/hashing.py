"""A document's on-chain hash, and the other hashes that authors publish for the same content.

ERC-8004 requires keccak-256 of the file's bytes. Some clients store one serialisation of a document but hash a
different one, so a mismatch alone does not prove that the document was changed.
"""

from __future__ import annotations  # so that error messages can quote the annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any, Final

from eth_hash.auto import keccak

from bilateral.core.errors import HashMismatchError, InvalidArgumentError, MalformedDocumentError
from bilateral.core.text.encoding import decode_object
from bilateral.core.values.arguments import checked

NO_HASH: Final = bytes(32)


def document_hash(content: bytes) -> bytes:
    """Hash a document as ERC-8004 defines it.

    Args:
        content: The bytes that are stored.

    Returns:
        The keccak-256 hash of these bytes, 32 bytes long.
    """
    return keccak(content)


@checked
def verify_hash(content: bytes, expected: bytes) -> bool:
    """Check a document against its on-chain hash.

    Args:
        content: The document.
        expected: The on-chain hash, 32 bytes; all zeros if the author set none, as is common with IPFS.

    Returns:
        True if the hash matches; False if there was no hash to check.

    Raises:
        InvalidArgumentError: The expected hash does not have 32 bytes.
        HashMismatchError: The document has a different hash. If one of the known variants matches, the error identifies
            it.
    """
    if len(expected) != len(NO_HASH):
        raise InvalidArgumentError(f"an expected hash must have {len(NO_HASH)} bytes, not {len(expected)}")
    if expected == NO_HASH:
        return False
    actual = document_hash(content)
    if actual != expected:
        variant = next((name for name, digest in _variants(content) if digest == expected), None)
        raise HashMismatchError(content, expected, actual, variant)
    return True


def _variants(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the names and values of hashes that authors have published instead of the hash of the stored bytes."""
    yield "the same bytes with SHA-256", hashlib.sha256(content).digest()
    yield "the same bytes without trailing white space", keccak(content.rstrip())
    try:
        value = decode_object(content)
    except MalformedDocumentError:
        return
    numbers = _as_javascript(value)
    yield "the compact form (JSON.stringify)", keccak(_dump(numbers))
    yield "the form indented by 2 (JSON.stringify)", keccak(_dump(numbers, indent=2))
    yield "the compact form with sorted names", keccak(_dump(numbers, sort_keys=True))
    yield "agent0-py's form with sorted names", keccak(json.dumps(value, sort_keys=True).encode())
    yield "agent0-ts's form with sorted names", keccak(_dump(_names_of_top_level(numbers), sort_keys=True))


def _dump(value: Any, *, indent: int | None = None, sort_keys: bool = False) -> bytes:
    separators = (",", ":") if indent is None else (",", ": ")
    return json.dumps(value, ensure_ascii=False, separators=separators, indent=indent, sort_keys=sort_keys).encode()


def _as_javascript(value: Any) -> Any:
    """Convert whole-number floats to integers, because JavaScript writes them without a decimal point."""
    if isinstance(value, dict):
        return {name: _as_javascript(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_as_javascript(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e21 else value  # noqa: PLR2004


def _names_of_top_level(value: dict[str, Any]) -> dict[str, Any]:
    """Drop every field of a nested object whose name does not also occur at the top level."""

    def keep(inner: Any) -> Any:
        if isinstance(inner, dict):
            return {name: keep(part) for name, part in inner.items() if name in value}
        return [keep(part) for part in inner] if isinstance(inner, list) else inner

    return {name: keep(inner) for name, inner in value.items()}
