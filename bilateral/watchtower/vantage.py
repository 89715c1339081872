"""The verdict on a watchtower's own location, which comes before any verdict on others."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

CHECK_SECONDS: Final = 30.0
"""The time between two checks; a failure that waits for the verdict brings the next one forward."""

_SOONEST_SECONDS: Final = 5.0
_ENOUGH: Final = 3
_QUORUM_SECONDS: Final = 60.0
_QUORUM_HOSTS: Final = 10
_QUORUM: Final = 3
"""In a bad week, one in this many hosts that were up fails by itself, but not in the same minute as all others."""

_SHARED_ROUNDS: Final = 2


@dataclass
class Vantage:
    """The location from which a watchtower probes.

    Attributes:
        references: The URLs of hosts that are nearly always up, in several networks; without any, the location is
            trusted.
        is_online: False if the last check reached too few of them.
        checked_at: The time at which the last check began.
        is_checking: True during a check.
    """

    references: Sequence[str]
    is_online: bool = True
    checked_at: float = field(default=float("-inf"))
    is_checking: bool = False

    def is_due(self, now: float, *, is_awaited: bool) -> bool:
        """Return True if a check is due."""
        seconds = _SOONEST_SECONDS if is_awaited or not self.is_online else CHECK_SECONDS
        return not self.is_checking and now - self.checked_at >= seconds

    def check(self, reaches: Callable[[str], bool]) -> bool:
        """Return True if enough reference hosts are reached: three, or a majority if there are fewer than five."""
        enough = min(_ENOUGH, len(self.references) // 2 + 1)
        return not self.references or sum(map(reaches, self.references)) >= enough


@dataclass
class Quorum:
    """The verdict by comparison: if a third of the hosts that were up fail together, they most likely share a cause.

    Attributes:
        interval: The length of a round in seconds.
    """

    interval: int
    _recent: deque[tuple[float, str, bool]] = field(default_factory=deque)
    _began_at: float = field(default=float("-inf"))
    _last_at: float = field(default=float("-inf"))

    def add(self, now: float, host: str, *, has_failed: bool) -> None:
        """Record a probe of an endpoint that was reachable."""
        self._recent.append((now, host, has_failed))
        while now - self._recent[0][0] > _QUORUM_SECONDS:
            self._recent.popleft()

    def is_shared(self, now: float) -> bool:
        """Return True if failures have a shared cause. This lasts two rounds, after which they are accepted."""
        recent = list(self._recent)  # a monitor may ask meanwhile
        hosts = {host for _, host, _ in recent}
        failed = {host for _, host, has_failed in recent if has_failed}
        if len(hosts) >= _QUORUM_HOSTS and _QUORUM * len(failed) > len(hosts):
            if now - self._last_at > _SHARED_ROUNDS * self.interval:
                self._began_at = now
            self._last_at = now
        return now - self._began_at < _SHARED_ROUNDS * self.interval
