"""Runs of an analysis: steps that are told as they end, and kept, so that a later run continues where one was lost."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final, TypeVar

from bilateral.trust.checkpoints import Checkpoints
from bilateral.trust.steps import Steps

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

    from bilateral.trust.arrays import Floats, Ints
    from bilateral.trust.ledger import Ledger
    from bilateral.trust.propagation import EigenTrust
    from bilateral.trust.steps import Cells, Degrees, Edges, First, Moves
    from bilateral.trust.tables import Tables

T = TypeVar("T")

_SECONDS: Final = {
    "tables": 1.0,
    "first transfers": 0.4,
    "degrees": 0.4,
    "co-targeting": 0.6,
    "links": 0.2,
    "wash payments": 0.2,
    "blocks": 0.3,
    "lockstep": 0.2,
    "retaliation": 0.1,
    "values": 0.1,
    "suspicion": 1.8,
    "scores": 1.1,
    "trust": 0.4,
    "results": 1.0,
}
"""The steps in their order, each with the seconds of a processor since the one before, at a million opinions on arrays.
Only their shares count, for the time that is left. Other steps are parts of these."""

_DONE: Final = dict(zip(_SECONDS, accumulate(_SECONDS.values()), strict=True))
_ALL: Final = sum(_SECONDS.values())


@dataclass(frozen=True)
class Progress:
    """The state of a run after a step.

    Attributes:
        step: The name of the step.
        is_kept: True if its answer is of a lost run.
        share: The share of the work that is done, from 0 to 1.
        spent: The seconds since the run began.
        left: The seconds that the rest will take, by what was done so far; None if all so far is of a lost run.
    """

    step: str
    is_kept: bool
    share: float
    spent: float
    left: float | None

    def __str__(self) -> str:
        """Return the state as a sentence."""
        left = "" if self.left is None else f", about {self.left:.0f} s left"
        kept = " from its checkpoint" if self.is_kept else ""
        return f"{self.step}{kept}: {self.share:.0%} done after {self.spent:.0f} s{left}"


class Run:
    """One run of an analysis: `Engine(run=Run(folder, print)).fit(tables)`."""

    def __init__(self, folder: Path | None = None, tell: Callable[[Progress], None] = lambda _: None) -> None:
        self._folder, self._tell = folder, tell
        self._checkpoints: Checkpoints | None = None
        self._began = self._last = time.monotonic()
        self._share = self._worked = self._seconds = 0.0
        self._cells = 0

    def open(self, tables: Tables, options: str) -> None:
        """Look for the checkpoints of an analysis.

        Args:
            tables: The tables of the analysis.
            options: All else that its answers depend on.

        Raises:
            InvalidArgumentError: The path of the checkpoints is not a folder.
        """
        self._cells = 0
        if self._folder is not None:
            self._checkpoints = Checkpoints(self._folder, tables, options)

    def step(self, name: str, work: Callable[[], T], *, keep: bool = True) -> T:
        """Return the answer of a step, from its checkpoint if there is one.

        Args:
            name: The name of the step.
            work: Computes the answer.
            keep: Keep a checkpoint of the answer.
        """
        checkpoints = self._checkpoints if keep else None
        kept: list[T] = checkpoints.read(name) if checkpoints is not None else []
        answer = kept[0] if kept else work()
        if checkpoints is not None and not kept:
            checkpoints.write(name, answer)
        self._ended(name, is_kept=bool(kept))
        return answer

    def close(self) -> None:
        """Remove the checkpoints: the analysis is complete."""
        if self._checkpoints is not None:
            self._checkpoints.remove()

    def recorded(self, steps: Steps) -> Steps:
        """Return relational steps that are steps of this run."""
        return _Recorded(self, steps)

    def next_cells(self) -> str:
        """Return a name for the next cells of this run. An analysis asks for those of its groupings in one order."""
        self._cells += 1
        return f"cells {self._cells}"

    def _ended(self, name: str, *, is_kept: bool) -> None:
        """Tell the state after a step. The time since the step before counts for it."""
        now = time.monotonic()
        share = max(self._share, _DONE.get(name, 0.0) / _ALL)
        if not is_kept:
            self._worked += share - self._share
            self._seconds += now - self._last
        self._share, self._last = share, now
        left = self._seconds / self._worked * (1 - share) if self._worked else None
        self._tell(Progress(name, is_kept, share, now - self._began, left))


class _Recorded(Steps):
    """Relational steps that are steps of a run."""

    def __init__(self, run: Run, steps: Steps) -> None:
        self._run, self._steps = run, steps

    def first_transfers(self, addresses: pa.Array, moves: Moves) -> First:
        """See `Steps`."""
        return self._run.step("first transfers", lambda: self._steps.first_transfers(addresses, moves))

    def degrees(self, ledger: Ledger, edges: Edges) -> Degrees:
        """See `Steps`."""
        return self._run.step("degrees", lambda: self._steps.degrees(ledger, edges))

    def cells(self, ledger: Ledger, edges: Edges, group: Ints, size: int) -> Cells:
        """See `Steps`."""
        return self._run.step(self._run.next_cells(), lambda: self._steps.cells(ledger, edges, group, size))

    def trust(self, source: Ints, target: Ints, weight: Floats, trusted: Ints, size: int) -> EigenTrust:
        """See `Steps`."""
        return self._run.step("trust", lambda: self._steps.trust(source, target, weight, trusted, size))
