"""The course of a purchase after its payment was sent: judge the answer, look the payment up, and never sign twice.

The table of `payment_outcomes.json` decides; docs/x402.md prints it. `purchase` does no input or output itself. Each
transport performs its steps.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from importlib import resources
from typing import Any, Final, TypeAlias

from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.identifiers import TransactionRef
from bilateral.core.text import printable, quoted
from bilateral.node.steps import Operation, Pause
from bilateral.x402.clients.outstanding import OutstandingPayments, PaidCall
from bilateral.x402.clients.transports import is_body_lost, may_be_unfinished, paid_request
from bilateral.x402.proof.answers import payment_of
from bilateral.x402.proof.errors import LostAnswerError, PaidNotAnsweredError, RedirectedPaymentError
from bilateral.x402.proof.examination import POLL_SECONDS
from bilateral.x402.proof.headers import decode_header
from bilateral.x402.proof.paid_requests import PaidRequest
from bilateral.x402.proof.payments import Settlement
from bilateral.x402.proof.readers import RegistryReader
from bilateral.x402.proof.verdicts import CheckName, Outcome, Verification


class PaymentOutcome(StrEnum):
    """The state of a payment that was sent."""

    SETTLED = "settled"
    PENDING = "pending"
    UNKNOWN = "unknown"
    REFUSED = "refused"
    EXPIRED = "expired"


class AnswerKind(StrEnum):
    """The kind of answer to a payment."""

    VERIFIED = "verified answer"
    UNVERIFIED = "unverified answer"
    REDIRECT = "redirect"
    ERROR = "error"
    NOTHING = "nothing"


class Action(StrEnum):
    """The reaction of a client."""

    DELIVER = "deliver"
    RAISE = "raise"
    RETRY = "retry"


OUTCOMES: Final[dict[str, Any]] = json.loads(
    resources.files("bilateral.x402.proof").joinpath("payment_outcomes.json").read_bytes()
)
"""The outcomes and the kinds of answers with their meanings, and the action for each pair."""

_ACTIONS: Final = {
    (outcome, kind): Action(OUTCOMES["actions"][outcome][kind]) for outcome in PaymentOutcome for kind in AnswerKind
}

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
"""The statuses that httpx and requests follow, if there is a `Location`."""

_REPEATED: Final = frozenset({408, 409, 425, 429})
"""The statuses below 500 that SDKs of web APIs answer by sending the same request again."""

_MOST_REASON: Final = 200  # characters of a server's reason in an error

_SETTLEMENT_HEADERS: Final = ("payment-response", "x-payment-response")


@dataclass(frozen=True)
class Reply:
    """A whole answer.

    Attributes:
        status: The HTTP status.
        headers: The headers for the verification, by their names in lower case.
        response: The answer as the HTTP library has it.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    response: Any

    @property
    def location(self) -> str | None:
        """The address of a redirect; None without one."""
        return self.headers.get("location") if self.status in _REDIRECTS else None

    @property
    def settlement(self) -> dict[str, Any] | None:
        """`PAYMENT-RESPONSE`, decoded; None if it is missing or malformed."""
        header = next((self.headers[name] for name in _SETTLEMENT_HEADERS if name in self.headers), None)
        return decode_header(header)

    @property
    def is_delivery(self) -> bool:
        """True for an answer, and for an error whose payment was settled before the application ran."""
        is_settled = (self.settlement or {}).get("success") is True and self.status != HTTPStatus.PAYMENT_REQUIRED
        return self.location is None and (self.status < HTTPStatus.BAD_REQUEST or is_settled)

    @property
    def is_unfinished(self) -> bool:
        """True if the payment may be settled in a moment."""
        is_gateway = may_be_unfinished(self.status)
        return self.location is None and (is_gateway or any(name in self.headers for name in _SETTLEMENT_HEADERS))

    @property
    def is_repeated(self) -> bool:
        """True if SDKs send the request again after this status."""
        return self.status in _REPEATED or self.status >= HTTPStatus.INTERNAL_SERVER_ERROR

    @property
    def reason(self) -> str:
        """The server's reason for an error; empty without one."""
        price = decode_header(self.headers.get("payment-required")) or {}
        text = (self.settlement or {}).get("errorReason") or price.get("error")
        return printable(text[:_MOST_REASON]) if isinstance(text, str) else ""

    def reported_transaction(self, network: str) -> str | None:
        """Return the transaction that the server names; None if it names none on the payment's network."""
        transaction = (self.settlement or {}).get("transaction")
        try:
            TransactionRef.parse(f"{network}:{transaction}")
        except MalformedIdentifierError:
            return None
        return str(transaction)


