"""HTTP connections to a node, with a deadline and a size limit for each response, and without redirects or cookies.

The node's URL may contain a key, so messages and logs from this package and its HTTP library never include the URL.
"""

import asyncio
import base64
import threading
import time
import weakref
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import unquote, urlsplit

import httpcore

from bilateral.core.errors import InvalidArgumentError, MalformedNodeAnswerError, NodeTimeoutError, NodeUnreachableError
from bilateral.core.http.connections import DeadlineBackend
from bilateral.core.http.waits import seconds_to_wait
from bilateral.node.json_rpc import Post, Reply

MAX_RESPONSE_BYTES: Final = 64 * 1024 * 1024
"""The maximum size of a decompressed response, in bytes. Larger lists of logs are requested in parts."""

_KEEPALIVE_SECONDS: Final = 30.0
"""How long to keep an idle connection open: long enough for the next block to arrive on any chain."""

_MAX_RETRY_AFTER_SECONDS: Final = 3600.0
"""The longest wait that a node may request. The limit keeps an incorrect header from blocking callers for days."""


class Url:
    """A node's validated URL.

    Args:
        text: The URL.

    Attributes:
        name: The host, and the port if the URL contains one. The name contains no key.

    Raises:
        InvalidArgumentError: The text is not an http(s) URL. The message omits the text, because it may contain a key.
    """

    def __init__(self, text: str) -> None:
        try:
            parts = urlsplit(text)
            port, host = parts.port, (parts.hostname or "").encode("idna")
        except ValueError:
            port, host = 0, b""
        if not host or port == 0 or parts.scheme not in ("http", "https") or not text.isprintable():
            raise InvalidArgumentError("rpc must be an http or https URL, such as https://sepolia.base.org")
        self.name = host.decode() + ("" if port is None else f":{port}")
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self.url = httpcore.URL(scheme=parts.scheme.encode(), host=host, port=port, target=_quoted(target))
        self.headers: list[tuple[bytes, bytes]] = [
            (b"Host", host if port is None else host + b":%d" % port),
            (b"Content-Type", b"application/json"),
            (b"Accept", b"application/json"),
            (b"Accept-Encoding", b"gzip"),
            (b"User-Agent", b"bilateral"),
        ]
        if parts.username is not None:
            login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self.headers.append((b"Authorization", b"Basic " + base64.b64encode(login.encode())))

    def request_headers(self, body: bytes) -> list[tuple[bytes, bytes]]:
        """Return the headers for a request."""
        return [*self.headers, (b"Content-Length", str(len(body)).encode())]


def _quoted(target: str) -> bytes:
    return b"".join(byte.to_bytes() if 0x20 < byte < 0x7F else b"%%%02X" % byte for byte in target.encode())  # noqa: PLR2004


class Connection:
    """A pool of blocking connections. Thread-safe.

    Args:
        url: The node's URL.

    Attributes:
        name: The node's host, and its port if the URL contains one.
    """

    def __init__(self, url: str) -> None:
        self._url = Url(url)
        self.name = self._url.name
        self._deadline = _RequestDeadline()
        self._pool = httpcore.ConnectionPool(
            max_connections=64,
            keepalive_expiry=_KEEPALIVE_SECONDS,
            network_backend=DeadlineBackend(self._deadline.remaining),
        )
        weakref.finalize(self, self._pool.close)  # closes the pool if the user did not

    def post(self, post: Post) -> Reply:
        """Post bytes, and return the reply."""
        seconds = max(post.deadline - time.monotonic(), 0.001)
        timeouts = dict.fromkeys(("connect", "read", "write", "pool"), seconds)
        with (
            _node_errors(post.method),
            self._deadline.until(post.deadline),
            self._pool.stream(
                b"POST",
                self._url.url,
                headers=self._url.request_headers(post.body),
                content=post.body,
                extensions={"timeout": timeouts},
            ) as response,
        ):
            body = _Body(post.method, response.headers)
            for part in response.iter_stream():
                body.add(part)
            return Reply(response.status, body.complete(), _retry_after(response.headers), _location(response.headers))

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()


