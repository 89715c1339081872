"""Documents in their own URI (RFC 2397), `data:application/json;base64,…`, which the chain keeps whole."""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Final
from urllib.parse import unquote_to_bytes

from bilateral.errors import DocumentTooLargeError, UnsupportedUriError
from bilateral.text import quoted

_JSON: Final = "application/json"
_BYTES: Final = "application/octet-stream"
_SPACE = re.compile(r"[ \t\r\n]+")


def encode_data_uri(content: bytes) -> str:
    """Return a URI that holds a document, in the form of ERC-8004. Its media type is that of JSON, or of any bytes."""
    try:
        json.loads(content)
        kind = _JSON
    except (ValueError, RecursionError):
        kind = _BYTES
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def decode_data_uri(uri: str, limit: int) -> bytes:
    """Return the document in a data URI.

    Args:
        uri: A `data:` URI of any media type, in base 64 (of either alphabet, padded or not) or percent-encoded.
        limit: The largest size of the document, in bytes.

    Raises:
        UnsupportedUriError: The text is not a data URI.
        DocumentTooLargeError: The document is larger than the limit.
    """
    scheme, _, rest = uri.partition(":")
    header, comma, payload = rest.partition(",")
    if scheme.lower() != "data" or not comma:
        raise UnsupportedUriError(f"{quoted(uri)} is not a data URI: it has no comma")
    is_base64 = header.lower().endswith(";base64")
    if len(payload) > 4 * limit + 4:  # more than any encoding of so few bytes takes
        raise DocumentTooLargeError(limit)
    content = unquote_to_bytes(payload)
    if is_base64:
        content = _from_base64(uri, content)
    if len(content) > limit:
        raise DocumentTooLargeError(limit)
    return content


def _from_base64(uri: str, payload: bytes) -> bytes:
    """Decode base 64 strictly, except for the alphabet, white space and padding, which differ between writers."""
    try:
        text = _SPACE.sub("", payload.decode("ascii")).replace("-", "+").replace("_", "/").rstrip("=")
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (UnicodeDecodeError, binascii.Error):
        raise UnsupportedUriError(f"{quoted(uri)} is not base 64") from None
