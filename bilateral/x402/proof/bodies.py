"""Bodies as applications see them: without their `Content-Encoding`, and within a limit."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Final, Protocol

import brotli

from bilateral.x402.proof.errors import BodyTooLargeError, UnsupportedBodyError

MAX_BODY: Final = 32 * 1024 * 1024
"""The default limit of a signed body, in bytes, after decoding."""

SLOW_BYTES: Final = 256 * 1024
"""The size of both bodies from which event loops hash them in a thread: about a millisecond."""

STREAMS: Final = frozenset(
    {
        "application/json-seq",
        "application/jsonl",
        "application/jsonlines",
        "application/ndjson",
        "application/stream+json",
        "application/x-jsonlines",
        "application/x-ndjson",
        "multipart/x-mixed-replace",
        "text/event-stream",
    }
)
"""Content types of responses that clients read while they arrive."""

_MAX_ENCODINGS: Final = 3
"""Encodings of one body: honest servers use one, and each may multiply the bytes."""


class _Decoder(Protocol):
    """A decoder of one encoding that returns at most so many bytes at a time."""

    def decode(self, data: bytes, room: int) -> bytes: ...

    @property
    def is_finished(self) -> bool: ...


class _Zlib:
    """Decodes gzip and deflate. Some servers call raw deflate data `deflate`, too."""

    def __init__(self, data: bytes, encoding: str) -> None:
        is_zlib = len(data) > 1 and data[0] & 0x0F == zlib.DEFLATED and int.from_bytes(data[:2]) % 31 == 0
        gzip, plain, raw = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS
        self._inner = zlib.decompressobj(gzip if encoding == "gzip" else plain if is_zlib else raw)

    def decode(self, data: bytes, room: int) -> bytes:
        return self._inner.decompress(data, room)

    @property
    def is_finished(self) -> bool:
        return self._inner.eof and not self._inner.unused_data


class _Brotli:
    """Decodes Brotli."""

    def __init__(self, _data: bytes, _encoding: str) -> None:
        self._inner = brotli.Decompressor()

    def decode(self, data: bytes, room: int) -> bytes:
        chunk = bytes(self._inner.process(data, output_buffer_limit=room))
        while len(chunk) < room and not self._inner.can_accept_more_data():
            chunk += self._inner.process(b"", output_buffer_limit=room - len(chunk))
        return chunk

    @property
    def is_finished(self) -> bool:
        return bool(self._inner.is_finished())


_DECODERS: Final[dict[str, Callable[[bytes, str], _Decoder]]] = {
    "gzip": _Zlib,
    "x-gzip": _Zlib,
    "deflate": _Zlib,
    "br": _Brotli,
}


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
    make = _DECODERS.get(encoding)
    if make is None:
        raise UnsupportedBodyError(encoding[:80], "supported are gzip, deflate and br")
    if not body:
        return b""  # servers label empty bodies too
    decoder = make(body, encoding.removeprefix("x-"))
    try:
        text = decoder.decode(body, limit + 1)
    except (zlib.error, brotli.error) as error:
        raise UnsupportedBodyError(encoding, f"the body is damaged: {error}") from None
    if len(text) > limit:
        raise BodyTooLargeError(limit)
    if not decoder.is_finished:
        raise UnsupportedBodyError(encoding, "the body is cut off, or more data follows it")
    return text
