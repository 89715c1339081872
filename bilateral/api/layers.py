"""Layers of the application: CORS headers, index state headers, and fast paths for frequent requests."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from re import Match, Pattern
from typing import Final
from zlib import crc32

from fastapi import Request, Response
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bilateral.api.answers import ProblemError, answer_to, problem_of, tagged
from bilateral.api.guard import network_of
from bilateral.api.service import Service
from bilateral.core.errors import BilateralError
from bilateral.index.operating.chains import chains
from bilateral.index.reading.copies import VISIT, Copies, Visit

READING_POSTS: Final = ("/graphql", "/api/v1/search", "/v1/checks", "/mcp")
"""The paths, including all paths below them, on which POST requests only read data."""

_HEADERS: Final = (
    *("Content-Type", "If-None-Match", "Accept"),
    *("MCP-Protocol-Version", "MCP-Session-Id", "MCP-Method", "MCP-Name", "Last-Event-ID"),  # from clients of /mcp
)
_EXPOSED: Final = ("ETag", "Link", "Retry-After", "Content-Disposition", "Index-State")


class CrossOriginReads:
    """Allows pages from any origin to read data without credentials."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        common = {"allow_origins": ("*",), "allow_headers": _HEADERS, "expose_headers": _EXPOSED, "max_age": 86_400}
        self._reads = CORSMiddleware(app, allow_methods=("GET", "HEAD"), **common)  # type: ignore[arg-type]
        self._posts = CORSMiddleware(app, allow_methods=("GET", "HEAD", "POST"), **common)  # type: ignore[arg-type]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle preflight requests, and add CORS headers to the responses to reads."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif _may_post(scope["path"]):
            await self._posts(scope, receive, send)
        elif scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self._reads(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _may_post(path: str) -> bool:
    return any(path == reading or path.startswith(f"{reading}/") for reading in READING_POSTS)


HEADER: Final = "Index-State"
"""The name of the index state header, an RFC 9651 list such as `8453;block=46123456;lag=2;seconds=5, 1;block=…`.

`lag` counts blocks to the chain's head. A replica adds `;behind=3`, the number of blocks it lags behind the primary.
"""

_READ_AFTER: Final = 1.0
"""Seconds after which the progress is read again. The header has a resolution of one second."""

_LEFT_OUT: Final = ("/assets/", "/healthz", "/readyz", "/metrics", "/openapi.json")
"""The paths whose responses do not come from the index, or whose bodies report the lag."""


class IndexState:
    """Adds the index state header to each response. The header never describes a later state than the response."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._proxies = service.settings.proxy_networks
        self._states: tuple[tuple[str, int], ...] = ()
        self._until = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and add the header to its response."""
        if scope["type"] != "http" or scope["path"].startswith(_LEFT_OUT):
            await self._app(scope, receive, send)
            return
        value = await self._value_of(scope)

        async def mark(message: Message) -> None:
            if message["type"] == "http.response.start" and (header := value()):
                message["headers"] = [*message.get("headers", ()), (HEADER.lower().encode(), header)]
            await send(message)

        await self._app(scope, receive, mark)

    async def _value_of(self, scope: Scope) -> Callable[[], bytes]:
        """Return a function that computes the header's value once the request has been handled."""
        if (copies := self._service.copies) is not None:
            return _value_of_copies(copies, network_of(scope, self._proxies))
        if time.monotonic() > self._until:
            await self._read()
        value = self._value()
        return lambda: value

    async def _read(self) -> None:
        """Read the chains' progress. If the database does not respond, the progress is empty."""
        self._until = time.monotonic() + _READ_AFTER  # in the meantime, others use the last one
        try:
            progresses = await self._service.read_reachable(chains)
        except BilateralError:
            self._states = ()
        else:
            self._states = tuple(
                (f"{chain.chain_id};block={chain.block};lag={chain.lag}", chain.block_time) for chain in progresses
            )

    def _value(self) -> bytes:
        now = int(time.time())
        return ", ".join(f"{state};seconds={max(0, now - block_time)}" for state, block_time in self._states).encode()


def _value_of_copies(copies: Copies, client: str) -> Callable[[], bytes]:
    visit = Visit(crc32(client.encode()))
    VISIT.set(visit)
    states = {copy: copy.states for copy in copies.all}

    def value() -> bytes:
        copy = visit.copy or copies.in_order()[0]
        if visit.copy is None and not copy.is_up:
            return b""
        heads, primary, now = copies.heads(), states[copies.primary], int(time.time())
        parts = []
        for chain_id, state in sorted(states[copy].items()):
            lag, seconds = max(0, heads[chain_id] - state.block), max(0, now - state.block_time)
            part = f"{chain_id};block={state.block};lag={lag};seconds={seconds}"
            if not copy.is_primary and chain_id in primary:
                part += f";behind={max(0, primary[chain_id].block - state.block)}"
            parts.append(part)
        return ", ".join(parts).encode()

    return value


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A fast path for a frequent kind of GET request. The path's normal route handles all requests that it leaves.

    Attributes:
        path: The route's path, for the metrics.
        pattern: A pattern for the paths, without the query string.
        answer: Returns the JSON for a path and query, or None if the route must handle the request.
    """

    path: str
    pattern: Pattern[str]
    answer: Callable[[Service, Match[str], bytes], Awaitable[bytes | None]]


class Shortcuts:
    """Handles requests that match a `Shortcut`, and passes on all others.

    Args:
        shortcuts: The shortcuts, in order.
    """

    def __init__(self, app: ASGIApp, service: Service, shortcuts: Sequence[Shortcut]) -> None:
        self._app = app
        self._service = service
        self._shortcuts = shortcuts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, or pass it on."""
        response = None
        if scope["type"] == "http" and scope["method"] == "GET":
            response = await self._answer(scope)
        await (self._app if response is None else response)(scope, receive, send)

    async def _answer(self, scope: Scope) -> Response | None:
        path = scope["path"]
        for shortcut in self._shortcuts:
            match = shortcut.pattern.fullmatch(path)
            if match is None:
                continue
            try:
                body = await shortcut.answer(self._service, match, scope["query_string"])
            except (ProblemError, BilateralError) as error:
                response = answer_to(path, problem_of(error))
            else:
                if body is None:
                    return None
                response = tagged(Request(scope), body)
            scope["route"] = shortcut
            return response
        return None
