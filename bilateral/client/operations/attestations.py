"""Records of buyers that the attestor vouches for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilateral.buyer_terms import WHOLE_TRANSACTION, AttestedPayment, BuyerFeedback, BuyerReviews
from bilateral.client.inputs import checked_uint, hash_bytes
from bilateral.client.operations import buyers, transactions
from bilateral.errors import InvalidArgumentError
from bilateral.events import FeedbackAttested, PaymentAttested, ReviewsAttested
from bilateral.identifiers import checksummed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilateral.buyer_terms import PaymentRecord
    from bilateral.client.operations.transactions import Sent
    from bilateral.client.state import ClientState
    from bilateral.events import Event
    from bilateral.node.steps import Operation


def record_payment(
    state: ClientState, buyer: str, amount: int, transaction_hash: bytes | str
) -> Operation[Sent[AttestedPayment]]:
    """See `Client.record_payment`."""
    account = checksummed(buyer)

    def decode(events: Sequence[Event]) -> AttestedPayment:
        logged = AttestedPayment.from_word(transactions.require_event(events, PaymentAttested).payment)
        expected = AttestedPayment(account, amount, logged.paid_at, WHOLE_TRANSACTION)
        transactions.require_event(events, PaymentAttested, payment=expected.word)
        return logged

    arguments = (
        account,
        checked_uint(amount, 256, "an amount"),
        hash_bytes(transaction_hash, "a transaction's hash"),
    )
    return (yield from buyers.send(state, "recordPayment", arguments, decode))


def record_payments(
    state: ClientState, chain_id: int, records: Sequence[PaymentRecord]
) -> Operation[Sent[tuple[AttestedPayment, ...]]]:
    """See `Client.record_payments`."""
    _require_some(records)
    payments = tuple(it.payment for it in records)

    def decode(events: Sequence[Event]) -> tuple[AttestedPayment, ...]:
        for payment in payments:
            transactions.require_event(events, PaymentAttested, payment=payment.word)
        return payments

    packed = [(it.transaction_hash, it.payment.word) for it in records]
    return (
        yield from buyers.send(state, "recordManyPayments", (checked_uint(chain_id, 256, "a chain id"), packed), decode)
    )


def record_feedback(state: ClientState, feedback: BuyerFeedback) -> Operation[Sent[BuyerFeedback]]:
    """See `Client.record_buyer_feedback`."""

    def decode(events: Sequence[Event]) -> BuyerFeedback:
        _require_feedback(events, feedback)
        return feedback

    arguments = (feedback.buyer, feedback.seller, feedback.score)
    return (yield from buyers.send(state, "recordFeedback", arguments, decode))


def record_feedbacks(
    state: ClientState, feedbacks: Sequence[BuyerFeedback]
) -> Operation[Sent[tuple[BuyerFeedback, ...]]]:
    """See `Client.record_buyer_feedbacks`."""
    _require_some(feedbacks)

    def decode(events: Sequence[Event]) -> tuple[BuyerFeedback, ...]:
        for feedback in feedbacks:
            _require_feedback(events, feedback)
        return tuple(feedbacks)

    packed = [(it.buyer, it.score, it.seller) for it in feedbacks]
    return (yield from buyers.send(state, "recordFeedbacks", (packed,), decode))


def record_reviews(state: ClientState, reviews: Sequence[BuyerReviews]) -> Operation[Sent[tuple[BuyerReviews, ...]]]:
    """See `Client.record_buyer_reviews`."""
    _require_some(reviews)

    def decode(events: Sequence[Event]) -> tuple[BuyerReviews, ...]:
        for each in reviews:
            transactions.require_event(events, ReviewsAttested, **vars(each))
        return tuple(reviews)

    packed = [(it.buyer, it.reviews, it.review_sum, it.disputes) for it in reviews]
    return (yield from buyers.send(state, "recordReviews", (packed,), decode))


def _require_feedback(events: Sequence[Event], feedback: BuyerFeedback) -> None:
    """Check that a feedback was logged."""
    transactions.require_event(events, FeedbackAttested, **vars(feedback))


def _require_some(records: Sequence[object]) -> None:
    """Check that a batch is not empty: its transaction would do nothing.

    Raises:
        InvalidArgumentError: It is empty.
    """
    if not records:
        raise InvalidArgumentError("name at least one record")
