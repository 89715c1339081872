"""Buyers' settled and attested records in the buyer registries, from indexed events. The two kinds are never mixed.

Settled payments count in the service's scores, because they appear in the token's logs like any other payment. The
attestor's statements are shown separately and never count, because they may repeat the same payments.
"""

# ruff: noqa: N815  # the names of the service

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Table, and_, bindparam, select

from bilateral.buyers.records import Number, dollars, iso, rounded
from bilateral.buyers.tables import buyer_anchor
from bilateral.core import events
from bilateral.core.contracts.buyer_terms import AttestedPayment, BuyerRole
from bilateral.index.log import tables as schema
from bilateral.index.reading.prepared import Prepared, at_most

MOST_EVENTS: Final = 10_000
"""The maximum number of payments to read per kind and buyer, newest first."""


@dataclass(frozen=True)
class SettledRecord:
    """A buyer's payments that a registry itself settled.

    Attributes:
        paymentCount: The number of payments.
        totalVolumeUsdc: The sum of the payments, in dollars.
        totalVolumeAtomic: The sum of the payments, in millionths of a dollar.
        distinctSellers: The number of different agents that the buyer paid.
        firstPaymentAt: The time of the first payment; null if there are no payments.
        lastPaymentAt: The time of the last payment; null if there are no payments.
    """

    paymentCount: int
    totalVolumeUsdc: Number
    totalVolumeAtomic: str
    distinctSellers: int
    firstPaymentAt: str | None
    lastPaymentAt: str | None


@dataclass(frozen=True)
class AttestedRecord:
    """Statements about a buyer by a registry's attestor.

    Attributes:
        paymentCount: The number of payments.
        totalVolumeUsdc: The sum of the payments, in dollars.
        totalVolumeAtomic: The sum of the payments, in millionths of a dollar.
        firstPaymentAt: The time of the first payment; null if there are no payments.
        lastPaymentAt: The time of the last payment; null if there are no payments.
        reviewsGiven: The number of reviews that the buyer gave.
        avgReviewScore: The average score of the buyer's reviews; null if there are no reviews.
        sellerFeedbackCount: The number of sellers that gave feedback on the buyer.
        avgSellerFeedback: The mean of the sellers' votes; null if there are none.
        disputeCount: The number of disputes.
    """

    paymentCount: int
    totalVolumeUsdc: Number
    totalVolumeAtomic: str
    firstPaymentAt: str | None
    lastPaymentAt: str | None
    reviewsGiven: int
    avgReviewScore: Number | None
    sellerFeedbackCount: int
    avgSellerFeedback: Number | None
    disputeCount: int


@dataclass(frozen=True)
class RegistryRecords:
    """A buyer's records in one buyer registry.

    Attributes:
        registry: The registry, as `eip155:8453:0x…`.
        settled: The payments that the registry itself settled.
        attested: The statements of the registry's attestor.
    """

    registry: str
    settled: SettledRecord
    attested: AttestedRecord


def _newest(table: Table, key: Iterable[Any], *columns: Any, most: int = MOST_EVENTS) -> Prepared:
    return Prepared(
        select(*columns)
        .where(table.c.chain_id == bindparam("chain_id"), table.c.registry == bindparam("registry"), *key)
        .order_by(table.c.block_number.desc(), table.c.log_index.desc())
        .limit(at_most(most))
    )


_PAID, _STATED, _VOTED, _REVIEWED = (
    schema.EVENT_TABLES[event]
    for event in (events.PaymentSettled, events.PaymentAttested, events.FeedbackAttested, events.ReviewsAttested)
)
_IS_BUYER: Final[Any] = bindparam("buyer")
_SETTLED: Final = _newest(_PAID, (_PAID.c.buyer == _IS_BUYER,), _PAID.c.seller_id, _PAID.c.amount, _PAID.c.block_time)
_LOW, _HIGH = (bindparam(name, type_=_STATED.c.payment.type) for name in ("low", "high"))
_ATTESTED: Final = _newest(_STATED, (_STATED.c.payment >= _LOW, _STATED.c.payment <= _HIGH), _STATED.c.payment)
_VOTES: Final = _newest(_VOTED, (_VOTED.c.buyer == _IS_BUYER,), _VOTED.c.seller, _VOTED.c.score)
_COUNTS: Final = _REVIEWED.c.reviews, _REVIEWED.c.review_sum, _REVIEWED.c.disputes
_REVIEWS: Final = _newest(_REVIEWED, (_REVIEWED.c.buyer == _IS_BUYER,), *_COUNTS, most=1)
_ROLE: Final = schema.EVENT_TABLES[events.RoleTaken]
_ATTESTORS: Final = _newest(_ROLE, (_ROLE.c.role == int(BuyerRole.ATTESTOR),), _ROLE.c.holder, most=1)


