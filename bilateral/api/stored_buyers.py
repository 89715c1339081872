"""The source of buyers' records for checks: the payments in the index. The module requires only the `index` extra."""

from decimal import Decimal
from typing import Any, Final

from sqlalchemy import Connection, func, select

from bilateral.buyers.metrics import add_ties, read_dealings
from bilateral.buyers.policies import INDEPENDENT, weigh
from bilateral.buyers.records import read_cursors
from bilateral.buyers.score import score_of
from bilateral.checks.errors import PaymentsNotHeldError
from bilateral.checks.from_index.as_of_block import AsOfBlock
from bilateral.checks.verdicts import BuyerRecord, EventEvidence
from bilateral.index.payments.queries import last_block_with_payments
from bilateral.index.payments.tables import payment, payment_return

_EXAMPLES: Final = 3  # examples of sellers that the buyer paid most recently


def stored_buyers(connection: Connection, as_of: AsOfBlock, account: str) -> BuyerRecord | None:
    """Return a buyer's record for a check, based on the payments and reviews on chain up to a block.

    The scoring policy is the one that discounts wash payments. A payment counts from the block at which the index read
    it. A funder counts from the block after an analysis found it.
    """
    if read_cursors(connection, as_of.chain_id).get(as_of.chain_id, -1) < 0:
        return None
    last_block = as_of.payments
    if last_block is None:
        last_block = last_block_with_payments(connection, as_of.chain_id, as_of.block)
    if last_block is None:
        raise PaymentsNotHeldError(as_of.block)
    last_block = min(last_block, as_of.block)
    dealings = read_dealings(connection, as_of.chain_id, account, as_of.block, last_block)
    add_ties(connection, as_of.chain_id, account, dealings, as_of.block, last_block)
    metrics = weigh(INDEPENDENT, dealings, as_of.time or 0).metrics
    if not metrics.payments:
        return None
    paid, back = payment.c, payment_return.c
    query = select(paid.token, paid.block_number, paid.log_index, paid.transaction_hash, paid.block_time).where(
        paid.chain_id == as_of.chain_id, paid.payer == account, paid.block_number <= last_block
    )
    newest = connection.execute(query.order_by(paid.block_number.desc(), paid.log_index.desc()).limit(_EXAMPLES)).all()
    first = connection.execute(query.order_by(paid.block_number, paid.log_index).limit(1)).one()
    returned = select(func.max(back.block_number)).where(
        back.chain_id == as_of.chain_id, back.receiver == account, back.block_number <= last_block
    )
    return BuyerRecord(
        Decimal(score_of(metrics)),
        metrics.payments,
        first_at=first.block_time,
        first=_evidence(first),
        newest=max(newest[0].block_number, connection.execute(returned).scalar_one() or 0),
        evidence=tuple(map(_evidence, newest)),
    )


def _evidence(row: Any) -> EventEvidence:
    transaction = "0x" + bytes(row.transaction_hash).hex()
    return EventEvidence("Transfer", row.token, row.block_number, row.log_index, transaction)
