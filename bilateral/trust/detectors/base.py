"""The detector interface."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Self

import numpy as np

from bilateral.trust.features.context import Context, inflation_odds
from bilateral.trust.features.findings import Finding
from bilateral.trust.features.significance import adjusted
from bilateral.trust.tables.arrays import Ints

_USUAL: Final = 1.0
_DIGITS: Final = 2.0
"""How improbable (as a negative base-10 logarithm) the distance between a group's opinions and other opinions must be:
above `_USUAL` it is unusual, and at `_USUAL + _DIGITS` the group counts in full."""


class Detector(ABC):
    """The base class of detectors, each of which looks for one kind of manipulation.

    Parameters are passed to the constructor. `fit` sets the results, whose names end with an underscore.

    Attributes:
        name: The detector's name, as recorded in findings.
        findings_: The findings from the last call of `fit`, strongest first.
    """

    name: ClassVar[str]
    findings_: list[Finding]

    def fit(self, context: Context) -> Self:
        """Examine the context's ledger, and store the findings."""
        self.findings_ = sorted(self._find(context), key=lambda finding: -finding.strength)
        return self

    @abstractmethod
    def _find(self, context: Context) -> list[Finding]:
        """Return the findings, in any order."""


def puppetry(context: Context, accounts: Ints, rows: Ints) -> float:
    """Return how likely it is, from 0 to 1, that related accounts exist only to rate some subjects."""
    # A platform's users, a company's staff and a club's members also buy from outsiders and agree with other raters.
    lost = float(context.ties.independence[accounts].mean()) if len(accounts) else 0.0
    odds = inflation_odds(context, rows)
    return float(np.clip(max(1 - 2 * lost, (-np.log10(odds) - _USUAL) / _DIGITS), 0.0, 1.0))


@dataclass(frozen=True)
class Trial:
    """One of a detector's tests, which may lead to a finding.

    Attributes:
        level: The false discovery rate below which the test yields a finding.
        finding: A function that creates the finding from the corrected p-value.
    """

    p_value: float
    level: float
    finding: Callable[[float], Finding]


def discoveries(tests: Sequence[Trial], number: int) -> list[Finding]:
    """Correct the p-values of all of a detector's tests together, and return the significant findings."""
    q_values = adjusted(np.array([test.p_value for test in tests], np.float64), number)
    return [test.finding(float(q)) for test, q in zip(tests, q_values, strict=True) if q < test.level]
