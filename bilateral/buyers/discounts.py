"""Discounts that sellers offer to buyers (sections 5.2, 6 and 9 of the Buyer Reputation Protocol)."""

# ruff: noqa: N815  # the specification's names

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema

from bilateral.buyers.errors import BuyerServiceFailedError
from bilateral.buyers.score import plain, score_of, tier_of
from bilateral.core.contracts.buyer_terms import BuyerTier
from bilateral.core.errors import InvalidArgumentError

if TYPE_CHECKING:
    from bilateral.buyers.records import Standing

DEFAULT_DISPUTE_RATE: Final = 10
"""The maximum dispute rate that `excludeHighDisputeRate` allows by default, in percent."""

_UNIT: Final = Decimal(1).scaleb(-6)  # the smallest unit of USDC, which has six decimals
_PERCENT: Final = 100  # per cent, and the greatest score


def _require_number(value: Any) -> Any:
    """Reject a string where a number is expected, because Python would also parse `1_0` and digits in any script."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise ValueError("use a JSON number, not a string")  # noqa: TRY004  # pydantic reports it
    return value


JsonNumber: Final = BeforeValidator(_require_number)
"""A validator for a number in a request body, which rejects strings."""

Percent = Annotated[
    Decimal,
    JsonNumber,
    Field(ge=0, le=_PERCENT, decimal_places=2),
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": _PERCENT}),
]
WebUrl = Annotated[str, Field(max_length=2_000, pattern=r"^https?://[\x21-\x7e]+$")]
"""An http or https URL. Spaces, line breaks, other control characters and non-ASCII characters are rejected."""


CONDITIONS: Final[Mapping[BuyerTier, str]] = {
    BuyerTier.VERIFIED: "3+ payments, $10+ volume",
    BuyerTier.TRUSTED: "10+ payments, $50+ volume, fair reviews",
    BuyerTier.PREMIUM: "50+ payments, $500+ volume, fair reviews, few disputes",
}
"""Each tier's conditions, in the wording of the specification."""


class TierDiscounts(BaseModel):
    """Each tier's discount, in percent. A missing tier gets the discount of the nearest lower tier that is set."""

    model_config = ConfigDict(extra="forbid")

    verified: Percent | None = None
    trusted: Percent | None = None
    premium: Percent | None = None


class BuyerIncentives(BaseModel):
    """A seller's policy for buyers (section 6), extended with `minimumFairnessScore` and `minimumSellers`."""

    model_config = ConfigDict(extra="forbid")

    enabled: bool = Field(strict=True)
    discounts: TierDiscounts = TierDiscounts()
    minimumBuyerScore: Annotated[int, Field(ge=0, le=_PERCENT, strict=True)] = 0
    excludeHighDisputeRate: Annotated[bool, Field(strict=True)] = False
    maxDisputeRate: Percent | None = None
    minimumFairnessScore: Annotated[int, Field(ge=0, le=_PERCENT, strict=True)] | None = None
    minimumSellers: Annotated[int, Field(ge=0, le=1_000_000, strict=True)] | None = None
    policyUrl: WebUrl | None = None


def incentives_of(value: Any) -> BuyerIncentives:
    """Read a seller's policy for buyers."""
    incentives = value.get("buyerIncentives", value) if isinstance(value, dict) else value
    try:
        return BuyerIncentives.model_validate(incentives)
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join(["buyerIncentives", *map(str, first["loc"])])
        raise InvalidArgumentError(f"{place}: {first['msg']}") from None


class Verdict(StrEnum):
    """Codes that explain why a buyer gets a discount or none."""

    GRANTED = "granted"
    NOT_OFFERED = "not_offered"
    DISABLED = "disabled"
    TIER_TOO_LOW = "tier_too_low"
    SCORE_TOO_LOW = "score_too_low"
    DISPUTE_RATE_TOO_HIGH = "dispute_rate_too_high"
    FAIRNESS_TOO_LOW = "fairness_too_low"
    TOO_FEW_SELLERS = "too_few_sellers"
    WITHHELD = "held_back"


@dataclass(frozen=True)
class Discount:
    """A discount for one buyer.

    Attributes:
        percentage: The discount in percent; 0 for no discount.
        verdict: The reason, as a code.
        reason: The reason, in words.
        warnings: Advice to the seller about its policy.
    """

    percentage: Decimal
    verdict: Verdict
    reason: str
    warnings: tuple[str, ...] = ()


NOT_OFFERED: Final = Discount(Decimal(0), Verdict.NOT_OFFERED, "The seller has published no discounts for buyers")
"""The discount for a service published without a policy."""


@dataclass(frozen=True)
class BuyerFacts:
    """The facts about a buyer that a seller's policy needs.

    Attributes:
        dispute_rate: Disputes as a percentage of payments.
        fairness: The effective fairness; None if there are no reviews.
        sellers: The number of sellers that the buyer paid.
        is_withheld: True if the buyer is the wallet of an agent that the trust analysis holds back as a client
            (`held_back`).
    """

    score: int
    tier: BuyerTier
    dispute_rate: Fraction
    fairness: Fraction | None
    sellers: int
    is_withheld: bool = False


