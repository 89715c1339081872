"""A world in which days pass in seconds: its clocks move when nothing is left to do, and its requests take no time."""

from __future__ import annotations

import heapq
import itertools
from collections import Counter, defaultdict
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from itertools import pairwise

from bilateral.index.measurements.values import Outcome, Protocol, Target
from bilateral.watchtower.outcomes import Code, Probe
from bilateral.watchtower.run import WatchSettings, Watchtower
from bilateral.watchtower.store import open_store
from bilateral.watchtower.vantage import Clocks

START = 1_800_000_000
DAY = 86_400

UP = Probe(Outcome.UP, Code.OK, milliseconds=80, status=200)
DOWN = Probe(Outcome.DOWN, Code.TIMEOUT_CONNECT)


@dataclass
class World(Executor):
    """Hosts, clocks and threads, all simulated.

    Attributes:
        answer: Returns what an endpoint answers at a time, by the true clock.
        seconds: Returns how long a request to it takes.
        references: Returns the number of reference hosts that answer at a time.
        robots_of: Returns the group of robots.txt of a host.
        address_of: Returns the address of a host.
    """

    answer: object = lambda _target, _now: UP
    seconds: object = lambda probe: 10.0 if probe.outcome is Outcome.DOWN else 0.1
    references: object = lambda _now: 5
    robots_of: object = lambda _host: ""
    address_of: object = lambda host: host
    now: float = 0.0
    offset: float = 0.0
    requests: list = field(default_factory=list)
    reads: list = field(default_factory=list)
    finishing: list = field(default_factory=list)
    order: object = field(default_factory=itertools.count)

    def clocks(self):
        return Clocks(lambda: self.now, lambda: self.now, lambda: START + self.now + self.offset)

    def submit(self, job):
        future, self.taking = Future(), 0.0
        try:
            result = job()
        except Exception as problem:  # noqa: BLE001  # as an executor does
            heapq.heappush(self.finishing, (self.now, next(self.order), future, None, problem))
        else:
            heapq.heappush(self.finishing, (self.now + self.taking, next(self.order), future, result, None))
        return future

    def look_up(self, url):
        return [self.address_of(url.split("/")[2])]

    def probe(self, target, _addresses, *, is_deep, previous):
        self.reads.append((is_deep, dict(previous)))
        self.requests.append((self.now, target.host, target.url))
        probe = self.answer(target, self.now)
        self.taking = self.seconds(probe)
        return probe

    def robots(self, target, _addresses):
        self.requests.append((self.now, target.host, "robots.txt"))
        self.taking = 0.1
        return self.robots_of(target.host)

    def reaches(self, url):
        self.taking = 0.1
        return int(url[-1]) < self.references(self.now)

    def run(self, tower, seconds):
        """Let the time pass, and store what is measured each minute."""
        end = self.now + seconds
        stored_at = self.now
        while self.now < end:
            wait = tower.step()
            if self.now - stored_at >= 60.0 or len(tower.pending) > 400:
                tower.save()
                stored_at = self.now
            soonest = self.finishing[0][0] if self.finishing else end
            self.now = min(max(self.now + 0.001, min(self.now + wait, soonest)), end)
            self.finish()

    def stop(self, seconds):
        """Let the process stand still. Requests in flight come back as failures, as their time is over."""
        self.finishing = [
            (at, order, future, DOWN if isinstance(result, Probe) else result, None)
            for at, order, future, result, _ in self.finishing
        ]
        self.now += seconds
        self.finish()

    def finish(self):
        while self.finishing and self.finishing[0][0] <= self.now:
            _, _, future, result, problem = heapq.heappop(self.finishing)
            future.set_result(result) if problem is None else future.set_exception(problem)


def targets(count, *, hosts=None):
    """Return endpoints on so many hosts."""
    hosts = hosts or count
    return [
        Target(Protocol.WEB, f"https://h{number % hosts}.test/{number}", f"h{number % hosts}.test")
        for number in range(count)
    ]


def tower_of(world, path, endpoints=None, **settings):
    """Return a watchtower in a world."""
    store = open_store(f"sqlite:///{path}")
    if endpoints is not None:
        store.set_targets(endpoints)
    references = tuple(f"https://reference/{number}" for number in range(5))
    return Watchtower(store, WatchSettings(references=references, **settings), world, world, world.clocks())


def downs(tower):
    """Return the changes to down."""
    return [row for row in tower.store.changes() if row.new == "down"]


def counts(tower):
    """Return the sums of outcomes over all hours."""
    total = Counter()
    for *_, hour in tower.store.hours(0):
        total.update({outcome: hour[outcome] for outcome in Outcome if hour[outcome]})
    return dict(total)


def most_within(times, seconds):
    """Return the most requests within so many seconds."""
    times = sorted(times)
    first = most = 0
    for last, time in enumerate(times):
        while time - times[first] >= seconds:
            first += 1
        most = max(most, last - first + 1)
    return most


def longest_gap(requests, start, end):
    """Return the longest time without a request to the same URL."""
    times = defaultdict(lambda: [start])
    for at, _, url in requests:
        if url != "robots.txt":
            times[url].append(at)
    return max(later - earlier for one in times.values() for earlier, later in pairwise([*one, end]))
