"""HTTP on a connection, with limits that hold before a request is complete."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from bilateral.api.problems import ProblemError

if TYPE_CHECKING:
    import asyncio

HEAD_BYTES: Final = 64 * 1024
"""The bytes of a request's first line and headers from which on the connection is closed."""

HEAD_SECONDS: Final = 20.0
"""The time that a client has to send them."""


class BoundedProtocol(HttpToolsProtocol):
    """Closes connections whose request has no end of its headers, in bytes or in time, or is not HTTP."""

    _size = 0
    _is_complete = False
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes of requests."""
        if not self._is_complete and self._timer is None:
            self._wait()
        self._size = 0 if self._is_complete else self._size + len(data)
        super().data_received(data)
        if not self._is_complete and self._size > HEAD_BYTES and not self.transport.is_closing():
            detail = f"the first line and the headers have more than {HEAD_BYTES} bytes: send less"
            self._refuse(ProblemError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "headers_too_large", detail))

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        self._refuse(ProblemError(HTTPStatus.BAD_REQUEST, "invalid_request", msg))

    def on_headers_complete(self) -> None:
        """Take the end of the headers."""
        self._is_complete, self._size = True, 0
        self._stop_waiting()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Take the end of a request."""
        self._is_complete = False
        super().on_message_complete()

    def _refuse(self, problem: ProblemError) -> None:
        """Answer with a problem, and close the connection."""
        response = problem.response()
        headers = [*self.server_state.default_headers, *response.raw_headers, (b"connection", b"close")]
        lines = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
        self.transport.write(STATUS_LINE[problem.status] + lines + b"\r\n" + bytes(response.body))
        self.transport.close()

    def _wait(self) -> None:
        self._timer = self.loop.call_later(HEAD_SECONDS, self._close)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self) -> None:
        """Close a connection whose request did not arrive in time."""
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()
