"""Ways to wait that do not block the event loop. `bilateral.client.sync.waiting` has the blocking ones."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from bilateral.node.steps import Operation

Run: TypeAlias = Callable[[Operation[Any]], Awaitable[Any]]
"""Runs an operation to its end."""

Lock = asyncio.Lock
pause = asyncio.sleep
in_thread = asyncio.to_thread
