"""Polite requests: few per host and address, none while a host asks for a pause, and none after an opt-out.

Requests run in threads; all decisions are made by the loop in `run`.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from socket import EAI_AGAIN, gaierror
from time import monotonic
from typing import Any, Final
from urllib.parse import urljoin, urlsplit
from urllib.robotparser import RobotFileParser

from bilateral.core.errors import DocumentError
from bilateral.core.http.connections import Resolver, resolve
from bilateral.documents.exchanges import exchange
from bilateral.documents.http import Limits
from bilateral.index.measurements.values import Target
from bilateral.watchtower.outcomes import DAY, Code, Probe
from bilateral.watchtower.probes import ProbeSettings, probe
from bilateral.watchtower.probes.asking import Asker

AGENT: Final = "bilateral-watchtower"
"""The watchtowers' user agent in robots.txt. Rules for all robots do not apply, because they are meant for crawlers."""

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
_ROBOTS_BYTES: Final = 64 * 1024
_OF_REFERENCE: Final = Limits(bytes=0, seconds=5.0, redirects=0)
"""The limits for a reference host: five unresponsive ones are detected within half a minute."""

_STORED: Final = ("closed_until", "pauses", "robots", "robots_at")


class Names:
    """A resolver that passes a few names at a time to the system's resolver, and caches the results for a minute."""

    def __init__(self, resolver: Resolver = resolve, clock: Callable[[], float] = monotonic) -> None:
        self._resolver, self._clock = resolver, clock
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
    """The turns of IP addresses, which many host names may share. Thread-safe."""

    def __init__(self) -> None:
        self._free_at: dict[str, float] = {}
        self._began_at: dict[str, float] = {}
        self._lock = threading.Lock()

    def turn(self, address: str, now: float, *, is_reserved: bool) -> float:
        """Return `now` if a request may begin, else the next free time, which is then reserved."""
        with self._lock:
            if len(self._free_at) > _MOST_ADDRESSES:
                self._free_at = {key: value for key, value in self._free_at.items() if value > now}
                self._began_at.clear()
            start = now if is_reserved else max(now, self._free_at.get(address, 0.0))
            if not is_reserved:
                self._free_at[address] = start + _ADDRESS_SECONDS
            if start == now:  # the last one may be late
                start = max(now, self._began_at.get(address, float("-inf")) + _ADDRESS_SECONDS)
            if start == now:
                self._began_at[address] = now
            return start


@dataclass(eq=False)
class Host:
    """A host and its turns.

    Attributes:
        waiting: Its endpoints as a heap, ordered by their due times.
        ready_at: The time of its turn during the run.
        free_at: The time from which it may receive requests again; infinite during a request.
        rounds: The number of rounds between two probes of an endpoint, if the host has more endpoints than fit into
            one.
        is_changed: True if its state must be stored: the attributes below, with times in Unix time.
        closed_until: The time until which it asked not to receive requests.
        pauses: The number of consecutive times it asked for that.
        robots: The lines in its robots.txt for watchtowers.
        robots_at: The time at which its robots.txt was last read.
    """

    name: str
    waiting: list[tuple[float, int, Any]] = field(default_factory=list)
    ready_at: float = float("inf")
    free_at: float = 0.0
    rounds: int = 1
    is_changed: bool = False
    closed_until: float = 0.0
    pauses: int = 0
    robots: str = ""
    robots_at: float = 0.0

    def changed_row(self) -> tuple[str, dict[str, Any]] | None:
        """Return the host's name and state to store, once after each change."""
        if not self.is_changed:
            return None
        self.is_changed = False
        return self.name, {name: getattr(self, name) for name in _STORED}

    def is_closed(self, wall: float) -> bool:
        """Return True if the host asked not to receive requests now. No pause is longer than a day."""
        return wall < self.closed_until <= wall + DAY

    def needs_robots(self, wall: float) -> bool:
        """Return True if the host's robots.txt has not been read for a day."""
        return not wall - DAY < self.robots_at <= wall

    def note_robots(self, robots: str | None, wall: float) -> None:
        """Store the rules for watchtowers. If the file could not be requested, the previous rules stay in force."""
        self.robots, self.robots_at, self.is_changed = self.robots if robots is None else robots, wall, True

    def note(self, outcome: Probe, wall: float) -> None:
        """If the host asks for a pause, make it as long as requested, and at least twice as long as the last one."""
        if outcome.code is Code.RATE_LIMITED or (outcome.status in _BUSY and outcome.retry_after is not None):
            pause = max(_FIRST_PAUSE << min(self.pauses, _MOST_DOUBLINGS), outcome.retry_after or 0)
            self.closed_until, self.pauses, self.is_changed = wall + min(pause, DAY), self.pauses + 1, True
        elif outcome.status is not None:
            self.pauses = 0


