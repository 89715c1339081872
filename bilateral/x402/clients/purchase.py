"""The steps of a purchase: pay, evaluate the answer and look up the payment, without ever signing a second payment.

The table in `payment_outcomes.json`, also shown in docs/x402.md, decides whether to deliver, retry or raise an error.
`purchase` performs no I/O itself: each transport runs it over a `Wire` for its HTTP library.
"""

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from http import HTTPStatus
from importlib import resources
from inspect import isawaitable
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from x402.http import x402HTTPClient, x402HTTPClientSync

from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.identifiers import TransactionRef
from bilateral.core.payments import PaymentKind
from bilateral.core.text import printable, quoted
from bilateral.node.steps import run, run_async
from bilateral.x402.clients import transports
from bilateral.x402.clients.transports import PaidCall, outstanding_payments
from bilateral.x402.offers import decode_header
from bilateral.x402.proof.answers import payment_of
from bilateral.x402.proof.errors import LostAnswerError, PaidNotAnsweredError, RedirectedPaymentError
from bilateral.x402.proof.payments import expiry_of
from bilateral.x402.proof.settlements import Settlement
from bilateral.x402.proof.verdicts import CheckName, Outcome, Verification
from bilateral.x402.proof.verifier import AsyncVerifier, Verifier

T = TypeVar("T")

Steps: TypeAlias = Generator[Any, Any, T]
"""A generator that yields results or, on an event loop, awaitables, whose results are sent back to it."""


class PaymentOutcome(StrEnum):
    """The states of a payment that was sent."""

    SETTLED = "settled"
    PENDING = "pending"
    UNKNOWN = "unknown"
    REFUSED = "refused"
    EXPIRED = "expired"


class AnswerKind(StrEnum):
    """The kinds of answers to a payment."""

    VERIFIED = "verified answer"
    UNVERIFIED = "unverified answer"
    REDIRECT = "redirect"
    ERROR = "error"
    NOTHING = "nothing"


OUTCOMES: Final[dict[str, Any]] = json.loads(
    resources.files("bilateral.x402.clients").joinpath("payment_outcomes.json").read_bytes()
)
"""The payment outcomes and answer kinds with their meanings, and the action for each combination."""

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
"""The statuses that httpx and requests treat as redirects if there is a `Location` header."""

_REPEATED: Final = frozenset({408, 409, 425, 429})
"""The statuses below 500 after which web API SDKs usually retry the request."""

_MOST_REASON: Final = 200  # characters of a server's reason in an error

_SETTLEMENT_HEADERS: Final = ("payment-response", "x-payment-response")


@dataclass(frozen=True)
class Reply:
    """A complete answer.

    Attributes:
        status: The HTTP status.
        headers: The headers needed for verification, keyed by lower-case name.
        response: The HTTP library's response object.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    response: Any

    @property
    def location(self) -> str | None:
        """The target of a redirect; None if the response is not a redirect."""
        return self.headers.get("location") if self.status in _REDIRECTS else None

    @property
    def settlement(self) -> dict[str, Any] | None:
        """The decoded header `PAYMENT-RESPONSE`; None if it is missing or malformed."""
        header = next((self.headers[name] for name in _SETTLEMENT_HEADERS if name in self.headers), None)
        return decode_header(header)

    @property
    def is_delivery(self) -> bool:
        """True for a successful response, and for an error response to a settled payment."""
        is_settled = (self.settlement or {}).get("success") is True and self.status != HTTPStatus.PAYMENT_REQUIRED
        return self.location is None and (self.status < HTTPStatus.BAD_REQUEST or is_settled)

    @property
    def is_unfinished(self) -> bool:
        """True if the payment may still be settled shortly."""
        is_gateway = transports.may_be_unfinished(self.status)
        return self.location is None and (is_gateway or any(name in self.headers for name in _SETTLEMENT_HEADERS))

    @property
    def is_repeated(self) -> bool:
        """True if web API SDKs usually retry the request after this status."""
        return self.status in _REPEATED or self.status >= HTTPStatus.INTERNAL_SERVER_ERROR

    @property
    def reason(self) -> str:
        """The server's reason for an error, or an empty string."""
        price = decode_header(self.headers.get("payment-required")) or {}
        text = (self.settlement or {}).get("errorReason") or price.get("error")
        return printable(text[:_MOST_REASON]) if isinstance(text, str) else ""

    def reported_transaction(self, network: str) -> str | None:
        """Return the transaction that the server reports, or None if it reports none on the payment's network."""
        transaction = (self.settlement or {}).get("transaction")
        try:
            TransactionRef.parse(f"{network}:{transaction}")
        except MalformedIdentifierError:
            return None
        return str(transaction)


class Wire(Protocol):
    """One request made with one HTTP library. Its methods return results, or awaitables if there is an event loop.

    Responses are the library's own objects.
    """

    def send(self, headers: Mapping[str, str]) -> Any:
        """Send the request with additional headers. The response's body is not read."""

    def resend(self, call: PaidCall) -> Any:
        """Send a request with a payment that is already signed."""

    def read(self, response: Any) -> Any:
        """Read the whole of a response, and return it as a `Reply`."""

    def json(self, response: Any) -> Any:
        """Read a response as JSON; return None if it is not JSON."""

    def close(self, response: Any) -> Any:
        """Discard a response."""


