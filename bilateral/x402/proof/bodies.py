"""Bodies as applications see them: without their `Content-Encoding`, and within a limit."""

import zlib
from typing import Final

import brotli

from bilateral.x402.proof.errors import BodyTooLargeError, UnsupportedBodyError

MAX_BODY: Final = 32 * 1024 * 1024
"""The default limit of a signed body, in bytes, after decoding."""

SLOW_BYTES: Final = 256 * 1024
"""The size of both bodies from which event loops hash them in a thread: about a millisecond."""

STREAMS: Final = frozenset(
    f"application/{name}"
    for name in ("json-seq", "jsonl", "jsonlines", "ndjson", "stream+json", "x-jsonlines", "x-ndjson")
) | {"multipart/x-mixed-replace", "text/event-stream"}
"""Content types of responses that clients read while they arrive."""

_MAX_ENCODINGS: Final = 3
"""Encodings of one body: honest servers use one, and each may multiply the bytes."""


def _inflate(body: bytes, encoding: str, room: int) -> tuple[bytes, bool]:
    """Decode gzip and deflate. Some servers call raw deflate data `deflate`, too."""
    is_zlib = len(body) > 1 and body[0] & 0x0F == zlib.DEFLATED and int.from_bytes(body[:2]) % 31 == 0
    gzip, plain, raw = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS
    inner = zlib.decompressobj(gzip if encoding.endswith("gzip") else plain if is_zlib else raw)
    text = inner.decompress(body, room)
    return text, inner.eof and not inner.unused_data


def _expand(body: bytes, _encoding: str, room: int) -> tuple[bytes, bool]:
    """Decode Brotli."""
    inner = brotli.Decompressor()
    text = bytes(inner.process(body, output_buffer_limit=room))
    while len(text) < room and not inner.can_accept_more_data():
        text += inner.process(b"", output_buffer_limit=room - len(text))
    return text, bool(inner.is_finished())


_DECODERS: Final = {"gzip": _inflate, "x-gzip": _inflate, "deflate": _inflate, "br": _expand}
"""The decoder of each encoding: at most so many bytes, and whether the body ended."""


def is_stream(content_type: str) -> bool:
    """Tell whether a `Content-Type` is that of a stream."""
    return content_type.partition(";")[0].strip().lower() in STREAMS


def decode_body(body: bytes, content_encoding: str, limit: int = MAX_BODY) -> bytes:
    """Remove the content encodings of a body."""
    if len(body) > limit:
        raise BodyTooLargeError(limit)
    encodings = [part.strip().lower() for part in content_encoding.split(",")]
    encodings = [encoding for encoding in encodings if encoding not in {"", "identity"}]
    if len(encodings) > _MAX_ENCODINGS:
        raise UnsupportedBodyError(content_encoding[:80], f"more than {_MAX_ENCODINGS} encodings")
    for encoding in reversed(encodings):
        body = _decoded(body, encoding, limit)
    return body


def _decoded(body: bytes, encoding: str, limit: int) -> bytes:
    decode = _DECODERS.get(encoding)
    if decode is None:
        raise UnsupportedBodyError(encoding[:80], "supported are gzip, deflate and br")
    if not body:
        return b""  # servers label empty bodies too
    try:
        text, is_finished = decode(body, encoding, limit + 1)
    except (zlib.error, brotli.error) as error:
        raise UnsupportedBodyError(encoding, f"the body is damaged: {error}") from None
    if len(text) > limit:
        raise BodyTooLargeError(limit)
    if not is_finished:
        raise UnsupportedBodyError(encoding, "the body is cut off, or more data follows it")
    return text
