"""Events of the buyer reputation registry (Buyer Reputation Protocol, section 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bilateral.core.events.base import Event


@dataclass(frozen=True, slots=True)
class PaymentSettled(Event):
    """A payment was settled and counted. The next log is the token's `AuthorizationUsed`.

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

    abi_name: ClassVar = "PaymentSettled"


@dataclass(frozen=True, slots=True)
class PaymentNotCounted(Event):
    """A payment was settled, but not counted.

    Attributes:
        buyer: The account that paid.
        seller_id: The agent that was paid; 0: none.
        amount: The amount, in millionths of a dollar.
        nonce: The nonce of the authorisation.
        reason: The number of the reason, see `bilateral.core.contracts.buyer_terms.NotCounted`.
    """

    buyer: str
    seller_id: int
    amount: int
    nonce: bytes
    reason: int

    abi_name: ClassVar = "PaymentNotCounted"


@dataclass(frozen=True, slots=True)
class PaymentAttested(Event):
    """The attestor recorded a payment.

    Attributes:
        payment: The payment in one word, which `bilateral.core.contracts.buyer_terms.AttestedPayment.from_word` reads.
    """

    payment: int

    abi_name: ClassVar = "PaymentAttested"


@dataclass(frozen=True, slots=True)
class FeedbackAttested(Event):
    """The attestor recorded the vote of a seller on a buyer.

    Attributes:
        buyer: The account that paid.
        seller: The account that was paid.
        score: The vote now, 0 to 100.
    """

    buyer: str
    seller: str
    score: int

    abi_name: ClassVar = "FeedbackAttested"


@dataclass(frozen=True, slots=True)
class ReviewsAttested(Event):
    """The attestor set a buyer's reviews and disputes.

    Attributes:
        buyer: The account.
        reviews: The number of reviews that it gave.
        review_sum: The sum of their scores.
        disputes: The number of disputes.
    """

    buyer: str
    reviews: int
    review_sum: int
    disputes: int

    abi_name: ClassVar = "ReviewsAttested"


@dataclass(frozen=True, slots=True)
class SuccessorNominated(Event):
    """The holder of a role nominated a successor.

    Attributes:
        role: The number of the role, see `bilateral.core.contracts.buyer_terms.BuyerRole`.
        nominee: The successor; the zero address: the nomination was withdrawn.
    """

    role: int
    holder: str
    nominee: str

    abi_name: ClassVar = "SuccessorNominated"


@dataclass(frozen=True, slots=True)
class RoleTaken(Event):
    """A role has a holder: at the deployment, and when a successor accepts.

    Attributes:
        role: The number of the role, see `bilateral.core.contracts.buyer_terms.BuyerRole`.
        former_holder: The former holder; the zero address at the deployment.
        holder: The holder now.
    """

    role: int
    former_holder: str
    holder: str

    abi_name: ClassVar = "RoleTaken"


@dataclass(frozen=True, slots=True)
class Anchored(Event):
    """The anchorer posted a root.

    Attributes:
        root: The Merkle root of the service's state.
    """

    epoch: int
    root: bytes

    abi_name: ClassVar = "Anchored"


@dataclass(frozen=True, slots=True)
class TierRootsPosted(Event):
    """The attestor posted the roots of a day's groups of buyers by tier.

    Attributes:
        epoch: The UTC day, in days since the beginning of Unix time.
        policy: The hash of the scoring policy's name.
    """

    epoch: int
    policy: bytes

    abi_name: ClassVar = "TierRootsPosted"
