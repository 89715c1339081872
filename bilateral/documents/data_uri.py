"""Documents contained in their own URI, and thus on chain: `data:application/json;base64,…` (RFC 2397) and variants.

Agents register their files in many forms: as almost valid data URIs, as JSON without a prefix, or as base64 without a
prefix. Every unambiguous form is accepted.
"""

import base64
import binascii
import json
import re
import zlib
from typing import Final
from urllib.parse import unquote_to_bytes

from bilateral.core.errors import DocumentTooLargeError, UnsupportedUriError
from bilateral.core.text import quoted

_JSON: Final = "application/json"
_BYTES: Final = "application/octet-stream"

_PARTS: Final = re.compile(r"data:\s*([^,;{\s]*(?:\s*;\s*[^,;{\s]*)*)\s*(?:,|\s|(?=\{))(.*)", re.IGNORECASE | re.DOTALL)
"""A pattern for the media type with its parameters, and the content after a comma or the space that some authors use
instead."""

_BARE_JSON: Final = re.compile(r"\{|%7B", re.IGNORECASE)
_BARE_BASE64: Final = re.compile(r"(?:e[w-z0-9+/_-]|H4sI)[A-Za-z0-9+/_\s-]*={0,2}")  # a JSON object, or gzip data
_SPACE: Final = re.compile(r"[ \t\r\n]+")
_PACKINGS: Final = {"enc=gzip", "enc=deflate", "encoding=gzip", "encoding=deflate", "gzip"}

_GZIP: Final = b"\x1f\x8b"
"""The first bytes of gzip data. JSON never starts with these bytes."""

_EITHER: Final = 32 + zlib.MAX_WBITS  # gzip or zlib, detected from the first bytes
_RAW: Final = -zlib.MAX_WBITS  # without a header, which some servers send as "deflate"


def unpacked(content: bytes, limit: int) -> bytes | None:
    """Decompress gzip or deflate data, stopping as soon as the limit is exceeded; None if the data is neither."""
    for window in (_EITHER, _RAW):
        decoder = zlib.decompressobj(window)
        try:
            result = decoder.decompress(content, limit + 1)
        except zlib.error:
            continue
        if len(result) > limit:
            raise DocumentTooLargeError(limit)
        if decoder.eof:
            return result
    return None


def is_inline(uri: str) -> bool:
    """Return True if a URI, or a string used in place of a URI, contains the document itself."""
    return uri[:5].lower() == "data:" or bool(_BARE_JSON.match(uri) or _BARE_BASE64.fullmatch(uri))


def encode_data_uri(content: bytes) -> str:
    """Return a data URI with a document, as in ERC-8004. The media type is generic unless the document is JSON."""
    kind = _JSON if _is_json(content) else _BYTES
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def decode_data_uri(uri: str, limit: int) -> bytes:
    """Return the document in a data URI."""
    labels, payload = {"base64"}, uri
    if uri[:5].lower() == "data:":
        parts = _PARTS.fullmatch(uri)
        if parts is None:
            raise UnsupportedUriError(f"{quoted(uri)} is not a data URI: it has no comma")
        labels, payload = {label.strip().lower() for label in parts[1].split(";")}, parts[2].strip()
    if len(payload) > 4 * limit + 4:  # no encoding of a document within the limit is longer
        raise DocumentTooLargeError(limit)
    content = _content(uri, payload, limit, is_base64="base64" in labels)
    if labels & _PACKINGS or content[:2] == _GZIP:
        result = unpacked(content, limit)
        if result is None and not _is_json(content):
            raise UnsupportedUriError(f"{quoted(uri)} does not contain the compressed document that it declares")
        content = content if result is None else result
    if len(content) > limit:
        raise DocumentTooLargeError(limit)
    return content


def _content(uri: str, payload: str, limit: int, *, is_base64: bool) -> bytes:
    """Decode a data URI's content by its actual encoding, if that is unambiguous, rather than by the declared one."""
    plain, unquoted = payload.encode("utf-8", "replace"), unquote_to_bytes(payload)
    if plain[:1] == b"{" and (is_base64 or b"%" not in plain):  # mislabelled text is not percent-encoded either
        return plain if _is_json(plain) else unquoted
    if not is_base64 and unquoted and _BARE_BASE64.fullmatch(payload):
        try:
            content = _from_base64(uri, unquoted, limit)
        except UnsupportedUriError:
            return unquoted
        return content if _is_document(content, limit) else unquoted
    return _from_base64(uri, unquoted, limit) if is_base64 and unquoted.lstrip()[:1] != b"{" else unquoted


def _from_base64(uri: str, payload: bytes, limit: int) -> bytes:
    """Decode base64 strictly, but accept both alphabets and any white space and padding, because all are in use."""
    try:
        text = payload.decode("ascii").strip()
        readings = [_SPACE.sub("", text)]
        if " " in text:
            readings.append(_SPACE.sub("", text.replace(" ", "+")))
        contents = [content for reading in readings if (content := _strictly(reading)) is not None]
        several = contents if len(contents) > 1 else ()
        return next((content for content in several if _is_document(content, limit)), contents[0])
    except (UnicodeDecodeError, IndexError):
        raise UnsupportedUriError(f"{quoted(uri)} is not base 64") from None


def _strictly(text: str) -> bytes | None:
    text = text.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        return None


def _is_document(content: bytes, limit: int) -> bool:
    return _is_json(content) or (content[:2] == _GZIP and unpacked(content, limit) is not None)


def _is_json(content: bytes) -> bool:
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return False
    return True
