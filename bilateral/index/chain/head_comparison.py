"""Compare the heads of a chain's endpoints: a stuck node tells its last block for ever, and nothing else is wrong."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from bilateral.core.errors import NODE_FAILURES
from bilateral.index.chain.source import Source
from bilateral.index.errors import EndpointLagsError, EndpointLiesError

LONGEST_LAG: Final = 30
"""The seconds by which an endpoint may lag behind another one. Healthy nodes differ by a few."""

NO_ANSWER: Final = (*NODE_FAILURES, EndpointLiesError)
"""The errors of an endpoint that does not tell its head."""


class HeadComparison:
    """Finds the endpoints that lag behind others of their chain.

    An endpoint lags if it lacks a block that another one has, and that is old: the other one had it at a comparison
    at least `LONGEST_LAG` seconds ago, or its own head is much later by the chain's clock.

    Args:
        clock: The monotonic time, in seconds.

    Attributes:
        compared_at: The time of the comparison whose heads are kept. Those of one that follows too soon are not.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._before: Mapping[Source, int] = {}
        self.compared_at = clock()

    def problems(self, sources: Sequence[Source]) -> dict[Source, Exception]:
        """Ask endpoints for their heads, and compare them."""
        heads: dict[Source, int] = {}
        exceptions: dict[Source, Exception] = {}
        is_old = self._clock() - self.compared_at >= LONGEST_LAG
        for source in sources:
            try:
                heads[source] = source.head()
            except NO_ANSWER as problem:
                exceptions[source] = problem
        before = self._before if is_old else {}
        if is_old or not self._before:  # heads that others replace at once would never become old
            self._before, self.compared_at = heads, self._clock()
        latest = sorted(heads, key=lambda head: heads[head], reverse=True)
        for source in latest:
            for other in latest:
                if heads[other] > heads[source] and _is_old(other, heads[source] + 1, heads[other], before.get(other)):
                    exceptions[source] = EndpointLagsError(source.name, heads[source], other.name, heads[other])
                    break
        return exceptions


def _is_old(source: Source, number: int, head: int, before: int | None) -> bool:
    """Check that an endpoint shows a block, and that the block is not of the last seconds."""
    # `before` is the endpoint's head at a comparison long enough ago.
    # `before` is the endpoint's head at a comparison long enough ago.
    try:
        block, last = (header.block for header in source.headers_of([number, head]))
    except NO_ANSWER:  # it does not have what it tells: a witness for nothing
        return False
    return last.time - block.time > LONGEST_LAG or (before is not None and number <= before)
