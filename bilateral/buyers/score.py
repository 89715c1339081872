"""A buyer's score, tier and fairness: the Buyer Reputation Protocol's formulas, in exact arithmetic.

The contract library `BuyerScore` computes the same values. Both implementations are tested with the same file of test
vectors.
"""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final

from bilateral.core.contracts.buyer_terms import BuyerTier
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.values.arguments import is_whole

DOLLAR: Final = 1_000_000
"""The number of units per dollar. Payment tokens have six decimals."""

_MAX_WEIGHT: Final = 20
"""The maximum weight of the reviews in the effective fairness. Sellers' votes never outweigh them."""

_IDEAL_REVIEW: Final = 65  # section 2.3 of the Buyer Reputation Protocol


@dataclass(frozen=True)
class BuyerMetrics:
    """Everything that a buyer's score depends on.

    Attributes:
        payments: The number of payments.
        volume: The sum of the payments' amounts, in millionths of a dollar.
        age_days: The number of full days since the first payment.
        reviews: The number of reviews that the buyer gave.
        review_sum: The sum of the reviews' scores, each from 0 to 100.
        feedback_sellers: The number of sellers that gave feedback on the buyer.
        feedback_sum: The sum of the sellers' votes, each from 0 to 100. A seller's vote is the exact mean of the scores
            that it gave.
        disputes: The number of disputes.
    """

    payments: int = 0
    volume: int = 0
    age_days: int = 0
    reviews: int = 0
    review_sum: int = 0
    feedback_sellers: int = 0
    feedback_sum: int | Fraction = 0
    disputes: int = 0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            is_fraction = name == "feedback_sum" and isinstance(value, Fraction)
            if not (is_fraction or is_whole(value)) or value < 0:
                raise InvalidArgumentError(f"{name} must be a non-negative integer, not {value!r}")
        for count, total in (("reviews", "review_sum"), ("feedback_sellers", "feedback_sum")):
            if getattr(self, total) > 100 * getattr(self, count):
                raise InvalidArgumentError(
                    f"{total} {getattr(self, total)} exceeds the maximum, which is 100 times {count}"
                )

    @property
    def fairness(self) -> Fraction | None:
        """The fairness as defined in section 2.3, from 0 to 100; None without reviews."""
        if not self.reviews:
            return None
        return max(Fraction(0), 100 - 2 * abs(Fraction(self.review_sum, self.reviews) - _IDEAL_REVIEW))

    @property
    def effective_fairness(self) -> Fraction | None:
        """The fairness including sellers' votes, which never outweigh the reviews; None without reviews."""
        own = self.fairness
        if own is None or not self.feedback_sellers:
            return own
        reviews = min(self.reviews, _MAX_WEIGHT)
        votes = min(self.feedback_sellers, reviews)
        return (reviews * own + votes * Fraction(self.feedback_sum, self.feedback_sellers)) / (reviews + votes)

    @property
    def dispute_rate(self) -> Fraction:
        """Disputes as a percentage of payments, at most 100; 0 without payments."""
        if not self.payments:
            return Fraction(0)
        return min(Fraction(100), Fraction(100 * self.disputes, self.payments))


@dataclass(frozen=True)
class ScoreBreakdown:
    """The points for each component of a score (section 2.2).

    Attributes:
        payment_count: Points for the number of payments, up to 30.
        total_volume: Points for the total volume, up to 20.
        review_fairness: Points for fair reviews, up to 25; 0 without reviews.
        dispute_rate: Points for a low dispute rate, up to 15.
        account_age: Points for the account's age, up to 10.
    """

    payment_count: Fraction
    total_volume: Fraction
    review_fairness: Fraction
    dispute_rate: Fraction
    account_age: Fraction

    @property
    def total(self) -> Fraction:
        """The exact score."""
        return sum(vars(self).values(), Fraction(0))

    @property
    def score(self) -> int:
        """The score, rounded half up."""
        return half_up(self.total.numerator, self.total.denominator)


@dataclass(frozen=True)
class _Conditions:
    """A tier's conditions (section 3): volume in dollars, fairness, and disputes in percent."""

    payments: int
    volume: int
    fairness: int | None = None
    disputes_below: int | None = None

    def hold_for(self, metrics: BuyerMetrics) -> bool:
        """Return whether all conditions are met."""
        if metrics.payments < self.payments or metrics.volume < self.volume * DOLLAR:
            return False
        own = metrics.effective_fairness
        if self.fairness is not None and (own is None or own < self.fairness):
            return False
        return self.disputes_below is None or metrics.dispute_rate < self.disputes_below


_CONDITIONS: Final = {
    BuyerTier.VERIFIED: _Conditions(3, 10),
    BuyerTier.TRUSTED: _Conditions(10, 50, fairness=60),
    BuyerTier.PREMIUM: _Conditions(50, 500, fairness=70, disputes_below=5),
}
"""The tiers that have conditions, lowest first. A tier's conditions include those of all lower tiers."""


def half_up(numerator: int, denominator: int) -> int:
    """Return a non-negative quotient rounded half up to an integer, as `BuyerScore.sol` does.

    Reviews are integers, both on chain and here. A review with decimals is rounded once, when it is read.
    """
    return (2 * numerator + denominator) // (2 * denominator)


def break_down(metrics: BuyerMetrics) -> ScoreBreakdown:
    """Compute the points for each component. A buyer without payments gets no points."""
    if not metrics.payments:
        return ScoreBreakdown(*[Fraction(0)] * 5)
    return ScoreBreakdown(
        payment_count=Fraction(min(metrics.payments, 100) * 30, 100),
        total_volume=Fraction(min(metrics.volume, 1000 * DOLLAR) * 20, 1000 * DOLLAR),
        review_fairness=(metrics.effective_fairness or Fraction(0)) * 25 / 100,
        dispute_rate=(100 - metrics.dispute_rate) * 15 / 100,
        account_age=Fraction(min(metrics.age_days, 365) * 10, 365),
    )


def score_of(metrics: BuyerMetrics) -> int:
    """Return a buyer's score, from 0 to 100, as `getBuyerScore` does."""
    return break_down(metrics).score


def tier_of(metrics: BuyerMetrics) -> BuyerTier:
    """Return the highest tier whose conditions are all met, as `getBuyerTier` does; `new` if there is no such tier."""
    reached = [tier for tier, conditions in _CONDITIONS.items() if conditions.hold_for(metrics)]
    return reached[-1] if reached else BuyerTier.NEW


def plain(value: Decimal) -> Decimal:
    """Return a number without trailing zeros and without an exponent."""
    short = value.normalize()
    return short.quantize(Decimal(1)) if short == short.to_integral_value() else short