def read_registry_records(
    connection: Connection, buyer: str, registries: Sequence[tuple[int, str]]
) -> tuple[RegistryRecords, ...]:
    """Read a buyer's records in the buyer registries."""
    records = []
    for chain_id, registry in registries:
        key = {"chain_id": chain_id, "registry": registry, "buyer": buyer}
        name = f"eip155:{chain_id}:{registry}"
        records.append(RegistryRecords(name, _settled(connection, key), _attested(connection, key)))
    return tuple(records)


def _settled(connection: Connection, key: dict[str, Any]) -> SettledRecord:
    rows = _SETTLED.all(connection, key)
    sellers = {seller for seller, _, _ in rows}
    totals = _totals([amount for _, amount, _ in rows], [time for _, _, time in rows])
    return SettledRecord(distinctSellers=len(sellers), **totals)


def _totals(amounts: Sequence[int], times: Sequence[int]) -> dict[str, Any]:
    return {
        "paymentCount": len(amounts),
        "totalVolumeUsdc": dollars(sum(amounts)),
        "totalVolumeAtomic": str(sum(amounts)),
        "firstPaymentAt": iso(min(times)) if times else None,
        "lastPaymentAt": iso(max(times)) if times else None,
    }


def _attested(connection: Connection, key: dict[str, Any]) -> AttestedRecord:
    """Read the attestor's statements. Only the last vote of each seller and the last review totals count."""
    low = int(key["buyer"], 16) << 96
    words = _ATTESTED.all(connection, {**key, "low": low, "high": low + (1 << 96) - 1})
    payments = [AttestedPayment.from_word(word) for (word,) in words]
    votes = dict(reversed(_VOTES.all(connection, key)))
    count, review_sum, disputes = _REVIEWS.first(connection, key) or (0, 0, 0)
    return AttestedRecord(
        **_totals([payment.amount for payment in payments], [payment.paid_at for payment in payments]),
        reviewsGiven=count,
        avgReviewScore=rounded(review_sum, count) if count else None,
        sellerFeedbackCount=len(votes),
        avgSellerFeedback=rounded(sum(votes.values()), len(votes)) if votes else None,
        disputeCount=disputes,
    )


def read_attestor(connection: Connection, chain_id: int, registry: str) -> str | None:
    """Return a buyer registry's attestor as of the last indexed block, or None for an unknown registry."""
    row = _ATTESTORS.first(connection, {"chain_id": chain_id, "registry": registry})
    return None if row is None else row[0]


@dataclass(frozen=True)
class PostedAnchor:
    """A Merkle root that this service posted on chain.

    Attributes:
        made_at: The time for which the states were computed, in Unix seconds.
        block: The block that contains the root.
        transaction: The hash of the transaction.
    """

    epoch: int
    root: bytes
    made_at: int
    block: int
    transaction: bytes


def read_last_anchor(connection: Connection, chain_id: int, registry: str) -> PostedAnchor | None:
    """Return this service's last root that the index has found on chain, or None if there is none."""
    posted, stored = schema.EVENT_TABLES[events.Anchored], buyer_anchor
    columns = posted.c.epoch, posted.c.root, stored.c.made_at, posted.c.block_number, posted.c.transaction_hash
    query = (
        select(*columns)
        .join(stored, and_(*(stored.c[name] == posted.c[name] for name in ("chain_id", "registry", "epoch", "root"))))
        .where(posted.c.chain_id == chain_id, posted.c.registry == registry)
        .order_by(posted.c.epoch.desc())
        .limit(1)
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else PostedAnchor(int(row[0]), bytes(row[1]), row[2], row[3], bytes(row[4]))