@dataclass(frozen=True)
class Pay:
    """The step that sends the request, and pays for it if the server asks for it. It gives the `Reply`.

    Attributes:
        sent: Takes the payment's header, by its name, before it is sent.
    """

    sent: list[dict[str, str]]


@dataclass(frozen=True)
class Resend:
    """The step that sends a request with a payment that is signed already. It gives the `Reply`."""

    call: PaidCall


@dataclass(frozen=True)
class LookUp:
    """The step that looks a payment up on its chain. It gives the `Settlement`.

    Attributes:
        payment: The payment payload.
        seconds: The time to wait for the settlement; None for the verifier's.
    """

    payment: dict[str, Any]
    seconds: float | None


@dataclass(frozen=True)
class Verify:
    """The step that verifies a paid answer. It gives the `Verification`."""

    paid: PaidRequest


Step: TypeAlias = Pay | Resend | LookUp | Verify
Purchase: TypeAlias = Generator[Step, Any, tuple[Reply, "Verification | None", bool]]


def purchase(payments: OutstandingPayments, request: PaidCall) -> Purchase:
    """Make a request, pay for it if it must be paid, and return its answer.

    A request whose payment has no answer yet sends that payment again, and signs no other one.

    Args:
        payments: The outstanding payments of the client.
        request: The request. With a payment, nothing is signed.

    Returns:
        The answer, its verification, and whether a payment was sent with it.

    Raises:
        LostAnswerError: A payment was sent, and it has no answer.
    """
    call = request if request.payment else (yield from _outstanding(payments, request))
    is_again, is_settled = call is not None, False
    sent: list[dict[str, str]] = [] if call is None else [dict(call.payment)]
    try:
        reply = yield from _sent(Pay(sent) if call is None else Resend(call), sent)
        if not sent:
            assert isinstance(reply, Reply)  # noqa: S101  # an error without a payment is raised
            return reply, None, False
        call = call or PaidCall(request.method, request.url, request.headers, request.body, sent[-1])
        payments.drop(call)
        is_retried = not payment_of(call.header)  # such a payment fetches nothing
        while True:
            kind, outcome, verification, settlement = yield from _judged(call, reply, is_again=is_again)
            is_settled = outcome is PaymentOutcome.SETTLED
            action = _ACTIONS[outcome, kind]
            if action is Action.DELIVER and isinstance(reply, Reply):
                if reply.is_delivery and reply.is_repeated:
                    payments.add(call, is_settled=is_settled)
                return reply, verification, True
            if action is not Action.RETRY or is_retried:
                break
            is_retried = is_again = True
            reply = yield from _sent(Resend(call), sent)
    except BaseException:  # a cancelled request may be paid, too
        if sent:
            call = call or PaidCall(request.method, request.url, request.headers, request.body, sent[-1])
            payments.add(call, is_settled=is_settled)
        raise
    if outcome is PaymentOutcome.EXPIRED and isinstance(reply, Exception):
        raise reply
    if outcome is not PaymentOutcome.EXPIRED:
        payments.add(call, is_settled=is_settled)
    raise _lost(call, reply, outcome, settlement) from (reply if isinstance(reply, Exception) else None)


def run(steps: Purchase, perform: Callable[[Step], Any]) -> tuple[Reply, Verification | None, bool]:
    """Run a purchase by a function that performs its steps."""
    try:
        step = next(steps)
        while True:
            try:
                result = perform(step)
            except BaseException as error:  # noqa: BLE001  # the purchase decides
                step = steps.throw(error)
            else:
                step = steps.send(result)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


async def run_async(
    steps: Purchase, perform: Callable[[Step], Awaitable[Any]]
) -> tuple[Reply, Verification | None, bool]:
    """Run a purchase by a coroutine that performs its steps."""
    try:
        step = next(steps)
        while True:
            try:
                result = await perform(step)
            except BaseException as error:  # noqa: BLE001  # the purchase decides
                step = steps.throw(error)
            else:
                step = steps.send(result)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


def _outstanding(payments: OutstandingPayments, request: PaidCall) -> Generator[Step, Any, PaidCall | None]:
    """Return the outstanding payment for a request; None if a new one may be signed."""
    while True:
        call = payments.take(request)
        if call is None:
            return None
        try:
            settlement: Settlement = yield LookUp(decode_header(call.header) or {}, 0)
        except BaseException:
            payments.add(call, is_settled=False)
            raise
        if not settlement.is_expired:
            return call


