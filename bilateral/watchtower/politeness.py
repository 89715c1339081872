"""Politeness: few requests per host and address, pauses for as long as they ask, and no probes after an opt-out."""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from socket import EAI_AGAIN, gaierror
from time import monotonic
from typing import Any, Final, Self
from urllib.parse import urlsplit
from urllib.robotparser import RobotFileParser

from bilateral.core.http.connections import Resolver, resolve
from bilateral.watchtower.clocks import Timekeeper
from bilateral.watchtower.outcomes import Code, Probe
from bilateral.watchtower.totals import DAY

AGENT: Final = "bilateral-watchtower"
"""The watchtowers' name in a robots.txt. Its rules for all robots are meant for crawlers."""

HOST_SECONDS: Final = 3.0
"""The time between two requests to a host."""

_ADDRESS_SECONDS: Final = 1.0
_NAMES_AT_ONCE: Final = 16
_NAME_SECONDS: Final = 60.0
_LOOKUP_SECONDS: Final = 5.0
_FIRST_PAUSE: Final = 60
_MOST_DOUBLINGS: Final = 11  # more than a day
_BUSY: Final = frozenset({429, 503})
_MOST_ADDRESSES: Final = 50_000


class Names:
    """A resolver that passes a few names at a time to the system's resolver, and caches the results for a minute."""

    def __init__(self, resolver: Resolver = resolve, clock: Callable[[], float] = monotonic) -> None:
        self._resolver = resolver
        self._clock = clock
        self._turns = threading.BoundedSemaphore(_NAMES_AT_ONCE)
        self._answers: dict[str, tuple[float, list[str] | OSError]] = {}

    def __call__(self, host: str, port: int) -> list[str]:
        """Look up the addresses of a host."""
        until, answer = self._answers.get(host, (0.0, list[str]()))
        if until <= self._clock():
            answer = self._ask(host, port)
            self._answers[host] = (self._clock() + _NAME_SECONDS, answer)
        if isinstance(answer, OSError):
            raise answer
        return answer

    def forget(self, host: str) -> None:
        """Discard a host's cached addresses: a retry must not reuse a wrong result."""
        self._answers.pop(host, None)
        if len(self._answers) > _MOST_ADDRESSES:
            self._answers.clear()

    def _ask(self, host: str, port: int) -> list[str] | OSError:
        if not self._turns.acquire(timeout=_LOOKUP_SECONDS):
            return gaierror(EAI_AGAIN, "the resolver is busy")
        try:
            return self._resolver(host, port)
        except OSError as problem:
            return problem
        finally:
            self._turns.release()


class Addresses:
    """The turns of IP addresses, which many host names may share."""

    def __init__(self) -> None:
        self._free_at: dict[str, float] = {}
        self._began_at: dict[str, float] = {}

    def turn(self, address: str, now: float, latest: float, *, is_reserved: bool) -> float:
        """Return `now` if a request may begin, else the time to retry, which is reserved if not later than `latest`."""
        if len(self._free_at) > _MOST_ADDRESSES:
            self._free_at = {key: value for key, value in self._free_at.items() if value > now}
            self._began_at.clear()
        if not is_reserved:
            start = max(now, self._free_at.get(address, 0.0))
            if start <= latest:
                self._free_at[address] = start + _ADDRESS_SECONDS
            if start > now:
                return start
        start = max(now, self._began_at.get(address, float("-inf")) + _ADDRESS_SECONDS)  # the last one may be late
        if start == now:
            self._began_at[address] = now
        return start


