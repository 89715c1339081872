"""Decompression of strangers' documents, within a limit of bytes."""

from __future__ import annotations

import zlib
from typing import Final

from bilateral.core.errors import DocumentTooLargeError

GZIP: Final = b"\x1f\x8b"
"""The first bytes of gzip, with which no JSON begins."""

_EITHER: Final = 32 + zlib.MAX_WBITS  # gzip or zlib, as the first bytes say
_RAW: Final = -zlib.MAX_WBITS  # without a header, as some servers send what they call deflate


def unpacked(content: bytes, limit: int) -> bytes | None:
    """Decompress gzip or deflate. Never holds more than the limit and one byte."""
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
