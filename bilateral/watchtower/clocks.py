"""The time of a watchtower: durations by the monotonic clock, stamps by one that no step of the wall clock moves."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bilateral.watchtower.totals import HOUR

_STALL_SECONDS: Final = 5.0
"""A pause between two ticks that means that the process was stopped or starved: its timeouts prove nothing."""

_SLEEP_SECONDS: Final = 1.0
_STEP_SECONDS: Final = 60.0
"""A difference of the wall clock that is a step; a smaller one is followed."""

_EARLIEST: Final = 1_767_225_600
"""2026 began: a clock before it was never set."""


def _boottime() -> float:
    """Return the seconds since the system started, including time suspended where the system counts it."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


@dataclass(frozen=True)
class Clocks:
    """The clocks of the system."""

    monotonic: Callable[[], float] = time.monotonic
    boottime: Callable[[], float] = _boottime
    wall: Callable[[], float] = time.time


SYSTEM: Final = Clocks()
"""The clocks of the system."""


class Timekeeper:
    """The time of one run.

    Args:
        clocks: The clocks of the system.
        last: The last stamp of the run before: a wall clock that is behind it is not trusted immediately.

    Attributes:
        now: The seconds that the run was awake. Due times use it, so a pause makes none of them late.
        steps: The steps of the wall clock.
    """

    def __init__(self, clocks: Clocks, last: int = 0) -> None:
        self._clocks = clocks
        self._monotonic, self._boottime = clocks.monotonic(), clocks.boottime()
        self._anchor = max(clocks.wall(), last) - self._boottime
        self._last = last or self.wall
        self._odd: tuple[float, float] | None = None
        self.now = 0.0
        self.steps = 0

    @property
    def wall(self) -> float:
        """The Unix time for stamps. It follows a step of the wall clock when that has been steady for an hour."""
        return self._anchor + self._boottime

    @property
    def earliest(self) -> float:
        """The Unix time for judging the age of rows: no wall clock ahead of the previous run is trusted."""
        return min(self.wall, self._last + self.now)

    def tick(self) -> bool:
        """Read the clocks, and return True if the process was suspended since the last tick."""
        monotonic, boottime = self._clocks.monotonic(), self._clocks.boottime()
        gap = monotonic - self._monotonic
        is_stalled = gap > _STALL_SECONDS or boottime - self._boottime - gap > _SLEEP_SECONDS
        self._monotonic, self._boottime = monotonic, boottime
        self.now += 0.0 if gap > _STALL_SECONDS else gap
        self._follow(self._clocks.wall() - self.wall, monotonic)
        return is_stalled

    def _follow(self, difference: float, monotonic: float) -> None:
        if abs(difference) <= _STEP_SECONDS:
            self._anchor, self._odd = self._anchor + difference, None
        elif self._odd is None or abs(difference - self._odd[0]) > _STEP_SECONDS:
            self._odd, self.steps = (difference, monotonic), self.steps + 1
        elif monotonic - self._odd[1] > HOUR and self.wall + difference >= _EARLIEST:
            self._anchor, self._odd = self._anchor + difference, None
