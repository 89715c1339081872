"""The adapter for FastAPI and other ASGI applications.

    app = FastAPI()
    app.add_middleware(ReputationMiddleware, routes=routes, server=server)

Use `ReputationMiddleware` instead of the SDK's `payment_middleware`, which it wraps. The request's body is read once
the payment is verified, and the response's body is captured inside the SDK's middleware. Add this middleware last;
compression middleware may be placed inside or outside it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, TypeVar

from starlette.middleware.base import BaseHTTPMiddleware
from x402 import x402ResourceServer
from x402.http.middleware.fastapi import payment_middleware
from x402.http.types import RouteConfig

from bilateral.core.errors import BilateralError, InvalidArgumentError
from bilateral.x402.clients.preflight import Preflight
from bilateral.x402.proof.answers import PaidAnswers, payment_of
from bilateral.x402.proof.errors import BodyTooLargeError, PreflightError, StreamingRouteError
from bilateral.x402.proof.fields import MAX_BODY
from bilateral.x402.server.adapters import HttpAdapter, asgi_streams, texts_of
from bilateral.x402.server.cors import EVERY_PAGE, CorsPolicy
from bilateral.x402.server.exchange import CURRENT, Afterwards, Exchange, Refusal

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


logger = logging.getLogger("bilateral.x402")

T = TypeVar("T")

_EXCHANGE: Final = "bilateral.x402.server.exchange"

_RECHECK_SECONDS: Final = 60.0
"""How long paid requests are rejected after a failed check, in seconds. By then, a node may have recovered."""

_SHORTCUT: Final = "http.response."
"""The prefix of the ASGI extensions that have the server itself send a file."""

Headers = list[tuple[bytes, bytes]]


class ReputationMiddleware:
    """The SDK's payment middleware for ASGI, which also captures bodies and signs paid answers.

    Args:
        app: The application; passed by `add_middleware`.
        routes: The paid routes, as for the SDK's `payment_middleware`.
        server: The resource server, with which you must register the extension.
        limit: The maximum size of a decoded request or response body in bytes.
        answers: Retains paid answers for clients that lose the connection; in memory by default. If there are several
            processes, use `bilateral.x402.server.stores.StoredAnswers`.
        preflight: Checks the agent, the wallet and the signing key when the application starts. If omitted, a warning
            is logged. If a check fails, the application does not start; on a server without lifespan events, paid
            requests are rejected instead.
        cors: The web pages that may call the paid routes; by default every page.
        settings: Additional settings of the SDK's `payment_middleware`.

    Raises:
        PreflightError: A check at start-up did not pass.
        StreamingRouteError: A paid route that declares the extension streams its responses. Raised at start-up.
        InvalidArgumentError: A route declares the extension, but the extension is not registered with the server.
    """

    def __init__(  # noqa: PLR0913  # settings, all but two with a default
        self,
        app: ASGIApp,
        *,
        routes: dict[str, RouteConfig],
        server: x402ResourceServer,
        limit: int = MAX_BODY,
        answers: PaidAnswers | None = None,
        preflight: Preflight | None = None,
        cors: CorsPolicy = EVERY_PAGE,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self._adapter = HttpAdapter(routes, server, limit, answers or PaidAnswers(), preflight, cors=cors)
        try:
            asyncio.get_running_loop()  # Starlette creates middleware in the lifespan, where servers swallow errors
        except RuntimeError:
            self._adapter.check_routes()
        self._app = app
        pay = payment_middleware(routes, server, **(settings or {}))
        self._paid = BaseHTTPMiddleware(_Capture(app, self._adapter), pay)
        self._problem: BilateralError | None = None
        self._checked_until, self._check, self._afterwards = float("-inf"), asyncio.Lock(), Afterwards()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request."""
        if scope["type"] != "http":
            await (self._live if scope["type"] == "lifespan" else self._paid)(scope, receive, send)
            return
        method, paths = scope["method"], (scope["raw_path"].decode("ascii", "replace").split("?")[0], scope["path"])
        texts = texts_of(scope["headers"])
        origin, verb = texts.get("origin", ""), texts.get("access-control-request-method", "")
        is_paid, preflight = self._adapter.access(method, origin, verb, *paths)
        if preflight is not None:
            await _answer(send, 200, preflight, b"")
            return
        send = partial(_expose, send, self._adapter.cors, origin) if is_paid else send
        problem = await self._start_problem(scope) if is_paid else None
        if problem is not None:
            await _refuse(send, Refusal(503, problem.reason))
        elif is_paid and (header := _header(scope, b"payment-signature")):
            await self._serve_paid(scope, receive, send, header)
        else:
            await self._paid(scope, receive, send)

    async def _serve_paid(self, scope: Scope, receive: Receive, send: Send, header: bytes) -> None:
        target = scope["raw_path"].partition(b"?")[0] + b"?" + scope["query_string"]
        exchange = Exchange(is_on_loop=True, method=scope["method"], raw_target=target)
        exchange.target = target.decode("latin-1").removesuffix("?")
        incoming = _Incoming(scope, receive, exchange, self._adapter)
        payment = payment_of(header.decode("latin-1"))
        try:
            names = (b"payment-signature", b"content-length", b"content-encoding")
            self._adapter.check_headers(*(_header(scope, name).decode("latin-1") for name in names))
            stored = await _call(self._adapter, self._adapter.find_answer, payment)
            if stored is not None:
                await incoming.read()
                self._adapter.refuse_other_request(stored, exchange)
        except Refusal as refusal:
            await _refuse(send, refusal)
            return
        if stored is not None and not stored.is_unsettled:
            await _answer(send, stored.status, list(stored.headers), stored.body)
            return
        exchange.unsettled = stored
        outgoing = _Outgoing(send, exchange, self._adapter, payment)
        token, work = CURRENT.set(exchange), None
        try:
            await self._paid({**scope, _EXCHANGE: (exchange, incoming)}, incoming, outgoing)
        except asyncio.CancelledError:  # some servers cancel the requests of clients that hang up
            for abandon in exchange.abandonments:
                abandon()
            raise
        finally:
            CURRENT.reset(token)
            self._adapter.count_unsigned(exchange)
            if exchange.work_afterwards:  # also if the client hung up
                work = self._afterwards.submit(exchange)
        if work is not None:
            await asyncio.shield(asyncio.wrap_future(work))

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = await self._start_problem(scope)
        if problem is not None:
            await receive()
            await send({"type": "lifespan.startup.failed", "message": str(problem)})
            raise problem
        try:
            await self._paid(scope, receive, send)
        finally:
            self._afterwards.close()

    async def _start_problem(self, scope: Scope) -> BilateralError | None:
        """Return why payments are not accepted, or None if they are. A failed check is repeated after a minute."""
        if time.monotonic() < self._checked_until:
            return self._problem
        async with self._check:
            if time.monotonic() >= self._checked_until:
                try:
                    self._adapter.check_routes()
                    self._adapter.refuse_streaming(asgi_streams(scope.get("app") or self._app))
                    await asyncio.to_thread(self._adapter.check_agents)
                    self._problem, self._checked_until = None, float("inf")
                except (PreflightError, StreamingRouteError, InvalidArgumentError) as error:
                    logger.error("requests to paid routes are rejected: %s", error)  # noqa: TRY400  # no fault of the program
                    self._problem, self._checked_until = error, time.monotonic() + _RECHECK_SECONDS
        return self._problem


