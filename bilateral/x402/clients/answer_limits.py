"""Limits on servers' answers, which might otherwise never end or arrive at one byte per minute."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import aclosing, closing, contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from http import HTTPStatus
from threading import Thread
from typing import Final, TypeVar, cast

import httpx

from bilateral.core.errors import InvalidArgumentError
from bilateral.x402.clients.transports import payment_among
from bilateral.x402.proof.errors import BodyTooLargeError, ReputationExtensionError, UnsupportedBodyError
from bilateral.x402.proof.fields import MAX_BODY, decode_body, is_stream

_T = TypeVar("_T")

CHUNK: Final = 64 * 1024  # bytes per read: the time limit is checked after each read


@dataclass(frozen=True)
class AnswerLimits:
    """Limits for one answer from a server.

    Attributes:
        bytes: The maximum size of the body in bytes, before and after decoding. The default is the same as the limit of
            this package's servers.
        seconds: The maximum number of seconds until the answer is complete. The default suffices for a settlement on
            Ethereum.
    """

    bytes: int = MAX_BODY
    seconds: float = 120.0

    def __post_init__(self) -> None:
        """Check the limits."""
        if self.bytes <= 0 or self.seconds <= 0:
            raise InvalidArgumentError(f"the limits are {self.bytes} bytes and {self.seconds} s: both must be above 0")


class AnswerLimitError(ReputationExtensionError):
    """An answer exceeded a limit, so the rest of it was not read."""

    reason = "answer_limit"


class AnswerTimeoutError(AnswerLimitError):
    """An answer took too long to arrive."""

    reason = "answer_timeout"


class Meter:
    """Counts the bytes of one answer, and the seconds that it takes."""

    def __init__(self, limits: AnswerLimits) -> None:
        self._limits, self._size = limits, 0
        self._end = time.monotonic() + limits.seconds

    def count(self, piece: bytes) -> bytes:
        """Count a piece of the body, and return it."""
        self._size += len(piece)
        if self._size > self._limits.bytes:
            raise too_large(self._limits)
        if time.monotonic() > self._end:
            raise too_slow(self._limits)
        return piece


def too_large(limits: AnswerLimits) -> AnswerLimitError:
    """Return the error for an answer that is too large."""
    return AnswerLimitError(f"the answer exceeds {limits.bytes} bytes: raise AnswerLimits(bytes=…)")


def too_slow(limits: AnswerLimits) -> AnswerTimeoutError:
    """Return the error for an answer that took too long."""
    return AnswerTimeoutError(f"the answer took longer than {limits.seconds} s: raise AnswerLimits(seconds=…)")


def within(limits: AnswerLimits, function: Callable[[], _T], discard: Callable[[_T], object]) -> _T:
    """Run a function in its own thread, and wait for its result until the time limit is reached.

    HTTP client timeouts apply to the gap between two pieces of data, so they never trigger if a server sends its
    headers byte by byte. The thread that reads such an answer is abandoned, and ends when the connection closes.
    """
    future: Future[_T] = Future()
    context = copy_context()

    def run() -> None:
        try:
            future.set_result(context.run(function))
        except BaseException as error:  # noqa: BLE001  # the waiting thread raises it
            future.set_exception(error)

    Thread(target=run, name="x402-answer", daemon=True).start()
    try:
        return future.result(limits.seconds)
    except TimeoutError:
        if future.done():
            return future.result()
        future.add_done_callback(lambda late: None if late.exception() else discard(late.result()))
        raise too_slow(limits) from None


DAMAGED: Final = "bilateral.x402.damaged"
"""The key in `response.extensions` for the content encoding of a body that cannot be decoded."""


class BoundedTransport(httpx.BaseTransport):
    """Sends requests through an underlying transport, and limits the size and duration of the answers.

    Args:
        inner: The underlying transport.
    """

    def __init__(self, inner: httpx.BaseTransport, limits: AnswerLimits) -> None:
        self._inner, self._limits = inner, limits

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request."""
        with _httpx_errors(request):
            return within(self._limits, lambda: self._answer(request), httpx.Response.close)

    def close(self) -> None:
        """Close the underlying transport."""
        self._inner.close()

    def _answer(self, request: httpx.Request) -> httpx.Response:
        meter = Meter(self._limits)
        response = self._inner.handle_request(request)
        if not _is_read_at_once(request, response):
            return _with_stream(response, _Metered(response, meter, request))
        with closing(response):
            pieces = [meter.count(piece) for piece in cast("httpx.SyncByteStream", response.stream)]
        return _read(response, b"".join(pieces), self._limits)


