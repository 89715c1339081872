"""Waiting after temporary failures: a log line for each, and a limit."""

import math
import threading
import time
from collections.abc import Callable
from typing import Final

from bilateral.core.errors import BilateralError

_FIRST_SECONDS: Final = 0.5
"""The first wait in seconds, which doubles: a restarting server is back after a few."""

_MOST_SECONDS: Final = 10.0
"""Seconds of the longest wait: a restart takes a few, and an hour without a response costs nothing."""

_FIRST_GAP: Final = 60.0
"""Seconds until the same line is logged again. The interval doubles, so a failure that lasts a day takes ten lines."""


class Backoff:
    """Waits after consecutive failures, longer each time.

    Args:
        stop: Set to end a wait.
        longest: The seconds after which a failure is raised; None to wait forever.
        report: Called with the text of a failure, unless it was reported recently.
    """

    def __init__(self, stop: threading.Event, longest: float | None, report: Callable[[str], None]) -> None:
        self._stop = stop
        self._longest = math.inf if longest is None else longest
        self._report = report
        self._since: float | None = None
        self._seconds = _FIRST_SECONDS
        self._reported = ""
        self._gap = _FIRST_GAP
        self._report_at = float("-inf")

    def wait(self, problem: BilateralError) -> None:
        """Wait after a failure."""
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        remaining = self._longest - (now - self._since)
        if remaining <= 0:
            raise problem
        self._report_new(str(problem), now)
        self._stop.wait(min(self._seconds, remaining))
        self._seconds = min(2 * self._seconds, _MOST_SECONDS)

    @property
    def is_over(self) -> bool:
        """True if the next failure is raised."""
        return self._since is not None and time.monotonic() - self._since >= self._longest

    def succeeded(self) -> None:
        """Record a success: the next failure counts as the first."""
        self._since, self._seconds = None, _FIRST_SECONDS

    def _report_new(self, text: str, now: float) -> None:
        if text == self._reported and now < self._report_at:
            return
        self._gap = 2 * self._gap if text == self._reported else _FIRST_GAP
        self._reported, self._report_at = text, now + self._gap
        self._report(text)
