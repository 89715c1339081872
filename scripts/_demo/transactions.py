"""Transactions from accounts for which the local chain signs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scripts._demo.stage import StepError

if TYPE_CHECKING:
    from scripts._demo.stage import Stage


def send_from(stage: Stage, call: dict[str, Any]) -> None:
    """Send a transaction, and wait until it is mined.

    Args:
        stage: The stage.
        call: The transaction, in the form of JSON.

    Raises:
        StepError: If the chain refuses it, or it fails.
    """
    # `eth_sendTransaction` answers before the block is there, and the next call may need what this one changes.
    receipt = stage.ask("eth_sendTransactionSync", call)
    if int(receipt["status"], 16) != 1:
        raise StepError(f"the transaction {receipt['transactionHash']} from {call['from']} to {call['to']} failed")