class AsyncBoundedTransport(httpx.AsyncBaseTransport):
    """The asynchronous counterpart of `BoundedTransport`."""

    def __init__(self, inner: httpx.AsyncBaseTransport, limits: AnswerLimits) -> None:
        self._inner, self._limits = inner, limits

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request. Raises the same errors as `BoundedTransport`."""
        with _httpx_errors(request):
            try:
                async with asyncio.timeout(self._limits.seconds):
                    return await self._answer(request)
            except TimeoutError:
                raise too_slow(self._limits) from None

    async def aclose(self) -> None:
        """Close the underlying transport."""
        await self._inner.aclose()

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        meter = Meter(self._limits)
        response = await self._inner.handle_async_request(request)
        if not _is_read_at_once(request, response):
            return _with_stream(response, _Metered(response, meter, request))
        async with aclosing(response):
            pieces = [meter.count(piece) async for piece in cast("httpx.AsyncByteStream", response.stream)]
        return _read(response, b"".join(pieces), self._limits)


class ReadBody(httpx.AsyncByteStream, httpx.SyncByteStream):
    """A body that has been read but is still in its content encoding."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.raw

    def __iter__(self) -> Iterator[bytes]:
        yield self.raw


class _Metered(httpx.AsyncByteStream, httpx.SyncByteStream):
    """A body whose bytes are counted as the program reads them."""

    def __init__(self, response: httpx.Response, meter: Meter, request: httpx.Request) -> None:
        self._response, self._meter, self._request = response, meter, request

    def __iter__(self) -> Iterator[bytes]:
        for piece in cast("httpx.SyncByteStream", self._response.stream):
            with _httpx_errors(self._request):
                self._meter.count(piece)
            yield piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in cast("httpx.AsyncByteStream", self._response.stream):
            with _httpx_errors(self._request):
                self._meter.count(piece)
            yield piece

    def close(self) -> None:
        self._response.close()

    async def aclose(self) -> None:
        await self._response.aclose()


def _is_read_at_once(request: httpx.Request, response: httpx.Response) -> bool:
    """Return True for an answer to read in full now: a price, a paid answer, or one that may grow when decoded."""
    if response.status_code == HTTPStatus.PAYMENT_REQUIRED or payment_among(request.headers):
        return True
    return "content-encoding" in response.headers and not is_stream(response.headers.get("content-type", ""))


def _read(response: httpx.Response, raw: bytes, limits: AnswerLimits) -> httpx.Response:
    """Return an answer that httpx can decode within the limit. A body that cannot be decoded is left unchanged."""
    encoding = response.headers.get("content-encoding", "")
    try:
        decode_body(raw, encoding, limits.bytes)
    except BodyTooLargeError:
        raise too_large(limits) from None
    except UnsupportedBodyError:
        del response.headers["content-encoding"]
        response.extensions[DAMAGED] = encoding
    return _with_stream(response, ReadBody(raw))


def _with_stream(response: httpx.Response, stream: httpx.SyncByteStream | httpx.AsyncByteStream) -> httpx.Response:
    return httpx.Response(response.status_code, headers=response.headers, stream=stream, extensions=response.extensions)


@contextmanager
def _httpx_errors(request: httpx.Request) -> Iterator[None]:
    try:
        yield
    except AnswerTimeoutError as error:
        raise httpx.ReadTimeout(str(error), request=request) from error
    except AnswerLimitError as error:
        raise httpx.ReadError(str(error), request=request) from error
