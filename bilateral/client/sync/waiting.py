"""Ways to wait that block the calling thread. `bilateral.client.aio.waiting` has the asynchronous ones."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from bilateral.node.steps import Operation

T = TypeVar("T")

Run: TypeAlias = Callable[[Operation[Any]], Any]
"""Runs an operation to its end."""

Lock = threading.Lock
pause = time.sleep


def in_thread(function: Callable[[], T]) -> T:
    """Call a function in the calling thread, which blocks anyway."""
    return function()
