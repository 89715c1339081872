"""Scoring policies: which of a buyer's dealings count, and how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from bilateral.buyers.score import BuyerMetrics
from bilateral.core.errors import InvalidArgumentError

if TYPE_CHECKING:
    from bilateral.buyers.metrics import Dealings, Seller

DAY: Final = 86_400  # seconds; Unix time has no leap seconds

LEAST_SHARE: Final = Fraction(1, 10)
"""The share of a buyer's payments that the seller must keep for the payments to count at all.

A buyer who trades with a second account of its own must thus leave at least a tenth of the money there, and a seller
that wants to make a buyer's payments worthless must return over nine tenths of the money.
"""


class Reason(StrEnum):
    """Codes that explain why a score differs from a plain count of payments, or why there is no discount."""

    NO_PAYMENTS = "no_payments"
    """The index does not contain any payment by the buyer that counts."""

    NO_REVIEWS = "no_reviews"
    """The buyer gave no reviews, so fairness earns no points."""

    EXTREME_REVIEWS = "extreme_reviews"
    """There are at least five reviews, and their average is at most 10 or at least 95."""

    OWN_PAYMENTS = "own_payments"
    """Payments to an agent do not count if the buyer owns it, is its wallet, or approved its owner."""

    RETURNED_PAYMENTS = "returned_payments"
    """Money that a seller returned does not count. If nearly all was returned, the payments do not count at all."""

    REPEATED_PAIR = "repeated_pair"
    """Only some of the payments to the same seller count."""

    SHARED_FUNDER = "shared_funder"
    """Payments to a seller that shares a funder with the buyer do not count."""


@dataclass(frozen=True)
class ScoringPolicy:
    """A version of the rules for turning dealings into metrics.

    Attributes:
        name: The policy's name, which every response includes.
        nets_returns: True if money returned by a seller is subtracted.
        most_payments: The maximum number of payments to one seller that count; None for no limit.
        most_micros: The maximum volume with one seller that counts, in millionths of a dollar; None for no limit.
        drops_shared_funders: True if dealings with a seller that shares a funder with the buyer do not count.
        only_upheld: True if a dispute counts only after it has been upheld.
    """

    name: str
    nets_returns: bool = False
    most_payments: int | None = None
    most_micros: int | None = None
    drops_shared_funders: bool = False
    only_upheld: bool = False

    @property
    def needs_ties(self) -> bool:
        """True if the policy needs data on returned money or funders."""
        return self.nets_returns or self.drops_shared_funders


BRP: Final = ScoringPolicy("brp-1.0")
"""The Buyer Reputation Protocol's formula. A buyer's payments to its own agents do not count."""

INDEPENDENT: Final = ScoringPolicy(
    "independent-1.0",
    nets_returns=True,
    most_payments=20,
    most_micros=200_000_000,
    drops_shared_funders=True,
    only_upheld=True,
)
"""The policy that counts only independent dealings: no returned money, repeated payments or shared funders."""

POLICIES: Final[Mapping[str, ScoringPolicy]] = {policy.name: policy for policy in (BRP, INDEPENDENT)}
"""The policies, keyed by name."""


def policy_of(name: str) -> ScoringPolicy:
    """Return the policy with the given name."""
    if name not in POLICIES:
        raise InvalidArgumentError(f"the policy {name[:80]!r} is unknown: use one of {', '.join(POLICIES)}")
    return POLICIES[name]


@dataclass(frozen=True)
class Weighed:
    """A buyer's dealings as weighed by a policy.

    Attributes:
        metrics: The metrics from which the score is computed.
        first_at: The time of the first payment that counts; None if no payment counts.
        last_at: The time of the last payment that counts; None if no payment counts.
        sellers: The number of sellers to which the buyer made payments that count.
        reasons: The reasons why dealings were excluded or require caution.
    """

    metrics: BuyerMetrics
    first_at: int | None
    last_at: int | None
    sellers: int
    reasons: tuple[Reason, ...]


def weigh(policy: ScoringPolicy, dealings: Mapping[Seller, Dealings], now: int) -> Weighed:
    """Compute a buyer's metrics from its dealings, according to a policy."""
    reasons: set[Reason] = set()
    if any(dealing.own for dealing in dealings.values()):
        reasons.add(Reason.OWN_PAYMENTS)
    counted = [part for dealing in dealings.values() if (part := _part(policy, dealing, reasons)) is not None]
    first = min((dealing.first_at for _, _, dealing in counted), default=None)
    reviews = [score for _, _, dealing in counted for score in dealing.reviews]
    votes = [
        Fraction(sum(dealing.votes), len(dealing.votes)) for _, _, dealing in counted if dealing.votes
    ]  # one entry per seller
    metrics = BuyerMetrics(
        payments=sum(count for count, _, _ in counted),
        volume=sum(micros for _, micros, _ in counted),
        age_days=0 if first is None else max(0, now - first) // DAY,
        reviews=len(reviews),
        review_sum=sum(reviews),
        feedback_sellers=len(votes),
        feedback_sum=sum(votes, Fraction(0)),
        disputes=sum(dealing.upheld + (0 if policy.only_upheld else dealing.filed) for _, _, dealing in counted),
    )
    if not metrics.payments:
        reasons.add(Reason.NO_PAYMENTS)
    elif not reviews:
        reasons.add(Reason.NO_REVIEWS)
    if _are_extreme(reviews):
        reasons.add(Reason.EXTREME_REVIEWS)
    last = max((dealing.last_at for _, _, dealing in counted), default=None)
    return Weighed(metrics, first, last, len(counted), tuple(sorted(reasons)))


