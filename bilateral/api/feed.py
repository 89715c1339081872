"""Wait for new steps in the change feed, on behalf of long polls and streams."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final, Protocol

from bilateral.api.answers import ProblemError
from bilateral.index.changes.queries import FeedFilter, FeedPage, last_step, read_feed

LOOK_SECONDS: Final = 0.5
"""The number of seconds between two polls for a new step. All waiting requests in a process share one poll."""

MOST_WAITING: Final = 500
"""The maximum number of long polls and streams per process. They need no database connection while they wait."""

MOST_OF_ADDRESS: Final = 10
"""The maximum number of long polls and streams per address, which suffices for a browser and a few programs."""

_READS: Final = 20
"""The number of reads without a match after which a response ends. The caller can continue from its cursor."""


class Reading(Protocol):
    """The functions of a service through which the feed reads the database."""

    async def read_aside(self, query: Any, *arguments: Any) -> Any:
        """Run a query in a thread."""

    async def read_briefly(self, query: Any, *arguments: Any) -> Any:
        """Run a query that reads few rows."""


class Feed:
    """The feed of changes to the index, for routes."""

    def __init__(self, service: Reading) -> None:
        self._service = service
        self._waiting: Counter[str] = Counter()
        self._lock = asyncio.Lock()
        self._last = 0
        self._read_at = float("-inf")

    @contextmanager
    def place(self, address: str) -> Iterator[None]:
        """Count a request as waiting while the context is open. Reject it if too many are waiting."""
        for count, most, whose in (
            (self._waiting[address], MOST_OF_ADDRESS, "this address"),
            (self._waiting.total(), MOST_WAITING, "the service"),
        ):
            if count >= most:
                detail = f"{whose} has {count} requests waiting for changes, but at most {most} are allowed: close one"
                headers = {"Retry-After": "10"}
                raise ProblemError(HTTPStatus.TOO_MANY_REQUESTS, "too_many_waiting", detail, headers=headers)
        self._waiting[address] += 1
        try:
            yield
        finally:
            self._waiting[address] -= 1
            if not self._waiting[address]:
                del self._waiting[address]

    async def last(self) -> int:
        """Return the number of the feed's last step, which may be slightly outdated."""
        async with self._lock:
            # Shorter than the pause between polls. Otherwise, jitter would make every other poll return old data.
            if time.monotonic() - self._read_at > LOOK_SECONDS * 0.8:
                self._last = await self._service.read_briefly(last_step)
                self._read_at = time.monotonic()
        return self._last

    async def read(self, since: str, chosen: FeedFilter, limit: int) -> FeedPage:
        """Return the next changes that match a filter; none at the end of the feed or if many do not match."""
        for _ in range(_READS):
            page: FeedPage = await self._service.read_aside(read_feed, since, chosen, limit)
            if page.items or page.is_end:
                break
            since = page.cursor
        return page

    async def wait(self, since: str, chosen: FeedFilter, limit: int, seconds: float) -> FeedPage:
        """Return the next changes that match a filter. If there are none, wait for up to `seconds`."""
        deadline = time.monotonic() + seconds
        while True:
            page = await self.read(since, chosen, limit)
            if page.items or not page.is_end:
                return page
            since, read = page.cursor, int(page.cursor.partition(".")[0])
            while await self.last() <= read:
                if time.monotonic() >= deadline:
                    return page
                await asyncio.sleep(min(LOOK_SECONDS, max(0.0, deadline - time.monotonic())))
            if time.monotonic() >= deadline:
                return page
