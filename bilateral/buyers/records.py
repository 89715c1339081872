"""Buyer records, in the Buyer Reputation Protocol's formats (sections 4.1 and 5.1)."""

# ruff: noqa: N815  # the specification's names

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Annotated, Final

import msgspec
from pydantic import WithJsonSchema
from sqlalchemy import Connection, bindparam, select

from bilateral.buyers.metrics import Dealings, Seller, add_ties, of_payment, read_dealings
from bilateral.buyers.policies import BRP, DAY, Reason, ScoringPolicy, Weighed, weigh
from bilateral.buyers.score import DOLLAR, BuyerMetrics, break_down, plain, tier_of
from bilateral.buyers.tables import agent_review
from bilateral.client import BuyerRecords
from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.identifiers import AccountId, checksummed, global_agent_id
from bilateral.index.payments.queries import TERMS, ceiling_micros
from bilateral.index.payments.tables import payment, payment_cursor
from bilateral.index.reading.prepared import Prepared

Number = Annotated[Decimal, WithJsonSchema({"type": "number"})]
"""An exact decimal, written to JSON as a number."""

ALL_CHAINS: Final = 0
"""The pseudo-chain that represents all chains. The id `eip155:all:0x…` is an extension of the specification."""

_CENT: Final = Decimal("0.01")
_ADDRESS_LENGTH: Final = 42  # characters: 0x, and two digits for each of 20 bytes
MOST_TRANSACTIONS: Final = 20
"""The maximum number of transactions in an expanded record."""

encode: Final = msgspec.json.Encoder(decimal_format="number").encode
"""Writes a record as JSON, with exact decimals as numbers."""


@dataclass(frozen=True)
class Metrics:
    """A buyer's metrics. `totalVolumeAtomic` and the fields after it are extensions of the specification.

    Attributes:
        paymentCount: The number of payments.
        totalVolumeUsdc: The sum of the payments, in dollars.
        reviewsGiven: The number of reviews that the buyer gave.
        avgReviewScore: The average score of the buyer's reviews; null if there are no reviews.
        disputeCount: The number of disputes.
        disputeRate: Disputes as a percentage of payments.
        accountAgeDays: The number of full days since the first payment.
        totalVolumeAtomic: The sum of the payments, in millionths of a dollar.
        distinctSellers: The number of different sellers that the buyer paid.
        sellerFeedbackCount: The number of sellers that gave feedback on the buyer.
        avgSellerFeedback: The mean of the sellers' votes; null if there are none.
        firstPaymentAt: The time of the first payment; null if there are no payments.
        lastPaymentAt: The time of the last payment; null if there are no payments.
    """

    paymentCount: int
    totalVolumeUsdc: Number
    reviewsGiven: int
    avgReviewScore: Number | None
    disputeCount: int
    disputeRate: Number
    accountAgeDays: int
    totalVolumeAtomic: str
    distinctSellers: int
    sellerFeedbackCount: int
    avgSellerFeedback: Number | None
    firstPaymentAt: str | None
    lastPaymentAt: str | None


@dataclass(frozen=True)
class Breakdown:
    """The points for each score component, to four decimals."""

    paymentCount: Number
    totalVolumeUsdc: Number
    reviewFairness: Number
    disputeRate: Number
    accountAge: Number


@dataclass(frozen=True)
class Reputation:
    """A buyer's reputation. `ownFairnessScore` and the fields after it are extensions of the specification.

    Attributes:
        score: The score, from 0 to 100.
        tier: `new`, `verified`, `trusted` or `premium`.
        reviewFairnessScore: The fairness including sellers' votes; null if the buyer gave no reviews.
        discountEligibility: The maximum discount for the tier, in percent.
        ownFairnessScore: The fairness based only on the buyer's reviews (section 2.3).
        flags: `extreme-reviews` if the buyer gave at least five reviews with an average of at most 10 or at least 95.
        breakdown: The points for each component.
        reasons: Codes for what was excluded or requires caution.
        scoringPolicy: The name of the scoring policy by which the reputation is computed.
    """

    score: int
    tier: str
    reviewFairnessScore: Number | None
    discountEligibility: int
    ownFairnessScore: Number | None
    flags: tuple[str, ...]
    breakdown: Breakdown
    reasons: tuple[Reason, ...]
    scoringPolicy: str


