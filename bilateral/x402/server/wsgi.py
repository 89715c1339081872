"""The adapter for Flask.

    app = Flask(__name__)
    protect_flask(app, routes, server)  # server: x402ResourceServerSync

Use `protect_flask` instead of the SDK's `payment_middleware`, which it wraps. The request's body is read once the
payment is verified, and the response's body is captured inside the SDK's middleware.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterable
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from werkzeug.wsgi import ClosingIterator
from x402 import x402ResourceServerSync
from x402.http.middleware.flask import payment_middleware
from x402.http.types import RouteConfig

from bilateral.x402.clients.preflight import Preflight
from bilateral.x402.proof.answers import PaidAnswers, payment_of
from bilateral.x402.proof.errors import BodyTooLargeError, StreamingRouteError
from bilateral.x402.proof.fields import MAX_BODY
from bilateral.x402.server.adapters import AnswerParts, HttpAdapter, flask_streams
from bilateral.x402.server.cors import EVERY_PAGE, CorsPolicy
from bilateral.x402.server.exchange import CURRENT, Exchange, Refusal

if TYPE_CHECKING:
    from flask import Flask

    Application = Callable[[dict[str, Any], Any], Iterable[bytes]]

logger = logging.getLogger("bilateral.x402")

_CHUNK: Final = 64 * 1024  # bytes of one read

_UNESCAPED: Final = "/-._~!$&'()*+,;=:@"
"""The characters that a path may contain unescaped (RFC 3986)."""

Headers = list[tuple[str, str]]


def protect_flask(  # noqa: PLR0913  # settings, all but three with a default
    app: Flask,
    routes: dict[str, RouteConfig],
    server: x402ResourceServerSync,
    *,
    limit: int = MAX_BODY,
    answers: PaidAnswers | None = None,
    preflight: Preflight | None = None,
    cors: CorsPolicy = EVERY_PAGE,
    **settings: Any,
) -> None:
    """Wrap a Flask application in the SDK's payment middleware, capturing bodies and signing paid answers.

    Paid views that yield their responses are rejected: immediately, or at the first request if they are added later.
    Flask does not reveal whether other views stream. If one does, its answer is rejected when a client pays for it, and
    nothing is settled.

    Args:
        app: The application.
        routes: The paid routes, as for the SDK's `payment_middleware`.
        server: The synchronous resource server, with which you must register the extension.
        limit: The maximum size of a decoded request or response body in bytes.
        answers: Retains paid answers for clients that lose the connection; in memory by default.
        preflight: Checks the agent, the wallet and the signing key immediately. If omitted, a warning is logged.
        cors: The web pages that may call the paid routes; by default every page.
        **settings: Additional settings of the SDK's `payment_middleware`.

    Raises:
        PreflightError: A check did not pass.
        StreamingRouteError: A view that yields its response declares the extension.
        InvalidArgumentError: A route declares the extension, but the extension is not registered with the server.
    """
    adapter = HttpAdapter(routes, server, limit, answers or PaidAnswers(), preflight, cors=cors)
    adapter.check_routes()
    adapter.check_agents()
    adapter.refuse_streaming(flask_streams(app))
    app.wsgi_app = _Capture(app.wsgi_app, adapter)  # type: ignore[method-assign]
    payment_middleware(app, routes, server, **settings)
    app.wsgi_app = _Outer(app, app.wsgi_app, adapter)  # type: ignore[method-assign]


class _Response:
    """Collects a response that would otherwise be sent to the client."""

    def __init__(self) -> None:
        self.status = ""
        self.headers: Headers = []
        self.close: Callable[[], None] = lambda: None
        self._written: list[bytes] = []

    def __call__(self, status: str, headers: Headers, _error: Any = None) -> Callable[[bytes], None]:
        self.status, self.headers = status, list(headers)
        return self._written.append

    def body(self, chunks: Iterable[bytes], check: Callable[[int], None] = lambda _size: None) -> bytes:
        """Read the whole body, and check its headers and size. The caller calls `close` once the answer is sent."""
        pieces: list[bytes] = []
        size = 0
        self.close = getattr(chunks, "close", self.close)
        try:
            check(size)
            for chunk in chunks:  # an application may start its response with the first chunk
                pieces.append(chunk)
                size += len(chunk)
                check(size)
        except BaseException:
            self.close()
            raise
        pieces = [*self._written, *pieces]
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)  # a single piece is never copied

    @property
    def texts(self) -> dict[str, str]:
        """The headers, keyed by lower-case name."""
        return {name.lower(): value for name, value in self.headers}

    def parts(self, body: bytes) -> AnswerParts:
        """Return the response with its body."""
        headers = ((name.encode("latin-1"), value.encode("latin-1")) for name, value in self.headers)
        return int(self.status.partition(" ")[0]), tuple(headers), body


class _Capture:
    """Captures the response to a paid request, and replaces a response that could not be signed."""

    def __init__(self, app: Application, adapter: HttpAdapter) -> None:
        self._app, self._adapter = app, adapter

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        exchange = CURRENT.get()
        if exchange is None or not exchange.is_paid:
            return self._app(environ, start_response)
        response, stored = _Response(), exchange.unsettled

        def check(size: int) -> None:
            self._adapter.refuse_stream(response.texts)
            self._adapter.refuse_large_response(size)

        try:
            if stored is None:
                exchange.request = _request_body(environ, self._adapter)
                body = response.body(self._app(environ, response), check)
            else:
                response(_status_line(stored.status), _text_headers(stored.sent_headers))
                body = stored.body
            exchange.response = self._adapter.response_body(body, response.texts)
        except Refusal as refusal:
            exchange.response = refusal.body
            return _refuse(start_response, refusal)
        exchange.captured = response.parts(body)
        exchange.closings.append(response.close)  # the SDK never closes an answer
        start_response(response.status, response.headers)
        return [body]


class _Outer:
    """Reads a paid route's request once the payment is verified, and passes the response on."""

    def __init__(self, flask: Flask, app: Application, adapter: HttpAdapter) -> None:
        self._flask, self._app, self._adapter = flask, app, adapter
        self._is_checked, self._problem = False, ""

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        path, method = environ.get("PATH_INFO", ""), environ["REQUEST_METHOD"]
        path = path.encode("latin-1").decode("utf-8", "replace")
        origin, verb = environ.get("HTTP_ORIGIN", ""), environ.get("HTTP_ACCESS_CONTROL_REQUEST_METHOD", "")
        is_paid, preflight = self._adapter.access(method, origin, verb, path, path)
        if preflight is not None:
            return _answer(start_response, 200, _text_headers(preflight), b"")
        start_response = partial(_expose, start_response, self._adapter.cors, origin) if is_paid else start_response
        if is_paid and self._streams():
            return _refuse(start_response, Refusal(503, self._problem))
        header = environ.get("HTTP_PAYMENT_SIGNATURE", "") if is_paid else ""
        if not header:
            return self._app(environ, start_response)
        query = environ.get("QUERY_STRING", "")
        exchange = Exchange(method=method, raw_target=f"{path}?{query}".encode())
        exchange.target = _sent_path(environ) + (f"?{query}" if query else "")
        payment = payment_of(header)
        try:
            encoding = environ.get("HTTP_CONTENT_ENCODING", "")
            self._adapter.check_headers(header, environ.get("CONTENT_LENGTH") or "", encoding)
            stored = self._adapter.find_answer(payment)
            if stored is not None:
                exchange.request = _request_body(environ, self._adapter)
                self._adapter.refuse_other_request(stored, exchange)
        except Refusal as refusal:
            return _refuse(start_response, refusal)
        if stored is not None and not stored.is_unsettled:
            return _answer(start_response, stored.status, _text_headers(stored.headers), stored.body)
        exchange.unsettled = stored
        return self._served(environ, exchange, payment, start_response)

    def _streams(self) -> bool:
        """Return True if a view added after start-up streams and declares the extension, so it cannot be paid for."""
        if not self._is_checked:
            try:
                self._adapter.refuse_streaming(flask_streams(self._flask))
            except StreamingRouteError as error:
                logger.error("requests to paid routes are rejected: %s", error)  # noqa: TRY400  # no fault of the program
                self._problem = error.reason
            self._is_checked = True
        return bool(self._problem)

    def _served(
        self, environ: dict[str, Any], exchange: Exchange, payment: bytes | None, start_response: Any
    ) -> Iterable[bytes]:
        response = _Response()
        token = CURRENT.set(exchange)
        try:
            body = response.body(self._app(environ, response))
        except BaseException:
            self._adapter.count_unsigned(exchange)
            for close in exchange.closings:
                close()
            raise
        finally:
            CURRENT.reset(token)
        parts = response.parts(body)
        if exchange.settlement is not None:
            parts = self._adapter.sign_settled(exchange, parts, b"PAYMENT-RESPONSE")
            self._adapter.count_unsigned(exchange)
        exchange.sent_headers = parts[1]
        self._adapter.keep(payment, exchange, parts)
        answer = _answer(start_response, parts[0], _text_headers(parts[1]), body)
        return ClosingIterator(answer, [exchange.run_afterwards, response.close, *exchange.closings])


