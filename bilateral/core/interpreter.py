"""Python interpreter settings for batches that create many objects and use two threads."""

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_TURN_SECONDS: Final = 0.0005
"""The longest time slice of a thread, in seconds, while another thread is waiting."""

_LOCK: Final = threading.Lock()
_users = 0
_turn_before = 0.0
_was_collecting = False


@contextmanager
def tuned_interpreter() -> Iterator[None]:
    """Pause the garbage collector and shorten threads' time slices while a batch is read, stored or aggregated.

    Logs, events, rows and links have no reference cycles, so they are freed without the collector, which would take a
    third of the running time. Time slices are shortened because one thread computes continuously while another often
    queries the database. With the default slices, the second thread would wait up to 5 ms after each query. Several
    threads may use these settings at the same time; the last to finish restores the previous settings.
    """
    global _users, _turn_before, _was_collecting  # noqa: PLW0603  # one interpreter a process
    with _LOCK:
        if not _users:
            _turn_before, _was_collecting = sys.getswitchinterval(), gc.isenabled()
            sys.setswitchinterval(_TURN_SECONDS)
            gc.disable()
        _users += 1
    try:
        yield
    finally:
        with _LOCK:
            _users -= 1
            if not _users:
                sys.setswitchinterval(_turn_before)
                if _was_collecting:
                    gc.enable()
