"""Progress of an analysis: its steps are reported as they finish, with the estimated remaining time."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, TypeVar

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
    "suspicion": 1.8,
    "scores": 1.1,
    "trust": 0.4,
    "results": 1.0,
}
"""The steps in order, each with the processor seconds since the previous step for a million opinions. Only their
proportions matter, for estimating the remaining time."""

_DONE: Final = dict(zip(_SECONDS, accumulate(_SECONDS.values()), strict=True))
_ALL: Final = sum(_SECONDS.values())


@dataclass(frozen=True)
class Progress:
    """The state of a run after a step.

    Attributes:
        step: The name of the step.
        share: The share of the work done, from 0 to 1.
        spent: The number of seconds since the run began.
        left: The estimated number of seconds remaining, based on progress so far.
    """

    step: str
    share: float
    spent: float
    left: float

    def __str__(self) -> str:
        return f"{self.step}: {self.share:.0%} done after {self.spent:.0f} s, about {self.left:.0f} s left"


class Run:
    """One run of an analysis: `Engine(run=Run(print)).fit(tables)`."""

    def __init__(self, report: Callable[[Progress], None] = lambda _: None) -> None:
        self._report = report
        self._began, self._share = time.monotonic(), 0.0

    def step(self, name: str, work: Callable[[], T]) -> T:
        """Run a step, report the progress afterwards, and return the step's result."""
        answer = work()
        done = _DONE.get(name, _DONE["degrees"])  # a user-defined detector has no entry
        self._share, spent = max(self._share, done / _ALL), time.monotonic() - self._began
        self._report(Progress(name, self._share, spent, spent / self._share * (1 - self._share)))
        return answer
