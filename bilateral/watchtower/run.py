"""A watchtower's loop: one thread decides what to request when, and what a response means.

Requests run in threads, and their results come back through a queue. A result is judged first by the state of this
location, then by comparison with other hosts, and only then by its endpoint's state.
"""

import heapq
import logging
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import count
from queue import Empty, SimpleQueue
from typing import Any, Final

from bilateral.index.measurements.values import REACHABLE, Outcome
from bilateral.watchtower.endpoints import Endpoint, next_due, phase
from bilateral.watchtower.outcomes import HOUR, Code, Probe
from bilateral.watchtower.politeness import Addresses, Host, Requests, Turns, is_permitted
from bilateral.watchtower.store import Result, Store
from bilateral.watchtower.vantage import SYSTEM, Clocks, Timekeeper, Vantage

_log = logging.getLogger("bilateral.watchtower")

THREADS: Final = 200
_PER_SECOND: Final = 20
_SECOND: Final = 1.001
"""The window in which `_PER_SECOND` requests may start: slightly over a second, because times are rounded."""

_DEEP_SECONDS: Final = 6 * HOUR
RETRY_SECONDS: Final = (30.0, 60.0)
"""The minimum delay before a retry, and the maximum that is added to it. An earlier retry would likely fail again."""

_FIRST_PER_SECOND: Final = 10
"""The number of new endpoints that have their first turn each second, so that a short list is finished quickly."""

_LONGEST_WAIT: Final = 2.0
_MOST_PENDING: Final = 500
"""The number of results waiting to be stored at which no new probe starts."""

_REQUESTS_EACH: Final = 2
"""The expected number of requests per probe, including retries, on a host with many endpoints."""


@dataclass(frozen=True)
class WatchSettings:
    """A run's settings.

    Attributes:
        vantage: The name of the location.
        interval: The number of seconds from one probe of an endpoint to the next.
        references: See `Vantage`.
        opted_out: Returns whether the owner of a URL asked the operator not to be measured.
    """

    vantage: str = "main"
    interval: int = 900
    references: Sequence[str] = ()
    opted_out: Callable[[str], bool] = lambda _: False


