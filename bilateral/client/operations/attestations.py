"""Records of buyers that the attestor vouches for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_utils.hexadecimal import encode_hex

from bilateral.client.inputs import checked_uint, hash_bytes
from bilateral.client.operations import buyers, lookups, registries, transactions
from bilateral.core.contracts import Registry
from bilateral.core.contracts.buyer_terms import WHOLE_TRANSACTION, AttestedPayment, BuyerFeedback, BuyerReviews
from bilateral.core.contracts.logs import RawLog
from bilateral.core.errors import InvalidArgumentError, MissingReceiptError, PaymentSettledHereError
from bilateral.core.events import FeedbackAttested, PaymentAttested, PaymentSettled, ReviewsAttested
from bilateral.core.identifiers import checksummed
from bilateral.node import answers

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from bilateral.client.operations.transactions import Sent
    from bilateral.client.state import ClientState
    from bilateral.core.contracts.buyer_terms import PaymentRecord
    from bilateral.core.events import Event
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

    name = hash_bytes(transaction_hash, "a transaction's hash")
    arguments = (account, checked_uint(amount, 256, "an amount"), name)
    deployment = yield from registries.connect(state)
    yield from _require_not_settled(state, deployment.chain_id, {name: None})
    return (yield from buyers.send(state, "recordPayment", arguments, decode))


def record_payments(
    state: ClientState, chain_id: int, records: Sequence[PaymentRecord]
) -> Operation[Sent[tuple[AttestedPayment, ...]]]:
    """See `Client.record_payments`."""
    _require_some(records)
    payments = tuple(record.payment for record in records)

    def decode(events: Sequence[Event]) -> tuple[AttestedPayment, ...]:
        for payment in payments:
            transactions.require_event(events, PaymentAttested, payment=payment.word)
        return payments

    packed = [(record.transaction_hash, record.payment.word) for record in records]
    chain = checked_uint(chain_id, 256, "a chain id")
    named: dict[bytes, set[tuple[str, int]] | None] = {}
    for record in records:
        payment, others = record.payment, named.get(record.transaction_hash, set())
        is_whole = others is None or payment.position == WHOLE_TRANSACTION
        named[record.transaction_hash] = None if is_whole else {*(others or ()), (payment.buyer, payment.amount)}
    yield from _require_not_settled(state, chain, named)
    return (yield from buyers.send(state, "recordManyPayments", (chain, packed), decode))


def _require_not_settled(
    state: ClientState, chain_id: int, transactions_: Mapping[bytes, Collection[tuple[str, int]] | None]
) -> Operation[None]:
    """Check that the registry did not settle and count some payments itself. A contract cannot look that up."""
    deployment = yield from registries.connect(state)
    if chain_id != deployment.chain_id:
        return
    registry = (yield from registries.require_registry(state, Registry.BUYERS)).lower()
    for name, payments in transactions_.items():
        receipt = yield from lookups.receipt(encode_hex(name))
        if receipt is None:  # pruned, behind or not mined: its payments may be settled ones
            raise MissingReceiptError(name)
        for entry in answers.records(receipt.get("logs")):
            raw = RawLog.from_json(entry)
            event = registries.decode(Registry.BUYERS, raw) if raw.position.address.lower() == registry else None
            if isinstance(event, PaymentSettled) and (payments is None or (event.buyer, event.amount) in payments):
                raise PaymentSettledHereError(name, event.buyer, is_whole=payments is None)


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

    packed = [(feedback.buyer, feedback.score, feedback.seller) for feedback in feedbacks]
    return (yield from buyers.send(state, "recordFeedbacks", (packed,), decode))


def record_reviews(state: ClientState, reviews: Sequence[BuyerReviews]) -> Operation[Sent[tuple[BuyerReviews, ...]]]:
    """See `Client.record_buyer_reviews`."""
    _require_some(reviews)

    def decode(events: Sequence[Event]) -> tuple[BuyerReviews, ...]:
        for review in reviews:
            transactions.require_event(events, ReviewsAttested, **vars(review))
        return tuple(reviews)

    packed = [(review.buyer, review.reviews, review.review_sum, review.disputes) for review in reviews]
    return (yield from buyers.send(state, "recordReviews", (packed,), decode))


def _require_feedback(events: Sequence[Event], feedback: BuyerFeedback) -> None:
    """Check that a feedback was logged."""
    transactions.require_event(events, FeedbackAttested, **vars(feedback))


def _require_some(records: Sequence[object]) -> None:
    """Check that a batch is not empty: its transaction would do nothing."""
    if not records:
        raise InvalidArgumentError("name at least one record")
