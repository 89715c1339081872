"""Python's garbage collector, which finds no cycles among the many objects of a batch."""

from __future__ import annotations

import gc
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOCK: Final = threading.Lock()
_paused = 0


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the garbage collector while a batch is read and stored.

    Logs, events and rows hold no cycles, so they are freed without it. It would take a third of the time. Several
    threads may be within at once; the collector goes on after the last one.
    """
    global _paused  # noqa: PLW0603  # one collector a process
    with _LOCK:
        _paused += 1
        was_enabled = gc.isenabled() or _paused > 1
        gc.disable()
    try:
        yield
    finally:
        with _LOCK:
            _paused -= 1
            if not _paused and was_enabled:
                gc.enable()
