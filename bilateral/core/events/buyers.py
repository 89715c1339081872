"""Events emitted by the buyer registries."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bilateral.core.contracts import Registry
from bilateral.core.events.base import Event


@dataclass(frozen=True, slots=True)
class PaymentSettled(Event):
    """A payment was settled and counted. The next log in the transaction is the token's `AuthorizationUsed`.

    Attributes:
        buyer: The account that paid.
        seller_id: The agent that was paid.
        amount: The amount, in millionths of a dollar.
        nonce: The nonce of the authorisation.
    """

    buyer: str
    seller_id: int
    amount: int
    nonce: bytes


@dataclass(frozen=True, slots=True)
class PaymentNotCounted(Event):
    """A payment was settled, but not counted.

    Attributes:
        buyer: The account that paid.
        seller_id: The agent that was paid; 0 if none.
        amount: The amount, in millionths of a dollar.
        nonce: The nonce of the authorisation.
        reason: The reason's number; see `bilateral.core.contracts.buyer_terms.NotCounted`.
    """

    buyer: str
    seller_id: int
    amount: int
    nonce: bytes
    reason: int


@dataclass(frozen=True, slots=True)
class PaymentAttested(Event):
    """The attestor recorded a payment.

    Attributes:
        payment: The payment packed into one word, which
            `bilateral.core.contracts.buyer_terms.AttestedPayment.from_word` unpacks.
    """

    payment: int


@dataclass(frozen=True, slots=True)
class FeedbackAttested(Event):
    """The attestor (the service that records payments) recorded a seller's vote on a buyer.

    Attributes:
        buyer: The account that paid.
        seller: The account that was paid.
        score: The seller's current vote, 0 to 100.
    """

    buyer: str
    seller: str
    score: int


@dataclass(frozen=True, slots=True)
class ReviewsAttested(Event):
    """The attestor set a buyer's reviews and disputes.

    Attributes:
        buyer: The buyer's account.
        reviews: The number of reviews that the buyer gave.
        review_sum: The sum of the reviews' scores.
        disputes: The number of disputes.
    """

    buyer: str
    reviews: int
    review_sum: int
    disputes: int


@dataclass(frozen=True, slots=True)
class SuccessorNominated(Event):
    """The holder of a role nominated a successor.

    Attributes:
        role: The role's number; see `bilateral.core.contracts.buyer_terms.BuyerRole`.
        nominee: The successor, or the zero address if the nomination was withdrawn.
    """

    role: int
    holder: str
    nominee: str


@dataclass(frozen=True, slots=True)
class RoleTaken(Event):
    """A role was assigned to a holder, at deployment or when a successor accepted.

    Attributes:
        role: The role's number; see `bilateral.core.contracts.buyer_terms.BuyerRole`.
        former_holder: The previous holder, or the zero address at deployment.
        holder: The new holder.
    """

    role: int
    former_holder: str
    holder: str


@dataclass(frozen=True, slots=True)
class Anchored(Event):
    """The anchorer, a role in the buyer registry, posted a Merkle root.

    Attributes:
        root: The Merkle root of the service's buyer states.
    """

    epoch: int
    root: bytes


@dataclass(frozen=True, slots=True)
class TierRootsPosted(Event):
    """The attestor posted a day's Merkle roots, one for the group of buyers in each tier.

    Attributes:
        epoch: The UTC day, in days since the Unix epoch.
        policy: The hash of the scoring policy's name.
    """

    epoch: int
    policy: bytes


BUYER_EVENTS: Final[Mapping[Registry, tuple[type[Event], ...]]] = {
    Registry.BUYERS: (
        PaymentSettled,
        PaymentNotCounted,
        PaymentAttested,
        FeedbackAttested,
        ReviewsAttested,
        SuccessorNominated,
        RoleTaken,
        Anchored,
    ),
    Registry.TIER_PROOFS: (TierRootsPosted,),
}
"""The event types of each buyer registry."""
