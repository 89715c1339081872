"""Blocking connections for httpcore, with one deadline that also covers the host name lookup.

The timeouts of HTTP libraries restart with each piece of data, so a server that sends a few bytes at a time could keep
a request open forever. The system's resolver has no timeout at all.
"""

import errno
import queue
import socket
import ssl
import threading
from collections.abc import Callable, Iterable
from typing import Any, Final, Literal, Protocol, TypeAlias

import httpcore

from bilateral.core.text import quoted

Resolver: TypeAlias = "Callable[[str, int], list[str]]"


class Remaining(Protocol):
    """A function that returns the seconds until the deadline."""

    def __call__(self, at_most: float | None = None, /) -> float | None:
        """Return the number of seconds left, at most `at_most`; None if there is neither a deadline nor a limit."""


def resolve(host: str, port: int) -> list[str]:
    """Look up a host's addresses with the system's resolver."""
    return [str(answer[4][0]) for answer in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


Cause: TypeAlias = Literal["no_name", "resolver", "no_route", "refused"]

_NO_NAME: Final = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}
"""The resolver's codes for a name that does not exist. All other codes mean that the resolver itself failed."""

_OWN_FAULTS: Final = {
    *(errno.ENETUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT),
    *(errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EPERM, errno.EACCES),
}
"""The errors of `connect` for which this machine is responsible: no route, no free socket, or a local firewall."""


class HostUnreachableError(httpcore.ConnectError):
    """A host's name cannot be resolved, or none of the host's addresses responds.

    Attributes:
        cause: The cause. `no_name` and `refused` are caused by the host, and `resolver` and `no_route` by this machine.
    """

    def __init__(self, message: str, cause: Cause) -> None:
        super().__init__(message)
        self.cause: Cause = cause


class DeadlineBackend(httpcore.NetworkBackend):
    """Creates connections with a deadline.

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
        """Check a host's addresses before connecting. This class permits all addresses; subclasses may reject some."""

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first of a host's addresses that responds."""
        addresses = self._look_up(host, port)
        self.check_addresses(host, port, addresses)
        faults = []
        for untried, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
            left = self._remaining(timeout)
            try:
                stream = self._inner.connect_tcp(
                    address,
                    port,
                    timeout=None if left is None else left / untried,  # leaves time for the other addresses
                    local_address=local_address,
                    socket_options=socket_options,
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                faults.append(getattr(error.__cause__, "errno", None))
                continue
            return _DeadlineStream(stream, self._remaining)
        self._remaining()
        if _OWN_FAULTS.issuperset(faults):
            raise HostUnreachableError(f"this machine has no route to {quoted(host)}", "no_route")
        raise HostUnreachableError(f"{quoted(host)} did not respond on port {port}", "refused")

    def _look_up(self, host: str, port: int) -> list[str]:
        """Resolve a host in a thread, because the system's resolver has no timeout."""
        answers: queue.SimpleQueue[list[str] | OSError] = queue.SimpleQueue()

        def look_up() -> None:
            try:
                answers.put(list(dict.fromkeys(self._resolver(host, port))))
            except OSError as error:
                answers.put(error)
            except (UnicodeError, OverflowError):
                answers.put([])

        threading.Thread(target=look_up, daemon=True).start()
        try:
            answer = answers.get(timeout=self._remaining())
        except queue.Empty:
            answer = TimeoutError()
            self._remaining()
        if not answer or (isinstance(answer, socket.gaierror) and answer.errno in _NO_NAME):
            raise HostUnreachableError(f"the host {quoted(host)} was not found", "no_name")
        if isinstance(answer, OSError):
            raise HostUnreachableError(f"the resolver could not resolve the host {quoted(host)}", "resolver")
        return answer


class _DeadlineStream(httpcore.NetworkStream):
    """A connection with a deadline, which applies even if data keeps arriving slowly."""

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
        """Start TLS for the hostname, which must be specified because the connection was opened to an IP address."""
        stream = self._inner.start_tls(ssl_context, server_hostname, self._remaining(timeout))
        return _DeadlineStream(stream, self._remaining)

    def get_extra_info(self, info: str) -> Any:
        """Return a property of the connection."""
        return self._inner.get_extra_info(info)
