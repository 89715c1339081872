"""The reasons why an aggregator rejects feedback, and the HTTP status for each."""

from collections.abc import Mapping
from enum import StrEnum
from http import HTTPStatus
from typing import Any, Final, Self

from bilateral.x402.proof.errors import InvalidMessageError, ReputationExtensionError


class Code(StrEnum):
    """The codes for rejections. No code depends on the feedback's value."""

    INVALID_PAYLOAD = "INVALID_PAYLOAD"
    """A field is missing or invalid, or contradicts another field."""

    INVALID_AGENT_SIGNATURE = "INVALID_AGENT_SIGNATURE"
    """The interaction was not signed with a valid key that belongs to the agent."""

    INVALID_REVIEWER_SIGNATURE = "INVALID_REVIEWER_SIGNATURE"
    """The reviewer did not sign this feedback, or the registry no longer accepts the signature."""

    UNKNOWN_AGENT = "UNKNOWN_AGENT"
    """The agent does not exist, or this service does not support its registry."""

    DUPLICATE_TASK_REF = "DUPLICATE_TASK_REF"
    """The reviewer has already given feedback for this payment."""

    PAYMENT_NOT_FOUND = "PAYMENT_NOT_FOUND"
    """The transaction in `taskRef` is not in any block, or it failed."""

    PAYMENT_MISMATCH = "PAYMENT_MISMATCH"
    """The transaction does not transfer enough of an accepted token from the reviewer to the agent's wallet."""

    PAYMENT_NOT_SETTLED = "PAYMENT_NOT_SETTLED"
    """The transaction transfers enough, but not by a signed payment; anyone can transfer tokens to themselves."""

    PAYMENT_NOT_PROVABLE = "PAYMENT_NOT_PROVABLE"
    """An intermediary contract settled the payment, and the node has no trace (`debug_traceTransaction`) of it."""

    PAYMENT_UNCONFIRMED = "PAYMENT_UNCONFIRMED"
    """The payment has too few confirmations. Try again later."""

    UNSUPPORTED_NETWORK = "UNSUPPORTED_NETWORK"
    """This service does not support the chain."""

    SELF_FEEDBACK = "SELF_FEEDBACK"
    """The reviewer owns the agent, or may act for it."""

    BUDGET_EXHAUSTED = "BUDGET_EXHAUSTED"
    """The aggregator's daily budget is spent. Try again tomorrow."""

    UNBOUND_PROOF = "UNBOUND_PROOF"
    """This service requires proof that the agent's signature belongs to this payment: send `bodies`."""

    UNCHECKED_FILE = "UNCHECKED_FILE"
    """This service requires a feedback file that it can load and compare with the feedback: publish the file first."""

    PENDING_FEEDBACK = "PENDING_FEEDBACK"
    """The reviewer's earlier feedback for this agent is not on chain yet. Wait, then sign again with the next index."""

    ALREADY_SEALED = "ALREADY_SEALED"
    """The client is already rated, both ratings are sealed, or this side has already sent a different envelope."""

    UNAVAILABLE = "UNAVAILABLE"
    """A node or a file server is failing, or this service cannot pay at the moment. Try again later."""


_STATUS: Final[Mapping[Code, HTTPStatus]] = {
    **dict.fromkeys((Code.DUPLICATE_TASK_REF, Code.PENDING_FEEDBACK, Code.ALREADY_SEALED), HTTPStatus.CONFLICT),
    **dict.fromkeys((Code.BUDGET_EXHAUSTED, Code.UNAVAILABLE), HTTPStatus.SERVICE_UNAVAILABLE),
}
"""The HTTP status for each code whose status is not 422."""

_RETRY_SECONDS: Final = {Code.UNAVAILABLE: 5, Code.PAYMENT_UNCONFIRMED: 5, Code.PENDING_FEEDBACK: 5}
"""Seconds to wait before a retry: enough for a server to restart, and for two more blocks on most chains."""


class FeedbackRefusedError(ReputationExtensionError):
    """An aggregator rejected feedback.

    Attributes:
        code: The rejection code.
        details: Additional members of the response, such as `field`. Their text may be untrusted.
        retry_seconds: How many seconds to wait before retrying the same request; None if no retry is recommended.
    """

    reason = "feedback_refused"

    def __init__(self, code: Code, problem: str, *, retry_seconds: int | None = None, **details: Any) -> None:
        super().__init__(problem)
        self.code, self.details = code, details
        self.retry_seconds = _RETRY_SECONDS.get(code) if retry_seconds is None else retry_seconds

    @classmethod
    def of_field(cls, error: InvalidMessageError) -> Self:
        """Return the error for a message with an invalid field."""
        return cls(Code.INVALID_PAYLOAD, str(error), field=error.field, fault=error.fault)

    @property
    def status(self) -> HTTPStatus:
        """The response's HTTP status."""
        return _STATUS.get(self.code, HTTPStatus.UNPROCESSABLE_ENTITY)


def invalid(field: str, problem: str) -> FeedbackRefusedError:
    """Return the error for an invalid field."""
    return FeedbackRefusedError.of_field(InvalidMessageError(field, "malformed", problem))
