"""Records of buyers, which payments prove."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from bilateral.core.contracts.buyer_terms import BuyerRole, BuyerTier, NotCounted
    from bilateral.core.identifiers import AgentId


@dataclass(frozen=True)
class SettledRecord:
    """The payments of a buyer that the registry settled itself.

    Attributes:
        payments: Their number.
        volume: The sum of their amounts, in millionths of a dollar.
        first_payment_at: The time of the first one; None without payments.
        last_payment_at: The time of the last one; None without payments.
        minimum_sellers: The least number of different sellers that were paid, at most 96.
    """

    payments: int
    volume: int
    first_payment_at: datetime | None
    last_payment_at: datetime | None
    minimum_sellers: int


@dataclass(frozen=True)
class AttestedRecord:
    """The facts about a buyer that the attestor vouches for.

    Attributes:
        payments: The number of payments.
        volume: The sum of their amounts, in millionths of a dollar.
        first_payment_at: The time of the earliest one; None without payments.
        last_payment_at: The time of the latest one; None without payments.
        reviews: The number of reviews that the buyer gave.
        review_sum: The sum of their scores.
        feedback_sellers: The number of sellers that gave feedback on the buyer.
        feedback_sum: The sum of their votes.
        disputes: The number of disputes.
    """

    payments: int
    volume: int
    first_payment_at: datetime | None
    last_payment_at: datetime | None
    reviews: int
    review_sum: int
    feedback_sellers: int
    feedback_sum: int
    disputes: int


@dataclass(frozen=True)
class BuyerRecords:
    """Both records of a buyer. They are never mixed.

    Attributes:
        buyer: The account.
        settled: The settled record.
        attested: The attested record.
    """

    buyer: str
    settled: SettledRecord
    attested: AttestedRecord


@dataclass(frozen=True)
class BuyerStanding:
    """The score and the tier of a buyer.

    Attributes:
        score: 0 to 100.
    """

    score: int
    tier: BuyerTier


@dataclass(frozen=True)
class SettledPayment:
    """A payment that the registry settled.

    Attributes:
        buyer: The account that paid.
        seller: The agent that was paid; None for an account that speaks as no agent.
        amount: The amount, in millionths of a dollar.
        nonce: The nonce of the authorisation.
        refusal: The reason why it does not count for the buyer; None if it counts.
    """

    buyer: str
    seller: AgentId | None
    amount: int
    nonce: bytes
    refusal: NotCounted | None

    @property
    def is_counted(self) -> bool:
        """True if it counts for the buyer."""
        return self.refusal is None


@dataclass(frozen=True)
class Anchor:
    """The Merkle root of a service's state.

    Attributes:
        epoch: The epoch, from 1.
        root: The root, 32 bytes.
    """

    epoch: int
    root: bytes


@dataclass(frozen=True)
class RoleHolder:
    """The holder of a role.

    Attributes:
        nominee: The nominated successor; None without one.
    """

    role: BuyerRole
    holder: str
    nominee: str | None
