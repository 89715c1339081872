"""Payments without a delivery: answers to them that refuse, fail or redirect, and the chain's word on the payment."""

from __future__ import annotations

import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from bilateral.node.steps import Pause
from bilateral.x402.errors import LostAnswerError, PaidNotAnsweredError, RedirectedPaymentError
from bilateral.x402.examination import POLL_SECONDS
from bilateral.x402.headers import decode_header
from bilateral.x402.payments import Settlement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bilateral.node.steps import Operation
    from bilateral.x402.readers import RegistryReader

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
"""The statuses that httpx and requests follow, if there is a `Location`."""

Parts = tuple[str, str, dict[str, str], bytes]
"""Method, URL, headers and body of a request with its payment."""


@dataclass(frozen=True)
class Undelivered:
    """An answer to a payment that delivers nothing.

    Attributes:
        payment: The payment that was sent.
        status: The HTTP status.
        location: The address of a redirect; None without one.
        is_settling: True if the server tried to settle the payment, so that a transaction may be on its way.
    """

    payment: dict[str, Any]
    status: int
    location: str | None
    is_settling: bool

    @classmethod
    def of(cls, sent: Mapping[str, str], status: int, headers: Mapping[str, str]) -> Undelivered | None:
        """Judge an answer; None if it delivers, or if the payment cannot be read.

        An error with a successful settlement delivers: some payments are settled before the application runs.

        Args:
            sent: The payment's header by its name.
            status: The HTTP status of the answer.
            headers: The answer's headers, whose names may have any case.
        """
        location = headers.get("location") if status in _REDIRECTS else None
        header = headers.get("payment-response") or headers.get("x-payment-response")
        settlement = decode_header(header) or {}
        is_settled = settlement.get("success") is True and status != HTTPStatus.PAYMENT_REQUIRED
        payment = decode_header(next(iter(sent.values()), None))
        if payment is None or (location is None and (status < HTTPStatus.BAD_REQUEST or is_settled)):
            return None
        return cls(payment, status, location, header is not None)

    def error(self, parts: Parts, settlement: Settlement) -> LostAnswerError | None:
        """Return the error to raise; None if the payment was not taken, or nobody can know.

        Args:
            parts: The request with its payment.
            settlement: The chain's word on the payment.
        """
        is_paid, transaction = settlement.is_paid, settlement.transaction
        if self.location is not None:
            return RedirectedPaymentError(*parts, self.location, is_paid=is_paid, transaction=transaction)
        if is_paid:
            return PaidNotAnsweredError(*parts, self.status, transaction)
        if is_paid is None and settlement.is_supported:
            problem = f"the server answered {self.status}, and the payment cannot be looked up: {settlement.problem}"
            return LostAnswerError(*parts, problem)
        return None


def settlement_lookup(
    readers: Mapping[str, RegistryReader], payment: Mapping[str, Any], seconds: float
) -> tuple[str, Operation[Settlement]] | None:
    """Return the operation that looks up a payment, and its chain; None if no reader can.

    Args:
        readers: The readers by their chains.
        payment: The payment payload that was sent.
        seconds: The time to wait for a payment that was not taken yet.
    """
    accepted, payload = payment.get("accepted"), payment.get("payload")
    if not isinstance(accepted, dict) or not isinstance(payload, dict):
        return None
    network = str(accepted.get("network"))
    find = getattr(readers.get(network), "find_settlement", None)
    if find is None:
        return None

    def wait() -> Operation[Settlement]:
        end = time.monotonic() + seconds
        while True:
            settlement: Settlement = yield from find(accepted, payload)
            left = end - time.monotonic()
            if settlement.is_paid is not False or left <= 0:
                return settlement
            yield Pause(min(POLL_SECONDS, left))

    return network, wait()


UNSUPPORTED: Final = Settlement(
    None, problem="payments of this kind, or chain, cannot be looked up", is_supported=False
)
