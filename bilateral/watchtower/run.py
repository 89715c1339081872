"""A watchtower's loop: one thread decides what to request when, and what a response means.

Requests run in threads, and their results come back through a queue. A result is judged first by the state of this
location, then by comparison with other hosts, and only then by its endpoint's state.
"""

import heapq
import logging
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import count
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeAlias

from bilateral.index.measurements.values import REACHABLE, Outcome
from bilateral.watchtower.clocks import SYSTEM, Clocks, Timekeeper
from bilateral.watchtower.drift import compare, is_unconfirmed
from bilateral.watchtower.endpoints import Endpoint, next_due, phase
from bilateral.watchtower.outcomes import Code, Probe
from bilateral.watchtower.politeness import HOST_SECONDS, Addresses, Host, is_listed, is_permitted
from bilateral.watchtower.requests import Requests
from bilateral.watchtower.store import Result, Store
from bilateral.watchtower.totals import HOUR
from bilateral.watchtower.vantage import Quorum, Vantage

_log = logging.getLogger("bilateral.watchtower")

THREADS: Final = 200
_PER_SECOND: Final = 20
_SECOND: Final = 1.001
"""The time within which the permitted number of requests begin: a little over a second, as times are rounded."""

_DEEP_SECONDS: Final = 6 * HOUR
_RETRY_SECONDS: Final = (30.0, 60.0)
"""The minimum delay before a retry, and the maximum added to it: an early retry would meet the same trouble."""

_FIRST_PER_SECOND: Final = 10
"""The number of new endpoints per second that have their first turn: a short list is finished immediately."""

_LONGEST_WAIT: Final = 2.0
_MOST_PENDING: Final = 500
"""The number of results waiting for the writer above which no probe begins."""

_REQUESTS_EACH: Final = 2
"""The number of requests per probe, including retries, on a host with many endpoints."""


_Course: TypeAlias = Generator[Callable[[], Any], Any, None]


@dataclass(frozen=True)
class WatchSettings:
    """A run's settings.

    Attributes:
        vantage: The name of the location.
        interval: The number of seconds from one probe of an endpoint to the next.
        references: See `Vantage`.
        opted_out: The operator's list of those who opted out of being measured: URLs, hosts and domains.
    """

    vantage: str = "main"
    interval: int = 900
    references: Sequence[str] = ()
    opted_out: Callable[[], Sequence[str]] = tuple


