"""Values of the database that many ask for, read again after a moment."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Recent(Generic[T]):
    """A value that is read again once it is some seconds old. A read that fails is not kept.

    Args:
        read: Reads the value.
        seconds: The seconds.
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
        kept = self._kept
        if kept is None or self._clock() >= kept[0]:
            value = self._read()
            self._kept = kept = self._clock() + self._seconds, value
        return kept[1]
