"""The interface of detectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from bilateral.trust.significance import adjusted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bilateral.trust.context import Context
    from bilateral.trust.findings import Finding


class Detector(ABC):
    """Looks for one kind of manipulation.

    Parameters are arguments of the constructor. `fit` sets results, whose names end with an underscore.

    Attributes:
        name: The detector's name, which findings carry.
        reads: The tables that it depends on. If none of them changes, its findings stay.
        findings_: The findings of the last `fit`, strongest first.
    """

    name: ClassVar[str]
    reads: ClassVar[frozenset[str]]
    findings_: list[Finding]

    def fit(self, context: Context) -> Self:
        """Look through a ledger.

        Args:
            context: The ledger and what detectors share.
        """
        self.findings_ = sorted(self._find(context), key=lambda finding: -finding.strength)
        return self

    def parameters(self) -> dict[str, Any]:
        """Return the parameters by name."""
        return {name: value for name, value in vars(self).items() if not name.endswith("_")}

    def results(self) -> dict[str, Any]:
        """Return the results of the last `fit` by name."""
        return {name: value for name, value in vars(self).items() if name.endswith("_")}

    def take(self, results: dict[str, Any]) -> None:
        """Set the results, as a `fit` would.

        Args:
            results: The results by name.
        """
        vars(self).update(results)

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
    """Correct the p-values of all of a detector's families of tests together, and return the findings.

    Args:
        tests: The tests. Those that cannot lead to a finding may be left out.
        number: The number of all tests.
    """
    q_values = adjusted(np.array([test.p_value for test in tests], np.float64), number)
    return [test.finding(float(q)) for test, q in zip(tests, q_values, strict=True) if q < test.level]
