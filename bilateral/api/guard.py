"""Limits that apply before a request is read: on the size of the URL, headers and body, and on requests per minute."""

import asyncio
import re
import time
from collections import Counter
from http import HTTPStatus
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

from limits import parse
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bilateral.api.aggregator import FEEDBACK_PATH, MAX_FEEDBACK
from bilateral.api.answers import ProblemError, answer_to
from bilateral.api.settings import ApiSettings
from bilateral.core.text.encoding import MAX_DEPTH, is_shallow

_BODY_SECONDS: Final = 15.0
"""The time limit in seconds for sending a body, which suffices for 1 MiB at 70 kB per second."""

MAX_STORED: Final = 256 * 1024 * 1024
"""The maximum total size, in bytes, of the bodies that a process is receiving, queueing or handling."""

MAX_STORED_OF_ADDRESS: Final = 16 * 1024 * 1024
"""The maximum total size of the bodies from one address. It takes sixteen addresses to reach the process's limit."""

_MOST_BRACKETS: Final = 20_000
_MOST_QUOTES: Final = 100_000
"""The maximum numbers of opening brackets and of quotation marks in a body. SDK queries have up to 10,000 strings."""

_FREE: Final = frozenset({"/healthz", "/readyz", "/metrics"})
"""The paths that are exempt from the rate limit, because monitors request them."""

_IPV6_PREFIX: Final = 64
"""The prefix length of IPv6 networks, each of which counts as one address. Customers usually get one each."""


_SCHEMES: Final = ("http", "https")
_HOST: Final = re.compile(r"([a-zA-Z0-9.-]{1,253}|\[[0-9a-fA-F:.]{2,45}\])(:[0-9]{1,5})?")


class StoredBodies:
    """Counts the bytes of request bodies in memory, by sender address."""

    def __init__(self) -> None:
        self._of: Counter[str] = Counter()

    def take(self, address: str, size: int) -> None:
        """Add bytes to an address's count. Raise an error if they exceed a limit."""
        if self._of[address] + size > MAX_STORED_OF_ADDRESS or self._of.total() + size > MAX_STORED:
            detail = "too many large requests are in progress: try again later"
            headers = {"Retry-After": "1", "Connection": "close"}
            raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, "busy", detail, headers=headers)
        self._of[address] += size

    def give_back(self, address: str, size: int) -> None:
        """Subtract released bytes from an address's count."""
        self._of[address] -= size
        if not self._of[address]:
            del self._of[address]


class Guard:
    """Rejects requests that exceed the limits. The application never sees incomplete bodies."""

    def __init__(self, app: ASGIApp, settings: ApiSettings) -> None:
        self._app = app
        self._settings = settings
        self._proxies = settings.proxy_networks
        self._rate = None if settings.rate is None else parse(settings.rate)
        # The synchronous storage of `limits` would start a thread every ten milliseconds.
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._stored = StoredBodies()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, and pass it on to the application."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = None
        try:
            self._check_head(scope)
            address = network_of(scope, self._proxies)
            await self._count(scope, address)
            if limit := self._body_limit(scope):
                body = _Body(self._stored, address, limit)
                await body.read(receive)
        except ProblemError as problem:
            await answer_to(scope["path"], problem)(scope, receive, send)
        else:
            await self._app(scope, receive if body is None else body.replay(receive), send)
        finally:
            if body is not None:
                body.give_back()

    def _check_head(self, scope: Scope) -> None:
        """Reject requests with an oversized URL or headers, or without exactly one `Host` (RFC 9112, 3.2)."""
        hosts = sum(name == b"host" for name, _ in scope["headers"])
        if hosts > 1 or (not hosts and scope["http_version"] != "1.0"):
            detail = f"the request has {hosts} Host headers: send one"
            raise ProblemError(HTTPStatus.BAD_REQUEST, "invalid_request", detail, headers={"Connection": "close"})
        length = len(scope.get("raw_path") or b"") + len(scope["query_string"])
        if length > self._settings.max_url:
            detail = f"the URL has {length} bytes, but at most {self._settings.max_url} are allowed"
            raise ProblemError(HTTPStatus.REQUEST_URI_TOO_LONG, "url_too_long", detail)
        size = sum(len(name) + len(value) for name, value in scope["headers"])
        if size > self._settings.max_headers:
            detail = f"the headers have {size} bytes, but at most {self._settings.max_headers} are allowed"
            raise ProblemError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "headers_too_large", detail)

    async def _count(self, scope: Scope, address: str) -> None:
        if self._rate is None or scope["path"] in _FREE:
            return
        if await self._limiter.hit(self._rate, address):
            return
        reset = (await self._limiter.get_window_stats(self._rate, address)).reset_time
        seconds = max(1, round(reset - time.time()))
        raise ProblemError(
            HTTPStatus.TOO_MANY_REQUESTS,
            "rate_limited",
            f"this address exceeded the rate limit of {self._rate}: try again in {seconds} seconds",
            headers={"Retry-After": str(seconds)},
        )

    def _body_limit(self, scope: Scope) -> int | None:
        """Return a request's maximum body size; None if it has no body. Aggregators accept larger bodies."""
        is_evidence = self._settings.aggregator is not None and scope["path"] == FEEDBACK_PATH
        limit = max(self._settings.max_body, MAX_FEEDBACK) if is_evidence else self._settings.max_body
        declared = None
        for name, value in scope["headers"]:
            if name == b"content-length":
                declared = int(value) if value.isdigit() and len(value) < 16 else limit + 1  # noqa: PLR2004
            elif name == b"transfer-encoding":
                declared = -1
        if declared and declared > limit:
            raise _too_large(limit)
        return limit if declared else None


