"""The engine: tables in, tables out. It runs all detectors, combines their findings, and scores everybody."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from bilateral.core.errors import InvalidArgumentError
from bilateral.trust.coding import coded
from bilateral.trust.context import Context
from bilateral.trust.detectors.blocks import Blocks
from bilateral.trust.detectors.cotargeting import CoTargeting
from bilateral.trust.detectors.links import Links
from bilateral.trust.detectors.lockstep import Lockstep
from bilateral.trust.detectors.retaliation import Retaliation
from bilateral.trust.detectors.reviewed import ReviewedKin
from bilateral.trust.detectors.values import Values
from bilateral.trust.detectors.wash import WashPayments
from bilateral.trust.opinions import Kind
from bilateral.trust.reviews import places_of
from bilateral.trust.runs import Run
from bilateral.trust.scores import Scores, scores
from bilateral.trust.steps import ARRAYS, Steps
from bilateral.trust.suspicion import THRESHOLD, Suspicion, suspicion
from bilateral.trust.tables import COLUMNS, Tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bilateral.trust.detectors.base import Detector
    from bilateral.trust.findings import Finding
    from bilateral.trust.propagation import EigenTrust
    from bilateral.trust.reviews import Reviews


_OPINIONS: Final = frozenset({"feedback", "ratings", "validations"})
_GOOD: Final = 50.0
"""The percentage from which an opinion passes trust on."""


def all_detectors() -> list[Detector]:
    """Return one of each detector, with its usual parameters."""
    return [
        CoTargeting(),
        Links(),
        WashPayments(),
        Blocks(),
        Lockstep(),
        Retaliation(),
        Values(),
    ]


@dataclass
class Engine:
    """Runs the whole analysis.

    Attributes:
        threshold: The suspicion from which an account is flagged.
        learned: Marks an engine that weighs weak signs. Training them does without.
        steps: Does the relational steps: on arrays, or in a database (`bilateral.trust.relational.Relational`).
        run: Tells and keeps the steps of each analysis.
        context_: The coded tables and what detectors share.
        findings_: The findings of all detectors, strongest first.
        suspicion_: The suspicion of accounts and opinions.
        scores_: The scores of all subjects.
        trust_: Trust from the reader's list; None without a list.
        reviews_: The cases that people decided; None without any.
    """

    detectors: list[Detector] = field(default_factory=all_detectors)
    threshold: float = THRESHOLD
    learned: bool = True
    steps: Steps = ARRAYS
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
            reviews: Cases that people decided. They override findings.
            trusted: The addresses that the reader trusts. Trust spreads from them; without them it is not computed.

        Raises:
            InvalidArgumentError: Addresses are trusted, and none of them occurs in the tables.
        """
        self.run.open(tables, self._options(reviews, trusted))
        return self._analyse(tables, self._context(tables), reviews, trusted, frozenset(COLUMNS))

    def update(self, later: Tables, reviews: Reviews | None = None, trusted: Sequence[str] = ()) -> Self:
        """Analyse the rows of later blocks together with those of the last `fit`.

        A detector that reads none of the changed tables keeps its findings, unless the numbers of accounts or agents
        change with them. The result equals that of `fit` on all rows.

        Args:
            later: The rows of later blocks.
            reviews: As for `fit`.
            trusted: As for `fit`.

        Raises:
            InvalidArgumentError: The steps read the tables of a database, which lack the later rows.
        """
        if self.steps.holds_tables:
            raise InvalidArgumentError("a database holds the tables: add the rows there, and renew(database.tables())")
        changed = frozenset(name for name in COLUMNS if getattr(later, name).num_rows)
        if not changed and reviews is None and not trusted:
            return self
        return self._again(self.tables_.appended(later), changed, reviews, trusted)

    def renew(self, tables: Tables, reviews: Reviews | None = None, trusted: Sequence[str] = ()) -> Self:
        """Analyse tables in which rows came, changed or went since the last `fit`; without one, as `fit`.

        Detectors run again as for `update`. The result equals that of `fit`.

        Args:
            reviews: As for `fit`.
            trusted: As for `fit`.
        """
        if not hasattr(self, "tables_"):
            return self.fit(tables, reviews, trusted)
        changed = frozenset(name for name in COLUMNS if not getattr(tables, name).equals(getattr(self.tables_, name)))
        return self._again(tables, changed, reviews, trusted)

    def _again(self, tables: Tables, changed: frozenset[str], reviews: Reviews | None, trusted: Sequence[str]) -> Self:
        """Analyse tables of which some changed."""
        self.run.open(tables, self._options(reviews, trusted))
        if not changed:
            return self._analyse(tables, self.context_, reviews, trusted, changed)
        if changed & _OPINIONS:
            changed |= _OPINIONS  # a row in one of them moves the positions of all opinions
        before = (self.context_.ledger.addresses, self.context_.ledger.agent_ids)
        context = self._context(tables)
        same = before[0].equals(context.ledger.addresses) and np.array_equal(before[1], context.ledger.agent_ids)
        return self._analyse(tables, context, reviews, trusted, changed if same else frozenset(COLUMNS))

    def _context(self, tables: Tables) -> Context:
        """Code tables, and work out what detectors share."""
        steps = self.run.recorded(self.steps)
        scored = self.context_.scored if hasattr(self, "context_") else None
        return Context.of(coded(tables, steps), steps, scored)

    def _options(self, reviews: Reviews | None, trusted: Sequence[str]) -> str:
        """Return all that answers depend on, but for the tables and the code."""
        detectors = [(detector.name, detector.parameters()) for detector in self.detectors]
        return repr((self.steps.label, detectors, self.threshold, self.learned, reviews, tuple(trusted)))

    def _analyse(
        self,
        tables: Tables,
        context: Context,
        reviews: Reviews | None,
        trusted: Sequence[str],
        changed: frozenset[str],
    ) -> Self:
        """Run the detectors that read changed tables, and combine all findings."""
        self.tables_, self.context_, self.reviews_ = tables, context, reviews
        verdicts = reviews.verdicts(context.ledger.addresses) if reviews is not None else {}
        self.findings_ = []
        for detector in self.detectors:
            if detector.reads & changed:
                self._detect(detector, context)
            self.findings_ += detector.findings_
        self.findings_ += ReviewedKin(verdicts).fit(context).findings_
        self.findings_.sort(key=lambda finding: -finding.strength)
        self.suspicion_ = self.run.step(
            "suspicion",
            lambda: suspicion(context, self.findings_, verdicts, self.threshold, learned=self.learned),
        )
        self.scores_ = self.run.step("scores", lambda: scores(context, self.suspicion_))
        self.trust_ = self._trust(trusted) if trusted else None
        return self

    def _detect(self, detector: Detector, context: Context) -> None:
        """Let a detector look through the tables."""
        detector.take(self.run.step(detector.name, lambda: detector.fit(context).results()))

    def _trust(self, trusted: Sequence[str]) -> EigenTrust:
        """Spread trust along good opinions that are not false."""
        ledger, opinions = self.context_.ledger, self.context_.ledger.opinions
        places = places_of(ledger.addresses, [address.lower() for address in trusted])
        if not len(places):
            raise InvalidArgumentError("none of the trusted accounts occurs in the tables: name accounts that acted")
        good = (opinions.percent >= _GOOD) & (opinions.kind != Kind.CONSTANT_TAG) & (self.suspicion_.row < 0.5)  # noqa: PLR2004
        account = ledger.subject_account[opinions.subject[good]]
        weight = (opinions.percent[good].astype(np.float64) - _GOOD) / _GOOD + 0.1
        return self.context_.steps.trust(opinions.rater[good], account, weight, places, ledger.accounts)

    def absent_cases(self) -> tuple[str, ...]:
        """Return the reviewed accounts that occur in no table, in small letters. Their cases change nothing."""
        return () if self.reviews_ is None else self.reviews_.absent(self.context_.ledger.addresses)

    def judged(self) -> np.ndarray:
        """Mark the accounts that wrote an opinion or own an agent."""
        ledger = self.context_.ledger
        marked = np.zeros(ledger.accounts, bool)
        marked[ledger.opinions.rater] = True
        marked[ledger.owner] = True
        return marked
