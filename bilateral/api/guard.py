"""Limits on requests, before anything reads them: URL, headers, body, and requests a minute."""

from __future__ import annotations

import asyncio
import time
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Final

from limits import parse
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from bilateral.api.aggregator import FEEDBACK_PATH, MAX_FEEDBACK
from bilateral.api.problems import ProblemError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from bilateral.api.settings import ApiSettings

_BODY_SECONDS: Final = 15.0
"""The time that a client has to send its body."""

_FREE: Final = frozenset({"/healthz", "/readyz", "/metrics"})
"""Paths that the rate limit leaves out: monitors ask them."""

_IPV6_PREFIX: Final = 64
"""The bits of an IPv6 address that count as one address: a provider gives that many to one customer."""


class Guard:
    """Refuses requests that exceed the limits. The application gets bodies whole.

    Args:
        app: The application.
        settings: The settings.
    """

    def __init__(self, app: ASGIApp, settings: ApiSettings) -> None:
        """See the class."""
        self._app = app
        self._settings = settings
        self._proxies = settings.proxy_networks
        self._rate = None if settings.rate is None else parse(settings.rate)
        # The storage of `limits` that is not asynchronous starts a thread every ten milliseconds.
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, and pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            self._check_head(scope)
            await self._count(scope)
            body = await self._body(scope, receive)
        except ProblemError as problem:
            await problem.response()(scope, receive, send)
            return
        await self._app(scope, receive if body is None else _replay(body, receive), send)

    def _check_head(self, scope: Scope) -> None:
        """Refuse a URL or headers that are too large."""
        length = len(scope.get("raw_path") or b"") + len(scope["query_string"])
        if length > self._settings.max_url:
            detail = f"the URL has {length} bytes, and {self._settings.max_url} are allowed"
            raise ProblemError(HTTPStatus.REQUEST_URI_TOO_LONG, "url_too_long", detail)
        size = sum(len(name) + len(value) for name, value in scope["headers"])
        if size > self._settings.max_headers:
            detail = f"the headers have {size} bytes, and {self._settings.max_headers} are allowed"
            raise ProblemError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "headers_too_large", detail)

    async def _count(self, scope: Scope) -> None:
        """Refuse a request of an address that sent too many."""
        if self._rate is None or scope["path"] in _FREE:
            return
        key = self._key(scope)
        if await self._limiter.hit(self._rate, key):
            return
        reset = (await self._limiter.get_window_stats(self._rate, key)).reset_time
        seconds = max(1, round(reset - time.time()))
        raise ProblemError(
            HTTPStatus.TOO_MANY_REQUESTS,
            "rate_limited",
            f"this address sent more than {self._rate}: try again in {seconds} seconds",
            headers={"Retry-After": str(seconds)},
        )

    def _key(self, scope: Scope) -> str:
        """Return the client's address, or the network of an IPv6 address."""
        return _network(client_address(scope, self._proxies))

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """Read the body; None if the request has none."""
        declared, limit = None, self._body_limit(scope)
        for name, value in scope["headers"]:
            if name == b"content-length":
                declared = int(value) if value.isdigit() and len(value) < 16 else limit + 1  # noqa: PLR2004
            elif name == b"transfer-encoding":
                declared = -1
        if not declared:
            return None
        if declared > limit:
            raise _too_large(limit)
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                return await _read(receive, limit)
        except TimeoutError:
            detail = f"the body did not arrive within {_BODY_SECONDS:g} seconds"
            raise ProblemError(HTTPStatus.REQUEST_TIMEOUT, "body_timeout", detail) from None

    def _body_limit(self, scope: Scope) -> int:
        """Return the largest body of a request. An aggregator takes the bodies of paid requests."""
        is_evidence = self._settings.aggregator is not None and scope["path"] == FEEDBACK_PATH
        return max(self._settings.max_body, MAX_FEEDBACK) if is_evidence else self._settings.max_body


async def _read(receive: Receive, limit: int) -> bytes:
    """Read a body up to a limit."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return bytes(body)
        body += message.get("body", b"")
        if len(body) > limit:
            raise _too_large(limit)
        if not message.get("more_body", False):
            return bytes(body)


def _too_large(limit: int) -> ProblemError:
    """Return the problem of a body that is too large."""
    detail = f"the body has more than {limit} bytes: send less"
    headers = {"Connection": "close"}
    return ProblemError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "body_too_large", detail, headers=headers)


def client_address(scope: Scope, proxies: tuple[object, ...]) -> str:
    """Return the address of a request's client.

    Args:
        scope: The request.
        proxies: The networks of trusted proxies. `X-Forwarded-For` counts only if one of them sent the request: its
            last address that is not a trusted proxy is the client's.
    """
    peer = (scope.get("client") or ("",))[0]
    if not proxies or not _is_within(peer, proxies):
        return peer
    forwarded = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for").decode("latin-1")
    for text in reversed(forwarded.split(",")):
        address = text.strip()
        if not _is_address(address):
            return peer
        if not _is_within(address, proxies):
            return address
        peer = address
    return peer


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _is_within(text: str, networks: tuple[object, ...]) -> bool:
    return _is_address(text) and any(ip_address(text) in network for network in networks)  # type: ignore[operator]


def _network(address: str) -> str:
    """Return an IPv4 address as it is, and the network of an IPv6 address."""
    if ":" not in address:
        return address
    found = ip_address(address.partition("%")[0])
    if isinstance(found, IPv6Address) and found.ipv4_mapped:
        return str(found.ipv4_mapped)
    return str(ip_network((found, _IPV6_PREFIX), strict=False))


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return what gives a body that was read already, and then the rest of the connection's messages."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