@dataclass(frozen=True)
class RecentTransaction:
    """A payment in the record (section 4.1). `kind` and `ceilingUsdc` are extensions of the specification.

    Attributes:
        kind: `eip3009`, `permit2-exact`, `permit2-upto`, `channel` or `plain`.
        ceilingUsdc: The maximum amount that the buyer signed, in dollars; null if the buyer signed the exact amount.
    """

    txHash: str
    agentGlobalId: str
    amountUsdc: Number
    timestamp: str
    reviewGiven: bool
    reviewScore: int | None
    kind: str
    ceilingUsdc: Number | None


@dataclass(frozen=True)
class BuyerProfile:
    """A buyer's profile (section 5.1). `asOfBlock` is an extension of the specification.

    Attributes:
        buyerId: The buyer's global id.
        buyerAddress: The buyer's address.
        asOfBlock: The last block whose payments are included; null if the index does not read payments on the chain.
    """

    buyerId: str
    buyerAddress: str
    metrics: Metrics
    reputation: Reputation
    asOfBlock: int | None


@dataclass(frozen=True)
class Standing:
    """A buyer's record at a point in time, for use in programs.

    Attributes:
        chain_id: The chain, or `ALL_CHAINS`.
        buyer: The address.
        weighed: The buyer's dealings as weighed by the policy.
        block: The last block whose payments are included; None if the index does not read payments on the chain.
    """

    chain_id: int
    buyer: str
    weighed: Weighed
    policy: ScoringPolicy
    block: int | None


def parse_buyer(value: str) -> tuple[int | None, str]:
    """Read a buyer's address, or its global id."""
    chain_id = None
    address = value
    if ":" in value:
        account = AccountId.parse(value)
        chain_id, address = account.chain.evm_chain_id, account.address
    if len(address) != _ADDRESS_LENGTH:
        raise MalformedIdentifierError("an address or eip155:8453:0x…", value[:200], "the address has the wrong length")
    text = checksummed(address)
    digits = address[2:]
    if digits not in (digits.lower(), digits.upper()) and text != address:
        raise MalformedIdentifierError("an address", value[:200], f"the checksum is wrong: expected {text}")
    return chain_id, text


def standing_of(records: BuyerRecords, chain_id: int, now: int) -> Standing:
    """Compute a buyer's standing from the registry's settled and attested records, as `getBuyerScore` does."""
    settled, attested = records.settled, records.attested
    first, last = (
        [int(at.timestamp()) for record in (settled, attested) if (at := getattr(record, name)) is not None]
        for name in ("first_payment_at", "last_payment_at")
    )
    metrics = BuyerMetrics(
        settled.payments + attested.payments,
        settled.volume + attested.volume,
        max(0, now - min(first)) // DAY if first else 0,
        *(attested.reviews, attested.review_sum),
        *(attested.feedback_sellers, attested.feedback_sum, attested.disputes),
    )
    reasons = (Reason.NO_PAYMENTS,) if not metrics.payments else () if metrics.reviews else (Reason.NO_REVIEWS,)
    weighed = Weighed(metrics, min(first, default=None), max(last, default=None), settled.minimum_sellers, reasons)
    return Standing(chain_id, records.buyer, weighed, BRP, None)


def read_standing(  # noqa: PLR0913, PLR0917  # one a part of the question
    connection: Connection, chain_id: int, buyer: str, policy: ScoringPolicy, now: int, block: int | None = None
) -> Standing:
    """Read a buyer's record, as evaluated by a scoring policy."""
    dealings = _dealings(connection, chain_id, buyer, policy)
    return Standing(chain_id, buyer, weigh(policy, dealings, now), policy, block)


def read_everywhere(connection: Connection, buyer: str, policy: ScoringPolicy, now: int) -> Standing:
    """Read a buyer's record on all chains, as evaluated by a policy. Sellers are counted separately on each chain."""
    dealings = {}
    for chain_id in read_cursors(connection):
        for (registry, agent_id), dealing in _dealings(connection, chain_id, buyer, policy).items():
            dealings[f"{chain_id}:{registry}", agent_id] = dealing
    return Standing(ALL_CHAINS, buyer, weigh(policy, dealings, now), policy, None)


def _dealings(connection: Connection, chain_id: int, buyer: str, policy: ScoringPolicy) -> dict[Seller, Dealings]:
    dealings = read_dealings(connection, chain_id, buyer)
    if policy.needs_ties and dealings:
        add_ties(connection, chain_id, buyer, dealings)
    return dealings