def robots_group(text: str) -> str:
    """Return the rules for watchtowers in a robots.txt; empty if there are none."""
    entries: Iterable[Any] = _parsed(text).entries  # type: ignore[attr-defined]  # not in the stubs
    return "\n\n".join(str(entry) for entry in entries if AGENT in map(str.lower, entry.useragents))


def is_permitted(robots: str, url: str) -> bool:
    """Return True if a robots.txt group permits requests for a URL."""
    return not robots or _parsed(robots).can_fetch(AGENT, url)


def _parsed(robots: str) -> RobotFileParser:
    parser = RobotFileParser()
    parser.parse(robots.splitlines())
    return parser


class OptOuts:
    """The operator's list of those who opted out of being measured. Changes to its file take effect immediately.

    Args:
        path: The file, with one URL, host or domain per line; None for an empty list.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._read_at = 0
        self._entries: tuple[str, ...] = ()

    def __call__(self, url: str) -> bool:
        """Return True if the list contains a URL, a prefix of it, or its host or domain."""
        # If the file disappears, its entries remain in force.
        if self._path and self._path.exists() and (changed_at := self._path.stat().st_mtime_ns) != self._read_at:
            lines = (line.partition("#")[0].strip() for line in self._path.read_text().splitlines())
            self._entries, self._read_at = tuple(filter(None, lines)), changed_at
        host = f".{urlsplit(url).hostname}"
        return any(url.startswith(entry) if "://" in entry else host.endswith(f".{entry}") for entry in self._entries)


class Requests:
    """Sends the loop's requests to hosts.

    Args:
        settings: The probe settings. Names that their resolver looked up are cached.
    """

    def __init__(self, settings: ProbeSettings) -> None:
        self.names = Names(settings.network.resolver)
        self.settings = replace(settings, network=replace(settings.network, resolver=self.names))

    def address(self, url: str, *, is_retry: bool) -> str | None:
        """Return the address of a URL's host; None if there is none, as its probe will explain."""
        parsed = urlsplit(url)
        host = parsed.hostname or ""
        if is_retry:
            self.names.forget(host)
        try:
            return min(self.names(host, parsed.port or 443), default=None)
        except (OSError, UnicodeError, OverflowError):
            return None

    def probe(self, target: Target, *, is_deep: bool, previous: Mapping[str, Any]) -> Probe:
        """Probe an endpoint."""
        return probe(target, self.settings, is_deep=is_deep, previous=previous)

    def robots(self, target: Target) -> str | None:
        """Return the rules for watchtowers in the host's robots.txt; None if the file could not be requested."""
        try:
            url = urljoin(target.url, "/robots.txt")
            answer = Asker(target, self.settings).ask("GET", url, max_bytes=_ROBOTS_BYTES, is_cut=True)
        except DocumentError:
            return None
        return robots_group(answer.content.decode(errors="replace")) if answer.status == HTTPStatus.OK else ""

    def reaches(self, url: str) -> bool:
        """Return whether a reference host responds, whatever the status, after a fresh lookup."""
        self.names.forget(urlsplit(url).hostname or "")
        try:
            exchange("HEAD", url, _OF_REFERENCE, self.settings.network.trusting(url), is_cut=True)
        except DocumentError:
            return False
        return True
