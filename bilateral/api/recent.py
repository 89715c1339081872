"""Values of the database that many ask for, read again after a moment, and what accounts did of late."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock
from typing import Final, Generic, TypeVar

T = TypeVar("T")


class Recent(Generic[T]):
    """A value that is read again once it is some seconds old. A read that fails is not kept.

    Args:
        read: Reads the value.
        clock: Tells the time in seconds.
    """

    def __init__(
        self, read: Callable[[], T], seconds: float = 1.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._read = read
        self._seconds = seconds
        self._clock = clock
        self._kept: tuple[float, T] | None = None

    def get(self) -> T:
        """Return the value."""
        stored = self._kept
        if stored is None or self._clock() >= stored[0]:
            value = self._read()
            self._kept = stored = self._clock() + self._seconds, value
        return stored[1]


class HourlyLimit:
    """Limits what accounts do within an hour. Threads may share it; each process counts alone."""

    _HOUR: Final = 3_600.0  # seconds
    _ACCOUNTS: Final = 10_000

    def __init__(self) -> None:
        self._lock = Lock()
        self._times: dict[str, list[float]] = {}

    def add(self, account: str, limit: int) -> bool:
        """Count an act, unless its account has reached the limit, or too many accounts act. Return False then."""
        with self._lock:
            oldest = time.monotonic() - self._HOUR
            if len(self._times) >= self._ACCOUNTS:
                self._times = {key: times for key, times in self._times.items() if times[-1] > oldest}
            recent = [added for added in self._times.get(account, ()) if added > oldest]
            if len(recent) >= limit or len(self._times) >= self._ACCOUNTS:
                return False
            self._times[account] = [*recent, time.monotonic()]
            return True
