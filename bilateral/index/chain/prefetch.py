"""Reads the next range of blocks in a thread, while the last one is stored."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


@dataclass
class _Job(Generic[T]):
    """Work that a thread does.

    Attributes:
        key: Its name.
        result: Its result, once the thread has ended without an error.
        error: The error that ended it.
    """

    key: object
    thread: threading.Thread | None = None
    result: T | None = None
    error: Exception | None = None


class Ahead(Generic[T]):
    """Does one piece of work ahead of the time when its result is wanted."""

    def __init__(self) -> None:
        self._job: _Job[T] | None = None

    @property
    def is_under_way(self) -> bool:
        """True from `start` to `take`."""
        return self._job is not None

    @property
    def is_done(self) -> bool:
        """True once `take` would not wait."""
        return self._job is not None and self._job.thread is not None and not self._job.thread.is_alive()

    def start(self, key: object, work: Callable[[], T]) -> None:
        """Start some work. None may be under way: `take` was called since the last start.

        Args:
            key: Its name.
            work: The work. It shares nothing with its caller until `take` returns.
        """
        job: _Job[T] = _Job(key)

        def run() -> None:
            try:
                job.result = work()
            except Exception as error:  # noqa: BLE001  # `take` raises it
                job.error = error

        # A process that ends does not wait for a node's answer.
        job.thread = threading.Thread(target=run, name="index-ahead", daemon=True)
        job.thread.start()
        self._job = job

    def take(self, key: object) -> T | None:
        """Wait for the work that is under way.

        Args:
            key: The name of the wanted work. The result of other work is dropped.

        Returns:
            The result; None if the work was not started.

        Raises:
            Exception: The error that the wanted work met.
        """
        job, self._job = self._job, None
        if job is None or job.thread is None:
            return None
        job.thread.join()
        if job.key != key:
            return None
        if job.error is not None:
            raise job.error
        return job.result
