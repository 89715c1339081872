"""The money in a finding, as a sentence: how much moved, from whom, to whom, and when."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from bilateral.trust.arrays import Floats, Ints
    from bilateral.trust.findings import Finding
    from bilateral.trust.ledger import Ledger


def told_money(ledger: Ledger, finding: Finding) -> str:
    """Return the sentences about the payments and transfers of a finding; empty without any.

    Args:
        ledger: The coded tables.
        finding: The finding.
    """
    paid, moved = finding.payments.astype(np.int64), finding.transfers.astype(np.int64)
    told = [
        _told(ledger, "paid", ledger.amount[paid], ledger.paid_at[paid], (ledger.payer[paid], ledger.payee[paid])),
        _told(ledger, "transferred", ledger.sent[moved], ledger.sent_at[moved], (ledger.src[moved], ledger.dst[moved])),
    ]
    return " ".join(sentence for sentence in told if sentence)


def _told(ledger: Ledger, verb: str, amount: Floats, times: Floats, ends: tuple[Ints, Ints]) -> str:
    """Return one sentence about some moves of money."""
    if not len(amount):
        return ""
    sender, receiver = (_named(ledger, accounts) for accounts in ends)
    first, last = (datetime.fromtimestamp(float(ts), UTC).date().isoformat() for ts in (times.min(), times.max()))
    when = f"on {first}" if first == last else f"from {first} to {last}"
    number = f" in {len(amount)} steps" if len(amount) > 1 else ""
    return f"{sender} {verb} {amount.sum():.6g} to {receiver}{number} {when}."


def _named(ledger: Ledger, accounts: Ints) -> str:
    """Return the address of an account, or the number of several."""
    known = np.unique(accounts[accounts >= 0])
    if len(known) == 1:
        return str(ledger.addresses[int(known[0])].as_py())
    return f"{len(known)} accounts"
