"""A single request and its response, for probing servers: status, headers, size-limited body, time and certificate."""

import re
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import httpx

from bilateral.core import errors
from bilateral.core.text import quoted
from bilateral.documents.http import HttpSession, Limits, Network

EVENT_STREAM: Final = "text/event-stream"

_LINE_END: Final = re.compile(rb"\r\n|\n|\r(?!\Z)")  # a CR at the end may be half of a CR LF


@dataclass(frozen=True)
class Event:
    """A server-sent event."""

    kind: str
    data: str


@dataclass(frozen=True)
class Answer:
    """A server's response.

    Attributes:
        content: The bytes of the body or, for a stream of server-sent events, the data of the expected event.
        url: The URL of the response, after any redirects.
        milliseconds: The time from the name lookup to the response headers.
        certificate_ends: The Unix time at which the server's certificate expires; None without TLS.
        event: The type of the expected event; None if the response is not a stream, or if the stream ended before that
            event.
        encoding: The content encoding, if the server used one that was not requested. The content is not read in this
            case.
    """

    status: int
    headers: httpx.Headers
    content: bytes
    url: str
    milliseconds: int
    certificate_ends: int | None = None
    event: str | None = None
    encoding: str = ""

    @property
    def body(self) -> bytes:
        """The content, unless it is encoded.

        Raises:
            EncodedAnswerError: The content is encoded.
        """
        if self.encoding:
            raise errors.EncodedAnswerError(quoted(self.encoding[:20]))
        return self.content

    @property
    def media_type(self) -> str:
        """The media type of the body, in lower case without parameters."""
        return str(self.headers.get("content-type", "")).partition(";")[0].strip().lower()


def exchange(  # noqa: PLR0913  # a request, its limits, and how much of the answer to read
    method: str,
    url: str,
    limits: Limits,
    network: Network,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    check: Callable[[httpx.Request], None] | None = None,
    is_last: Callable[[Event], bool] | None = None,
    is_cut: bool = False,
) -> Answer:
    """Send one request, and return the response regardless of its status.

    Args:
        limits: The limits on size, time and redirects. The limit on redirects only applies to GET.
        check: A function that raises an error for a request that must not be sent. It is also called for redirects.
        is_last: A function that returns whether an event is the expected one. The stream is closed after that event.
        is_cut: True to truncate a body that is too large. Otherwise, such a body is an error.

    Raises:
        DocumentError: No complete response was received. The class of the error indicates the reason.
    """
    with (
        HttpSession(limits, network, check) as session,
        session.open(method, url, headers=headers, content=body) as response,
    ):
        encoding = response.headers.get("content-encoding", "").strip().lower().replace("identity", "")
        ends = _certificate_ends(response)  # the connection may be closed after the body
        content, event = b"", None
        chunks = _bounded(() if encoding else response.iter_raw(), limits.bytes, is_cut=is_cut)
        if is_last is not None and response.headers.get("content-type", "").lower().startswith(EVENT_STREAM):
            event = next(filter(is_last, _events(chunks)), None)
            content = b"" if event is None else event.data.encode()
        else:
            content = b"".join(chunks)
        return Answer(
            response.status_code,
            response.headers,
            content,
            str(response.url),
            round(1000 * session.first_byte_seconds),
            ends,
            None if event is None else event.kind,
            encoding,
        )


def _bounded(chunks: Iterable[bytes], limit: int, *, is_cut: bool) -> Iterator[bytes]:
    for chunk in chunks:
        if len(chunk) > limit:
            if not is_cut:
                raise errors.DocumentTooLargeError(limit)
            yield chunk[:limit]
            return
        limit -= len(chunk)
        yield chunk


def _events(chunks: Iterable[bytes]) -> Iterator[Event]:
    """Yield the events from a stream (WHATWG HTML, 9.2.6)."""
    kind, data = "message", list[str]()
    for line in _lines(chunks):
        if not line:
            if data:
                yield Event(kind, "\n".join(data))
            kind, data = "message", []
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            kind = value or "message"
        elif name == "data":
            data.append(value)


def _lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """Yield the complete lines from a stream. A line ends with CR LF, LF or CR."""
    rest = bytearray()
    for chunk in chunks:
        rest += chunk
        if b"\n" in chunk or b"\r" in chunk:
            *lines, tail = _LINE_END.split(bytes(rest))
            rest = bytearray(tail)
            yield from (line.decode(errors="replace").removeprefix("\ufeff") for line in lines)


def _certificate_ends(response: httpx.Response) -> int | None:
    tls = response.extensions["network_stream"].get_extra_info("ssl_object")
    certificate = None if tls is None else tls.getpeercert()
    return int(ssl.cert_time_to_seconds(certificate["notAfter"])) if certificate else None