class _Body:
    """A request's body, which is read completely.

    Args:
        held: Counts the bytes of all bodies in memory.
        address: The address that sent the body.
        limit: The maximum size of the body.
    """

    def __init__(self, stored: StoredBodies, address: str, limit: int) -> None:
        self._stored = stored
        self._address = address
        self._limit = limit
        self._parts: list[bytes] = []
        self._whole = b""
        self._size = 0

    async def read(self, receive: Receive) -> None:
        """Read the body."""
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                is_whole = False
                while not is_whole:
                    message = await receive()
                    self._take(message.get("body", b""))
                    is_whole = not message.get("more_body", False)  # also true if the client has disconnected
        except TimeoutError:
            detail = f"the body did not arrive within {_BODY_SECONDS:g} seconds"
            headers = {"Connection": "close"}  # the rest of the body would be taken for the next request
            raise ProblemError(HTTPStatus.REQUEST_TIMEOUT, "body_timeout", detail, headers=headers) from None
        self._whole = b"".join(self._parts)
        self._parts.clear()
        _require_parsable(self._whole)

    def _take(self, part: bytes) -> None:
        if self._size + len(part) > self._limit:
            raise _too_large(self._limit)
        self._stored.take(self._address, len(part))
        self._size += len(part)
        self._parts.append(part)

    def replay(self, receive: Receive) -> Receive:
        """Return a `receive` function that returns the body and then the connection's remaining messages."""
        body: bytes | None = self._whole
        self._whole = b""

        async def replay() -> Message:
            nonlocal body
            if body is None:
                return await receive()
            message = {"type": "http.request", "body": body, "more_body": False}
            body = None
            return message

        return replay

    def give_back(self) -> None:
        """Release the body's bytes."""
        self._stored.give_back(self._address, self._size)


def _require_parsable(body: bytes) -> None:
    """Reject a body that is too expensive to parse as JSON, or whose nesting could crash a recursive parser."""
    brackets, quotes = body.count(b"[") + body.count(b"{"), body.count(b'"')
    if brackets > _MOST_BRACKETS or quotes > _MOST_QUOTES:
        detail = f"the body has {brackets} brackets and {quotes} quotation marks: send a smaller request"
    elif b"\0" in body:
        detail = "the body contains a NUL byte: send JSON in UTF-8"
    elif not is_shallow(body.decode("latin-1")):  # brackets and quotation marks are the same in UTF-8
        detail = f"the body is nested deeper than {MAX_DEPTH} levels"
    else:
        return
    raise ProblemError(HTTPStatus.BAD_REQUEST, "malformed_body", detail)


def _too_large(limit: int) -> ProblemError:
    detail = f"the body has more than {limit} bytes: send a smaller request"
    return ProblemError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "body_too_large", detail, headers={"Connection": "close"})


def client_address(scope: Scope, proxies: tuple[object, ...]) -> str:
    """Return the address of a request's client."""
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


def origin_of(scope: Scope, settings: ApiSettings) -> str:
    """Return the service's public address, such as `https://explorer.example`, for absolute links."""
    if settings.public_url is not None:
        return settings.public_url.rstrip("/")
    headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
    is_from_proxy = _is_within((scope.get("client") or ("",))[0], settings.proxy_networks)
    scheme = scope["scheme"]
    if is_from_proxy and (forwarded := headers.get(b"x-forwarded-proto", "").strip().lower()) in _SCHEMES:
        scheme = forwarded
    match = _HOST.fullmatch(headers.get(b"host", ""))
    if match is None:
        return ""
    name = match[1].strip("[]").lower()
    is_own = name in ("localhost", (scope.get("server") or ("",))[0]) or (
        _is_address(name) and _plain(name).is_loopback
    )
    return f"{scheme}://{match[0].lower()}" if is_from_proxy or is_own else ""


def network_of(scope: Scope, proxies: tuple[object, ...]) -> str:
    """Return the key that identifies a client, which is its IPv4 address or the network of its IPv6 address."""
    address = client_address(scope, proxies)
    if ":" not in address:
        return address
    plain = _plain(address)
    return str(plain) if isinstance(plain, IPv4Address) else str(ip_network((plain, _IPV6_PREFIX), strict=False))


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _is_within(text: str, networks: tuple[object, ...]) -> bool:
    return _is_address(text) and any(_plain(text) in network for network in networks)  # type: ignore[operator]


def _plain(text: str) -> IPv4Address | IPv6Address:
    """Convert an IPv4-mapped IPv6 address, as dual-stack sockets report, to IPv4. Return others as is."""
    address = ip_address(text.partition("%")[0])
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address
