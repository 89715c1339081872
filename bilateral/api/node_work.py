"""Threads for work that asks a node, so that slow nodes hold no thread of other requests."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Final, ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread

from bilateral.api.problems import ProblemError

P = ParamSpec("P")
T = TypeVar("T")

AT_ONCE: Final = 16
"""Requests that may ask a node at once. Twice as many as questions to nodes: half of them are checked without one."""

MOST_UNDER_WAY: Final = 2 * AT_ONCE
"""Requests that run or wait. Each takes seconds if a node is slow, so that more would only time out."""

_RETRY_SECONDS: Final = 5
"""The longest time that a node may take for one question."""


class NodeWork:
    """Runs the work of one room of the service that may ask a node. More work than the limit is refused."""

    def __init__(self) -> None:
        self._limiter = CapacityLimiter(AT_ONCE)
        self._under_way = 0

    async def run(self, work: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """Run work in a thread, and return its result."""
        if self._under_way >= MOST_UNDER_WAY:
            detail = "too many requests wait for a node: try again later"
            headers = {"Retry-After": str(_RETRY_SECONDS)}
            raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, "nodes_busy", detail, headers=headers)
        self._under_way += 1
        try:
            return await to_thread.run_sync(partial(work, *arguments, **options), limiter=self._limiter)
        finally:
            self._under_way -= 1
