"""Headers of x402: JSON objects in base 64, read strictly.

Readers that disagree about a message can be played off against each other. So a name that occurs twice in one object
makes the whole header unreadable.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final

from bilateral.core.errors import MalformedDocumentError
from bilateral.core.text.encoding import decode_object

MAX_HEADER: Final = 64 * 1024
"""The most characters of a header."""


def decode_header(value: str | None) -> dict[str, Any] | None:
    """Decode a header; None if it is missing, malformed or too long."""
    if value is None or len(value) > MAX_HEADER:
        return None
    try:
        return decode_object(base64.b64decode(value, validate=True))
    except (binascii.Error, ValueError, MalformedDocumentError):
        return None
