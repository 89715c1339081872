"""The money in a finding, as a sentence: how much moved, from whom, to whom, and when."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from bilateral.trust.arrays import Ints
    from bilateral.trust.findings import Finding
    from bilateral.trust.ledger import Ledger


def told_money(ledger: Ledger, finding: Finding) -> str:
    """Return the sentences about the payments and transfers of a finding; empty without any.

    Args:
        ledger: The coded tables.
    """
    paid, moved = finding.payments.astype(np.int64), finding.transfers.astype(np.int64)
    payments, transfers = (
        (ledger.amount, ledger.paid_at, ledger.payer, ledger.payee),
        (ledger.sent, ledger.sent_at, ledger.src, ledger.dst),
    )
    told = [_told(ledger, "paid", "", [column[paid] for column in payments])]
    for place, coin in enumerate(("", *(f" {symbol}" for symbol in ledger.coins)), start=-1):
        sent = moved[ledger.coin[moved] == place]
        told.append(_told(ledger, "transferred", coin, [column[sent] for column in transfers]))
    return " ".join(sentence for sentence in told if sentence)


def sums_by_coin(ledger: Ledger, transfers: Ints) -> dict[str | None, float]:
    """Return the sum of some transfers for each coin that they sent; None is the unit of payments.

    Args:
        ledger: The coded tables.
        transfers: The positions of the transfers in the ledger.
    """
    coins = ledger.coin[transfers]
    return {
        None if place < 0 else ledger.coins[place]: float(ledger.sent[transfers[coins == place]].sum())
        for place in np.unique(coins).tolist()
    }


def _told(ledger: Ledger, verb: str, unit: str, moves: list[Any]) -> str:
    """Return one sentence about some moves of money: their amounts, times, senders and receivers."""
    amount, times, *ends = moves
    if not len(amount):
        return ""
    sender, receiver = (_named(ledger, accounts) for accounts in ends)
    first, last = (datetime.fromtimestamp(float(ts), UTC).date().isoformat() for ts in (times.min(), times.max()))
    when = f"on {first}" if first == last else f"from {first} to {last}"
    number = f" in {len(amount)} steps" if len(amount) > 1 else ""
    return f"{sender} {verb} {amount.sum():.6g}{unit} to {receiver}{number} {when}."


def _named(ledger: Ledger, accounts: Ints) -> str:
    """Return the address of an account, or the number of several."""
    known = np.unique(accounts[accounts >= 0])
    if len(known) == 1:
        return str(ledger.addresses[int(known[0])].as_py())
    return f"{len(known)} accounts"
