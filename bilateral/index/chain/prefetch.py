"""Reads the next range of blocks in a thread, while the last one is stored."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Generic, TypeVar

T = TypeVar("T")


class Ahead(Generic[T]):
    """Does one piece of work before its result is needed."""

    def __init__(self) -> None:
        self._job: tuple[object, Future[T]] | None = None

    @property
    def is_under_way(self) -> bool:
        """True from `start` to `take`."""
        return self._job is not None

    @property
    def is_done(self) -> bool:
        """True once `take` would not wait."""
        return self._job is not None and self._job[1].done()

    def start(self, key: object, work: Callable[[], T]) -> None:
        """Start some work. None may be under way: `take` was called since the last start."""
        result: Future[T] = Future()

        def run() -> None:
            try:
                result.set_result(work())
            except BaseException as error:  # noqa: BLE001  # `take` raises it
                result.set_exception(error)

        # A process that ends does not wait for a node's answer, as it would for a thread of an executor.
        threading.Thread(target=run, name="index-ahead", daemon=True).start()
        self._job = key, result

    def take(self, key: object) -> T | None:
        """Wait for the work that is under way, and return its result; None if it has another key, or there is none."""
        job, self._job = self._job, None
        if job is None:
            return None
        started, result = job
        wait([result])
        return result.result() if started == key else None
