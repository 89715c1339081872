"""Documents inside their own URI (RFC 2397): `data:application/json;base64,…`, which the chain keeps whole."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final
from urllib.parse import unquote_to_bytes

from bilateral.errors import DocumentTooLargeError, UnsupportedUriError
from bilateral.text import quoted

_PREFIX: Final = "data:application/json;base64,"
_SPACE = re.compile(r"[ \t\r\n]+")


def encode_data_uri(content: bytes) -> str:
    """Put a JSON document into a URI, in the form that ERC-8004 shows."""
    return _PREFIX + base64.b64encode(content).decode()


def decode_data_uri(uri: str, limit: int) -> bytes:
    """Take the document out of its URI.

    Args:
        uri: A `data:` URI of any media type, in base 64 (of either alphabet, padded or not) or percent-encoded.
        limit: The size of the document at most, in bytes.

    Raises:
        UnsupportedUriError: It is none.
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
    """Decode base 64 strictly, but for the alphabet, white space and padding, in which writers differ."""
    try:
        text = _SPACE.sub("", payload.decode("ascii")).replace("-", "+").replace("_", "/").rstrip("=")
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (UnicodeDecodeError, binascii.Error):
        raise UnsupportedUriError(f"{quoted(uri)} is not base 64") from None
