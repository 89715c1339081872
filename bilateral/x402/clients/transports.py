"""Paid requests over HTTP: payment headers, strictly parsed prices, and what an answer shows about its payment."""

import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final
from weakref import WeakKeyDictionary

from bilateral.core.errors import MalformedDocumentError
from bilateral.core.text.encoding import decode_object
from bilateral.x402.offers import MAX_HEADER, decode_header
from bilateral.x402.proof.answers import PROOF_BODY, PROOF_STATUS, SECONDS, request_of
from bilateral.x402.proof.errors import ReputationExtensionError
from bilateral.x402.proof.fields import MAX_BODY, decode_body
from bilateral.x402.proof.types import REPUTATION_8004, X402_VERSION
from bilateral.x402.proof.verdicts import PaidRequest

PAYMENT: Final = "PAYMENT-SIGNATURE"
PAYMENT_1: Final = "X-PAYMENT"
"""The payment header in x402 version 1, which some servers still use."""

_UNFINISHED: Final = frozenset({408, 425, 499})
"""The statuses below 500 after which the server or its upstream may still be processing the request."""


def may_be_unfinished(status: int) -> bool:
    """Return True if a server may still settle a request's payment after responding with the given status."""
    return status in _UNFINISHED or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def payment_among(headers: Mapping[str, str]) -> dict[str, str]:
    """Return a mapping from the payment header's name to its value; empty if there is no such header."""
    return next(({name: headers[name]} for name in (PAYMENT, PAYMENT_1) if name in headers), {})


def price_problem(status: int, headers: Mapping[str, str]) -> str | None:
    """Return why not to pay, if the response is a price that fails strict parsing; otherwise None.

    The SDK is more lenient with `PAYMENT-REQUIRED`: it accepts any length and version, and, if a name occurs twice,
    uses its last value.
    """
    price = headers.get("payment-required")
    if status != HTTPStatus.PAYMENT_REQUIRED or price is None:
        return None
    message = decode_header(price)
    if message is None:
        problem = f"PAYMENT-REQUIRED is malformed, contains a name twice, or exceeds {MAX_HEADER} characters"
        return f"invalid_declaration: {problem}"
    version = message.get("x402Version", X402_VERSION)
    if version == X402_VERSION:
        return None
    return f"invalid_declaration: PAYMENT-REQUIRED has x402Version {str(version)[:40]!a}, not {X402_VERSION}"


def paid_request(  # noqa: PLR0913, PLR0917  # the parts of one exchange over HTTP
    payment: Mapping[str, str] | str | None,
    target: str,
    request_headers: Mapping[str, str],
    request: bytes,
    response_headers: Mapping[str, str],
    response: bytes,
    *,
    status: int = HTTPStatus.OK,
    is_body_lost: bool = False,
) -> PaidRequest | None:
    """Assemble a paid request for `Verifier.verify`."""
    headers = {PAYMENT: payment} if isinstance(payment, str) else (payment or {})
    answered = {name.lower(): value for name, value in response_headers.items()}
    is_old = PAYMENT_1 in headers
    settlement = answered.get("x-payment-response" if is_old else "payment-response")
    is_refused = status == HTTPStatus.PAYMENT_REQUIRED if is_old else "payment-required" in answered
    sent = decode_header(next(iter(headers.values()), None))
    if sent is None or (settlement is None and is_refused):
        return None
    is_error = status >= HTTPStatus.BAD_REQUEST
    encoding = {name.lower(): value for name, value in request_headers.items()}.get("content-encoding", "")
    return PaidRequest(
        payment=sent,
        settlement=decode_header(settlement),
        request=_decoded(request, encoding) or b"",
        response=None if is_body_lost else _decoded(response, answered.get("content-encoding", "")),
        target=target,
        is_body_lost=is_body_lost,
        unpaid_status=status if settlement is None and is_error and not may_be_unfinished(status) else None,
    )


def is_body_lost(status: int, body: bytes) -> bool:
    """Return whether the answer to a resent payment contains only the proof, because the body was not retained."""
    if status != PROOF_STATUS or len(body) > MAX_HEADER:
        return False
    try:
        return decode_object(body) == decode_object(PROOF_BODY)
    except MalformedDocumentError:
        return False


def _decoded(body: bytes, encoding: str) -> bytes | None:
    try:
        return decode_body(body, encoding, MAX_BODY)
    except ReputationExtensionError:
        return None


RESULT: Final = REPUTATION_8004
"""The key of the verification in `response.extensions` (httpx)."""


_BOUNDARY: Final = re.compile(r"multipart/[^;]+;.*boundary=\"?([^\";]+)", re.IGNORECASE)


@dataclass(frozen=True)
class PaidCall:
    """A request with its payment.

    Attributes:
        method: The request's method.
        headers: The request's headers without the payment.
        payment: The payment header's value, keyed by the header's name; empty before a payment is signed.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    payment: Mapping[str, str] = field(default_factory=dict)

    @property
    def parts(self) -> tuple[str, str, dict[str, str], bytes]:
        """The request's method, URL, headers (including the payment) and body."""
        return self.method, self.url, {**self.headers, **self.payment}, self.body

    @property
    def header(self) -> str:
        """The payment header."""
        return next(iter(self.payment.values()))

    @property
    def identity(self) -> bytes:
        """The request's hash. It stays the same if the request is sent again, even by an SDK that re-encodes a form."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        boundary = _BOUNDARY.search(headers.get("content-type", ""))
        body = self.body if boundary is None else self.body.replace(boundary[1].encode("latin-1"), b"")
        return request_of(self.method, self.url.encode(), body)


@dataclass
class _Outstanding:
    """A payment that has no answer yet."""

    call: PaidCall
    since: float
    is_settled: bool = False


class OutstandingPayments:
    """One client's payments that have no answer yet, in memory. Thread-safe."""

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
        """Return and forget the oldest payment for the same request, or return None if there is none.

        A settled payment is remembered for a day, because servers retain answers no longer than that. Any other payment
        is remembered until the chain shows that it can no longer be settled.
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
    """Return an SDK client's outstanding payments, regardless of which transport sent them."""
    with _OUTSTANDING_LOCK:
        return _OUTSTANDING.setdefault(client, OutstandingPayments())


def abandon_payment(client: Any, request: Any) -> bool:
    """Forget a request's unanswered payments, so that the same request pays anew next time.

    The request may then be paid twice: a forgotten payment can still be settled until it expires.

    Args:
        client: The SDK client that the transport uses.
        request: A `LostAnswerError`, or the request object of a response from httpx or requests.

    Returns:
        True if at least one unanswered payment was forgotten.
    """
    body = request.content if hasattr(request, "content") else request.body or b""
    body = body.encode() if isinstance(body, str) else body
    call = PaidCall(request.method, str(request.url), dict(request.headers), body)
    payments, count = outstanding_payments(client), 0
    while payments.take(call) is not None:
        count += 1
    return count > 0
