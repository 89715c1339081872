"""Our policies: the analysis of this package answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bench.market.play import Answers
from bilateral.trust.engine import Engine, all_detectors
from bilateral.trust.opinions import Kind

if TYPE_CHECKING:
    from bench.market.play import Market
    from bench.market.rows import Log


def fitted(log: Log, without: str = "") -> Engine:
    """Return a fitted engine.

    Args:
        log: The rows.
        without: The name of a detector's class that is left out, or `learned` for the learned score.
    """
    detectors = [detector for detector in all_detectors() if type(detector).__name__ != without]
    return Engine(detectors=detectors, learned=without != "learned").fit(log.tables())


@dataclass
class Lower:
    """A policy that orders agents by the analysis's `lower`, and refuses those it flags.

    Attributes:
        name: The name in tables.
        without: A part that is left out, see `fitted`.
        every: The number of days between analyses.
    """

    name: str = "our `lower`"
    without: str = ""
    every: int = 2

    def answer(self, market: Market) -> Answers:
        """See `Policy`."""
        engine = fitted(market.log, self.without)
        count = engine.context_.ledger.agents
        of_servers = np.flatnonzero(engine.context_.ledger.subject_kind == Kind.FEEDBACK)[:count]
        refused = engine.suspicion_.flagged[engine.context_.ledger.owner]
        lower = engine.scores_.lower[of_servers]
        return Answers(lower, np.where(refused, 0.0, np.inf), (float(np.median(lower)) if count else 0.0, np.inf))
