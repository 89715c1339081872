"""Settings of Python's interpreter that a batch of many objects and two threads needs."""

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_TURN_SECONDS: Final = 0.0005
"""The longest turn of a thread that another one waits for."""

_LOCK: Final = threading.Lock()
_users = 0
_turn_before = 0.0
_was_collecting = False


@contextmanager
def tuned_interpreter() -> Iterator[None]:
    """Pause the garbage collector, and let threads take short turns, while a batch is read, stored or summed up.

    Logs, events, rows and links hold no cycles, so they are freed without the collector. It would take a third of
    the time. The thread that reads ahead computes without a pause. The thread that stores asks the database often,
    and would wait for the end of a turn, 5 ms, after each answer. Several threads may be within at once; the last
    one restores all.
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
