"""HTTP connections with limits that apply before a request is complete."""

import asyncio
import logging
import time
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from bilateral.api.answers import ProblemError
from bilateral.core.text.log_lines import SeldomFilter

HEAD_BYTES: Final = 64 * 1024
"""The maximum size, in bytes, of a request's first line and headers. If they are larger, the connection is closed."""

HEAD_SECONDS: Final = 20.0
"""The time limit in seconds for sending the first line and headers, so slow clients cannot occupy all connections."""


READ_SECONDS: Final = 20.0
"""The time limit in seconds for a client to read `READ_BYTES` of its response, or the rest of the response."""

READ_BYTES: Final = 64 * 1024  # what an asyncio transport buffers before it pauses a writer

MAX_CONNECTIONS: Final = 800
"""The maximum number of connections per process. Most systems allow a process 1,024 open files."""


class _SeldomWarnings(SeldomFilter):
    """Passes on errors, and limits the rate of other log records, because any request can cause a warning."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Check whether a record may be logged."""
        return record.levelno >= logging.ERROR or super().filter(record)


logging.getLogger("uvicorn.error").addFilter(_SeldomWarnings())


class BoundedProtocol(HttpToolsProtocol):
    """Closes connections whose client sends or reads too slowly, or does not use HTTP.

    If there are too many connections, the one that has been idle longest is closed.
    """

    _size = 0
    _is_complete = False
    _timer: asyncio.TimerHandle | None = None
    _reader_timer: asyncio.TimerHandle | None = None
    _waits_since = 0.0

    def connection_made(self, transport: Any) -> None:
        """Start waiting for a request."""
        super().connection_made(transport)
        self._waits_since = time.monotonic()
        self._wait()
        if len(self.connections) > MAX_CONNECTIONS:
            _longest_waiting(self.connections).give_up()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        self._stop_watching()
        super().connection_lost(exc)

    @property
    def waits_since(self) -> float:
        """The time at which the connection became idle; infinity while a request is in progress."""
        is_answering = self.cycle is not None and not self.cycle.response_complete
        return float("inf") if is_answering else self._waits_since

    def give_up(self) -> None:
        """Close the connection, and discard output that the client has not read."""
        self.connections.discard(self)
        self.transport.abort()

    def pause_writing(self) -> None:
        """Start checking whether the client reads the response."""
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        """Stop checking, because the client has read nearly everything."""
        super().resume_writing()
        self._stop_watching()

    def on_response_complete(self) -> None:
        """Wait for the next request, and check whether the client reads the rest of the response."""
        self._waits_since = time.monotonic()
        super().on_response_complete()
        self._stop_watching()  # the previous response's timer would mistake this response for unread data
        self._watch_reader()

    def data_received(self, data: bytes) -> None:
        """Receive a request's bytes. Limit the size of its headers."""
        if not self._is_complete and self._timer is None:
            self._wait()
        self._size = 0 if self._is_complete else self._size + len(data)
        super().data_received(data)
        if not self._is_complete and self._size > HEAD_BYTES and not self.transport.is_closing():
            detail = f"the first line and the headers exceed {HEAD_BYTES} bytes: send fewer or shorter headers"
            self._refuse(ProblemError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "headers_too_large", detail))

    def send_400_response(self, msg: str) -> None:
        """Reject data that is not HTTP."""
        self._refuse(ProblemError(HTTPStatus.BAD_REQUEST, "invalid_request", msg))

    def on_headers_complete(self) -> None:
        """Handle the end of the headers."""
        self._is_complete, self._size = True, 0
        self._stop_waiting()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Handle the end of a request."""
        self._is_complete = False
        super().on_message_complete()

    def _refuse(self, problem: ProblemError) -> None:
        response = problem.response()
        headers = [*self.server_state.default_headers, *response.raw_headers, (b"connection", b"close")]
        lines = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
        self.transport.write(STATUS_LINE[problem.status] + lines + b"\r\n" + bytes(response.body))
        self.transport.close()

    def _watch_reader(self) -> None:
        """If part of the response is unread, schedule a check that the client keeps reading."""
        unread = self.transport.get_write_buffer_size()
        if unread and self._reader_timer is None:
            self._reader_timer = self.loop.call_later(READ_SECONDS, self._look_at_reader, unread)

    def _stop_watching(self) -> None:
        if self._reader_timer is not None:
            self._reader_timer.cancel()
            self._reader_timer = None

    def _look_at_reader(self, before: int) -> None:
        self._reader_timer = None
        if self.transport.get_write_buffer_size() > max(0, before - READ_BYTES):
            self.give_up()
        else:
            self._watch_reader()

    def _wait(self) -> None:
        self._timer = self.loop.call_later(HEAD_SECONDS, self._close)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()


def _longest_waiting(connections: Iterable[Any]) -> BoundedProtocol:
    """Return the connection that has been idle longest."""
    bounded_protocol: BoundedProtocol = min(connections, key=lambda connection: connection.waits_since)
    return bounded_protocol
