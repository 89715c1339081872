"""The source of buyers' records for checks: the payments that the index has. The extra `index` is enough for it."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from bilateral.buyers.metrics import add_ties, read_dealings
from bilateral.buyers.policies import INDEPENDENT, weigh
from bilateral.buyers.records import read_cursors
from bilateral.buyers.score import score_of
from bilateral.checks.seams import BuyerRecord

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from bilateral.checks.moments import Moment


def stored_buyers(connection: Connection, moment: Moment, account: str) -> BuyerRecord | None:
    """Return the record of a buyer for a check: from the payments and reviews on chain up to a block.

    It is by the policy that discounts wash payments. A funder counts once an analysis has found it.

    Args:
        connection: The database.
        moment: The moment of the check.
        account: The buyer.

    Returns:
        The record; None if the index learns no payments of the chain, or has none of the buyer.
    """
    if read_cursors(connection).get(moment.chain_id, -1) < 0:
        return None
    found = read_dealings(connection, moment.chain_id, account, moment.block)
    add_ties(connection, moment.chain_id, account, found, moment.block)
    metrics = weigh(INDEPENDENT, found, moment.time or 0).metrics
    return BuyerRecord(Decimal(score_of(metrics)), metrics.payments) if metrics.payments else None
