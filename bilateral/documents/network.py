"""Connections to servers that strangers name: to public addresses only, and within one deadline.

A host is resolved once, its addresses are checked, and the connection uses a checked address. A name that resolves
differently a moment later ("DNS rebinding") gains nothing, and nor does another form of an address (`0x7f.1`).
"""

from __future__ import annotations

import time
from typing import Final, TypeAlias

import httpcore

from bilateral.core.errors import DocumentTimeoutError, ForbiddenAddressError
from bilateral.core.http.connections import DeadlineBackend, Resolver, resolve
from bilateral.documents.public_addresses import is_public

Host: TypeAlias = tuple[str, int]

_MIN_SECONDS: Final = 0.001
"""The least timeout to give to a socket, for which 0 means that it shall not block."""


class Deadline:
    """The end of the time for one document."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def remaining(self, at_most: float | None = None, /) -> float:
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


class GuardedBackend(DeadlineBackend):
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
        super().__init__(deadline.remaining, resolver=resolver, inner=inner)
        self._trusted = trusted
        self._allow_private = allow_private

    def check_addresses(self, host: str, port: int, addresses: list[str]) -> None:
        """Check that all addresses of a host are public, unless the user trusts the host.

        Raises:
            ForbiddenAddressError: An address is not public.
        """
        if self._allow_private or (host, port) in self._trusted:
            return
        for address in addresses:
            if not is_public(address):
                raise ForbiddenAddressError(host, address)