def json_of(response: Any) -> Any:
    """Parse the body of an already read response as JSON; return None if it is not JSON."""
    try:
        return response.json()
    except ValueError:
        return None


class Payer:
    """Pays for requests and verifies the answers, for all transports.

    Args:
        client: The SDK client. If it is asynchronous, the verifier must be an `AsyncVerifier`.
        refusal: The SDK's `PaymentError` class for the HTTP library.
    """

    def __init__(self, client: Any, verifier: Verifier | AsyncVerifier, refusal: type[Exception]) -> None:
        self.sdk: Any = x402HTTPClient(client) if verifier.is_async else x402HTTPClientSync(client)
        self.payments, self.verifier, self.refusal = outstanding_payments(client), verifier, refusal


def make(steps: Steps[T]) -> T:
    """Run steps without an event loop."""
    return run(steps, lambda result: result)


async def make_async(steps: Steps[T]) -> T:
    """Run steps on an event loop."""

    async def result_of(step: Any) -> Any:
        return await step if isawaitable(step) else step

    return await run_async(steps, result_of)


def purchase(payer: Payer, wire: Wire, request: PaidCall) -> Steps[tuple[Reply, Verification | None, bool]]:
    """Make a request, pay for it if payment is required, and return its answer.

    If an earlier payment for the same request has no answer yet, that payment is sent again and no new one is signed.
    """
    payments = payer.payments
    call = request if request.payment else (yield from _outstanding(payer, request))
    is_again, is_settled = call is not None, False
    sent: list[dict[str, str]] = [] if call is None else [dict(call.payment)]
    try:
        steps = _paid(payer, wire, request.url, sent) if call is None else _sent_again(wire, call)
        reply = yield from _reply_or_error(steps, sent)
        if not sent:
            assert isinstance(reply, Reply)  # noqa: S101  # an error without a payment is raised
            return reply, None, False
        call = call or replace(request, payment=sent[-1])
        payments.drop(call)
        is_retried = not payment_of(call.header)  # without an identifier, the answer cannot be fetched again
        while True:
            kind, outcome, verification, settlement = yield from _judged(payer, call, reply, is_again=is_again)
            is_settled = outcome is PaymentOutcome.SETTLED
            action = OUTCOMES["actions"][outcome][kind]  # deliver, raise or retry
            if action == "deliver" and isinstance(reply, Reply):
                if reply.is_delivery and reply.is_repeated:
                    payments.add(call, is_settled=is_settled)
                return reply, verification, True
            if action != "retry" or is_retried:
                break
            is_retried = is_again = True
            reply = yield from _reply_or_error(_sent_again(wire, call), sent)
    except BaseException:  # a cancelled request may also have been paid
        if sent:
            payments.add(call or replace(request, payment=sent[-1]), is_settled=is_settled)
        raise
    if outcome is PaymentOutcome.EXPIRED and isinstance(reply, Exception):
        raise reply
    if outcome is not PaymentOutcome.EXPIRED:
        payments.add(call, is_settled=is_settled)
    raise _lost(call, reply, outcome, settlement) from (reply if isinstance(reply, Exception) else None)


def _paid(payer: Payer, wire: Wire, url: str, sent: list[dict[str, str]]) -> Steps[Reply]:
    """Send a request. If payment is required, sign one payment and send the request again with it."""
    response = yield from _unpaid(payer, wire, {})
    if response.status_code != HTTPStatus.PAYMENT_REQUIRED:
        return Reply(response.status_code, {}, b"", response)
    try:
        body = yield wire.json(response)
        required = payer.sdk.get_payment_required_response(response.headers.get, body)
        hooked = yield payer.sdk.handle_payment_required(required, url)
        if hooked:
            response = yield from _unpaid(payer, wire, hooked)
            if response.status_code != HTTPStatus.PAYMENT_REQUIRED:
                return Reply(response.status_code, {}, b"", response)
            yield wire.close(response)
        payment = yield payer.sdk.create_payment_payload(required)
        headers = payer.sdk.encode_payment_signature_header(payment)
        sent.append(transports.payment_among(headers))
        response = yield wire.send(headers)
        yield payer.sdk.process_payment_result(payment, response.headers.get, response.status_code)
        reply: Reply = yield wire.read(response)
    except payer.refusal:
        raise
    except Exception as error:
        raise payer.refusal(f"Failed to handle payment: {error}") from error
    return reply


def _unpaid(payer: Payer, wire: Wire, headers: Mapping[str, str]) -> Steps[Any]:
    response = yield wire.send(headers)
    problem = transports.price_problem(response.status_code, response.headers)
    if problem is not None:
        yield wire.close(response)
        raise payer.refusal(problem)
    return response