def read_cursors(connection: Connection, chain_id: int | None = None) -> dict[int, int]:
    """Return the last block whose payments are stored, for each chain in the order of chain ids."""
    rows = _CURSORS.all(connection, {}) if chain_id is None else _CURSOR.all(connection, {"chain_id": chain_id})
    return {row[0]: row[1] for row in rows}


_OF_CHAINS: Final = select(payment_cursor.c.chain_id, payment_cursor.c.block_number)
_CURSORS: Final = Prepared(_OF_CHAINS.order_by(payment_cursor.c.chain_id))
_CURSOR: Final = Prepared(_OF_CHAINS.where(payment_cursor.c.chain_id == bindparam("chain_id")))


def profile_of(standing: Standing) -> BuyerProfile:
    """Return a buyer's profile."""
    weighed, metrics = standing.weighed, standing.weighed.metrics
    points = break_down(metrics)
    tier = tier_of(metrics)
    flags = ("extreme-reviews",) if Reason.EXTREME_REVIEWS in weighed.reasons else ()
    votes = metrics.feedback_sellers
    return BuyerProfile(
        buyer_id(standing.chain_id, standing.buyer),
        standing.buyer,
        Metrics(
            paymentCount=metrics.payments,
            totalVolumeUsdc=dollars(metrics.volume),
            reviewsGiven=metrics.reviews,
            avgReviewScore=None if not metrics.reviews else rounded(metrics.review_sum, metrics.reviews),
            disputeCount=metrics.disputes,
            disputeRate=_rounded(metrics.dispute_rate),
            accountAgeDays=metrics.age_days,
            totalVolumeAtomic=str(metrics.volume),
            distinctSellers=weighed.sellers,
            sellerFeedbackCount=votes,
            avgSellerFeedback=None if not votes else rounded(metrics.feedback_sum, votes),
            firstPaymentAt=None if weighed.first_at is None else iso(weighed.first_at),
            lastPaymentAt=None if weighed.last_at is None else iso(weighed.last_at),
        ),
        Reputation(
            score=points.score,
            tier=tier.value,
            reviewFairnessScore=_optional(metrics.effective_fairness),
            discountEligibility=tier.discount_eligibility,
            ownFairnessScore=_optional(metrics.fairness),
            flags=flags,
            breakdown=Breakdown(*(_rounded(value, Decimal("0.0001")) for value in vars(points).values())),
            reasons=weighed.reasons,
            scoringPolicy=standing.policy.name,
        ),
        standing.block,
    )


def recent_transactions(connection: Connection, chain_id: int, buyer: str) -> tuple[RecentTransaction, ...]:
    """Return a buyer's latest payments. They reveal whom the buyer paid; see docs/buyers.md on privacy."""
    query = (
        select(payment, agent_review.c.score, TERMS)
        .outerjoin(agent_review, of_payment(agent_review))
        .where(payment.c.chain_id == chain_id, payment.c.payer == buyer)
        .order_by(payment.c.block_number.desc(), payment.c.log_index.desc())
        .limit(MOST_TRANSACTIONS)
    )
    return tuple(
        RecentTransaction(
            "0x" + bytes(row.transaction_hash).hex(),
            global_agent_id(chain_id, row.identity_registry, row.agent_id),
            dollars(row.micros),
            iso(row.block_time),
            row.score is not None,
            row.score,
            row.kind,
            None if (most := ceiling_micros(row.terms, row.token, row.ceiling)) is None else dollars(most),
        )
        for row in connection.execute(query)
    )


def buyer_id(chain_id: int, buyer: str) -> str:
    """Return a buyer's global id (section 1)."""
    return f"eip155:{'all' if chain_id == ALL_CHAINS else chain_id}:{buyer}"


def dollars(micros: int) -> Decimal:
    """Return an amount in dollars, without trailing zeros."""
    return plain(Decimal(micros) / DOLLAR)


def rounded(numerator: int | Fraction, denominator: int) -> Decimal:
    """Return a quotient rounded half up to two decimals."""
    return _rounded(Fraction(numerator) / denominator)


def _rounded(value: Fraction, unit: Decimal = _CENT) -> Decimal:
    return plain((Decimal(value.numerator) / value.denominator).quantize(unit, ROUND_HALF_UP))


def _optional(value: Fraction | None) -> Decimal | None:
    return None if value is None else _rounded(value)


def iso(seconds: int) -> str:
    """Return a time in the specification's ISO 8601 format."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
