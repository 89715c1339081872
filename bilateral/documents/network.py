"""Connections to servers that strangers name: to public addresses only, and within one deadline.

A host is resolved once, its addresses are checked, and the connection uses a checked address. A name that resolves
differently a moment later ("DNS rebinding") gains nothing, and nor does another form of an address (`0x7f.1`).
"""

from __future__ import annotations

import queue
import socket
import threading
import time
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import httpcore

from bilateral.documents.public_addresses import is_public
from bilateral.errors import DocumentTimeoutError, ForbiddenAddressError, UnreachableDocumentError
from bilateral.text import quoted

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterable

Resolver: TypeAlias = "Callable[[str, int], list[str]]"
Host: TypeAlias = tuple[str, int]

_MIN_SECONDS: Final = 0.001


class Deadline:
    """The end of the time for one document."""

    def __init__(self, seconds: float) -> None:
        """Begin now.

        Args:
            seconds: The time allowed.
        """
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def remaining(self, at_most: float | None = None) -> float:
        """Return the seconds that remain.

        Args:
            at_most: The seconds to return at most.

        Raises:
            DocumentTimeoutError: The time is over.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise DocumentTimeoutError(self._seconds)
        return max(_MIN_SECONDS, left if at_most is None else min(left, at_most))


def resolve(host: str, port: int) -> list[str]:
    """Look up a host's addresses with the system's resolver.

    Raises:
        OSError: The host has no address.
        UnicodeError: The text is not a host name.
        OverflowError: The port is far out of range.
    """
    return [str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


class GuardedBackend(httpcore.NetworkBackend):
    """Makes the connections of an HTTP client, to public addresses only and until a deadline.

    Args:
        deadline: The end of the time.
        trusted: Hosts with ports that the program's user names. They may have private addresses.
        allow_private: True if all hosts may have private addresses.
        resolver: Looks up a host's addresses.
        inner: Connects to an address.
    """

    def __init__(
        self,
        deadline: Deadline,
        *,
        trusted: frozenset[Host] = frozenset(),
        allow_private: bool = False,
        resolver: Resolver = resolve,
        inner: httpcore.NetworkBackend | None = None,
    ) -> None:
        """See the class."""
        self._deadline = deadline
        self._trusted = trusted
        self._allow_private = allow_private
        self._resolver = resolver
        self._inner = inner or httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first of a host's addresses that answers.

        Raises:
            ForbiddenAddressError: An address is not public.
            UnreachableDocumentError: The host has no address, or no address answers.
            DocumentTimeoutError: The time is over.
        """
        addresses = self._look_up(host, port)
        if not self._allow_private and (host, port) not in self._trusted:
            for address in addresses:
                if not is_public(address):
                    raise ForbiddenAddressError(host, address)
        for untried, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
            try:
                stream = self._inner.connect_tcp(
                    address,
                    port,
                    timeout=self._deadline.remaining(timeout) / untried,
                    local_address=local_address,
                    socket_options=socket_options,
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
            return _DeadlineStream(stream, self._deadline)
        self._deadline.remaining()
        raise UnreachableDocumentError(f"{quoted(host)} does not answer at port {port}")

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
            addresses = answers.get(timeout=self._deadline.remaining())
        except queue.Empty:
            addresses = []
            self._deadline.remaining()
        if not addresses:
            raise UnreachableDocumentError(f"the host {quoted(host)} is not found")
        return addresses


class _DeadlineStream(httpcore.NetworkStream):
    """A connection that ends at a deadline, however slowly data arrives."""

    def __init__(self, inner: httpcore.NetworkStream, deadline: Deadline) -> None:
        """Wrap a connection."""
        self._inner = inner
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read the bytes that have arrived."""
        return self._inner.read(max_bytes, self._deadline.remaining(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write the whole buffer."""
        self._inner.write(buffer, self._deadline.remaining(timeout))

    def close(self) -> None:
        """Close the connection."""
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """Start TLS with the host's name; the connection itself was made by address."""
        stream = self._inner.start_tls(ssl_context, server_hostname, self._deadline.remaining(timeout))
        return _DeadlineStream(stream, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        """Return a property of the connection."""
        return self._inner.get_extra_info(info)
