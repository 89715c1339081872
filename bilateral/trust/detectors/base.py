"""The interface of detectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Self

if TYPE_CHECKING:
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

    @abstractmethod
    def _find(self, context: Context) -> list[Finding]:
        """Return the findings, in any order."""
