"""Apply the rules of the service to the records that the registry of buyers holds on chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from bilateral.buyers.discounts import BuyerIncentives
from bilateral.buyers.policies import BRP, DAY, Reason, Weighed
from bilateral.buyers.records import Standing
from bilateral.buyers.score import BuyerMetrics
from bilateral.core.errors import InvalidArgumentError

if TYPE_CHECKING:
    from bilateral.client import BuyerRecords


def standing_of(records: BuyerRecords, chain_id: int, now: int) -> Standing:
    """Return a buyer as the registry sees it: both records together, as `getBuyerScore` takes them.

    Args:
        records: The records of the buyer.
        chain_id: The EIP-155 id of the chain.
        now: The time of the latest block, in Unix seconds.
    """
    settled, attested = records.settled, records.attested
    first = [
        int(record.first_payment_at.timestamp())
        for record in (settled, attested)
        if record.first_payment_at is not None
    ]
    last = [
        int(record.last_payment_at.timestamp()) for record in (settled, attested) if record.last_payment_at is not None
    ]
    metrics = BuyerMetrics(
        payments=settled.payments + attested.payments,
        volume=settled.volume + attested.volume,
        age_days=max(0, now - min(first)) // DAY if first else 0,
        reviews=attested.reviews,
        review_sum=attested.review_sum,
        feedback_sellers=attested.feedback_sellers,
        feedback_sum=attested.feedback_sum,
        disputes=attested.disputes,
    )
    reasons = (Reason.NO_PAYMENTS,) if not metrics.payments else () if metrics.reviews else (Reason.NO_REVIEWS,)
    weighed = Weighed(metrics, min(first, default=None), max(last, default=None), settled.minimum_sellers, reasons)
    return Standing(chain_id, records.buyer, weighed, BRP, None)


def incentives_of(value: Any) -> BuyerIncentives:
    """Read a seller's policy.

    Args:
        value: The JSON object `buyerIncentives`, or a document that contains it, such as the well-known one.

    Raises:
        InvalidArgumentError: It is not a policy. The error names the field.
    """
    incentives = value.get("buyerIncentives", value) if isinstance(value, dict) else value
    try:
        return BuyerIncentives.model_validate(incentives)
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join(["buyerIncentives", *map(str, first["loc"])])
        raise InvalidArgumentError(f"{place}: {first['msg']}") from None