def _part(policy: ScoringPolicy, dealings: Dealings, reasons: set[Reason]) -> tuple[int, int, Dealings] | None:
    """Return the payments to one seller that count, and their volume, or None if no payments count."""
    if not dealings.payments:
        return None
    if policy.drops_shared_funders and dealings.shares_funder:
        reasons.add(Reason.SHARED_FUNDER)
        return None
    count, micros = dealings.payments, dealings.micros
    if policy.nets_returns and dealings.returned:
        reasons.add(Reason.RETURNED_PAYMENTS)
        if micros - dealings.returned < micros * LEAST_SHARE:
            return None
        micros -= dealings.returned  # the count stays, so that sellers cannot erase payments by returning dust
    if policy.most_payments is not None and count > policy.most_payments:
        reasons.add(Reason.REPEATED_PAIR)
        count = policy.most_payments
    if policy.most_micros is not None and micros > policy.most_micros:
        reasons.add(Reason.REPEATED_PAIR)
        micros = policy.most_micros
    return (count, micros, dealings) if count else None


def _are_extreme(scores: Sequence[int]) -> bool:
    """Return True if there are at least five reviews, with an average of at most 10 or at least 95 (section 2.3)."""
    low, high, least = 10, 95, 5
    return len(scores) >= least and not low < Fraction(sum(scores), len(scores)) < high


@dataclass(frozen=True)
class BuyerSettings:
    """The settings of the buyer service.

    Attributes:
        policy: The default scoring policy for responses.
        credential_policies: The scoring policies for which the service issues tier credentials; if empty, only the
            default policy.
        nodes: The URL of a node for each chain, keyed by the chain's decimal id. The nodes are used to check contract
            signatures (ERC-1271) and payments that are not yet indexed.
        disputes: True if sellers may file disputes.
        requires_signature: True to reject unsigned feedback and reviews; otherwise they are accepted but do not count.
        shows_transactions: True to show a buyer's latest payments to anyone who requests them.
        provider: The public URL of this service, for `reputationProvider`; if empty, the request's URL is used.
        seller: The global id of the agent that the well-known document describes; if empty, there is no document.
        incentives: The seller's policy for buyers in the well-known document.
        key_variable: The environment variable that contains the key for signing portable results; if empty, no results
            are signed.
    """

    policy: str = BRP.name
    credential_policies: tuple[str, ...] = ()
    nodes: dict[str, str] = field(default_factory=dict)
    disputes: bool = False
    requires_signature: bool = False
    shows_transactions: bool = False
    provider: str = ""
    seller: str = ""
    incentives: dict[str, Any] = field(default_factory=dict)
    key_variable: str = ""

    def __post_init__(self) -> None:
        for name in (self.policy, *self.credential_policies):
            policy_of(name)
        if unknown := [node for node in self.nodes if not node.isdecimal()]:
            raise InvalidArgumentError(f"buyers.nodes: {unknown[0]!r} is not a chain id")
