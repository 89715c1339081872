"""Values that say nothing: constant tags, values out of their tag's range, and proofs that prove nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bilateral.trust.detectors.base import Detector
from bilateral.trust.findings import Finding
from bilateral.trust.ledger import Kind
from bilateral.trust.significance import adjusted, share
from bilateral.values import STANDARD_TAGS

if TYPE_CHECKING:
    from bilateral.trust.arrays import Ints
    from bilateral.trust.context import Context

_RARE: Final = 0.001


class Values(Detector):
    """Looks for values out of range and false proofs of payment."""

    name = "values"
    reads = frozenset({"agents", "feedback", "payments"})

    def __init__(self, level: float = 0.01, limit: int = 2000) -> None:
        """Set the parameters.

        Args:
            level: The false discovery rate.
            limit: The largest number of findings.
        """
        self.level = level
        self.limit = limit

    def _find(self, context: Context) -> list[Finding]:
        ledger, opinions = context.ledger, context.ledger.opinions
        if not len(opinions):
            return []
        low, high = np.full(len(ledger.tags) + 1, -np.inf), np.full(len(ledger.tags) + 1, np.inf)
        for code, text in enumerate(ledger.tags):
            known = STANDARD_TAGS.get(text)
            if known is not None:
                low[code] = -np.inf if known.lowest is None else float(known.lowest)
                high[code] = np.inf if known.highest is None else float(known.highest)
        feedback = (opinions.kind == Kind.FEEDBACK) | (opinions.kind == Kind.CONSTANT_TAG)
        outside = feedback & ((opinions.raw < low[opinions.tag]) | (opinions.raw > high[opinions.tag]))
        place = np.maximum(opinions.payment, 0)
        named = opinions.payment >= 0
        agent = ledger.subject_agent[opinions.subject]
        foreign = named.copy()
        if len(ledger.payer):
            foreign &= (ledger.payer[place] != opinions.rater) | (ledger.paid_agent[place] != agent)
        missing = (opinions.payment == -2) & bool(len(ledger.payer))  # noqa: PLR2004  # the code of an unknown payment
        return [
            *self._of(context, np.flatnonzero(outside), "give values out of the range of their tag", 0.5),
            *self._of(context, np.flatnonzero(foreign), "prove their feedback by a payment that is not theirs", 1.0),
            *self._of(context, np.flatnonzero(missing), "prove their feedback by a payment that does not exist", 0.5),
        ]

    def _of(self, context: Context, rows: Ints, what: str, weight: float) -> list[Finding]:
        """Return a finding for each account that wrote such rows."""
        if not len(rows):
            return []
        ledger, opinions = context.ledger, context.ledger.opinions
        rater = opinions.rater
        count = np.bincount(rater[rows], minlength=ledger.accounts)
        written = np.bincount(rater, minlength=ledger.accounts)
        accounts = np.flatnonzero(count)
        base = max(_RARE, min(0.5, float(np.median(count[accounts])) * len(accounts) / len(rater) / 10))
        q_values = adjusted(share(count[accounts], written[accounts], base), int((written > 0).sum()))
        order = rows[np.argsort(rater[rows], kind="stable")]
        bounds = np.searchsorted(rater[order], accounts)
        findings = []
        for place in np.argsort(q_values, kind="stable")[: self.limit]:
            account = int(accounts[place])
            own = order[bounds[place] : bounds[place] + count[account]]
            findings.append(
                Finding(
                    detector=self.name,
                    statistic=f"{count[account]} of {written[account]} opinions",
                    q_value=float(q_values[place]),
                    actors=np.array([account]),
                    subjects=np.unique(ledger.subject_account[opinions.subject[own]]),
                    opinions=own,
                    weight=weight,
                    sentence=f"{count[account]} opinions of one account {what}.",
                )
            )
        return findings
