"""A watchtower's judgement of itself, which comes before any judgement of others: its clocks and its network.

Durations come from the monotonic clock; timestamps follow a step of the wall clock only after an hour.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from bilateral.watchtower.outcomes import HOUR, Code

_STALL_SECONDS: Final = 5.0
"""A pause between two ticks that indicates that the process was stopped or starved: its timeouts prove nothing."""

_SLEEP_SECONDS: Final = 1.0
_STEP_SECONDS: Final = 60.0
"""The smallest change of the wall clock that counts as a step. Smaller changes are followed immediately."""

_EARLIEST: Final = 1_767_225_600
"""The beginning of 2026: a clock showing an earlier time was never set."""


def _boottime() -> float:
    """Return the seconds since the system started, including time suspended where the system counts it."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class Clocks(NamedTuple):
    """The clocks to read."""

    monotonic: Callable[[], float]
    boottime: Callable[[], float]
    wall: Callable[[], float]


SYSTEM: Final = Clocks(time.monotonic, _boottime, time.time)


class Timekeeper:
    """The time during one run.

    Args:
        clocks: The system's clocks.
        last: The previous run's last timestamp. A wall clock that is behind this time is not trusted immediately.

    Attributes:
        now: The number of seconds that the run was awake. Due times are based on this number, so a pause makes none of
            them late.
        steps: The number of steps of the wall clock.
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
        """The Unix time for timestamps, which follows a wall clock step once the clock has been steady for an hour."""
        return self._anchor + self._boottime

    @property
    def earliest(self) -> float:
        """The Unix time for judging the age of rows: at most the previous run's last stamp plus this run's duration."""
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


CHECK_SECONDS: Final = 30.0
"""The time between two checks. If a failure waits for a check's verdict, the next check comes sooner."""

_SOONEST_SECONDS: Final = 5.0
_ENOUGH: Final = 3
_QUORUM_SECONDS: Final = 60.0
_QUORUM_HOSTS: Final = 10
_QUORUM: Final = 3
"""If one in this many hosts that were up fails within a minute, the failures most likely have a shared cause."""

_SHARED_ROUNDS: Final = 2


@dataclass
class Vantage:
    """The location from which a watchtower probes, with tests for whether failures are the endpoints' fault.

    It does if too few reference hosts respond, or if a third of the hosts that were up fail within a minute, which most
    likely has one cause.

    Attributes:
        references: The URLs of hosts that are nearly always up, in several networks; without any, the location is
            trusted.
        interval: The length of a round in seconds.
        is_online: False if the last check reached too few of these hosts.
        checked_at: The time at which the last check began.
        is_checking: True during a check.
    """

    references: Sequence[str]
    interval: int
    is_online: bool = True
    checked_at: float = float("-inf")
    is_checking: bool = False
    _recent: deque[tuple[float, str, bool]] = field(default_factory=deque)
    _began_at: float = float("-inf")
    _last_at: float = float("-inf")

    def is_due(self, now: float, *, is_awaited: bool) -> bool:
        """Return True if a check is due."""
        seconds = _SOONEST_SECONDS if is_awaited or not self.is_online else CHECK_SECONDS
        return not self.is_checking and now - self.checked_at >= seconds

    def check(self, reaches: Callable[[str], bool]) -> bool:
        """Return True if enough reference hosts are reached: three, or a majority if there are fewer than five."""
        enough = min(_ENOUGH, len(self.references) // 2 + 1)
        return not self.references or sum(map(reaches, self.references)) >= enough

    def add(self, now: float, host: str, *, has_failed: bool) -> None:
        """Record a probe of an endpoint that had been reachable."""
        self._recent.append((now, host, has_failed))
        while now - self._recent[0][0] > _QUORUM_SECONDS:
            self._recent.popleft()

    def has_shared_cause(self, now: float) -> bool:
        """Return True if failures have a shared cause. After two rounds, failures are accepted as real."""
        recent = list(self._recent)  # metrics may be read in another thread
        hosts = {host for _, host, _ in recent}
        failed = {host for _, host, has_failed in recent if has_failed}
        if len(hosts) >= _QUORUM_HOSTS and _QUORUM * len(failed) > len(hosts):
            if now - self._last_at > _SHARED_ROUNDS * self.interval:
                self._began_at = now
            self._last_at = now
        return now - self._began_at < _SHARED_ROUNDS * self.interval

    def excuse(self, now: float) -> Code | None:
        """Return the reason why a failure does not count against an endpoint; None if the failure counts."""
        shared = Code.SHARED_CAUSE if self.has_shared_cause(now) else None
        return shared if self.is_online else Code.OWN_NETWORK