def _request_body(environ: dict[str, Any], adapter: HttpAdapter) -> bytes:
    """Read the request's body, and pass it to the application in decoded form."""
    source, limit = environ["wsgi.input"], adapter.limit
    length = environ.get("CONTENT_LENGTH") or ""
    left = int(length) if length.isdigit() else limit + 1 if environ.get("wsgi.input_terminated") else 0
    body = bytearray()
    while left > 0 and (chunk := source.read(min(left, _CHUNK))):
        body += chunk
        left -= len(chunk)
    if len(body) > limit:
        raise Refusal.of(BodyTooLargeError(limit))
    decoded = adapter.request_body(bytes(body), environ.pop("HTTP_CONTENT_ENCODING", ""))
    environ["wsgi.input"], environ["CONTENT_LENGTH"] = io.BytesIO(decoded), str(len(decoded))
    environ.pop("HTTP_TRANSFER_ENCODING", None)
    return decoded


def _sent_path(environ: dict[str, Any]) -> str:
    """Return a request's path as it was sent, percent-encoded. WSGI itself provides only the decoded form."""
    sent = environ.get("RAW_URI") or environ.get("REQUEST_URI")
    if isinstance(sent, str) and sent:
        return sent.partition("?")[0]
    path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
    return quote(path.encode("latin-1"), safe=_UNESCAPED) or "/"


def _expose(start_response: Any, cors: CorsPolicy, origin: str, status: str, headers: Headers, *error: Any) -> Any:
    page_headers = _text_headers(cors.headers(origin, [name.lower() for name, _ in headers]))
    return start_response(status, headers + page_headers, *error)


def _answer(start_response: Any, status: int, headers: Headers, body: bytes) -> Iterable[bytes]:
    headers = [(name, value) for name, value in headers if name.lower() != "content-length"]
    start_response(_status_line(status), [*headers, ("Content-Length", str(len(body)))])
    return [body]


def _refuse(start_response: Any, refusal: Refusal) -> Iterable[bytes]:
    return _answer(start_response, refusal.status, [("Content-Type", "application/json")], refusal.body)


def _status_line(status: int) -> str:
    phrase = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else "Unknown"
    return f"{status} {phrase}"


def _text_headers(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
