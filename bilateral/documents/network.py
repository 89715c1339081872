"""Connections to servers that strangers name: to public addresses only, and within a time for everything.

A host's addresses are looked up once, checked, and connected to as they are. A name that means another address a
moment later ("DNS rebinding"), or an address written in some other way (`0x7f.1`, `2130706433`), gains nothing.
"""

from __future__ import annotations

import queue
import socket
import threading
import time
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import httpcore

from bilateral.documents.addresses import is_public
from bilateral.errors import DocumentTimeoutError, ForbiddenAddressError, UnreachableDocumentError
from bilateral.text import quoted

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterable

Resolver: TypeAlias = "Callable[[str, int], list[str]]"
Host: TypeAlias = tuple[str, int]

_MIN_SECONDS: Final = 0.001


class Deadline:
    """The end of the time that loading one document may take."""

    def __init__(self, seconds: float) -> None:
        """Begin now.

        Args:
            seconds: The time allowed.
        """
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def remaining(self, at_most: float | None = None) -> float:
        """The seconds that remain, or fewer.

        Args:
            at_most: The seconds to return at most.

        Raises:
            DocumentTimeoutError: None remain.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise DocumentTimeoutError(self._seconds)
        return max(_MIN_SECONDS, left if at_most is None else min(left, at_most))


def resolve(host: str, port: int) -> list[str]:
    """Look up a host's addresses with the system's resolver.

    Raises:
        OSError: There are none.
        UnicodeError: It is no host name.
        OverflowError: The port is far out of range.
    """
    return [str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


class GuardedBackend(httpcore.NetworkBackend):
    """Makes the connections of an HTTP client, to public addresses only and until a deadline.

    Args:
        deadline: When everything must be done.
        trusted: Hosts with ports that may be anywhere, because the program's user, not a stranger, named them.
        allow_private: Whether all hosts may be anywhere.
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
            ForbiddenAddressError: One of them is not public.
            UnreachableDocumentError: There are none, or none answers.
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
        """Resolve a host in a thread of its own, because the system's resolver takes no deadline."""
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
            raise UnreachableDocumentError(f"there is no host {quoted(host)}")
        return addresses


class _DeadlineStream(httpcore.NetworkStream):
    """A connection on which everything, however slowly it trickles, ends at a deadline."""

    def __init__(self, inner: httpcore.NetworkStream, deadline: Deadline) -> None:
        """Wrap a connection."""
        self._inner = inner
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what has come."""
        return self._inner.read(max_bytes, self._deadline.remaining(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write all of the buffer."""
        self._inner.write(buffer, self._deadline.remaining(timeout))

    def close(self) -> None:
        """Close the connection."""
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """Begin TLS with the host's name, although the connection was made by address."""
        stream = self._inner.start_tls(ssl_context, server_hostname, self._deadline.remaining(timeout))
        return _DeadlineStream(stream, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        """What the connection says about itself."""
        return self._inner.get_extra_info(info)