def _sent(step: Pay | Resend, sent: list[dict[str, str]]) -> Generator[Step, Any, Reply | Exception]:
    """Send a request. Return its answer; the error if it has none although a payment was sent."""
    try:
        reply: Reply = yield step
    except Exception as error:
        if not sent:
            raise
        return error
    return reply


def _judged(
    call: PaidCall, reply: Reply | Exception, *, is_again: bool
) -> Generator[Step, Any, tuple[AnswerKind, PaymentOutcome, Verification | None, Settlement]]:
    """Find the row and the column of the table, with the verification of an answer and the chain's word."""
    payment = decode_header(call.header)
    if isinstance(reply, Reply) and reply.is_delivery:
        paid = paid_request(
            call.payment,
            f"{call.method} {call.url}",
            call.headers,
            call.body,
            reply.headers,
            reply.body,
            status=reply.status,
            is_body_lost=is_again and is_body_lost(reply.status, reply.body),
        )
        verification: Verification | None = None if paid is None else (yield Verify(paid))
        is_verified = verification is not None and verification.is_verified
        is_paid = verification is not None and verification.outcome(CheckName.PAYMENT) is Outcome.PASSED
        outcome = PaymentOutcome.SETTLED if is_paid else PaymentOutcome.UNKNOWN
        return AnswerKind.VERIFIED if is_verified else AnswerKind.UNVERIFIED, outcome, verification, Settlement(None)
    seconds = None if isinstance(reply, Reply) and reply.is_unfinished else 0
    settlement: Settlement = yield LookUp(payment or {}, seconds)
    if isinstance(reply, Exception):
        kind = AnswerKind.NOTHING
    else:
        kind = AnswerKind.ERROR if reply.location is None else AnswerKind.REDIRECT
    return kind, _outcome(reply, settlement), None, settlement


def _outcome(reply: Reply | Exception, settlement: Settlement) -> PaymentOutcome:
    """Return the outcome of a payment by the chain's word and, where the chain has none, the server's."""
    if settlement.is_paid:
        return PaymentOutcome.SETTLED
    if settlement.is_expired:
        return PaymentOutcome.EXPIRED
    if isinstance(reply, Exception):
        return PaymentOutcome.UNKNOWN
    reported = reply.settlement or {}
    if reported.get("success") is True or reported.get("transaction"):
        return PaymentOutcome.PENDING
    is_refused = reply.status == HTTPStatus.PAYMENT_REQUIRED and settlement.is_paid is False
    return PaymentOutcome.REFUSED if is_refused else PaymentOutcome.UNKNOWN


def _lost(call: PaidCall, reply: Reply | Exception, outcome: PaymentOutcome, settlement: Settlement) -> LostAnswerError:
    """Return the error of a payment without an answer."""
    is_paid, transaction = settlement.is_paid, settlement.transaction
    if isinstance(reply, Exception):
        came, status, answer = str(reply) or type(reply).__name__, None, b""
    else:
        came, status, answer = f"the server answered {reply.status}", reply.status, reply.body
        accepted = (decode_header(call.header) or {}).get("accepted")
        network = str(accepted.get("network")) if isinstance(accepted, dict) else ""
        transaction = transaction or reply.reported_transaction(network)
        if reply.location is not None:
            return RedirectedPaymentError(
                *call.parts, reply.location, is_paid, outcome=outcome, transaction=transaction, status=status
            )
    reason = "" if isinstance(reply, Exception) or not reply.reason else f"; its reason: {quoted(reply.reason)}"
    kind: type[LostAnswerError] = PaidNotAnsweredError if is_paid else LostAnswerError
    if is_paid:
        by = f"by transaction {transaction}" if transaction else "by a transaction that was not found"
        problem = f"{came}, and the payment was taken {by}{reason}"
    else:
        state = "is not settled so far, but can be until its validBefore"
        state = f"cannot be looked up: {settlement.problem}" if is_paid is None else state
        by = f" (the server names transaction {transaction})" if transaction else ""
        problem = f"{came}, and the payment{by} {state}{reason}"
    return kind(*call.parts, problem, outcome=outcome, transaction=transaction, status=status, answer=answer)


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
            if settlement.is_paid is not False or settlement.is_expired or left <= 0:
                return settlement
            yield Pause(min(POLL_SECONDS, left))

    return network, wait()


UNSUPPORTED: Final = Settlement(None, problem="payments of this kind, or on this chain, cannot be looked up")
