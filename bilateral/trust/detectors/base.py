"""The interface of detectors."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from bilateral.trust.features.context import Context
from bilateral.trust.features.findings import Finding
from bilateral.trust.features.significance import adjusted


class Detector(ABC):
    """Looks for one kind of manipulation.

    Parameters are arguments of the constructor. `fit` sets results, whose names end with an underscore.

    Attributes:
        name: The detector's name, which findings carry.
        findings_: The findings of the last `fit`, strongest first.
    """

    name: ClassVar[str]
    findings_: list[Finding]

    def fit(self, context: Context) -> Self:
        """Look through a ledger."""
        self.findings_ = sorted(self._find(context), key=lambda finding: -finding.strength)
        return self

    @abstractmethod
    def _find(self, context: Context) -> list[Finding]:
        """Return the findings, in any order."""


@dataclass(frozen=True)
class Trial:
    """One of a detector's tests that may lead to a finding.

    Attributes:
        level: The false discovery rate below which there is a finding.
        finding: Makes the finding, given the corrected p-value.
    """

    p_value: float
    level: float
    finding: Callable[[float], Finding]


def discoveries(tests: Sequence[Trial], number: int) -> list[Finding]:
    """Correct the p-values of all of a detector's families of tests together, and return the findings."""
    q_values = adjusted(np.array([test.p_value for test in tests], np.float64), number)
    return [test.finding(float(q)) for test, q in zip(tests, q_values, strict=True) if q < test.level]
