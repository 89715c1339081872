"""Payments without an answer: the same request sends them again, so that nothing is signed twice."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakKeyDictionary

from bilateral.x402.proof.answers import SECONDS, request_of

_BOUNDARY: Final = re.compile(r"multipart/[^;]+;.*boundary=\"?([^\";]+)", re.IGNORECASE)


@dataclass(frozen=True)
class PaidCall:
    """A request with its payment.

    Attributes:
        method: The request's method.
        headers: Its headers without the payment.
        payment: The header that pays, by its name; empty before a payment is signed.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    payment: Mapping[str, str] = field(default_factory=dict)

    @property
    def parts(self) -> tuple[str, str, dict[str, str], bytes]:
        """Method, URL, headers and body, with the payment among the headers."""
        return self.method, self.url, {**self.headers, **self.payment}, self.body

    @property
    def header(self) -> str:
        """The header that pays."""
        return next(iter(self.payment.values()))

    @property
    def identity(self) -> bytes:
        """The hash of the request: equal if it is sent again, also by an SDK that encodes a form anew."""
        boundary = _BOUNDARY.search(
            {name.lower(): value for name, value in self.headers.items()}.get("content-type", "")
        )
        body = self.body if boundary is None else self.body.replace(boundary[1].encode("latin-1"), b"")
        return request_of(self.method, self.url.encode(), body)


@dataclass
class _Outstanding:
    """A payment that has no answer yet."""

    call: PaidCall
    since: float
    is_settled: bool = False


class OutstandingPayments:
    """The payments of one client that have no answer yet, in memory. Threads may share it."""

    def __init__(self) -> None:
        self._payments: dict[bytes, list[_Outstanding]] = {}
        self._lock = threading.Lock()

    def add(self, call: PaidCall, *, is_settled: bool) -> None:
        """Remember a payment."""
        with self._lock:
            listed = self._payments.setdefault(call.identity, [])
            if all(payment.call.payment != call.payment for payment in listed):
                listed.append(_Outstanding(call, time.monotonic(), is_settled))

    def drop(self, call: PaidCall) -> None:
        """Forget a payment."""
        with self._lock:
            listed = self._payments.pop(call.identity, [])
            remaining = [payment for payment in listed if payment.call.payment != call.payment]
            if remaining:
                self._payments[call.identity] = remaining

    def take(self, call: PaidCall) -> PaidCall | None:
        """Return the oldest payment for the same request, and forget it; None without one.

        A payment that was taken counts for a day: servers keep no answer longer. Any other one counts until the chain
        shows its end.
        """
        with self._lock:
            listed = self._payments.pop(call.identity, [])
            now = time.monotonic()
            listed = [payment for payment in listed if not payment.is_settled or now < payment.since + SECONDS]
            if listed[1:]:
                self._payments[call.identity] = listed[1:]
        return listed[0].call if listed else None


_OUTSTANDING: Final[WeakKeyDictionary[Any, OutstandingPayments]] = WeakKeyDictionary()
_OUTSTANDING_LOCK: Final = threading.Lock()


def outstanding_payments(client: Any) -> OutstandingPayments:
    """Return the outstanding payments of a client of the SDK, whichever transport sent them."""
    with _OUTSTANDING_LOCK:
        return _OUTSTANDING.setdefault(client, OutstandingPayments())


def abandon_payment(client: Any, request: Any) -> bool:
    """Forget the payments for a request that have no answer, so that the next such request signs a new one.

    The request may then be paid twice: a forgotten payment can still be settled until its `validBefore`.

    Args:
        client: The SDK's client that the transport uses.
        request: A `LostAnswerError`, or the request of an answer, as httpx and requests have it.

    Returns:
        False if there was no such payment.
    """
    body = request.content if hasattr(request, "content") else request.body or b""
    body = body.encode() if isinstance(body, str) else body
    call, payments = (
        PaidCall(request.method, str(request.url), dict(request.headers), body),
        outstanding_payments(client),
    )
    is_found = False
    while payments.take(call) is not None:
        is_found = True
    return is_found
