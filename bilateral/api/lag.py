"""The header that says of which block an answer is, and how far that block is behind its chain."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from bilateral.errors import BilateralError
from bilateral.query.chains import chains

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from bilateral.api.service import Service

HEADER: Final = "Index-State"
"""The name of the header. Its value is a list of RFC 9651: `8453;block=46123456;lag=2;seconds=5, 1;block=…`."""

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
        """See the class."""
        self._app = app
        self._service = service
        self._states: tuple[tuple[str, int], ...] = ()
        self._until = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and mark its answer."""
        if scope["type"] != "http" or scope["path"].startswith(_LEFT_OUT):
            await self._app(scope, receive, send)
            return
        if time.monotonic() > self._until:
            await self._read()
        value = self._value()

        async def mark(message: Message) -> None:
            if value and message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), (HEADER.lower().encode(), value)]
            await send(message)

        await self._app(scope, receive, mark)

    async def _read(self) -> None:
        """Read the progress of the chains. A database that does not answer has no state to tell."""
        self._until = time.monotonic() + _READ_AFTER  # others use the last one meanwhile
        try:
            progresses = await self._service.read_briefly(chains)
        except BilateralError:
            self._states = ()
        else:
            self._states = tuple(
                (f"{chain.chain_id};block={chain.block};lag={chain.lag}", chain.block_time) for chain in progresses
            )

    def _value(self) -> bytes:
        now = int(time.time())
        return ", ".join(f"{state};seconds={max(0, now - made)}" for state, made in self._states).encode()
