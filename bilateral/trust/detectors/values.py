"""Values that say nothing: constant tags, values out of their tag's range, and proofs that prove nothing."""

from typing import Final

import numpy as np

from bilateral.core.text import quoted
from bilateral.core.values import STANDARD_TAGS
from bilateral.trust.detectors.base import Detector
from bilateral.trust.features.context import Context
from bilateral.trust.features.findings import Basis, Finding
from bilateral.trust.features.significance import SMALLEST, adjusted, share
from bilateral.trust.tables.arrays import Ints, distinct_keys, group_counts, pairs, spans
from bilateral.trust.tables.ledger import Ledger
from bilateral.trust.tables.opinions import Kind

_RARE: Final = 0.001
"""The least usual share of wrong values, so that the first mistake of a clean market stays below the level."""

_FAMILIES: Final = 4
"""Families of tests: values out of range, foreign proofs, missing proofs, and constant tags."""

_ROWS: Final = 10_000
"""The most rows that a finding about a tag lists. A machine may write millions."""

_AGREEING: Final = 5
"""The number of raters from which their agreement on one value says something."""


class Values(Detector):
    """Looks for values out of range and false proofs of payment."""

    name = "values"

    def __init__(self, level: float = 0.01, limit: int = 2000) -> None:
        self.level = level
        self.limit = limit

    def _find(self, context: Context) -> list[Finding]:
        ledger, opinions = context.ledger, context.ledger.opinions
        if not len(opinions):
            return []
        low, high = np.full(len(ledger.tags) + 1, -np.inf), np.full(len(ledger.tags) + 1, np.inf)
        for code, text in enumerate(ledger.tags):
            standard = STANDARD_TAGS.get(text)
            if standard is not None:
                low[code] = -np.inf if standard.lowest is None else float(standard.lowest)
                high[code] = np.inf if standard.highest is None else float(standard.highest)
        feedback = (opinions.kind == Kind.FEEDBACK) | (opinions.kind == Kind.CONSTANT_TAG)
        outside = feedback & ((opinions.raw < low[opinions.tag]) | (opinions.raw > high[opinions.tag]))
        place = np.maximum(opinions.payment, 0)
        has_payment = opinions.payment >= 0
        agent, identity = ledger.subject_agent[opinions.subject], np.append(ledger.identity, -1)
        foreign = has_payment.copy()  # if the payer is unknown, nobody can say whose payment it is
        if len(ledger.payer):
            payer = ledger.payer[place]
            foreign &= (payer >= 0) & (
                (payer != opinions.rater) | (identity[ledger.paid_agent[place]] != identity[agent])
            )
        missing = (opinions.payment == -2) & bool(len(ledger.payer))  # noqa: PLR2004  # the code of an unknown payment
        return [
            *self._of(context.ledger, np.flatnonzero(outside), "give values out of the range of their tag", 0.5),
            *self._of(
                context.ledger,
                np.flatnonzero(foreign),
                "prove their feedback by a payment that is not theirs",
                1.0,
                by_payment=True,
            ),
            *self._of(
                context.ledger, np.flatnonzero(missing), "prove their feedback by a payment that does not exist", 0.5
            ),
            *self._constant(context.ledger),
        ]

    def _constant(self, ledger: Ledger) -> list[Finding]:
        """Return the tags that carry one value only. Machines write such tags, so scores omit them without blame."""
        # The p-value is the probability that so many raters agree on one value, if they chose as raters of other tags
        # do.
        opinions = ledger.opinions
        tagged = ((opinions.kind == Kind.FEEDBACK) | (opinions.kind == Kind.CONSTANT_TAG)) & (opinions.tag >= 0)
        tag, raw = opinions.tag[tagged], opinions.raw[tagged]
        low, high = spans(raw, tag, len(ledger.tags))
        _, usual = np.unique(np.round(raw[(low < high)[tag]]), return_counts=True)
        used, constant = group_counts(tag, len(ledger.tags)), (low == high)[tag]
        rows = np.flatnonzero(tagged)[constant]
        rows = rows[np.argsort(opinions.tag[rows], kind="stable")]
        tag = opinions.tag[rows]
        tags_of_raters = distinct_keys(pairs(tag, opinions.rater[rows], ledger.accounts)) // max(ledger.accounts, 1)
        raters = group_counts(tags_of_raters, len(ledger.tags))
        agreement = float((usual / usual.sum()).max()) if len(usual) else 0.5
        tags = np.flatnonzero((low == high) & (raters >= _AGREEING))
        p_values = np.maximum(np.minimum(agreement, 0.99) ** (raters[tags] - 1.0), SMALLEST)
        q_values = adjusted(p_values, int((used > 0).sum()), _FAMILIES)
        findings = []
        for place in np.argsort(q_values, kind="stable")[: self.limit]:
            if q_values[place] >= self.level:
                break
            code = int(tags[place])
            start, stop = np.searchsorted(tag, [code, code + 1])
            own = rows[start : min(stop, start + _ROWS)]
            findings.append(
                Finding(
                    detector=self.name,
                    statistic=f"{raters[code]} raters, {stop - start} times {low[code]:g}",
                    q_value=float(q_values[place]),
                    actors=np.zeros(0, np.int64),
                    subjects=np.unique(ledger.subject_account[opinions.subject[own]]),
                    opinions=own,
                    weight=0.0,
                    sentence=f"The tag {quoted(ledger.tags[code])} carries the value {low[code]:g} only, "
                    f"{stop - start} times.",
                )
            )
        return findings

    def _of(self, ledger: Ledger, rows: Ints, text: str, weight: float, *, by_payment: bool = False) -> list[Finding]:
        """Return a finding for each account that wrote such rows; `by_payment` if it rests on their payments, too."""
        if not len(rows):
            return []
        opinions = ledger.opinions
        rater = opinions.rater
        count = np.bincount(rater[rows], minlength=ledger.accounts)
        written = np.bincount(rater, minlength=ledger.accounts)
        accounts = np.flatnonzero(count)
        base = max(_RARE, min(0.5, float(np.median(count[accounts])) * len(accounts) / len(rater) / 10))
        q_values = adjusted(share(count[accounts], written[accounts], base), int((written > 0).sum()), _FAMILIES)
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
                    payments=np.unique(opinions.payment[own]).astype(np.int64) if by_payment else own[:0],
                    weight=weight,
                    basis=Basis.PROOFS,
                    is_fact=by_payment,
                    sentence=f"{count[account]} opinions of one account {text}.",
                )
            )
        return findings
