"""The common part of the ASGI and WSGI adapters. It performs no I/O."""

from __future__ import annotations

import base64
import functools
import inspect
import json
import logging
import re
import sys
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, TypeAlias

from pydantic import ValidationError
from x402.http.types import HTTPRequestContext, RouteConfig
from x402.http.x402_http_server_base import x402HTTPServerBase
from x402.schemas import PaymentPayload

from bilateral.core.errors import InvalidArgumentError
from bilateral.x402.clients.preflight import Preflight, extra_of
from bilateral.x402.offers import decode_header
from bilateral.x402.proof.answers import PaidAnswer, PaidAnswers
from bilateral.x402.proof.checking import UNSUPPORTED
from bilateral.x402.proof.errors import BodyTooLargeError, ReputationExtensionError, StreamingRouteError
from bilateral.x402.proof.fields import decode_body, is_stream
from bilateral.x402.proof.payments import unsupported_kind
from bilateral.x402.proof.profiles import PROFILES
from bilateral.x402.server.cors import EVERY_PAGE, CorsPolicy
from bilateral.x402.server.exchange import Exchange, Refusal
from bilateral.x402.server.server import Reputation8004ResourceServerExtension

logger = logging.getLogger("bilateral.x402")

AnswerParts: TypeAlias = tuple[int, tuple[tuple[bytes, bytes], ...], bytes]
"""A response's status, headers and body."""


_PARAMETER: Final = re.compile(r"\\{([^{}]*?)\\}")
"""A path parameter, in a path to which `re.escape` has been applied."""


MAX_PAYMENT_HEADER: Final = 32 * 1024
"""The maximum length of `PAYMENT-SIGNATURE`. A header with 32 registrations has about 24,000 characters."""


