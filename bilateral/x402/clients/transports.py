"""Paid requests over HTTP: which header pays, which price can be read, and what an answer says about its payment."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from bilateral.core.errors import MalformedDocumentError
from bilateral.core.text.encoding import decode_object
from bilateral.x402.proof.answers import GONE, GONE_BODY
from bilateral.x402.proof.bodies import MAX_BODY, decode_body
from bilateral.x402.proof.errors import ReputationExtensionError
from bilateral.x402.proof.headers import MAX_HEADER, decode_header
from bilateral.x402.proof.types import REPUTATION_8004, X402_VERSION
from bilateral.x402.proof.verdicts import PaidRequest

PAYMENT: Final = "PAYMENT-SIGNATURE"
PAYMENT_1: Final = "X-PAYMENT"
"""The header of a payment in version 1 of x402, to which some servers keep."""

_PAYMENT_REQUIRED: Final = HTTPStatus.PAYMENT_REQUIRED

_UNFINISHED: Final = frozenset({408, 425, 499})
"""The statuses below 500 after which a server, or the one behind a gateway, may still work on the request."""


def may_be_unfinished(status: int) -> bool:
    """Return True if a server may still settle the payment of a request after it answered with a status."""
    return status in _UNFINISHED or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def payment_among(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the header that pays, by its name; nothing if no header does."""
    return next(({name: headers[name]} for name in (PAYMENT, PAYMENT_1) if name in headers), {})


def price_problem(status: int, headers: Mapping[str, str]) -> str | None:
    """Return the reason not to pay a price that cannot be read strictly; None for any other answer.

    The SDK reads `PAYMENT-REQUIRED` with the last of two equal names, of any length, and pays by any version.
    """
    price = headers.get("payment-required")
    if status != _PAYMENT_REQUIRED or price is None:
        return None
    message = decode_header(price)
    if message is None:
        return (
            f"invalid_declaration: PAYMENT-REQUIRED is malformed, has a name twice, or exceeds {MAX_HEADER} characters"
        )
    version = message.get("x402Version", X402_VERSION)
    if version != X402_VERSION:
        return f"invalid_declaration: PAYMENT-REQUIRED has x402Version {str(version)[:40]!a}, not {X402_VERSION}"
    return None


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
    """Put together a paid request for `Verifier.verify`."""
    headers = {PAYMENT: payment} if isinstance(payment, str) else (payment or {})
    answered = {name.lower(): value for name, value in response_headers.items()}
    is_old = PAYMENT_1 in headers
    settlement = answered.get("x-payment-response" if is_old else "payment-response")
    is_refused = status == _PAYMENT_REQUIRED if is_old else "payment-required" in answered
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
    """Tell whether the answer to a repeated payment is the proof alone, because the server has not kept the body."""
    if status != GONE or len(body) > MAX_HEADER:
        return False
    try:
        return decode_object(body) == decode_object(GONE_BODY)
    except MalformedDocumentError:
        return False


def _decoded(body: bytes, encoding: str) -> bytes | None:
    """Decode a body; None if it cannot be decoded."""
    try:
        return decode_body(body, encoding, MAX_BODY)
    except ReputationExtensionError:
        return None


RESULT: Final = REPUTATION_8004
"""The key of `response.extensions` (httpx), under which the verification stands."""
