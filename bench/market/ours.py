"""Our policies: the analysis of this package answers."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

import bilateral.trust as analysis
from bench.market.play import Answers
from bilateral.core.values import decision
from bilateral.core.values.decision import TRIAL, Ground, limit_of
from bilateral.core.values.standing import Side, Standing, Status
from bilateral.trust.engine import Engine, all_detectors

if TYPE_CHECKING:
    from bench.market.people import Array
    from bench.market.play import Market
    from bench.market.rows import Log

PARTS: Final = (*(type(detector).__name__ for detector in all_detectors()), "learned")
"""The parts of the engine that can be left out: each detector, and the learned score."""


_REFUSED: Final = (Ground.HELD_BACK, Ground.SHARED_TRIAL)
"""The grounds on which our standing refuses a sale; all others have their place in the order alone."""

_ELSEWHERE: Final = ("chains", "copies", "decisions", "disk", "numbered", "relational", "runners")
"""The modules that markets do not run: those for several chains, databases and disks, and the command `decide`."""


def state() -> str:
    """Return a digest of the code that markets run, so that figures name their state; without comments.

    It is of the analysis, and of the rule by which a standing decides.
    """
    folder = Path(analysis.__path__[0])
    modules = [path for path in sorted(folder.rglob("*.py")) if path.stem not in _ELSEWHERE]
    code = [_code(path.read_text(encoding="utf-8")) for path in [*modules, Path(decision.__file__)]]
    weights = [path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.json"))]
    return sha256("".join(code + weights).encode()).hexdigest()[:12]


def _code(source: str) -> str:
    """Return the statements of a module without comments and docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            node.body = [part for part in node.body if not _is_docstring(part)]
    return ast.unparse(tree)


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


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
    table = engine.standings()
    servers = np.array(table["side"].to_pylist()) == Side.SERVER
    marked: Array = np.array(table["status"].to_pylist())[servers] == Status.HELD_BACK
    return marked


@dataclass
class Standings:
    """A policy that orders agents by the lower bound of their standing, and refuses those held back or waiting.

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
        table = fitted(market.log, self.without).standings()
        table = table.filter(np.array(table["side"].to_pylist()) == Side.SERVER)
        lower = table["lower"].to_numpy()
        limits = [limit_of(Standing.of(row)) for row in table.to_pylist()]
        if self.weighs:
            return Answers(lower, np.array([limit.amount for limit in limits]), (0.0, TRIAL))
        refused = [limit.ground in _REFUSED for limit in limits]
        return Answers(lower, np.where(refused, 0.0, np.inf), (0.0, np.inf))
