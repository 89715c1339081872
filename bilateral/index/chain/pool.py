"""The endpoints of one chain: one is in use, others are spare, and those that fail or return false data are benched."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from sqlalchemy import Engine, select

from bilateral.core.errors import NODE_FAILURES, NodeError, NodeUnreachableError, WrongChainError
from bilateral.index.chain.source import Source
from bilateral.index.errors import EndpointLagsError, EndpointLiesError, EndpointRefusesError, NoEndpointError
from bilateral.index.log import tables as schema
from bilateral.index.log.rows import Row, rows_of

# By the number of consecutive failures: a hiccup is over in a second, an outage takes minutes.
_BENCH_SECONDS: Final = (1.0, 5.0, 30.0, 120.0, 600.0)
_ALONE_SECONDS: Final = 10.0
"""The maximum time in seconds for which the only endpoint is benched, because it has no substitute."""

_LIAR_SECONDS: Final = 3600.0
"""Seconds for which an endpoint that returned false logs is benched, because it seldom recovers sooner."""

_FINALIZED_EVERY: Final = 30.0
"""Seconds between checks for the last finalized block, which changes every few minutes on most chains."""

LONGEST_LAG: Final = 30
"""The number of seconds by which an endpoint may lag behind another. Healthy nodes are only a few seconds apart."""

_NO_ANSWER: Final = (*NODE_FAILURES, EndpointLiesError)
"""The errors of an endpoint that does not report its head."""

_FRESH_SECONDS: Final = 24 * 3600
"""Seconds after which a limit is measured again, because limits depend on the provider's plan and change over time."""

_UNCONFIRMED: Final = "unconfirmed from "
"""The name prefix of an endpoint's second row, which stores `Source.alone_from` in the column `blocks`."""

_NO_LIMIT: Final = (0, None, 0, None)
"""An endpoint's default row: blocks, ceiling, time of measurement, and time when it last lost logs."""

T = TypeVar("T")


class Ahead(Generic[T]):
    """Runs a task in a thread before its result is needed."""

    def __init__(self) -> None:
        self._job: tuple[object, Future[T]] | None = None

    @property
    def is_under_way(self) -> bool:
        """True after `start` was called, until `take` is called."""
        return self._job is not None

    @property
    def is_done(self) -> bool:
        """True if `take` would not wait."""
        return self._job is not None and self._job[1].done()

    def start(self, key: object, work: Callable[[], T]) -> None:
        """Start a task. No other task may be running: `take` must have been called since the last call of `start`."""
        result: Future[T] = Future()

        def run() -> None:
            try:
                result.set_result(work())
            except BaseException as error:  # noqa: BLE001  # `take` raises it
                result.set_exception(error)

        # A daemon thread does not keep the process alive while it waits for a node, unlike an executor's thread.
        threading.Thread(target=run, name="index-ahead", daemon=True).start()
        self._job = key, result

    def take(self, key: object) -> T | None:
        """Wait for the task, and return its result; None if there is no task or it was started with another key."""
        job, self._job = self._job, None
        if job is None:
            return None
        started, result = job
        wait([result])
        return result.result() if started == key else None


class HeadComparison:
    """Finds endpoints that lag behind other endpoints of the same chain.

    An endpoint lags if it lacks an old block that another endpoint has. A block is old if the other endpoint already
    had it in a comparison at least `LONGEST_LAG` seconds ago, or if the block's time is more than `LONGEST_LAG` seconds
    before that of the other endpoint's head.

    Args:
        clock: A function that returns the monotonic time, in seconds.

    Attributes:
        compared_at: The time of the last comparison whose heads were stored. A comparison too soon afterwards does not
            store its heads.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._before: Mapping[Source, int] = {}
        self.compared_at = clock()

    def problems(self, sources: Sequence[Source]) -> dict[Source, Exception]:
        """Request the endpoints' heads, compare them, and return the error for each endpoint that fails or lags."""
        heads: dict[Source, int] = {}
        exceptions: dict[Source, Exception] = {}
        is_old = self._clock() - self.compared_at >= LONGEST_LAG
        for source in sources:
            try:
                heads[source] = source.head()
            except _NO_ANSWER as problem:
                exceptions[source] = problem
        before = self._before if is_old else {}
        if is_old or not self._before:  # heads that are replaced at every comparison would never become old
            self._before, self.compared_at = heads, self._clock()
        latest = sorted(heads, key=lambda head: heads[head], reverse=True)
        for source in latest:
            for other in latest:
                if heads[other] > heads[source] and _is_old(other, heads[source] + 1, heads[other], before.get(other)):
                    exceptions[source] = EndpointLagsError(source.name, heads[source], other.name, heads[other])
                    break
        return exceptions


