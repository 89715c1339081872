"""Strict parsing of untrusted input: the fields of messages, and the decoding of bodies with a `Content-Encoding`."""

import re
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import brotli

from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.identifiers import AccountId, ChainId, GlobalAgentId, TransactionRef
from bilateral.core.text import quoted
from bilateral.x402.proof.errors import BodyTooLargeError, InvalidMessageError, UnsupportedBodyError

T = TypeVar("T")

MAX_TEXT: Final = 256  # characters; the longest usual field, a global id, has about 80
MAX_URI: Final = 2048  # characters; browsers and servers accept this many
MAX_SECONDS: Final = 2**53  # every JSON parser represents smaller integers exactly (RFC 8259, section 6)

_HEX: Final = re.compile(r"(?:0x)?((?:[0-9a-fA-F]{2})+)")


def record(value: Any, name: str) -> Mapping[str, Any]:
    """Return a value after checking that it is a JSON object."""
    if value is None:
        raise InvalidMessageError(name, "missing", "the object is missing")
    if not isinstance(value, dict):
        raise InvalidMessageError(name, "wrong_type", f"expected an object, not {type(value).__name__}")
    return value


def required(fields: Mapping[str, Any], name: str, path: str, kind: type[T], expected: str) -> T:
    """Return a required field of the given type."""
    value = fields.get(name)
    if value is None:
        raise InvalidMessageError(path + name, "missing", "the field is missing")
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InvalidMessageError(path + name, "wrong_type", f"expected {expected}, not {type(value).__name__}")
    return value


def text(fields: Mapping[str, Any], name: str, path: str = "", limit: int = MAX_TEXT) -> str:
    """Return a required field that is a string."""
    value = required(fields, name, path, str, "a text")
    if len(value) > limit:
        raise InvalidMessageError(path + name, "too_long", f"{len(value)} characters exceed the limit of {limit}")
    if not value:
        raise InvalidMessageError(path + name, "malformed", "the text is empty")
    return value


def optional_uri(fields: Mapping[str, Any], name: str) -> str | None:
    """Return an absolute URI, or None if the field is missing."""
    if fields.get(name) is None:
        return None
    value = text(fields, name, limit=MAX_URI)
    try:
        parts = urlsplit(value)
    except ValueError:
        parts = urlsplit("")
    if not parts.scheme or not parts.netloc or not value.isascii() or not value.isprintable() or " " in value:
        raise InvalidMessageError(name, "malformed", f"{quoted(value)} is not an absolute URI")
    return value


def whole(fields: Mapping[str, Any], name: str) -> int:
    """Return a required number of seconds. 1.0 is accepted as 1, because JavaScript may write integers that way."""
    value = fields.get(name)
    if isinstance(value, float) and value.is_integer():
        fields = {name: int(value)}
    value = required(fields, name, "", int, "a whole number")
    if not 0 <= value < MAX_SECONDS:
        raise InvalidMessageError(name, "malformed", "the number is out of range")
    return value


def hexadecimal(fields: Mapping[str, Any], name: str, *lengths: int, path: str = "") -> bytes:
    """Return bytes from hexadecimal digits, with or without 0x."""
    value = text(fields, name, path)
    match = _HEX.fullmatch(value)
    content = bytes.fromhex(match[1]) if match else b""
    if len(content) not in lengths:
        expected = " or ".join(map(str, lengths))
        raise InvalidMessageError(path + name, "malformed", f"expected {expected} bytes in hexadecimal digits")
    return content


def chain(fields: Mapping[str, Any], name: str, path: str = "") -> ChainId:
    """Return a required field that is a chain (CAIP-2)."""
    return _identifier(fields, name, path, ChainId.parse)


def account(fields: Mapping[str, Any], name: str, path: str = "") -> AccountId:
    """Return a required field that is an account (CAIP-10)."""
    return _identifier(fields, name, path, AccountId.parse)


def agent(registry: AccountId, fields: Mapping[str, Any], name: str, path: str = "") -> GlobalAgentId:
    """Return a required field that identifies an agent in a registry."""
    return _identifier(fields, name, path, lambda value: GlobalAgentId(registry, value))


def transaction(fields: Mapping[str, Any], name: str, path: str = "") -> TransactionRef:
    """Return a required field that is a transaction reference."""
    return _identifier(fields, name, path, TransactionRef.parse)


def _identifier(fields: Mapping[str, Any], name: str, path: str, parse: Callable[[str], T]) -> T:
    value = text(fields, name, path)
    try:
        return parse(value)
    except MalformedIdentifierError as error:
        fault = "wrong_case" if "checksum" in error.problem else "malformed"
        raise InvalidMessageError(path + name, fault, str(error)) from None  # type: ignore[arg-type]


MAX_BODY: Final = 32 * 1024 * 1024
"""The default limit for a signed body, in bytes, after decoding."""

SLOW_BYTES: Final = 256 * 1024
"""The total size in bytes above which async code hashes bodies in a thread. Hashing that many takes about 1 ms."""

STREAMS: Final = frozenset(
    f"application/{name}"
    for name in ("json-seq", "jsonl", "jsonlines", "ndjson", "stream+json", "x-jsonlines", "x-ndjson")
) | {"multipart/x-mixed-replace", "text/event-stream"}
"""The content types of streamed responses, which clients read as the data arrives."""

_MAX_ENCODINGS: Final = 3
"""The maximum number of encodings per body. Honest servers use one. Each encoding may multiply the size."""


def _inflate(body: bytes, encoding: str, room: int) -> tuple[bytes, bool]:
    """Decode gzip and deflate, including the raw deflate data that some servers send as `deflate`."""
    is_zlib = len(body) > 1 and body[0] & 0x0F == zlib.DEFLATED and int.from_bytes(body[:2]) % 31 == 0
    gzip, plain, raw = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS
    inner = zlib.decompressobj(gzip if encoding.endswith("gzip") else plain if is_zlib else raw)
    text = inner.decompress(body, room)
    return text, inner.eof and not inner.unused_data


def _expand(body: bytes, _encoding: str, room: int) -> tuple[bytes, bool]:
    inner = brotli.Decompressor()
    text = bytes(inner.process(body, output_buffer_limit=room))
    while len(text) < room and not inner.can_accept_more_data():
        text += inner.process(b"", output_buffer_limit=room - len(text))
    return text, bool(inner.is_finished())


_DECODERS: Final = {"gzip": _inflate, "x-gzip": _inflate, "deflate": _inflate, "br": _expand}
"""The decoder for each encoding. Each returns at most the given number of bytes, and whether the body is complete."""


def is_stream(content_type: str) -> bool:
    """Return whether a `Content-Type` indicates a stream."""
    return content_type.partition(";")[0].strip().lower() in STREAMS


def decode_body(body: bytes, content_encoding: str, limit: int = MAX_BODY) -> bytes:
    """Remove a body's content encodings."""
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
        raise UnsupportedBodyError(encoding[:80], "only gzip, deflate and br are supported")
    if not body:
        return b""  # servers label empty bodies too
    try:
        text, is_finished = decode(body, encoding, limit + 1)
    except (zlib.error, brotli.error) as error:
        raise UnsupportedBodyError(encoding, f"the body is damaged: {error}") from None
    if len(text) > limit:
        raise BodyTooLargeError(limit)
    if not is_finished:
        raise UnsupportedBodyError(encoding, "the body is truncated or followed by extra data")
    return text
