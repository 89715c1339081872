"""Propagation from reviewed cases to accounts that share a source of funds with accounts found guilty.

The detector estimates the probability that a group's next member is guilty, given the verdicts on its reviewed members
(Laplace's rule of succession). One case says little about a large group, whereas twenty say a lot. An innocent member
lowers the probability as much as a guilty one raises it. Anyone can send a fresh account its first funds, so an account
that never sent money to its group is ranked as suspicious but not flagged. With two hundred cases or more, a transfer
model also learns from them (`CaseModel`). The model ranks accounts and flags none.
"""

from itertools import pairwise
from typing import Final

import numpy as np

from bilateral.trust.detectors.base import Detector
from bilateral.trust.detectors.cases import CaseModel
from bilateral.trust.features.context import Context
from bilateral.trust.features.findings import Basis, Finding
from bilateral.trust.features.reviews import labels
from bilateral.trust.tables.arrays import Ints
from bilateral.trust.tables.ledger import Ledger

_CASES: Final = 200
_EACH: Final = 20
"""The minimum number of cases with each verdict that the model needs for training."""

_SURE: Final = (0.5, 0.9, 0.99)
"""Thresholds of the probability of guilt. Accounts between two of them share a finding."""


class ReviewedGroups(Detector):
    """Extends the verdicts of reviewed cases to groups under common control."""

    name = "reviewed kin"

    def __init__(self, verdicts: dict[int, bool] | None = None, largest: int = 500) -> None:
        self.verdicts = verdicts or {}
        self.largest = largest

    def _find(self, context: Context) -> list[Finding]:
        label = labels(self.verdicts, context.ledger.accounts)
        if not (label == 1).any():
            return []
        findings = []
        for grouping in context.ties.groupings:
            if not grouping.is_control:
                continue
            group = grouping.group
            sure = context.ties.acknowledged
            for number in np.unique(group[(label == 1) & (group >= 0)]):
                members = np.flatnonzero(group == number)
                guilty, innocent = int((label[members] == 1).sum()), int((label[members] == 0).sum())
                unknown = members[label[members] < 0]
                if not len(unknown) or len(members) > self.largest:
                    continue
                q_value = (innocent + 1) / (guilty + innocent + 2)
                findings.append(
                    Finding(
                        detector=self.name,
                        statistic=f"{guilty} guilty and {innocent} innocent among {len(members)} accounts",
                        q_value=q_value,
                        actors=unknown[sure[unknown]],
                        subjects=unknown[~sure[unknown]],
                        tied=unknown[~sure[unknown]],
                        transfers=context.ties.joining(grouping, members),
                        basis=Basis.REVIEWS,
                        sentence=(
                            f"{len(unknown)} accounts share {grouping.label} with {guilty} that reviewers found guilty "
                            f"and {innocent} that they found innocent."
                        ),
                    )
                )
        return findings + self._alike(context.ledger, label)

    def _alike(self, ledger: Ledger, label: Ints) -> list[Finding]:
        """Return findings about accounts whose transfers resemble those of many reviewed accounts."""
        guilty, innocent = int((label == 1).sum()), int((label == 0).sum())
        inside = (ledger.src >= 0) & (ledger.dst >= 0)
        if min(guilty, innocent) < _EACH or guilty + innocent < _CASES or not inside.any():
            return []
        acting = ledger.acting
        src, dst = ledger.src[inside], ledger.dst[inside]
        model = CaseModel().fit(src, dst, np.zeros(len(src), np.int64), label, acting | (label >= 0))
        findings = []
        for low, high in pairwise((*_SURE, 1.1)):
            alike = np.flatnonzero(acting & (label < 0) & (model.probability_ >= low) & (model.probability_ < high))
            if len(alike):
                findings.append(
                    Finding(
                        detector=self.name,
                        statistic=f"a probability of {low:g} or more",
                        q_value=1 - low,
                        actors=np.zeros(0, np.int64),
                        subjects=alike,
                        tied=alike,
                        basis=Basis.REVIEWS,
                        sentence=(
                            f"{len(alike)} accounts move money like the {guilty} that reviewers found guilty, and not "
                            f"like the {innocent} that they found innocent."
                        ),
                    )
                )
        return findings