def _is_old(source: Source, number: int, head: int, before: int | None) -> bool:
    """Check that an endpoint has a block that is more than a few seconds old."""
    # `before` is the head that the endpoint had in a comparison that is old enough.
    try:
        block, last = (header.block for header in source.headers_of([number, head]))
    except _NO_ANSWER:  # the endpoint lacks the blocks that it reports, so it proves nothing
        return False
    return last.time - block.time > LONGEST_LAG or (before is not None and number <= before)


@dataclass
class _Place:
    """An endpoint and its record.

    Attributes:
        source: The chain as the endpoint reports it.
        failures: The number of failures since the last success.
        lies: The number of times that the endpoint contradicted itself or other endpoints.
        until: The monotonic time until which the endpoint is benched.
        problem: The endpoint's last problem.
        is_final: True if the last problem is a permanent rejection.
        head: The last head that the endpoint reported.
        is_checked: True if the endpoint's chain id has been checked.
        is_lagging: True if the endpoint lagged behind another one when they were last compared.
    """

    source: Source
    failures: int = 0
    lies: int = 0
    until: float = 0.0
    problem: str = ""
    is_final: bool = False
    head: int = -1
    is_checked: bool = False
    is_lagging: bool = False


class Pool:
    """The endpoints of one chain.

    Args:
        sources: The endpoints, with the preferred one first.
        report: Called with an endpoint's host and its problem when it is benched.
    """

    def __init__(
        self, chain_id: int, sources: Sequence[Source], report: Callable[[str, str], None] = lambda *_: None
    ) -> None:
        self.chain_id = chain_id
        self.sources = sources
        self.report = report
        self._places = [_Place(source) for source in sources]
        self._finalized: tuple[float, int | None] = (float("-inf"), None)
        self._heads = HeadComparison(time.monotonic)
        self._comparison: Ahead[dict[Source, Exception]] = Ahead()
        self._compared = time.monotonic()

    def choose(self) -> Source:
        """Return the endpoint to use: the first one that is not benched and serves the right chain."""
        for place in self._usable():
            if self._keeps_up(place):
                return place.source
        problems = "; ".join(f"{place.source.name}: {place.problem}" for place in self._places)
        raise NoEndpointError(self.chain_id, problems, is_final=all(place.is_final for place in self._places))

    def usable(self) -> list[Source]:
        """Return the endpoints that are not benched and serve the right chain, with the preferred one first."""
        return [place.source for place in self._usable()]

    def _usable(self, besides: Source | None = None) -> Iterator[_Place]:
        now = time.monotonic()
        for place in self._places:
            if place.source is not besides and place.until <= now and self._is_of_chain(place):
                yield place

    def second(self, source: Source, last: int = -1) -> Source:
        """Return an endpoint for a second check: if possible another one, preferably one that never omitted logs."""
        candidates = sorted(self._usable(besides=source), key=lambda place: place.source.loses_logs)
        return next((place.source for place in candidates if self._reaches(place, last)), source)

    def bench(self, source: Source, problem: Exception) -> None:
        """Stop using an endpoint for a period that grows each time the endpoint is benched."""
        place, now = self._place(source), time.monotonic()
        seconds = _BENCH_SECONDS[min(place.failures, len(_BENCH_SECONDS) - 1)]
        if len(self._places) == 1:
            seconds = min(seconds, _ALONE_SECONDS)
        self.note_lie(source, problem)
        if isinstance(problem, EndpointLiesError):
            place.lies += 1
            if place.lies > 1 and any(other is not place and other.until <= now for other in self._places):
                seconds = _LIAR_SECONDS
        if isinstance(problem, NodeError | EndpointRefusesError):
            seconds = max(seconds, problem.wait_seconds or 0)
        place.failures += 1
        place.problem = str(problem)
        place.is_final = isinstance(problem, EndpointRefusesError | NodeUnreachableError) and problem.is_final
        place.until = now + seconds
        self.report(source.name, place.problem)

    @staticmethod
    def note_lie(source: Source, problem: Exception) -> None:
        """Distrust an endpoint that contradicted itself or other endpoints, but do not bench it."""
        if isinstance(problem, EndpointLiesError) and not problem.may_pass:
            source.distrust()

    def compare_heads(self) -> None:
        """Bench the endpoints that lag behind others. Call this at each step; heads are compared twice a minute."""
        if self._comparison.is_done:
            self._bench_all(self._comparison.take(None))
        now = time.monotonic()
        if now - max(self._compared, self._heads.compared_at) >= LONGEST_LAG and not self._comparison.is_under_way:
            self._compared = now
            usable = self.usable()
            if len(usable) > 1:
                self._comparison.start(None, lambda: self._heads.problems(usable))

    def compare_heads_now(self) -> int:
        """Compare the endpoints now, and bench those that lag behind others. Call this at the chain's apparent end."""
        self._bench_all(self._comparison.take(None))
        usable = self.usable()
        return self._bench_all(self._heads.problems(usable) if len(usable) > 1 else None)

    def head(self, source: Source) -> int:
        """Return the head that an endpoint reports, and store it."""
        place = self._place(source)
        place.head = source.head()
        return place.head

    def release(self) -> None:
        """Make every endpoint usable again for a last attempt."""
        for place in self._places:
            place.until = 0.0

    def succeeded(self, source: Source) -> None:
        """Record that a step with an endpoint succeeded."""
        self._place(source).failures = 0

    def require_chain(self, source: Source) -> None:
        """Check an endpoint's chain id again."""
        if (chain_id := source.chain_id()) != self.chain_id:
            self._place(source).is_checked = False
            raise EndpointLiesError(source.name, f"it is on chain {chain_id} instead of {self.chain_id}", may_pass=True)

    def finalized(self, source: Source) -> int | None:
        """Return the last finalized block's number, cached for half a minute; None if the endpoint reports none."""
        read_at, number = self._finalized
        if time.monotonic() - read_at < _FINALIZED_EVERY:
            return number
        try:
            header = source.header("finalized")
        except Exception:  # noqa: BLE001  # many nodes do not know the tag: it only informs
            header = None
        self._finalized = time.monotonic(), None if header is None else header.block.number
        return self._finalized[1]

    def _place(self, source: Source) -> _Place:
        return next(place for place in self._places if place.source is source)

    def _reaches(self, place: _Place, block: int) -> bool:
        if place.head >= block:
            return True
        try:
            return self.head(place.source) >= block
        except _NO_ANSWER as problem:
            self.bench(place.source, problem)
            return False

    def _bench_all(self, problems: Mapping[Source, Exception] | None) -> int:
        for source, problem in (problems or {}).items():
            self._place(source).is_lagging = isinstance(problem, EndpointLagsError)
            self.bench(source, problem)
        return len(problems or {})

    def _keeps_up(self, place: _Place) -> bool:
        """Check that an endpoint that lagged behind others has caught up, before it is used again."""
        if not place.is_lagging:
            return True
        problem = self._heads.problems(self.usable()).get(place.source)
        place.is_lagging = isinstance(problem, EndpointLagsError)
        if problem is not None:
            self.bench(place.source, problem)
        return problem is None

    def _is_of_chain(self, place: _Place) -> bool:
        if place.is_checked:
            return True
        try:
            if (chain_id := place.source.chain_id()) != self.chain_id:
                raise WrongChainError(self.chain_id, chain_id)  # noqa: TRY301
        except Exception as problem:  # noqa: BLE001  # whatever is wrong with it, the next one may do
            self.bench(place.source, problem)
            return False
        place.is_checked = True
        return True