class HttpAdapter:
    """Decides how paid HTTP requests are handled, for both the ASGI and the WSGI adapter.

    Attributes:
        limit: The maximum size of a decoded body in bytes.
        answers: The store of answers that are retained for clients that lost them.
        cors: The CORS policy: the web pages that may call paid routes.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # settings, all but four with a default
        self,
        routes: Mapping[str, RouteConfig],
        server: Any,
        limit: int,
        answers: PaidAnswers,
        preflight: Preflight | None = None,
        cors: CorsPolicy = EVERY_PAGE,
    ) -> None:
        self.limit, self.answers, self.cors = limit, answers, cors
        self._preflight, self._all_routes, self._server = preflight, routes, server
        self._declaring = {pattern: route for pattern, route in routes.items() if _profiles_of(route)}
        self._routes = x402HTTPServerBase(server, self._declaring)
        self._extensions: dict[str, Reputation8004ResourceServerExtension] = {}
        for extension in server.get_extensions():
            if isinstance(extension, Reputation8004ResourceServerExtension):
                self._extensions[extension.key] = extension
                if preflight is not None:
                    extension.verifier = extension.verifier or preflight.verifier

    def check_routes(self) -> None:
        """Check the settings of the routes that declare the extension."""
        declared = {key for route in self._declaring.values() for key in _profiles_of(route)}
        for missing in sorted(declared - self._extensions.keys()):
            raise InvalidArgumentError(f"a route declares {missing}: register the extension with the server")
        for pattern, route in self._declaring.items():
            for option in route.accepts if isinstance(route.accepts, list) else [route.accepts]:
                code = unsupported_kind(option.scheme, str(option.network), extra_of(option))
                if code is not None:
                    raise InvalidArgumentError(f"{pattern} accepts unsupported payments ({code}): {UNSUPPORTED}")

    def declares(self, method: str, path: str, decoded_path: str | None = None) -> bool:
        """Return whether a request matches a paid route that declares a profile, by the SDK's matching rules."""
        context = HTTPRequestContext(None, path, method, decoded_path=decoded_path)  # type: ignore[arg-type]
        return bool(self._routes.requires_payment(context))

    def access(self, method: str, origin: str, verb: str, *paths: str) -> tuple[bool, list[tuple[bytes, bytes]] | None]:
        """Return whether a route declares a profile, and the CORS headers for a page that wants to call it.

        The headers are returned only for a preflight request, whose intended method is `verb`; otherwise, they are
        None.
        """
        is_preflight = method == "OPTIONS" and origin and verb and self.declares(verb, *paths)
        return self.declares(method, *paths), self.cors.preflight(origin, verb) if is_preflight else None

    def check_agents(self) -> None:
        """Check the routes' agents, wallets and keys, if the adapter was given a `Preflight`."""
        if self._preflight is None:
            logger.warning("agent, payTo and signing key are not checked at startup: pass preflight=Preflight(…)")
            return
        keys = {key: extension.public_key for key, extension in self._extensions.items()}
        self._preflight.run(self._all_routes, keys, self._server)

    def refuse_streaming(self, routes: Iterable[StreamingRoute]) -> None:
        """Reject the application's streaming routes that declare the extension."""
        for methods, path in routes:
            pattern = re.compile(_PARAMETER.sub(_parameter_pattern, re.escape(path)))
            paid = (route.rpartition(" ")[2] for route in self._declaring)
            paths = [path, *filter(pattern.fullmatch, paid)]
            for method in sorted(methods):
                if any(self.declares(method, path) for path in paths):
                    raise StreamingRouteError(f"{method} {path}")

    def refuse_stream(self, headers: Mapping[str, str]) -> None:
        """Reject a streaming response as soon as its headers are known."""
        if is_stream(headers.get("content-type", "")):
            raise Refusal(500, "streaming_response")

    def check_headers(self, payment: str, content_length: str, content_encoding: str) -> None:
        """Check `PAYMENT-SIGNATURE` and the body's headers before anything else is read."""
        if len(payment) > MAX_PAYMENT_HEADER:
            raise Refusal(431, "payment_header_too_long")
        try:
            PaymentPayload.model_validate(decode_header(payment))
        except ValidationError:
            raise Refusal(400, "payment_header_malformed") from None
        if content_encoding:
            self.request_body(b"", content_encoding)
        digits = content_length.strip().lstrip("0")
        if digits.isdecimal() and (len(digits) > len(str(self.limit)) or int(digits) > self.limit):
            raise Refusal.of(BodyTooLargeError(self.limit))

    def request_body(self, body: bytes, encoding: str) -> bytes:
        """Return a request's body in decoded form, as the application will receive it."""
        try:
            return decode_body(body, encoding, self.limit)
        except ReputationExtensionError as error:
            raise Refusal.of(error) from None

    def response_body(self, body: bytes, headers: Mapping[str, str]) -> bytes:
        """Return a response's body in decoded form, as the client will see it."""
        self.refuse_stream(headers)
        try:
            return decode_body(body, headers.get("content-encoding", ""), self.limit)
        except ReputationExtensionError as error:
            is_too_large = isinstance(error, BodyTooLargeError)
            raise Refusal(500, "response_too_large" if is_too_large else "response_not_signable") from None

    def refuse_large_response(self, size: int) -> None:
        """Reject a response as soon as it exceeds the limit."""
        if size > self.limit:
            raise Refusal(500, "response_too_large")

    def find_answer(self, payment: bytes | None) -> PaidAnswer | None:
        """Return the answer that a payment bought earlier, or None if there is none."""
        try:
            return None if payment is None else self.answers.find(payment)
        except Exception:
            logger.exception("the store of paid answers failed: the request is served as a new one")
            return None

    def refuse_other_request(self, stored: PaidAnswer, exchange: Exchange) -> None:
        """Refuse to respond to a request with the answer to a different request."""
        if stored.request != exchange.identity:
            raise Refusal(409, "payment_of_another_request")

    def keep(self, payment: bytes | None, exchange: Exchange, response: AnswerParts) -> None:
        """Retain a signed answer in case the client loses it, or an unsigned one until its payment is settled.

        No error is raised, because the client has already paid.
        """
        answer = None
        if exchange.is_signed or exchange.is_free:
            answer = PaidAnswer(exchange.identity, *response)
        elif exchange.is_unsettled and exchange.captured is not None:
            answer = PaidAnswer(exchange.identity, *exchange.captured).unsettled()
        try:
            if payment is not None and answer is not None:
                self.answers.keep(payment, answer)
        except Exception:
            logger.exception("the store of paid answers failed: the client cannot fetch this answer again")

    def count_unsigned(self, exchange: Exchange) -> None:
        """Count the missing proofs if an answer was paid in advance but has no `PAYMENT-RESPONSE`."""
        for key in tuple(exchange.declarations):
            del exchange.declarations[key]
            self._extensions[key].count_unsigned("the response has no PAYMENT-RESPONSE header")

    def sign_settled(self, exchange: Exchange, response: AnswerParts, name: bytes) -> AnswerParts:
        """Sign an exchange that was settled before the application ran, and add the proof to the settlement header."""
        status, headers, body = response
        texts = texts_of(headers)
        exchange.response = None  # the application's response may differ from the one sent
        with suppress(ReputationExtensionError):
            exchange.response = decode_body(body, texts.get("content-encoding", ""), self.limit)
        settlement, message = exchange.settlement, decode_header(texts.get("payment-response"))
        if settlement is None or message is None:
            return response
        extensions = dict(message.get("extensions") or {})
        for key in tuple(exchange.declarations):
            signed = self._extensions[key].sign_or_count(exchange.declarations.pop(key), settlement, exchange)
            extensions |= {} if signed is None else {key: signed}
        proof = base64.b64encode(json.dumps({**message, "extensions": extensions}).encode())
        remaining = (header for header in headers if header[0].lower() != b"payment-response")
        return status, (*remaining, (name, proof)), body


