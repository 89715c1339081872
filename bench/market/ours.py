"""Our policies: the analysis of this package answers."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

import bilateral.trust as analysis
from bench.market.play import Answers
from bilateral.trust.decisions import LEAST_RATING, NEWCOMER
from bilateral.trust.engine import Engine, all_detectors
from bilateral.trust.opinions import Kind
from bilateral.trust.standing import Side, Status
from bilateral.trust.standings import standings

if TYPE_CHECKING:
    from bench.market.people import Array
    from bench.market.play import Market
    from bench.market.rows import Log

PARTS: Final = (*(type(detector).__name__ for detector in all_detectors()), "learned")
"""The parts of the engine that can be left out: each detector, and the learned score."""


def state() -> str:
    """Return a digest of the analysis's sources, so that figures tell which state of the analysis they are of."""
    folder = Path(analysis.__path__[0])
    sources = sorted(path for path in folder.rglob("*") if path.suffix in {".py", ".json"})
    return sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]


def fitted(log: Log, without: str = "") -> Engine:
    """Return a fitted engine.

    Args:
        log: The rows.
        without: One of `PARTS` that is left out; empty for none.
    """
    detectors = [detector for detector in all_detectors() if type(detector).__name__ != without]
    return Engine(detectors=detectors, learned=without != "learned").fit(log.tables())


def held(engine: Engine) -> Array:
    """Mark the agents that are held back.

    Args:
        engine: A fitted engine.
    """
    table = standings(engine)
    servers = np.array(table["side"].to_pylist()) == Side.SERVER
    marked: Array = np.array(table["status"].to_pylist())[servers] == Status.HELD_BACK
    return marked


@dataclass
class Lower:
    """A policy that orders agents by the analysis's `lower`, and refuses those whose owner it flags.

    Attributes:
        name: The name in tables.
        every: The number of days between analyses.
    """

    name: str = "our `lower`, flagged owners refused"
    every: int = 2

    def answer(self, market: Market) -> Answers:
        """See `Policy`."""
        engine = fitted(market.log)
        count = engine.context_.ledger.agents
        of_servers = np.flatnonzero(engine.context_.ledger.subject_kind == Kind.FEEDBACK)[:count]
        refused = engine.suspicion_.flagged[engine.context_.ledger.owner]
        lower = engine.scores_.lower[of_servers]
        return Answers(lower, np.where(refused, 0.0, np.inf), (float(np.median(lower)) if count else 0.0, np.inf))


@dataclass
class Standings:
    """A policy that orders agents by the lower bound of their standing, and refuses those held back.

    Attributes:
        name: The name in tables.
        without: One of `PARTS` that is left out; empty for none.
        weighs: True to let buyers pay what `bilateral trust decide` accepts, and no more.
        every: The number of days between analyses.
    """

    name: str = "our standing"
    without: str = ""
    weighs: bool = False
    every: int = 2

    def answer(self, market: Market) -> Answers:
        """See `Policy`."""
        table = standings(fitted(market.log, self.without))
        table = table.filter(np.array(table["side"].to_pylist()) == Side.SERVER)
        lower = table["lower"].to_numpy()
        status = np.array(table["status"].to_pylist(), str)
        refused = status == Status.HELD_BACK
        limit = np.full(len(lower), np.inf)
        if self.weighs:
            cost, rating = table["evidence_cost"].to_numpy(), table["rating"].to_numpy()
            limit = np.where(status == Status.OK, np.maximum(cost, NEWCOMER), NEWCOMER)
            refused |= ((rating < LEAST_RATING) & (status != Status.THIN)) | (status == Status.CONTESTED)
        return Answers(lower, np.where(refused, 0.0, limit), (0.0, NEWCOMER if self.weighs else np.inf))
