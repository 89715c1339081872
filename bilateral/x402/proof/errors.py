"""The extension's errors. The error for an invalid field contains the field's path and a machine-readable code."""

from dataclasses import InitVar
from typing import Any, Literal, TypeAlias

from bilateral.core.errors import BilateralError, FormattedError
from bilateral.core.text import quoted

Fault: TypeAlias = Literal[
    "missing", "wrong_type", "too_long", "too_many", "malformed", "wrong_chain", "wrong_case", "unsupported_version"
]
"""The ways in which a field can be invalid. `wrong_case` is a mixed-case address with a wrong checksum (EIP-55)."""


class ReputationExtensionError(BilateralError):
    """Base class for errors in the x402 extension `8004-reputation`."""

    reason = "x402"


class InvalidMessageError(ReputationExtensionError, ValueError):
    """A field of a message is missing or invalid.

    Attributes:
        field: The field's path, such as `registrations[0].agentId`.
        fault: Why the field is invalid.
    """

    reason = "invalid_message"

    def __init__(self, field: str, fault: Fault, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field, self.fault = field, fault


class InvalidKeyError(ReputationExtensionError, ValueError):
    """A signing key is missing, malformed, or does not match its public key."""

    reason = "invalid_key"


class UnsupportedBodyError(ReputationExtensionError):
    """A body has an unsupported content encoding, or cannot be decoded.

    Attributes:
        encoding: The content encoding.
    """

    reason = "unsupported_body"

    def __init__(self, encoding: str, problem: str) -> None:
        super().__init__(f"content encoding {encoding!r}: {problem}")
        self.encoding = encoding


class PaymentRefusedError(ReputationExtensionError):
    """A payment must not be made, or a client's claim must not be accepted.

    Attributes:
        code: The reason, such as `not_declared`, `invalid_declaration`, `unsupported_network`, `agent_not_registered`,
            `unknown_registry`, `registry_mismatch`, `payment_address_mismatch`, `not_the_client_agent` or
            `cannot_check`.
    """

    reason = "payment_refused"

    def __init__(self, code: str, problem: str) -> None:
        super().__init__(problem)
        self.code = code


class UnprovenFailureError(ReputationExtensionError):
    """The chain does not prove a failed settlement, so the failure should be neither published nor relied on.

    Attributes:
        code: The problem: `no_evidence`, `malformed_evidence`, `unlisted_token`, `reason_not_shown`, `never_payable`,
            `too_early`, `payment_made` or `still_payable`.
    """

    reason = "unproven_failure"

    def __init__(self, code: str, problem: str) -> None:
        super().__init__(problem)
        self.code = code


class DuplicateFeedbackError(FormattedError, ReputationExtensionError, ValueError):
    """The client has already given feedback for this payment.

    Attributes:
        feedback: The earlier feedback's textual id.
        task_ref: The payment.
    """

    reason = "duplicate_feedback"
    template = "feedback {feedback} already covers payment {task_ref}: a payment backs only one feedback entry"
    feedback: str
    task_ref: str


class UnreadFeedbackError(ReputationExtensionError):
    """Earlier feedback by the client may be for this payment, but the feedback's file cannot be loaded.

    Attributes:
        feedback: The earlier feedback's textual id.
        task_ref: The payment.
        uri: The URI of the file; empty if the event with the URI was not found.
    """

    reason = "unread_feedback"

    def __init__(self, feedback: str, task_ref: str, uri: str, problem: str) -> None:
        super().__init__(
            f"the file {quoted(uri[:200])} of feedback {feedback} cannot be "
            "loaded, so it may already be for the payment "
            f"{task_ref}: {problem}; try again, or pass accept_unread=True if it is for a different payment"
        )
        self.feedback, self.task_ref, self.uri = feedback, task_ref, uri


class LostAnswerError(FormattedError, ReputationExtensionError):
    """A payment was sent, but nothing was delivered. The payment may already be settled, or may be settled later.

    Each transport's `fetch_lost_answer` repeats the request with the same payment and does not sign a new one. The
    client does the same for any request with the same method, URL and body, until the payment's answer arrives or the
    chain shows that the payment can never be settled. To stop this, call `abandon_payment`; the next request then pays
    again. A payment is settled at most once. The answer includes its verification. If the server retained only the
    proof, the status is 410, and the check `interaction_hash` is reported as `unchecked`. If there is still no answer,
    this error is raised again.

    Attributes:
        method: The request's method.
        headers: The request's headers, including the payment.
        outcome: The outcome of the payment: `settled`, `pending`, `unknown` or `refused`. See docs/x402.md.
        transaction: The transaction that settles the payment; None if no transaction was found and the server reported
            none.
        status: The HTTP status of the server's error; None if there was no response.
        answer: The body of the server's error.
    """

    reason = "lost_answer"

    method: str
    url: str
    headers: dict[str, str]
    body: bytes
    problem: InitVar[str]
    outcome: str = "unknown"
    transaction: str | None = None
    status: int | None = None
    answer: bytes = b""

    def __post_init__(self, problem: str) -> None:
        sent = f"a payment was sent with {self.method} {quoted(self.url[:200])}"
        fetch = "fetch it by fetch_lost_answer, which signs no further payment"
        Exception.__init__(self, f"{sent}, and the answer did not arrive: {problem}; {fetch}")


class PaidNotAnsweredError(LostAnswerError):
    """A payment was taken, but the server rejected it or failed, and delivered no answer.

    The chain shows that the payment's authorization was used. `fetch_lost_answer` may still be able to fetch the
    answer.
    """

    reason = "paid_not_answered"


class RedirectedPaymentError(LostAnswerError):
    """A server responded to a payment with a redirect, which is not followed: its target may request payment.

    Attributes:
        location: The target of the redirect.
        is_paid: True if the chain shows that the payment was taken, False if it has not been taken, None if unknown.
    """

    reason = "redirected_payment"

    def __init__(
        self, *request: Any, location: str, is_paid: bool | None, transaction: str | None, **answer: Any
    ) -> None:
        state = {True: "was taken", False: "was not taken yet", None: "may have been taken"}[is_paid]
        state += f" by transaction {transaction}" if transaction else ""
        problem = f"the server redirects to {quoted(location[:200])}, which is not followed; the payment {state}"
        super().__init__(*request, problem, transaction=transaction, **answer)  # type: ignore[call-arg, misc]
        self.location, self.is_paid = location, is_paid


class StreamingRouteError(FormattedError, ReputationExtensionError, ValueError):
    """A route that streams its responses declares the extension. A stream cannot be signed before it ends."""

    reason = "streaming_route"
    template = "{route} streams its responses, which 8004-reputation does not support: remove the declaration"
    route: str


class PreflightError(ReputationExtensionError):
    """Because of a server's settings, clients would reject its payment terms or its proofs.

    Attributes:
        problems: The problems, one line each.
    """

    reason = "preflight"

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(problems) + '; correct them, or set on_problem="warn"')
        self.problems = problems


class TooManyPaymentsError(FormattedError, ReputationExtensionError):
    """A server's limit on payments in progress has been reached."""

    reason = "too_many_payments"
    template = "{limit} payments are in progress, the maximum that Reservations(limit={limit}) allows"
    limit: int


class BodyTooLargeError(FormattedError, ReputationExtensionError):
    """A decoded body is larger than the limit.

    Attributes:
        limit: The limit, in bytes.
    """

    reason = "body_too_large"
    template = "the body exceeds the limit of {limit} bytes"
    limit: int