def texts_of(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return the headers as strings, keyed by lower-case name."""
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}


def _profiles_of(route: RouteConfig) -> set[str]:
    return PROFILES.keys() & (route.extensions or {}).keys()


def _parameter_pattern(parameter: re.Match[str]) -> str:
    """Return the pattern for a path parameter. With the converter `path`, it may contain slashes or be empty."""
    return ".*" if parameter[1].endswith(":path") else "[^/]+"


_FLASK_PARAMETER: Final = re.compile(r"<(?:([^<>:]+):)?([^<>]+)>")


StreamingRoute: TypeAlias = tuple[Collection[str], str]
"""A streaming route's methods and path. Parameters are `{name}`, or `{name:path}` if they accept slashes."""


def asgi_streams(app: Any, prefix: str = "") -> Iterator[StreamingRoute]:
    """Find the streaming routes in a FastAPI or Starlette application, including its routers and mounted parts."""
    for route in _asgi_routes(app):
        path = prefix + (getattr(route, "path", None) or "")
        if getattr(route, "endpoint", None) is None:
            yield from asgi_streams(getattr(route, "app", None) or route, path)
            continue
        response_class = getattr(route, "response_class", None)
        response_class = getattr(response_class, "value", response_class)  # FastAPI wraps its default
        if _is_streaming_class(response_class) or _is_streaming_function(route.endpoint):
            yield getattr(route, "methods", None) or {"GET"}, path


def flask_streams(app: Any) -> Iterator[StreamingRoute]:
    """Find the streaming routes in a Flask application and its blueprints: views that yield their responses."""
    for rule in app.url_map.iter_rules():
        if _is_streaming_function(app.view_functions.get(rule.endpoint)):
            yield rule.methods or {"GET"}, _FLASK_PARAMETER.sub(_parameter, rule.rule)


def _parameter(match: re.Match[str]) -> str:
    return f"{{{match[2]}:path}}" if match[1] == "path" else f"{{{match[2]}}}"


def _asgi_routes(app: Any) -> Iterable[Any]:
    while not hasattr(app, "routes") and hasattr(app, "app"):
        app = app.app  # middleware around a mounted application
    routes = getattr(app, "routes", None) or ()
    fastapi = sys.modules.get("fastapi.routing")
    expand = getattr(fastapi, "iter_route_contexts", None)
    return routes if expand is None else expand(routes)


def _is_streaming_class(kind: Any) -> bool:
    if not isinstance(kind, type):
        return False
    is_streaming = any(base.__name__ == "StreamingResponse" for base in kind.__mro__)
    return is_streaming or is_stream(str(getattr(kind, "media_type", "")))


def _is_streaming_function(function: Callable[..., Any] | None) -> bool:
    """Return whether a function yields its response, or is annotated as returning a stream."""
    while isinstance(function, functools.partial):
        function = function.func
    if function is None or inspect.isclass(function):
        return False
    function = inspect.unwrap(function)
    if not inspect.isroutine(function):
        function = type(function).__call__
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return True
    returned = None
    with suppress(Exception):  # an annotation may refer to a name that is not imported
        returned = typing.get_type_hints(function).get("return")
    return _is_streaming_class(returned)
