"""Wait after temporary failures, log each of them, and give up after a limit."""

import math
import threading
import time
from collections.abc import Callable
from typing import Final

from bilateral.core.errors import BilateralError

_FIRST_SECONDS: Final = 0.5
"""The first wait in seconds, which later waits double. A restarting server is back after a few seconds."""

_MOST_SECONDS: Final = 10.0
"""The longest wait in seconds: short enough to notice a recovery soon, but cheap in an outage."""

_FIRST_GAP: Final = 60.0
"""Seconds until the same message is logged again. The interval doubles, so a day-long failure logs ten lines."""


class Backoff:
    """Waits after each of several consecutive failures. The waits double, up to a maximum.

    Args:
        stop: An event that ends a wait when it is set.
        longest: The number of seconds after which continued failure is raised as an exception; None to wait forever.
        report: Called with a failure's message, unless the same message was reported recently.
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
        """True if the next failure will be raised as an exception."""
        return self._since is not None and time.monotonic() - self._since >= self._longest

    def succeeded(self) -> None:
        """Record a success, so that the next failure is treated as the first."""
        self._since, self._seconds = None, _FIRST_SECONDS

    def _report_new(self, text: str, now: float) -> None:
        if text == self._reported and now < self._report_at:
            return
        self._gap = 2 * self._gap if text == self._reported else _FIRST_GAP
        self._reported, self._report_at = text, now + self._gap
        self._report(text)
