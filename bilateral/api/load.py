"""Limit the load on databases and nodes, with cached values, account quotas, a search queue, and node limits."""

import asyncio
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from http import HTTPStatus
from threading import Lock
from typing import Final, Generic, ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bilateral.api.answers import ProblemError, answer_to

T = TypeVar("T")


class Recent(Generic[T]):
    """A cached value that expires after a few seconds. Failed reads are not cached.

    Args:
        read: Reads the value.
        clock: Returns the time in seconds.
    """

    def __init__(
        self, read: Callable[[], T], seconds: float = 1.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._read = read
        self._seconds = seconds
        self._clock = clock
        self._stored: tuple[float, T] | None = None

    def get(self) -> T:
        """Return the value, which is read again if it has expired."""
        stored = self._stored
        if stored is None or self._clock() >= stored[0]:
            value = self._read()
            self._stored = stored = self._clock() + self._seconds, value
        return stored[1]


class HourlyLimit:
    """Limits the number of each account's actions per hour. Thread-safe; each process counts separately."""

    _HOUR: Final = 3_600.0  # seconds
    _ACCOUNTS: Final = 10_000

    def __init__(self) -> None:
        self._lock = Lock()
        self._times: dict[str, list[float]] = {}

    def add(self, account: str, limit: int) -> bool:
        """Count an account's action. Return False if its limit is reached or too many accounts are active."""
        with self._lock:
            oldest = time.monotonic() - self._HOUR
            if len(self._times) >= self._ACCOUNTS:
                self._times = {key: times for key, times in self._times.items() if times[-1] > oldest}
            recent = [added for added in self._times.get(account, ()) if added > oldest]
            if len(recent) >= limit or len(self._times) >= self._ACCOUNTS:
                return False
            self._times[account] = [*recent, time.monotonic()]
            return True


P = ParamSpec("P")

AT_ONCE: Final = 16
"""The maximum number of concurrent requests that may use a node: twice the number of queries, as half need none."""

MOST_UNDER_WAY: Final = 2 * AT_ONCE
"""The maximum number of running and waiting requests. On slow nodes, additional requests would time out."""

_RETRY_SECONDS: Final = 5
"""Seconds after which a rejected client should retry."""


class NodeWork:
    """Runs one kind of work that may query a node. Excess work is rejected."""

    def __init__(self) -> None:
        self._limiter = CapacityLimiter(AT_ONCE)
        self._under_way = 0

    async def run(self, work: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """Run work in a thread, and return its result."""
        if self._under_way >= MOST_UNDER_WAY:
            detail = "too many requests are waiting for a node: try again later"
            headers = {"Retry-After": str(_RETRY_SECONDS)}
            raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, "nodes_busy", detail, headers=headers)
        self._under_way += 1
        try:
            return await to_thread.run_sync(partial(work, *arguments, **options), limiter=self._limiter)
        finally:
            self._under_way -= 1


SEARCHES: Final = ("/graphql", "/search", "/api/search", "/api/v1/search", "/v1/search/", "/v1/leaders", "/v1/checks/")
"""The prefixes of the paths on which requests may read many rows."""

WAITING: Final = 8
"""The number of searches that may wait per running search. Any more would wait longer than `_WAIT_SECONDS`."""

_WAIT_SECONDS: Final = 1.0
"""The longest wait of a search, in seconds. With the default query limit of 1.8 seconds, clients wait under three."""


class SearchQueue:
    """Runs a few searches at a time, and rejects those that would have to wait too long. Other requests pass through.

    Args:
        at_once: The number of searches that run concurrently.
    """

    def __init__(self, app: ASGIApp, at_once: int) -> None:
        self._app = app
        self._turns = asyncio.Semaphore(at_once)
        self._most = at_once * (1 + WAITING)
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on when its turn comes."""
        if scope["type"] != "http" or not scope["path"].startswith(SEARCHES):
            await self._app(scope, receive, send)
            return
        with ExitStack() as turn:
            if not await self._took_turn(turn):
                detail = "too many searches are under way: try again in a second"
                problem = ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, "busy", detail, headers={"Retry-After": "1"})
                await answer_to(scope["path"], problem)(scope, receive, send)
                return

            async def send_after_turn(message: Message) -> None:
                turn.close()  # a client that reads slowly must not delay other searches
                await send(message)

            await self._app(scope, receive, send_after_turn)

    async def _took_turn(self, turn: ExitStack) -> bool:
        if self._under_way >= self._most:
            return False
        self._under_way += 1
        turn.callback(self._leave)
        try:
            async with asyncio.timeout(_WAIT_SECONDS):
                await self._turns.acquire()
        except TimeoutError:
            return False
        turn.callback(self._turns.release)
        return True

    def _leave(self) -> None:
        self._under_way -= 1
