"""The header that says of which block an answer is, and how far that block is behind its chain."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final
from zlib import crc32

from bilateral.api.guard import network_of
from bilateral.core.errors import BilateralError
from bilateral.index.operating.chains import chains
from bilateral.index.reading.copies import VISIT, Visit

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from bilateral.api.service import Service
    from bilateral.index.reading.copies import Copies

HEADER: Final = "Index-State"
"""The name of the header. Its value is a list of RFC 9651: `8453;block=46123456;lag=2;seconds=5, 1;block=…`.

An answer of a replica has `;behind=3` too: the blocks of the primary that the replica lacked.
"""

_READ_AFTER: Final = 1.0
"""The seconds after which the progress is read again: a second is the least that the header tells."""

_LEFT_OUT: Final = ("/assets/", "/healthz", "/readyz", "/metrics", "/openapi.json")
"""Paths whose answers do not come from the index, or state its lag in the body."""


class IndexState:
    """Adds the header to each answer. The header is of the state before the answer, so it never looks too new.

    Args:
        app: The application.
        service: The parts that all routes share.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._proxies = service.settings.proxy_networks
        self._states: tuple[tuple[str, int], ...] = ()
        self._until = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and mark its answer."""
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
        """Return what makes the value for a request, once it is answered."""
        if (copies := self._service.copies) is not None:
            return _value_of_copies(copies, network_of(scope, self._proxies))
        if time.monotonic() > self._until:
            await self._read()
        value = self._value()
        return lambda: value

    async def _read(self) -> None:
        """Read the progress of the chains. A database that does not answer has no state to tell."""
        self._until = time.monotonic() + _READ_AFTER  # others use the last one meanwhile
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
        return ", ".join(f"{state};seconds={max(0, now - made)}" for state, made in self._states).encode()


def _value_of_copies(copies: Copies, client: str) -> Callable[[], bytes]:
    """Choose the server of a client's request, and return what tells the state of the server that answered it."""
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