class AsyncConnection:
    """A pool of asynchronous connections. Tasks of one event loop may share it. See `Connection`."""

    def __init__(self, url: str) -> None:
        self._url = Url(url)
        self._pool = httpcore.AsyncConnectionPool(max_connections=64, keepalive_expiry=_KEEPALIVE_SECONDS)

    async def post(self, post: Post) -> Reply:
        """Post bytes, and return the reply. See `Connection.post`."""
        with _node_errors(post.method):
            async with asyncio.timeout(max(post.deadline - time.monotonic(), 0.001)):
                async with self._pool.stream(
                    b"POST", self._url.url, headers=self._url.request_headers(post.body), content=post.body
                ) as response:
                    body = _Body(post.method, response.headers)
                    async for part in response.aiter_stream():
                        body.add(part)
                    return Reply(
                        response.status, body.complete(), _retry_after(response.headers), _location(response.headers)
                    )

    async def close(self) -> None:
        """Close the connections."""
        await self._pool.aclose()


class _Body:
    """A response body, which is decompressed as it arrives and is limited in size."""

    def __init__(self, method: str, headers: list[tuple[bytes, bytes]]) -> None:
        encoding = _header(headers, b"content-encoding").lower()
        if encoding not in (b"", b"identity", b"gzip"):
            raise MalformedNodeAnswerError(f"the node responded to {method} in an encoding that was not requested")
        self._method = method
        self._left = MAX_RESPONSE_BYTES
        self._gunzip = zlib.decompressobj(16 + zlib.MAX_WBITS) if encoding == b"gzip" else None
        self._parts: list[bytes] = []

    def add(self, part: bytes) -> None:
        """Add received bytes."""
        if self._gunzip is not None:
            try:
                part = self._gunzip.decompress(part, self._left + 1)
            except zlib.error:
                raise MalformedNodeAnswerError(f"the node responded to {self._method} with invalid gzip data") from None
        self._left -= len(part)
        if self._left < 0:
            raise MalformedNodeAnswerError(f"the node's response to {self._method} exceeds {MAX_RESPONSE_BYTES} bytes")
        self._parts.append(part)

    def complete(self) -> bytes:
        """Return the whole body."""
        if self._gunzip is not None and not self._gunzip.eof:
            raise MalformedNodeAnswerError(f"the node responded to {self._method} with invalid gzip data")
        return b"".join(self._parts)


def _header(headers: list[tuple[bytes, bytes]], name: bytes) -> bytes:
    return next((value.strip() for key, value in headers if key.lower() == name), b"")


def _retry_after(headers: list[tuple[bytes, bytes]]) -> float | None:
    """Return the seconds in the Retry-After header, at most an hour; None if it is missing or malformed."""
    seconds = seconds_to_wait(_header(headers, b"retry-after").decode("latin-1"))
    return None if seconds is None else min(float(seconds), _MAX_RETRY_AFTER_SECONDS)


def _location(headers: list[tuple[bytes, bytes]]) -> str:
    try:
        parts = urlsplit(_header(headers, b"location").decode("latin-1"))
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.hostname}{port}" if parts.hostname else ""


@contextmanager
def _node_errors(method: str) -> Iterator[None]:
    """Convert the HTTP library's exceptions to this package's errors, omitting URLs."""
    try:
        yield
    except (httpcore.TimeoutException, TimeoutError):
        raise NodeTimeoutError(f"the node did not respond to {method} in time") from None
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol, OSError) as failure:
        raise NodeUnreachableError(f"the node cannot be reached: {type(failure).__name__}") from None


class _RequestDeadline:
    """Stores the deadline of each thread's current request."""

    def __init__(self) -> None:
        self._request = threading.local()

    @contextmanager
    def until(self, deadline: float) -> Iterator[None]:
        """Set the deadline for this thread's request."""
        self._request.deadline = deadline
        try:
            yield
        finally:
            del self._request.deadline

    def remaining(self, at_most: float | None = None, /) -> float | None:
        """Return the seconds until this thread's deadline, at most `at_most`. Without a deadline, return `at_most`."""
        deadline: float | None = getattr(self._request, "deadline", None)
        if deadline is None:
            return at_most
        left = deadline - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout
        return left if at_most is None else min(left, at_most)
