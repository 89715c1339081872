"""The engine: tables in, tables out. It runs all detectors, combines their findings, and scores all accounts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Self

import numpy as np
import pyarrow as pa

from bilateral.core.errors import InvalidArgumentError
from bilateral.trust.detectors.base import Detector
from bilateral.trust.detectors.blocks import Blocks
from bilateral.trust.detectors.cotargeting import CoTargeting
from bilateral.trust.detectors.links import Links
from bilateral.trust.detectors.lockstep import Lockstep
from bilateral.trust.detectors.retaliation import Retaliation
from bilateral.trust.detectors.reviewed import ReviewedGroups
from bilateral.trust.detectors.wash import WashPayments
from bilateral.trust.features.context import Context
from bilateral.trust.features.findings import Finding
from bilateral.trust.features.reviews import Reviews, places_of
from bilateral.trust.runs import Run
from bilateral.trust.scores.scores import Scores, scores
from bilateral.trust.scores.suspicion import THRESHOLD, Suspicion, suspicion
from bilateral.trust.standing.standings import standings
from bilateral.trust.tables.arrays import Flags, Floats
from bilateral.trust.tables.coding import coded
from bilateral.trust.tables.ledger import Ledger
from bilateral.trust.tables.opinions import Kind
from bilateral.trust.tables.propagation import EigenTrust
from bilateral.trust.tables.schema import Tables

_GOOD: Final = 50.0
"""The minimum percentage at which an opinion conveys trust."""


def all_detectors() -> list[Detector]:
    """Return one instance of each detector, with default parameters."""
    return [CoTargeting(), Links(), WashPayments(), Blocks(), Lockstep(), Retaliation()]


@dataclass
class Engine:
    """Runs the whole analysis.

    Attributes:
        threshold: The minimum suspicion for an account to be flagged.
        learned: True if the engine applies the learned weights of weak signs of manipulation. Set it to False to train
            them.
        run: Reports progress after each step.
        context_: The coded tables and the data that detectors share.
        findings_: The findings of all detectors, strongest first.
        suspicion_: How suspicious each account and opinion is.
        scores_: The scores of all subjects.
        trust_: Trust spread from the reader's list of accounts; None without a list.
        reviews_: The cases decided by reviewers; None if there are none.
    """

    detectors: list[Detector] = field(default_factory=all_detectors)
    threshold: float = THRESHOLD
    learned: bool = True
    run: Run = field(default_factory=Run)
    tables_: Tables = field(init=False)
    context_: Context = field(init=False)
    findings_: list[Finding] = field(init=False)
    suspicion_: Suspicion = field(init=False)
    scores_: Scores = field(init=False)
    trust_: EigenTrust | None = field(init=False, default=None)
    reviews_: Reviews | None = field(init=False, default=None)

    def fit(self, tables: Tables, reviews: Reviews | None = None, trusted: Sequence[str] = ()) -> Self:
        """Analyse tables.

        Args:
            reviews: Cases decided by reviewers. They override findings.
            trusted: The addresses that the reader trusts, from which trust spreads. Without any, trust is not computed.

        Raises:
            InvalidArgumentError: None of the trusted addresses occurs in the tables.
        """
        step = self.run.step
        ledger = step("first transfers", lambda: coded(tables))
        context = step("degrees", lambda: Context.of(ledger))
        verdicts = reviews.verdicts(ledger.addresses) if reviews is not None else {}
        findings = []
        for detector in self.detectors:
            findings += step(detector.name, partial(detector.fit, context)).findings_
        findings += ReviewedGroups(verdicts).fit(context).findings_
        findings.sort(key=lambda finding: -finding.strength)
        result = step("suspicion", lambda: suspicion(context, findings, verdicts, self.threshold, learned=self.learned))
        self.scores_ = step("scores", lambda: scores(context, result))
        self.trust_ = step("trust", lambda: _trust(ledger, result.row, trusted)) if trusted else None
        self.tables_, self.context_, self.reviews_ = tables, context, reviews
        self.findings_, self.suspicion_ = findings, result
        return self

    def absent_cases(self) -> tuple[str, ...]:
        """Return the reviewed accounts that occur in no table, in lower case. Their cases have no effect."""
        return () if self.reviews_ is None else self.reviews_.absent(self.context_.ledger.addresses)

    def standings(self) -> pa.Table:
        """Return the standings of all agents, with the columns of `bilateral.trust.standing.standings.SCHEMA`."""
        return standings(self.context_, self.findings_, self.suspicion_, self.scores_, self.returned())

    def returned(self) -> Flags:
        """Mark the payments whose money came back, according to the detectors that look for returns."""
        marked = np.zeros(len(self.context_.ledger.payer), bool)
        for detector in self.detectors:
            marked |= getattr(detector, "returned_", marked)
        return marked

    def judged(self) -> np.ndarray:
        """Mark the accounts that wrote an opinion or own an agent."""
        return self.context_.ledger.acting


def _trust(ledger: Ledger, false: Floats, trusted: Sequence[str]) -> EigenTrust:
    """Spread trust from a reader's list along good opinions that are not false."""
    opinions = ledger.opinions
    accounts = places_of(ledger.addresses, [address.lower() for address in trusted])
    if not len(accounts):
        raise InvalidArgumentError(
            "none of the trusted accounts appears in the tables: choose accounts with recorded actions"
        )
    good = (opinions.percent >= _GOOD) & (opinions.kind != Kind.CONSTANT_TAG) & (false < 0.5)  # noqa: PLR2004
    target = ledger.subject_account[opinions.subject[good]]
    weight = (opinions.percent[good].astype(np.float64) - _GOOD) / _GOOD + 0.1
    return EigenTrust().fit(opinions.rater[good], target, weight, accounts, ledger.accounts)
