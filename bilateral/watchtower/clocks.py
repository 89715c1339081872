"""A watchtower's time: durations from the monotonic clock, stamps from one that steps of the wall clock do not move."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bilateral.watchtower.totals import HOUR

_STALL_SECONDS: Final = 5.0
"""A pause between two ticks that indicates that the process was stopped or starved: its timeouts prove nothing."""

_SLEEP_SECONDS: Final = 1.0
_STEP_SECONDS: Final = 60.0
"""A wall clock difference that counts as a step; a smaller one is followed."""

_EARLIEST: Final = 1_767_225_600
"""The beginning of 2026: a clock showing an earlier time was never set."""


def _boottime() -> float:
    """Return the seconds since the system started, including time suspended where the system counts it."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


@dataclass(frozen=True)
class Clocks:
    """The system's clocks."""

    monotonic: Callable[[], float] = time.monotonic
    boottime: Callable[[], float] = _boottime
    wall: Callable[[], float] = time.time


SYSTEM: Final = Clocks()
"""The system's clocks."""


class Timekeeper:
    """One run's time.

    Args:
        clocks: The system's clocks.
        last: The previous run's last stamp: a wall clock that is behind it is not trusted immediately.

    Attributes:
        now: The number of seconds that the run was awake. Due times are based on it, so a pause makes none of them
            late.
        steps: The wall clock's steps.
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
        """The Unix time for stamps. It follows a wall clock step once the clock has been steady for an hour."""
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