def facts_of(standing: Standing, *, is_withheld: bool = False) -> BuyerFacts:
    """Return the facts about a buyer from the buyer's standing."""
    metrics = standing.weighed.metrics
    fairness, sellers = metrics.effective_fairness, standing.weighed.sellers
    return BuyerFacts(score_of(metrics), tier_of(metrics), metrics.dispute_rate, fairness, sellers, is_withheld)


def facts_of_profile(profile: Mapping[str, Any]) -> BuyerFacts:
    """Return the facts from the buyer profile that a service returned."""
    try:
        metrics, reputation = profile["metrics"], profile["reputation"]
        payments, fairness = int(metrics["paymentCount"]), reputation["reviewFairnessScore"]
        rate = Fraction(100 * int(metrics["disputeCount"]), payments) if payments else Fraction(0)
        return BuyerFacts(
            int(reputation["score"]),
            BuyerTier(reputation["tier"]),
            min(Fraction(_PERCENT), rate),
            None if fairness is None else Fraction(str(fairness)),
            int(metrics["distinctSellers"]),
        )
    except (KeyError, TypeError, ValueError) as problem:
        raise BuyerServiceFailedError(f"the service's profile has a missing or invalid field: {problem}") from None


def discount_for(incentives: BuyerIncentives | None, standing: Standing, *, is_withheld: bool = False) -> Discount:
    """Compute a buyer's discount."""
    return discount_by(incentives, facts_of(standing, is_withheld=is_withheld))


def discount_by(  # noqa: PLR0911  # one a condition
    incentives: BuyerIncentives | None, facts: BuyerFacts
) -> Discount:
    """Compute a buyer's discount from the facts about the buyer that the policy needs."""
    tier, score = facts.tier, facts.score
    if incentives is None:
        return NOT_OFFERED
    if not incentives.enabled:
        return _refused(Verdict.DISABLED, "The seller has disabled its discounts")
    if facts.is_withheld:
        reason = "The trust analysis found that the ratings of the buyer's agent as a client were made up"
        return _refused(Verdict.WITHHELD, reason)
    if score < incentives.minimumBuyerScore:
        reason = f"Buyer score {score} is below the seller's minimum of {incentives.minimumBuyerScore}"
        return _refused(Verdict.SCORE_TOO_LOW, reason)
    most = DEFAULT_DISPUTE_RATE if incentives.maxDisputeRate is None else incentives.maxDisputeRate
    if incentives.excludeHighDisputeRate and facts.dispute_rate > most:
        reason = f"Dispute rate {float(facts.dispute_rate):.2f} % is above the seller's maximum of {most} %"
        return _refused(Verdict.DISPUTE_RATE_TOO_HIGH, reason)
    fairness, least = facts.fairness, incentives.minimumFairnessScore
    if least is not None and (fairness is None or fairness < least):
        words = "unknown" if fairness is None else f"{float(fairness):.2f}"
        return _refused(Verdict.FAIRNESS_TOO_LOW, f"Review fairness {words} is below the seller's minimum of {least}")
    if incentives.minimumSellers is not None and facts.sellers < incentives.minimumSellers:
        reason = f"The buyer has paid {facts.sellers} sellers; the seller requires {incentives.minimumSellers}"
        return _refused(Verdict.TOO_FEW_SELLERS, reason)
    offered = offered_to(incentives, tier)
    if not offered or tier is BuyerTier.NEW:
        return _refused(Verdict.TIER_TOO_LOW, f"The seller offers no discount to {tier.value} buyers")
    reason = f"{tier.value.capitalize()} buyer tier ({CONDITIONS[tier]})"
    return Discount(min(offered, Decimal(tier.discount_eligibility)), Verdict.GRANTED, reason, warnings_of(incentives))


def _refused(verdict: Verdict, reason: str) -> Discount:
    return Discount(Decimal(0), verdict, reason)


def offered_to(incentives: BuyerIncentives, tier: BuyerTier) -> Decimal:
    """Return the percentage that a seller lists for a tier or, failing that, for the nearest lower tier listed."""
    percentage = Decimal(0)
    for rank in BuyerTier:
        listed = getattr(incentives.discounts, rank.value, None)
        percentage = percentage if listed is None else listed
        if rank is tier:
            break
    return percentage


def warnings_of(incentives: BuyerIncentives) -> tuple[str, ...]:
    """Return advice to a seller, stating which percentages exceed the maximum for their tier."""
    return tuple(
        f"{tier.value}: {listed} % exceeds the tier's maximum and is reduced to {tier.discount_eligibility} %"
        for tier in BuyerTier
        if (listed := getattr(incentives.discounts, tier.value, None)) is not None
        and listed > tier.discount_eligibility
    )


def discounted(price: Decimal, percentage: Decimal) -> Decimal:
    """Return a discounted price, rounded up to a millionth of a dollar."""
    return plain((price * (_PERCENT - percentage) / _PERCENT).quantize(_UNIT, ROUND_UP))


def discounted_amount(amount: int, percentage: Decimal) -> int:
    """Return a discounted amount in a token's smallest unit, rounded up."""
    return int((amount * (_PERCENT - percentage) / _PERCENT).to_integral_value(ROUND_UP))