class _Capture:
    """Captures the whole response to a paid request, and replaces a response that could not be signed."""

    def __init__(self, app: ASGIApp, adapter: HttpAdapter) -> None:
        self._app, self._adapter = app, adapter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange, incoming = scope.get(_EXCHANGE, (None, None))
        if exchange is None or not exchange.is_paid:
            await self._app(scope, receive, send)
            return
        response = _Buffered(send, exchange, self._adapter, is_head=scope["method"] == "HEAD")
        if exchange.unsettled is not None:
            stored = exchange.unsettled
            await _send(response, stored.status, stored.sent_headers, stored.body)
            return
        try:
            await incoming.read()
        except Refusal as refusal:
            await response.refuse(refusal)
            return
        try:
            await self._app(_decoded_scope(scope, exchange), receive, response)
        except Exception:
            if not response.is_refused:
                raise
        with suppress(Refusal):
            await response({"type": "http.response.body"})  # the application sent no final message


class _Buffered:
    """Collects a response, and passes it on after its last message, even if background tasks are still running.

    A response that cannot be signed is aborted immediately, not at its end, because a stream may never end.
    """

    def __init__(self, send: Send, exchange: Exchange, adapter: HttpAdapter, *, is_head: bool) -> None:
        self._send, self._exchange, self._adapter, self._is_head = send, exchange, adapter, is_head
        self._start: Message | None = None
        self._body, self._is_ended, self.is_refused = _Body(), False, False

    async def __call__(self, message: Message) -> None:
        if self._is_ended:
            return
        try:
            if message["type"] == "http.response.start":
                self._start = message
                self._adapter.refuse_stream(texts_of(message["headers"]))
            elif message["type"] == "http.response.body" and self._start is not None:
                self._body.add(message.get("body", b""))
                self._adapter.refuse_large_response(self._body.size)
                if not message.get("more_body"):
                    await self._pass_on(self._start)
        except Refusal as refusal:
            await self.refuse(refusal)
            raise  # stops the application

    async def _pass_on(self, start: Message) -> None:
        body = self._body.joined
        decoded = self._adapter.response_body(body, texts_of(start["headers"]))
        self._exchange.response = b"" if self._is_head else decoded
        self._exchange.captured = start["status"], tuple(start["headers"]), body
        self._is_ended = True
        await self._send(start)
        await self._send({"type": "http.response.body", "body": body})

    async def refuse(self, refusal: Refusal) -> None:
        """Send a rejection instead of the response."""
        self._is_ended = self.is_refused = True
        self._body = _Body()
        self._exchange.response = refusal.body
        await _refuse(self._send, refusal)