def _sent_again(wire: Wire, call: PaidCall) -> Steps[Reply]:
    """Send a request with its payment again. This bypasses the SDK, which would pay a second time after a rejection."""
    response = yield wire.resend(call)
    reply: Reply = yield wire.read(response)
    return reply


def _outstanding(payer: Payer, request: PaidCall) -> Steps[PaidCall | None]:
    while True:
        call = payer.payments.take(request)
        if call is None:
            return None
        try:
            settlement: Settlement = yield payer.verifier.find_settlement(decode_header(call.header) or {}, seconds=0)
        except BaseException:
            payer.payments.add(call, is_settled=False)
            raise
        if not settlement.is_expired:
            return call


def _reply_or_error(steps: Steps[Reply], sent: list[dict[str, str]]) -> Steps[Reply | Exception]:
    try:
        return (yield from steps)
    except Exception as error:
        if not sent:
            raise
        return error


def _judged(
    payer: Payer, call: PaidCall, reply: Reply | Exception, *, is_again: bool
) -> Steps[tuple[AnswerKind, PaymentOutcome, Verification | None, Settlement]]:
    """Determine the table's row and column from the answer's verification and the payment's on-chain state."""
    payment = decode_header(call.header)
    if isinstance(reply, Reply) and reply.is_delivery:
        sent = call.payment, f"{call.method} {call.url}", call.headers, call.body
        is_lost = is_again and transports.is_body_lost(reply.status, reply.body)
        paid = transports.paid_request(*sent, reply.headers, reply.body, status=reply.status, is_body_lost=is_lost)
        verification: Verification | None = None if paid is None else (yield payer.verifier.verify(paid))
        is_verified = verification is not None and verification.is_verified
        is_paid = verification is not None and verification.outcome(CheckName.PAYMENT) is Outcome.PASSED
        outcome = PaymentOutcome.SETTLED if is_paid else PaymentOutcome.UNKNOWN
        return AnswerKind.VERIFIED if is_verified else AnswerKind.UNVERIFIED, outcome, verification, Settlement(None)
    seconds = None if isinstance(reply, Reply) and reply.is_unfinished else 0
    settlement: Settlement = yield payer.verifier.find_settlement(payment or {}, seconds=seconds)
    if isinstance(reply, Exception):
        kind = AnswerKind.NOTHING
    else:
        kind = AnswerKind.ERROR if reply.location is None else AnswerKind.REDIRECT
    return kind, _outcome(reply, settlement), None, settlement


def _outcome(reply: Reply | Exception, settlement: Settlement) -> PaymentOutcome:
    """Return a payment's outcome according to the chain or, if the chain shows none, according to the server."""
    if settlement.is_paid:
        return PaymentOutcome.SETTLED
    if settlement.is_expired:
        return PaymentOutcome.EXPIRED
    if isinstance(reply, Exception):
        return PaymentOutcome.UNKNOWN
    reported = reply.settlement or {}
    is_of_nothing = reported.get("amount") == "0"  # scheme `upto`
    if reported.get("transaction") or (reported.get("success") is True and not is_of_nothing):
        return PaymentOutcome.PENDING
    is_refused = reply.status == HTTPStatus.PAYMENT_REQUIRED and settlement.is_paid is False
    return PaymentOutcome.REFUSED if is_refused else PaymentOutcome.UNKNOWN


def _lost(call: PaidCall, reply: Reply | Exception, outcome: PaymentOutcome, settlement: Settlement) -> LostAnswerError:
    is_paid, transaction, signed = settlement.is_paid, settlement.transaction, settlement.signed
    if isinstance(reply, Exception):
        came, status, answer = str(reply) or type(reply).__name__, None, b""
    else:
        came, status, answer = f"the server responded with {reply.status}", reply.status, reply.body
        accepted = (decode_header(call.header) or {}).get("accepted")
        network = str(accepted.get("network")) if isinstance(accepted, dict) else ""
        transaction = transaction or reply.reported_transaction(network)
        if reply.location is not None:
            facts: dict[str, Any] = {"outcome": outcome, "transaction": transaction, "status": status}
            return RedirectedPaymentError(*call.parts, location=reply.location, is_paid=is_paid, **facts)
    reason = "" if isinstance(reply, Exception) or not reply.reason else f"; its reason: {quoted(reply.reason)}"
    if is_paid:
        kind: type[LostAnswerError] = PaidNotAnsweredError
        state = f"was taken by {f'transaction {transaction}' if transaction else 'a transaction that was not found'}"
        if signed is not None and signed.kind is PaymentKind.PERMIT2_UPTO:
            state += f" ({settlement.amount or 'an unknown part'} of at most {signed.amount})"
    else:
        kind = LostAnswerError
        state = f"is not settled yet, but could be until {'it expires' if signed is None else expiry_of(signed)}"
        state = f"cannot be looked up: {settlement.problem}" if is_paid is None else state
        state = f"(the server names transaction {transaction}) {state}" if transaction else state
    problem = f"{came}, and the payment {state}{reason}"
    return kind(*call.parts, problem, outcome=outcome, transaction=transaction, status=status, answer=answer)
