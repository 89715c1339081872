"""Blocking connections for httpcore on which everything ends at one deadline, from the look-up of the host's name on.

The timeouts of HTTP libraries begin again with each piece that arrives, so a server that sends little at a time could
hold a request for ever. The system's resolver takes no timeout at all.
"""

import queue
import socket
import ssl
import threading
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeAlias

import httpcore

from bilateral.core.text import quoted

Resolver: TypeAlias = "Callable[[str, int], list[str]]"


class Remaining(Protocol):
    """A function that returns the seconds until the deadline."""

    def __call__(self, at_most: float | None = None, /) -> float | None:
        """Return the seconds that remain, `at_most` at most; None without a deadline and a limit."""


def resolve(host: str, port: int) -> list[str]:
    """Look up a host's addresses with the system's resolver."""
    return [str(answer[4][0]) for answer in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


class HostUnreachableError(httpcore.ConnectError):
    """A host has no address, or none of its addresses answers."""


class DeadlineBackend(httpcore.NetworkBackend):
    """Makes connections that end at a deadline.

    Args:
        remaining: Returns the seconds until the deadline.
        resolver: Looks up a host's addresses.
        inner: Connects to an address.
    """

    def __init__(
        self, remaining: Remaining, *, resolver: Resolver = resolve, inner: httpcore.NetworkBackend | None = None
    ) -> None:
        self._remaining = remaining
        self._resolver = resolver
        self._inner = inner or httpcore.SyncBackend()

    def check_addresses(self, host: str, port: int, addresses: list[str]) -> None:
        """Check the addresses of a host before a connection. All are permitted here."""

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first of a host's addresses that answers."""
        addresses = self._look_up(host, port)
        self.check_addresses(host, port, addresses)
        for untried, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
            left = self._remaining(timeout)
            try:
                stream = self._inner.connect_tcp(
                    address,
                    port,
                    timeout=None if left is None else left / untried,  # one silent address leaves time for the others
                    local_address=local_address,
                    socket_options=socket_options,
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
            return _DeadlineStream(stream, self._remaining)
        self._remaining()
        raise HostUnreachableError(f"{quoted(host)} does not answer at port {port}")

    def _look_up(self, host: str, port: int) -> list[str]:
        """Resolve a host in a thread, because the system's resolver takes no deadline."""
        answers: queue.SimpleQueue[list[str]] = queue.SimpleQueue()

        def look_up() -> None:
            try:
                answers.put(list(dict.fromkeys(self._resolver(host, port))))
            except (OSError, UnicodeError, OverflowError):
                answers.put([])

        threading.Thread(target=look_up, daemon=True).start()
        try:
            addresses = answers.get(timeout=self._remaining())
        except queue.Empty:
            addresses = []
            self._remaining()
        if not addresses:
            raise HostUnreachableError(f"the host {quoted(host)} is not found")
        return addresses


class _DeadlineStream(httpcore.NetworkStream):
    """A connection that ends at a deadline, however slowly data arrives."""

    def __init__(self, inner: httpcore.NetworkStream, remaining: Remaining) -> None:
        self._inner = inner
        self._remaining = remaining

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read the bytes that have arrived."""
        return self._inner.read(max_bytes, self._remaining(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write the whole buffer."""
        self._inner.write(buffer, self._remaining(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """Start TLS with the host's name; the connection itself was made by address."""
        stream = self._inner.start_tls(ssl_context, server_hostname, self._remaining(timeout))
        return _DeadlineStream(stream, self._remaining)

    def get_extra_info(self, info: str) -> Any:
        """Return a property of the connection."""
        return self._inner.get_extra_info(info)