class Limits:
    """The limits and faults discovered in one chain's endpoints, stored to survive a restart.

    These are an endpoint's maximum number of blocks per request, the time of its last false response, and the first
    block that no other endpoint has confirmed.

    Args:
        sources: The endpoints.
    """

    def __init__(self, engine: Engine, chain_id: int, sources: Sequence[Source]) -> None:
        self._engine = engine
        self._chain_id = chain_id
        self._sources = sources
        limit = schema.endpoint_limit.c
        query = select(limit.endpoint, limit.blocks, limit.ceiling, limit.learnt_at, limit.lost_logs_at)
        with engine.connect() as connection:
            rows = connection.execute(query.where(limit.chain_id == chain_id)).all()
        self._stored: dict[str, Row | None] = {name: tuple(values) for name, *values in rows}
        for source in sources:
            unconfirmed = self._stored.get(_UNCONFIRMED + source.key)
            source.alone_from = None if unconfirmed is None else unconfirmed[0]
            blocks, ceiling, learnt_at, source.lost_logs_at = self._stored.get(source.key) or _NO_LIMIT
            if learnt_at > time.time() - _FRESH_SECONDS:
                source.size.resume(blocks, ceiling)

    def store(self) -> None:
        """Store the changes since the last call."""
        now, new = int(time.time()), dict[str, Row | None]()
        for source in self._sources:
            blocks, ceiling, learnt_at, _ = stored = self._stored.get(source.key) or _NO_LIMIT
            if source.size.was_refused and (blocks, ceiling) != (source.size.blocks, source.size.ceiling):
                blocks, ceiling, learnt_at = source.size.blocks, source.size.ceiling, now
            if (blocks, ceiling, learnt_at, source.lost_logs_at) != stored:
                new[source.key] = blocks, ceiling, learnt_at, source.lost_logs_at
            name = _UNCONFIRMED + source.key
            unconfirmed = self._stored.get(name)
            if source.alone_from != (None if unconfirmed is None else unconfirmed[0]):
                new[name] = None if source.alone_from is None else (source.alone_from, None, now, None)
        if new:
            with self._engine.begin() as connection:
                rows = rows_of(connection)
                changed = [(self._chain_id, name, *row) for name, row in new.items() if row is not None]
                rows.replace(schema.endpoint_limit, changed)
                rows.delete(schema.endpoint_limit, [(self._chain_id, name) for name, row in new.items() if row is None])
            self._stored |= new