class Watchtower:
    """A running watchtower.

    Attributes:
        is_outdated: True if the endpoints in the database have changed since.
        published: The number of transactions that `publish` has sent.
        round_seconds: The time between the first and last results of the last complete round.

    Args:
        store: Its database.
        settings: The run's settings.
        requests: The sender of requests to hosts.
        executor: The threads for requests.
        clocks: The system's clocks.
    """

    def __init__(
        self, store: Store, settings: WatchSettings, requests: Requests, executor: Executor, clocks: Clocks = SYSTEM
    ) -> None:
        self.store, self.settings, self._requests, self._executor = store, settings, requests, executor
        self.time = Timekeeper(clocks, store.last_stamp())
        self.vantage, self.quorum = Vantage(settings.references), Quorum(settings.interval)
        self.endpoints: dict[int, Endpoint] = {}
        self.hosts: dict[str, Host] = {}
        self.pending: deque[Result] = deque()
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.late: deque[float] = deque(maxlen=10_000)
        self.published, self.round_seconds = 0, 0.0
        self._turn, self._turn_at, self._result_at = 0, 0.0, 0.0
        self._addresses = Addresses()
        self._done: SimpleQueue[tuple[Future[Any], Callable[[Any], None]]] = SimpleQueue()
        self._ready: list[tuple[float, int, Host]] = []
        self._failures: list[tuple[float, Endpoint, Probe]] = []
        self._order = count()
        self._in_flight = self._stalls = 0
        self._starts: deque[float] = deque(maxlen=_PER_SECOND)
        self.refresh()

    def refresh(self) -> None:
        """Load the currently listed endpoints. Those that became due while this was not running are due now."""
        self.is_outdated = False
        listed, stored = self.store.endpoints(), self.store.hosts()
        loads: dict[str, float] = defaultdict(float)
        for entry in listed:
            loads[entry.target.host] += 1 / entry.condition.rounds_to_next(self.time.wall, self.settings.interval)
        room = self.settings.interval / (HOST_SECONDS * _REQUESTS_EACH)
        for name, load in loads.items():
            if name not in self.hosts:
                self.hosts[name] = Host.of(name, stored.get(name), self.time)
            self.hosts[name].rounds = max(1, -int(-load // room))
        unprobed = sum(entry.condition.round is None for entry in listed)
        running, self.endpoints = self.endpoints, {}
        for entry in listed:
            self.endpoints[entry.number] = running.get(entry.number, entry)
            if entry.number in running:
                running[entry.number].target = entry.target
            else:
                self._add(entry, unprobed)

    def step(self) -> float:
        """Do what is due, and return the seconds until something may be due again."""
        self._stalls += self.time.tick()
        if self.is_outdated:
            self.refresh()
        while not self._done.empty():
            self._take(*self._done.get())
        self._check()
        self._judge()
        self._start()
        soonest = max(self._next_start(), self._ready[0][0]) if self._ready else float("inf")
        return min(_LONGEST_WAIT, max(0.0, soonest - self.time.now))

    @property
    def is_complete(self) -> bool:
        """True if every endpoint has been probed."""
        return all(entry.condition.round is not None or entry.failed is not None for entry in self.endpoints.values())

    @property
    def waiting(self) -> int:
        """The endpoints that are due and not probed yet."""
        return sum(due <= self.time.now for host in list(self.hosts.values()) for due, _, _ in list(host.waiting))

    @property
    def lag(self) -> float:
        """The number of seconds for which the first of them has been due."""
        first = (waiting[0][0] for host in list(self.hosts.values()) if (waiting := list(host.waiting)))
        return max(0.0, self.time.now - min(first, default=self.time.now))

    def wait(self, seconds: float) -> None:
        """Wait for a result for at most the given number of seconds."""
        try:
            done = self._done.get(timeout=max(seconds, 0.001))
        except Empty:
            return
        self._stalls += self.time.tick()
        self._take(*done)

    def _submit(self, take: Callable[[Any], None], job: Callable[[], Any]) -> None:
        self._executor.submit(job).add_done_callback(lambda future: self._done.put((future, take)))

    def _take(self, future: Future[Any], take: Callable[[Any], None]) -> None:
        if (problem := future.exception()) is not None:  # a fault of ours counts against nobody, and ends no run
            _log.error("a request failed: %r", problem)
        take(None if problem is not None else future.result())

    # The vantage

    def _check(self) -> None:
        if not self.vantage.is_due(self.time.now, is_awaited=bool(self._failures)):
            return
        self.vantage.is_checking = True
        take = partial(self._checked, self.time.now, self._stalls)
        self._submit(take, partial(self.vantage.check, self._requests.reaches))

    def _checked(self, began_at: float, stalls: int, is_online: bool | None) -> None:
        self.vantage.is_checking = False
        if is_online is None or (not is_online and stalls != self._stalls):
            return
        if is_online is not self.vantage.is_online:
            _log.warning("vantage=%s online=%s", self.settings.vantage, is_online)
        self.vantage.checked_at, self.vantage.is_online = began_at, is_online

    def _judge(self) -> None:
        """Accept failures, unless this location or a shared cause explains them. They wait for a newer check."""
        judged = [entry for entry in self._failures if entry[0] <= self.vantage.checked_at]
        if not judged:
            return
        self._failures = [entry for entry in self._failures if entry[0] > self.vantage.checked_at]
        is_shared = self.quorum.is_shared(self.time.now)
        excuse = Code.SHARED_CAUSE if self.vantage.is_online else Code.VANTAGE
        for _, endpoint, probe in judged:
            if is_shared or not self.vantage.is_online:
                self._conclude(endpoint, _unmeasured(excuse))
            else:
                self._conclude(endpoint, probe, attempts=1 if endpoint.failed is None else 2)

    # Turns

    def _start(self) -> None:
        """Begin the probes that are due, as far as threads, the writer and politeness permit."""
        now = self.time.now
        while self._ready and max(self._ready[0][0], self._next_start()) <= now and self._has_room():
            ready_at, _, host = heapq.heappop(self._ready)
            if ready_at == host.ready_at:  # otherwise it had an earlier turn
                host.ready_at = float("inf")
                while self._has_turn(host) and self._has_room():
                    due, _, endpoint = heapq.heappop(host.waiting)
                    if (due, endpoint) == (endpoint.due, self.endpoints.get(endpoint.number)):  # it is listed still
                        self._ask(endpoint)
                self._make_ready(host)

    def _next_start(self) -> float:
        return self._starts[0] + _SECOND if len(self._starts) == _PER_SECOND else 0.0

    def _has_turn(self, host: Host) -> bool:
        is_due = host.waiting and max(host.free_at, host.waiting[0][0]) <= self.time.now
        return bool(is_due) and not host.is_busy

    def _has_room(self) -> bool:
        return self._in_flight < THREADS and len(self.pending) < _MOST_PENDING

    def _queue(self, endpoint: Endpoint, due: float) -> None:
        endpoint.due = due
        heapq.heappush(endpoint.host.waiting, (due, next(self._order), endpoint))
        self._make_ready(endpoint.host)

    def _make_ready(self, host: Host) -> None:
        """Schedule a host's next turn: when it may receive requests again, and has an endpoint that is due."""
        if host.waiting and not host.is_busy and (turn := max(host.free_at, host.waiting[0][0])) < host.ready_at:
            host.ready_at = turn
            heapq.heappush(self._ready, (turn, next(self._order), host))

    def _excuse(self, endpoint: Endpoint) -> Code | None:
        """Return why an endpoint is not probed now; None if it may be."""
        host, url = endpoint.host, endpoint.target.url
        if not self.vantage.is_online:
            return Code.VANTAGE
        if is_listed(url, self.settings.opted_out()) or not is_permitted(host.robots, url):
            return Code.OPTED_OUT
        if host.closed_until > self.time.now:
            return Code.RATE_LIMITED
        return Code.SAMPLED_OUT if self.time.now - endpoint.due > self.settings.interval else None

    def _ask(self, endpoint: Endpoint) -> None:
        """Probe an endpoint that is due, unless there is a reason not to."""
        if (code := self._excuse(endpoint)) is not None:
            self._conclude(endpoint, _unmeasured(code))
            return
        endpoint.host.is_busy = True
        self._in_flight += 1
        self._starts.append(self.time.now)
        self._advance(self._course(endpoint), None)

    def _advance(self, course: _Course, answer: Any) -> None:
        """Pass a course the result of its request, and let a thread make the next request."""
        try:
            job = course.send(answer)
        except StopIteration:
            return
        stalls = self._stalls
        self._submit(lambda answer: self._advance(course, (answer, stalls != self._stalls)), job)

    def _release(self, host: Host, requests: int) -> None:
        self._in_flight -= 1
        host.is_busy = False
        host.free_at = self.time.now + HOST_SECONDS * requests
        self._make_ready(host)

    def _course(self, endpoint: Endpoint) -> _Course:
        """Wait for the address's turn, and request the robots.txt or the endpoint.

        Yields:
            The requests, for threads. They return the response, or None after a fault on our side, and whether the
            process was suspended during the request.
        """
        host, target, condition = endpoint.host, endpoint.target, endpoint.condition
        address, _ = yield partial(self._requests.address, target.url, is_retry=endpoint.failed is not None)
        now = self.time.now
        latest = now + self.settings.interval
        turn = now if address is None else self._addresses.turn(address, now, latest, is_reserved=endpoint.has_turn)
        endpoint.has_turn = turn > now
        if turn > latest:
            self._release(host, 0)
            self._conclude(endpoint, _unmeasured(Code.SAMPLED_OUT))
        elif turn > now:
            self._release(host, 0)
            self._queue(endpoint, turn)
        elif host.needs_robots(now):
            robots, is_stalled = yield partial(self._requests.robots, target)
            host.note_robots(robots, self.time.now, is_stalled=is_stalled)
            self._release(host, 1)
            self._queue(endpoint, endpoint.due)
        else:
            self.late.append(now - endpoint.due)
            is_deep = condition.deep_at is None or not 0 <= self.time.wall - condition.deep_at < _DEEP_SECONDS
            probe, is_stalled = yield partial(self._requests.probe, target, is_deep=is_deep, previous=condition.facts)
            probe = probe or _unmeasured(Code.STALLED)
            self._release(host, max(probe.requests, 1))
            if is_stalled:
                is_excused = probe.outcome not in REACHABLE
                probe = _unmeasured(Code.STALLED) if is_excused else replace(probe, milliseconds=None)
            self._take_probe(endpoint, probe, is_deep=is_deep)

    # Probes

    def _take_probe(self, endpoint: Endpoint, probe: Probe, *, is_deep: bool) -> None:
        """Accept a success. A failure is retried, or waits for a verdict on this location."""
        now, host = self.time.now, endpoint.host
        host.note(probe, now)
        has_failed = probe.outcome is Outcome.DOWN
        if endpoint.condition.state in REACHABLE and probe.outcome is not Outcome.UNKNOWN:
            self.quorum.add(now, host.name, has_failed=has_failed)
        if has_failed and endpoint.may_retry:
            endpoint.failed = probe
            least, more = _RETRY_SECONDS
            self._queue(endpoint, now + least + phase(endpoint.target.endpoint_id, more))
        elif has_failed:
            self._failures.append((now, endpoint, probe))
        else:
            self._conclude(endpoint, probe, is_deep=is_deep)

    def _conclude(self, endpoint: Endpoint, probe: Probe, *, is_deep: bool = False, attempts: int = 1) -> None:
        """End an endpoint's round: store its result, and schedule its next turn."""
        at, interval, condition = int(self.time.wall), self.settings.interval, endpoint.condition
        key, turn = endpoint.target.endpoint_id, int(condition.next_at // interval) * interval
        change = condition.observe(key, probe.outcome, probe.code, at, attempts)
        changes = [] if change is None else [change]
        elapsed = 0 if condition.round is None else (turn - condition.round) // (condition.rounds * interval)
        condition.round = turn
        endpoint.was_retried, endpoint.failed, endpoint.has_turn = endpoint.failed is not None, None, False
        # Also of an endpoint that is not reached: how many challenges it sent in a row.
        condition.facts = {**condition.facts, **probe.facts}
        if probe.outcome in REACHABLE:
            condition.milliseconds = probe.milliseconds
            if is_deep:
                condition.drift, drifts = compare(key, condition.drift, probe.facts, at)
                condition.deep_at = None if is_unconfirmed(condition.drift) else at
                changes += drifts
            elif change is not None:
                condition.deep_at = None
        if probe.outcome is not Outcome.UNKNOWN:
            condition.probed_at = at
        self._schedule(endpoint, at, is_sampled=probe.code is Code.SAMPLED_OUT)
        stored = (self.settings.vantage, probe.outcome, str(probe.code), probe.milliseconds, at, max(1, elapsed))
        host = endpoint.host.changed_row(self.time)
        self.pending.append(Result(endpoint.number, turn, *stored, replace(condition), changes, host))
        self.outcomes[str(endpoint.target.protocol), str(probe.outcome)] += 1
        if turn > self._turn:
            self.round_seconds = self._result_at - self._turn_at
            self._turn, self._turn_at = turn, self.time.now
        self._result_at = self.time.now

    def _schedule(self, endpoint: Endpoint, at: int, *, is_sampled: bool = False) -> None:
        """Schedule an endpoint's next turn. If there was no room, it gets a different time, so that all have a turn."""
        interval, key, condition = self.settings.interval, endpoint.target.endpoint_id, endpoint.condition
        rounds = condition.rounds_to_next(at, interval, is_active=endpoint.target.is_active)
        condition.rounds = max(rounds, endpoint.host.rounds)
        seconds = condition.rounds * interval
        if is_sampled:
            seed = sha256(key + at.to_bytes(8)).digest()
            due = self.time.wall + interval / 2 + phase(seed, seconds)
        else:
            due = next_due(key, self.time.wall, seconds)
        if int(due // interval) * interval == condition.round:
            due += seconds
        condition.next_at = due
        self._queue(endpoint, self.time.now + due - self.time.wall)

    def _add(self, endpoint: Endpoint, unprobed: int) -> None:
        """Load an endpoint from the database. Missed turns are due now, in order; none is far ahead."""
        host = endpoint.host = self.hosts[endpoint.target.host]
        condition, interval, wall = endpoint.condition, self.settings.interval, self.time.wall
        planned = condition.next_at or wall
        if condition.round is None:
            first = min(interval, unprobed / _FIRST_PER_SECOND) if host.rounds == 1 else host.rounds * interval
            condition.next_at = wall + phase(endpoint.target.endpoint_id, first)
        else:
            condition.next_at = min(max(planned, wall), wall + condition.rounds * interval)
        missed = max(0.0, wall - planned)
        self._queue(endpoint, self.time.now + condition.next_at - wall - interval / 2 * missed / (missed + interval))


def _unmeasured(code: Code) -> Probe:
    return Probe(Outcome.UNKNOWN, code)
