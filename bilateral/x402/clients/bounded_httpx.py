"""Transports of httpx that read answers within limits: prices and paid answers at once, others with the program."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Final, cast

import httpx

from bilateral.x402.clients.answer_limits import (
    AnswerLimitError,
    AnswerLimits,
    AnswerTimeoutError,
    Meter,
    too_large,
    too_slow,
    within,
)
from bilateral.x402.clients.transports import payment_among
from bilateral.x402.proof.bodies import decode_body
from bilateral.x402.proof.errors import BodyTooLargeError, UnsupportedBodyError
from bilateral.x402.proof.streaming import is_stream

DAMAGED: Final = "bilateral.x402.damaged"
"""The key of `response.extensions` with the content encoding of a body that cannot be decoded."""


class BoundedTransport(httpx.BaseTransport):
    """Sends requests by another transport, and bounds size and time of the answers.

    Args:
        inner: The other transport.
    """

    def __init__(self, inner: httpx.BaseTransport, limits: AnswerLimits) -> None:
        self._inner, self._limits = inner, limits

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request."""
        with _httpx_errors(request):
            return within(self._limits, lambda: self._answer(request), httpx.Response.close)

    def close(self) -> None:
        """Close the other transport."""
        self._inner.close()

    def _answer(self, request: httpx.Request) -> httpx.Response:
        """Send a request, and read its answer if it is a price or was paid for."""
        meter = Meter(self._limits)
        response = self._inner.handle_request(request)
        if not _is_read_at_once(request, response):
            return _with_stream(response, _Metered(response, meter, request))
        try:
            raw = b"".join(meter.count(piece) for piece in cast("httpx.SyncByteStream", response.stream))
        finally:
            response.close()
        return _read(response, raw, self._limits)


class AsyncBoundedTransport(httpx.AsyncBaseTransport):
    """Does what `BoundedTransport` does, for event loops."""

    def __init__(self, inner: httpx.AsyncBaseTransport, limits: AnswerLimits) -> None:
        self._inner, self._limits = inner, limits

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request. It raises as `BoundedTransport` does."""
        with _httpx_errors(request):
            try:
                async with asyncio.timeout(self._limits.seconds):
                    return await self._answer(request)
            except TimeoutError:
                raise too_slow(self._limits) from None

    async def aclose(self) -> None:
        """Close the other transport."""
        await self._inner.aclose()

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        """Send a request, and read its answer if it is a price or was paid for."""
        meter = Meter(self._limits)
        response = await self._inner.handle_async_request(request)
        if not _is_read_at_once(request, response):
            return _with_stream(response, _AsyncMetered(response, meter, request))
        try:
            pieces = [meter.count(piece) async for piece in cast("httpx.AsyncByteStream", response.stream)]
        finally:
            await response.aclose()
        return _read(response, b"".join(pieces), self._limits)


class ReadBody(httpx.AsyncByteStream, httpx.SyncByteStream):
    """A body that was read already, still in its content encoding."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.raw

    def __iter__(self) -> Iterator[bytes]:
        yield self.raw


class _Metered(httpx.SyncByteStream):
    """A body that is counted while the program reads it."""

    def __init__(self, response: httpx.Response, meter: Meter, request: httpx.Request) -> None:
        self._response, self._meter, self._request = response, meter, request

    def __iter__(self) -> Iterator[bytes]:
        for piece in cast("httpx.SyncByteStream", self._response.stream):
            with _httpx_errors(self._request):
                self._meter.count(piece)
            yield piece

    def close(self) -> None:
        self._response.close()


class _AsyncMetered(httpx.AsyncByteStream):
    """A body that is counted while the program reads it on an event loop."""

    def __init__(self, response: httpx.Response, meter: Meter, request: httpx.Request) -> None:
        self._response, self._meter, self._request = response, meter, request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in cast("httpx.AsyncByteStream", self._response.stream):
            with _httpx_errors(self._request):
                self._meter.count(piece)
            yield piece

    async def aclose(self) -> None:
        await self._response.aclose()


def _is_read_at_once(request: httpx.Request, response: httpx.Response) -> bool:
    """Tell whether an answer is a price, was paid for, or may grow when it is decoded.

    Other answers, and streams of events, are read by the program.
    """
    if response.status_code == HTTPStatus.PAYMENT_REQUIRED or payment_among(request.headers):
        return True
    return "content-encoding" in response.headers and not is_stream(response.headers.get("content-type", ""))


def _read(response: httpx.Response, raw: bytes, limits: AnswerLimits) -> httpx.Response:
    """Return an answer that httpx can decode within the limit. A damaged body stays as it was sent."""
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
    """Return a response with another body."""
    return httpx.Response(response.status_code, headers=response.headers, stream=stream, extensions=response.extensions)


@contextmanager
def _httpx_errors(request: httpx.Request) -> Iterator[None]:
    """Name an exceeded limit as httpx names such failures."""
    try:
        yield
    except AnswerTimeoutError as error:
        raise httpx.ReadTimeout(str(error), request=request) from error
    except AnswerLimitError as error:
        raise httpx.ReadError(str(error), request=request) from error