@dataclass(eq=False)
class Host:
    """A host and its turns.

    Attributes:
        waiting: Its endpoints as a heap, ordered by their due times.
        ready_at: The time of its turn during the run.
        is_busy: True during a request to it.
        free_at: The time from which it may receive requests again.
        closed_until: The time until which it asked not to receive requests.
        pauses: The number of consecutive times it asked for that.
        robots: The lines in its robots.txt for watchtowers.
        robots_at: The time at which its robots.txt was last read.
        is_changed: True if its row must be stored.
        rounds: The number of rounds between two probes of an endpoint, if the host has more endpoints than fit into
            one.
    """

    name: str
    waiting: list[tuple[float, int, Any]] = field(default_factory=list)
    ready_at: float = float("inf")
    is_busy: bool = False
    free_at: float = 0.0
    closed_until: float = 0.0
    pauses: int = 0
    robots: str = ""
    robots_at: float = -DAY
    is_changed: bool = False
    rounds: int = 1

    @classmethod
    def of(cls, name: str, value: Mapping[str, Any] | None, time: Timekeeper) -> Self:
        """Return a host from its stored value; a new one if there is none."""
        if value is None:
            return cls(name)
        awake = time.now - time.wall  # turns Unix time into that of the run
        closed_until = min(value["closed_until"] + awake, time.now + DAY)
        robots_at = min(value["robots_at"] + awake, time.now)
        stored = {"pauses": value["pauses"], "robots": value["robots"], "robots_at": robots_at}
        return cls(name, closed_until=closed_until, **stored)

    def changed_row(self, time: Timekeeper) -> dict[str, Any] | None:
        """Return the host's row, once after each change."""
        if not self.is_changed:
            return None
        asleep, self.is_changed = time.wall - time.now, False
        times = {"closed_until": self.closed_until + asleep, "robots_at": self.robots_at + asleep}
        return {"name": self.name, "value": {"pauses": self.pauses, "robots": self.robots, **times}}

    def needs_robots(self, now: float) -> bool:
        """Return True if the host's robots.txt has not been read for a day."""
        return now - self.robots_at >= DAY

    def note_robots(self, robots: str | None, now: float, *, is_stalled: bool) -> None:
        """Store the robots.txt, or the fact that there was none. After a pause on our side, it is requested again."""
        if robots is not None or not is_stalled:
            self.robots, self.robots_at, self.is_changed = self.robots if robots is None else robots, now, True

    def note(self, probe: Probe, now: float) -> None:
        """Pause the host for as long as it asks, and at least twice as long as the last time."""
        if probe.code is Code.RATE_LIMITED or (probe.status in _BUSY and probe.retry_after is not None):
            self.pauses, self.is_changed = self.pauses + 1, True
            pause = _FIRST_PAUSE << min(self.pauses - 1, _MOST_DOUBLINGS)
            self.closed_until = now + min(max(pause, probe.retry_after or 0), DAY)
        elif probe.status is not None:
            self.pauses = 0


def robots_group(text: str) -> str:
    """Return the group for watchtowers from a robots.txt; empty without one."""
    parser = RobotFileParser()
    parser.parse(text.splitlines())
    entries: Iterable[Any] = parser.entries  # type: ignore[attr-defined]  # not in the stubs
    return "\n\n".join(str(entry) for entry in entries if AGENT in map(str.lower, entry.useragents))


def is_permitted(robots: str, url: str) -> bool:
    """Return True if a robots.txt group permits requests for a URL."""
    if not robots:
        return True
    parser = RobotFileParser()
    parser.parse(robots.splitlines())
    return parser.can_fetch(AGENT, url)


class OptOuts:
    """The operator's list of those who opted out of being measured. Changes to its file take effect immediately.

    Args:
        path: The file, with one URL, host or domain per line; None for an empty list.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._read_at = 0
        self._entries: tuple[str, ...] = ()

    def __call__(self) -> tuple[str, ...]:
        """Return the entries."""
        if self._path is None or not self._path.exists():  # who asked once is not measured because a file is missing
            return self._entries
        if (changed_at := self._path.stat().st_mtime_ns) != self._read_at:
            lines = (line.partition("#")[0].strip() for line in self._path.read_text().splitlines())
            self._entries, self._read_at = tuple(filter(None, lines)), changed_at
        return self._entries


def is_listed(url: str, entries: Iterable[str]) -> bool:
    """Return True if an operator's list contains a URL, a prefix of it, or its host or domain."""
    host = urlsplit(url).hostname or ""
    return any(
        url.startswith(entry) if "://" in entry else host == entry or host.endswith(f".{entry}") for entry in entries
    )