class Watchtower:
    """A running watchtower.

    Attributes:
        round_seconds: The time between the first and the last result of the last complete round.

    Args:
        store: The watchtower's database.
        settings: The run's settings.
        requests: The sender of requests to hosts.
        executor: The threads for requests.
        clocks: The clocks; by default, the system's.
    """

    def __init__(
        self, store: Store, settings: WatchSettings, requests: Requests, executor: Executor, clocks: Clocks = SYSTEM
    ) -> None:
        self.store, self.settings, self._requests, self._executor = store, settings, requests, executor
        self.time = Timekeeper(clocks, store.last_stamp())
        self.vantage = Vantage(settings.references, settings.interval)
        self.endpoints: dict[int, Endpoint] = {}
        self.hosts: dict[str, Host] = {}
        self.pending: deque[Result] = deque()
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self._addresses: dict[str, Turns] = {}
        self._done: SimpleQueue[tuple[Future[Any], Callable[[Any], None]]] = SimpleQueue()
        self._ready: list[tuple[float, int, Turns]] = []
        self._failures: deque[tuple[float, Endpoint, Probe]] = deque()
        self._order = count()
        self._in_flight = self._stalls = 0
        self.round_seconds = self._result_at = self._round_at = 0.0
        self._round = 0
        self._starts: deque[float] = deque(maxlen=_PER_SECOND)
        self.refresh()

    def refresh(self) -> None:
        """Load the currently listed endpoints. Those that became due while no watchtower was running are due now."""
        self._updates = self.store.updates
        listed, stored = self.store.endpoints(), self.store.hosts()
        loads: dict[str, float] = defaultdict(float)
        for entry in listed:
            loads[entry.target.host] += 1 / entry.condition.rounds_to_next(self.time.wall, self.settings.interval)
        room = self.settings.interval / (Host.seconds * _REQUESTS_EACH)
        for name, load in loads.items():
            host = self.hosts.setdefault(name, Host(name=name, **stored.get(name, {})))
            host.rounds = max(1, -int(-load // room))
        unprobed = sum(entry.condition.round is None for entry in listed)
        now, running, self.endpoints = self.time.now, self.endpoints, {}
        self._addresses = {key: turns for key, turns in self._addresses.items() if turns.waiting or turns.free_at > now}
        for entry in listed:
            current = self.endpoints[entry.number] = running.get(entry.number, entry)
            current.target = entry.target
            if current is entry:
                self._add(entry, unprobed)

    def step(self) -> float:
        """Do what is due, and return the seconds until something may be due again."""
        self._stalls += self.time.tick()
        if self._updates != self.store.updates:
            self.refresh()
        while not self._done.empty():
            self._take(*self._done.get())
        if self.vantage.is_due(self.time.now, is_awaited=bool(self._failures)):
            self.vantage.is_checking = True
            check = partial(self.vantage.check, self._requests.reaches)
            self._submit(check, partial(self._checked, self.time.now, self._stalls))
        self._judge()
        self._start()
        return min(_LONGEST_WAIT, max(0.0, self._next_turn() - self.time.now))

    def wait(self, seconds: float) -> None:
        """Wait for at most the given number of seconds until there is a result for the next step."""
        with suppress(Empty):
            self._done.put(self._done.get(timeout=max(seconds, 0.001)))

    def save(self) -> None:
        """Store the pending results, and delete old rows. If this fails, the results stay pending."""
        if batch := [self.pending[at] for at in range(len(self.pending))]:
            self.store.save(batch)
        for _ in batch:
            self.pending.popleft()
        self.store.prune(self.time.earliest)

    @property
    def is_complete(self) -> bool:
        """True if every endpoint has been probed."""
        return all(entry.condition.round is not None or entry.failed is not None for entry in self.endpoints.values())

    @property
    def delays(self) -> list[float]:
        """The number of seconds for which each waiting endpoint has been due."""
        now, hosts = self.time.now, list(self.hosts.values())
        return [now - due for host in hosts for due, _, _ in list(host.waiting) if due <= now]

    def _submit(self, job: Callable[[], Any], take: Callable[[Any], None]) -> None:
        self._in_flight += 1
        self._executor.submit(job).add_done_callback(lambda future: self._done.put((future, take)))

    def _take(self, future: Future[Any], take: Callable[[Any], None]) -> None:
        self._in_flight -= 1
        if (problem := future.exception()) is not None:  # our bug counts against no endpoint, and does not end the run
            _log.error("a request failed: %r", problem)
        take(None if problem is not None else future.result())

    # The vantage

    def _checked(self, began_at: float, stalls: int, is_online: bool | None) -> None:
        self.vantage.is_checking = False
        if is_online is None or (not is_online and stalls != self._stalls):
            return
        if is_online is not self.vantage.is_online:
            _log.warning("vantage=%s online=%s", self.settings.vantage, is_online)
        self.vantage.checked_at, self.vantage.is_online = began_at, is_online

    def _judge(self) -> None:
        """Accept failures, once a later check shows that neither this location nor a shared cause explains them."""
        while self._failures and self._failures[0][0] <= self.vantage.checked_at:
            _, endpoint, probe = self._failures.popleft()
            excuse = self.vantage.excuse(self.time.now)
            self._conclude(endpoint, probe if excuse is None else Probe.of(excuse))

    # Turns

    def _start(self) -> None:
        """Start what is due, as far as threads, the writer and politeness permit."""
        while self._next_turn() <= self.time.now and self._in_flight < THREADS and len(self.pending) < _MOST_PENDING:
            ready_at, _, turns = heapq.heappop(self._ready)
            if ready_at == turns.ready_at:  # otherwise, it has had an earlier turn
                turns.ready_at = float("inf")
                _, _, job = heapq.heappop(turns.waiting)
                job()
                self._make_ready(turns)

    def _next_turn(self) -> float:
        earliest = self._starts[0] + _SECOND if len(self._starts) == _PER_SECOND else 0.0
        return max(self._ready[0][0], earliest) if self._ready else float("inf")

    def _wait(self, turns: Turns, due: float, job: Callable[[], None]) -> None:
        heapq.heappush(turns.waiting, (due, next(self._order), job))
        self._make_ready(turns)

    def _make_ready(self, turns: Turns) -> None:
        """Schedule the next turn: when requests may be sent again, and something is due."""
        if turns.waiting and (turn := max(turns.free_at, turns.waiting[0][0])) < turns.ready_at:
            turns.ready_at = turn
            heapq.heappush(self._ready, (turn, next(self._order), turns))

    def _queue(self, endpoint: Endpoint, due: float) -> None:
        endpoint.due = due
        self._wait(endpoint.host, due, partial(self._look_up, endpoint))

    def _is_excused(self, endpoint: Endpoint) -> bool:
        """Return True if there is a reason not to probe an endpoint now, which is then its result."""
        host, url = endpoint.host, endpoint.target.url
        reasons = {
            Code.OWN_NETWORK: not self.vantage.is_online,
            Code.OPTED_OUT: self.settings.opted_out(url) or not is_permitted(host.robots, url),
            Code.RATE_LIMITED: host.is_closed(self.time.wall),
            Code.SAMPLED_OUT: self.time.now - endpoint.due > self.settings.interval,
        }
        code = next((code for code, is_reason in reasons.items() if is_reason), None)
        if code is not None:
            self._release(host, 0)
            self._conclude(endpoint, Probe.of(code))
        return code is not None

    def _look_up(self, endpoint: Endpoint) -> None:
        """Look up the host of an endpoint that is due and still listed, unless there is a reason not to probe it."""
        if endpoint is self.endpoints.get(endpoint.number) and not self._is_excused(endpoint):
            endpoint.host.free_at = float("inf")
            job = partial(self._requests.look_up, endpoint.target.url)
            self._submit(job, partial(self._await_address, endpoint))

    def _await_address(self, endpoint: Endpoint, addresses: Addresses) -> None:
        address = min(addresses, default="") if isinstance(addresses, list) else ""
        turns = self._addresses.setdefault(address, Turns()) if address else Turns()
        endpoint.due = self.time.now
        self._wait(turns, endpoint.due, partial(self._ask, endpoint, addresses, turns))

    def _ask(self, endpoint: Endpoint, addresses: Addresses, turns: Turns) -> None:
        """Request the host's robots.txt or probe the endpoint, unless there is a reason not to."""
        if self._is_excused(endpoint):
            return
        turns.free_at = self.time.now + turns.seconds
        self._starts.append(self.time.now)
        place, condition, wall = (endpoint.target, addresses), endpoint.condition, self.time.wall
        if endpoint.host.needs_robots(wall):
            self._submit(partial(self._requests.robots, *place), partial(self._take_robots, endpoint, self._stalls))
        else:
            is_deep = condition.deep_at is None or not 0 <= wall - condition.deep_at < _DEEP_SECONDS
            job = partial(self._requests.probe, *place, is_deep=is_deep, previous=condition.facts)
            self._submit(job, partial(self._take_probe, endpoint, self._stalls, is_deep=is_deep))

    def _release(self, host: Host, requests: int) -> None:
        host.free_at = self.time.now + host.seconds * requests
        self._make_ready(host)

    # Results

    def _take_robots(self, endpoint: Endpoint, stalls: int, robots: str | None) -> None:
        self._release(endpoint.host, 1)
        if stalls == self._stalls:  # otherwise, this process was suspended
            endpoint.host.note_robots(robots, self.time.wall)
        self._queue(endpoint, endpoint.due)

    def _take_probe(self, endpoint: Endpoint, stalls: int, probe: Probe | None, *, is_deep: bool) -> None:
        """Accept a success. A failure is retried, or waits for a verdict on this location."""
        if stalls != self._stalls and probe is not None:  # this process was suspended, so a failure proves nothing
            probe = replace(probe, milliseconds=None) if probe.outcome in REACHABLE else None
        probe = probe or Probe.of(Code.STALLED)
        now, host, has_failed = self.time.now, endpoint.host, probe.outcome is Outcome.DOWN
        self._release(host, max(probe.requests, 1))
        host.note(probe, self.time.wall)
        if endpoint.condition.state in REACHABLE and probe.outcome is not Outcome.UNKNOWN:
            self.vantage.add(now, host.name, has_failed=has_failed)
        if has_failed and endpoint.may_retry:
            endpoint.failed = probe
            least, more = RETRY_SECONDS
            self._queue(endpoint, now + least + phase(endpoint.target.endpoint_id, more))
        elif has_failed:
            self._failures.append((now, endpoint, probe))
        else:
            self._conclude(endpoint, probe, is_deep=is_deep)

    def _conclude(self, endpoint: Endpoint, probe: Probe, *, is_deep: bool = False) -> None:
        """End an endpoint's round: store its result, and schedule its next turn."""
        at, interval, condition = int(self.time.wall), self.settings.interval, endpoint.condition
        turn = int(condition.next_at // interval) * interval
        elapsed = 0 if condition.round is None else (turn - condition.round) // (condition.rounds * interval)
        changes = endpoint.conclude(probe, at, scheduled=max(1, elapsed), is_deep=is_deep)
        condition.round = turn
        if turn > self._round:
            self.round_seconds = self._result_at - self._round_at
            self._round, self._round_at = turn, self.time.now
        self._result_at = self.time.now
        self._schedule(endpoint, at, is_sampled=probe.code is Code.SAMPLED_OUT)
        stored = self.settings.vantage, at, replace(condition), changes, endpoint.host.row
        self.pending.append(Result(endpoint.number, *stored))
        self.outcomes[str(endpoint.target.protocol), str(probe.outcome)] += 1

    def _schedule(self, endpoint: Endpoint, at: int, *, is_sampled: bool) -> None:
        """Schedule an endpoint's next turn. If there was no room, vary the time, so that every endpoint gets a turn."""
        interval, key, condition = self.settings.interval, endpoint.target.endpoint_id, endpoint.condition
        rounds = condition.rounds_to_next(at, interval, is_active=endpoint.target.is_active)
        condition.rounds = max(rounds, endpoint.host.rounds)
        seconds, wall = condition.rounds * interval, self.time.wall
        due = next_due(key, wall, seconds)
        if is_sampled:
            due = wall + interval / 2 + phase(sha256(key + at.to_bytes(8)).digest(), seconds)
        if int(due // interval) * interval == condition.round:
            due += seconds
        condition.next_at = due
        self._queue(endpoint, self.time.now + due - wall)

    def _add(self, endpoint: Endpoint, unprobed: int) -> None:
        """Queue an endpoint from the database. A missed turn is due now, in order; no turn is far in the future."""
        host = endpoint.host = self.hosts[endpoint.target.host]
        condition, interval, wall = endpoint.condition, self.settings.interval, self.time.wall
        planned = condition.next_at or wall
        if condition.round is None:
            first = min(interval, unprobed / _FIRST_PER_SECOND) if host.rounds == 1 else host.rounds * interval
            planned += phase(endpoint.target.endpoint_id, first)
        missed = max(0.0, wall - planned)
        condition.next_at = min(planned + missed, wall + max(condition.rounds, host.rounds) * interval)
        self._queue(endpoint, self.time.now + condition.next_at - wall - interval / 2 * missed / (missed + interval))
