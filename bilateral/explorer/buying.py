"""The record of an account as a buyer, which its payments prove."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from bilateral.buyers.policies import BRP, INDEPENDENT, Reason
from bilateral.buyers.records import profile_of, read_cursors, read_standing
from bilateral.index.operating.chains import ChainProgress
from bilateral.index.reading.values import Exact


@dataclass(frozen=True, slots=True)
class BuyerRecord:
    """The payments of an account on one chain, and the scores that two policies give for them.

    Attributes:
        payments: The payments to agents of others.
        dollars: Their sum.
        sellers: The agents that were paid.
        reviews: The reviews that the buyer gave.
        score: The score by the specification's formula, 0 to 100.
        independent_score: The score for dealings with independent sellers alone.
        reasons: Why dealings were left out of the latter, or need care.
    """

    account: str
    chain_id: int
    payments: int
    dollars: Exact
    sellers: int
    reviews: int
    score: int
    tier: str
    independent_score: int
    independent_tier: str
    reasons: tuple[Reason, ...]


def buyer_records(
    connection: Connection, indexed: Sequence[ChainProgress], accounts: Iterable[str]
) -> tuple[BuyerRecord, ...]:
    """Return the records of accounts on each chain where they paid, with the scores of this moment.

    Args:
        indexed: The chains.
        accounts: The accounts, in checksum form.
    """
    now, wanted = int(time.time()), sorted(set(accounts))
    chains = [chain.chain_id for chain in indexed if read_cursors(connection, chain.chain_id)]
    records = (_record(connection, chain_id, account, now) for chain_id in chains for account in wanted)
    return tuple(record for record in records if record is not None)


def _record(connection: Connection, chain_id: int, account: str, now: int) -> BuyerRecord | None:
    """Return the record of an account on a chain; None if it paid nobody there."""
    plain, careful = (
        profile_of(read_standing(connection, chain_id, account, policy, now)) for policy in (BRP, INDEPENDENT)
    )
    if not plain.metrics.paymentCount:
        return None
    return BuyerRecord(
        account=account,
        chain_id=chain_id,
        payments=plain.metrics.paymentCount,
        dollars=plain.metrics.totalVolumeUsdc,
        sellers=plain.metrics.distinctSellers,
        reviews=plain.metrics.reviewsGiven,
        score=plain.reputation.score,
        tier=plain.reputation.tier,
        independent_score=careful.reputation.score,
        independent_tier=careful.reputation.tier,
        reasons=careful.reputation.reasons,
    )