class _Body:
    """A body in pieces. Bodies may be 32 MiB long, so a single piece is never copied, and several are copied once."""

    def __init__(self) -> None:
        self.size = 0
        self._first = b""
        self._whole: BytesIO | None = None

    def add(self, piece: bytes) -> None:
        if not piece:
            return
        self.size += len(piece)
        if self._whole is None and not self._first:
            self._first = piece
            return
        if self._whole is None:
            self._whole = BytesIO()
            self._whole.write(self._first)
            self._first = b""
        self._whole.write(piece)  # frees each piece at once, so that the next one reuses its memory

    @property
    def joined(self) -> bytes:
        """The whole body."""
        return self._first if self._whole is None else self._whole.getvalue()


class _Incoming:
    """Withholds a request's body until the payment is verified, then passes it to the application in one piece."""

    def __init__(self, scope: Scope, receive: Receive, exchange: Exchange, adapter: HttpAdapter) -> None:
        self._encoding = _header(scope, b"content-encoding").decode("latin-1")
        self._receive, self._exchange, self._adapter = receive, exchange, adapter
        self._is_read = self._is_replayed = False

    async def __call__(self) -> Message:
        if not self._is_read or self._is_replayed:
            return await self._receive()
        self._is_replayed = True
        return {"type": "http.request", "body": self._exchange.request, "more_body": False}

    async def read(self) -> None:
        """Read the body."""
        body, is_complete = _Body(), False
        while not is_complete:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise Refusal(400, "client_disconnected")
            body.add(message.get("body", b""))
            if body.size > self._adapter.limit:
                raise Refusal.of(BodyTooLargeError(self._adapter.limit))
            is_complete = not message.get("more_body")
        self._exchange.request = self._adapter.request_body(body.joined, self._encoding)
        self._is_read = True


class _Outgoing:
    """Passes a response on to the client. Signs and retains it if it was paid for before the application ran."""

    def __init__(self, send: Send, exchange: Exchange, adapter: HttpAdapter, payment: bytes | None) -> None:
        self._send, self._exchange, self._adapter, self._payment = send, exchange, adapter, payment
        self._start: Message | None = None
        self._body = _Body()

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
            return
        if message["type"] != "http.response.body" or self._start is None:
            await self._send(message)
            return
        self._body.add(message.get("body", b""))
        if message.get("more_body"):
            return
        body, start = self._body.joined, self._start
        parts = (start["status"], tuple(start["headers"]), body)
        if self._exchange.settlement is not None:
            parts = await asyncio.to_thread(self._adapter.sign_settled, self._exchange, parts, b"payment-response")
        self._exchange.sent_headers = parts[1]
        if self._payment is not None:
            await _call(self._adapter, self._adapter.keep, self._payment, self._exchange, parts)
        await self._send({**start, "headers": list(parts[1])})
        await self._send({"type": "http.response.body", "body": body})


async def _call(adapter: HttpAdapter, function: Callable[..., T], *arguments: Any) -> T:
    """Call a function that uses the answer store, in a thread if the store may block."""
    if adapter.answers.is_blocking:
        return await asyncio.to_thread(function, *arguments)
    return function(*arguments)


def _header(scope: Scope, name: bytes) -> bytes:
    return b", ".join(value for key, value in scope["headers"] if key.lower() == name)


def _decoded_scope(scope: Scope, exchange: Exchange) -> Scope:
    dropped = {b"content-encoding", b"content-length", b"transfer-encoding"}
    headers = [(name, value) for name, value in scope["headers"] if name.lower() not in dropped]
    headers.append((b"content-length", str(len(exchange.request)).encode()))
    extensions = scope.get("extensions") or {}
    harmless = {name: extension for name, extension in extensions.items() if not name.startswith(_SHORTCUT)}
    return {**scope, "headers": headers, "extensions": harmless}


async def _expose(send: Send, cors: CorsPolicy, origin: str, message: Message) -> None:
    if message["type"] == "http.response.start":
        message = {**message, "headers": [*message["headers"], *cors.headers(origin, texts_of(message["headers"]))]}
    await send(message)


async def _answer(send: Send, status: int, headers: Headers, body: bytes) -> None:
    headers = [(name, value) for name, value in headers if name.lower() != b"content-length"]
    await _send(send, status, [*headers, (b"content-length", str(len(body)).encode())], body)


async def _send(send: Send, status: int, headers: Headers, body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _refuse(send: Send, refusal: Refusal) -> None:
    await _answer(send, refusal.status, [(b"content-type", b"application/json")], refusal.body)
