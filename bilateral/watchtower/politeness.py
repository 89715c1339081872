"""Polite requests: few per host and address, none while a host asks for a pause, and none after an opt-out.

Requests run in threads; all decisions are made by the loop in `run`.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from socket import EAI_AGAIN, gaierror
from typing import Any, ClassVar, Final, TypeAlias
from urllib.parse import urljoin, urlsplit
from urllib.robotparser import RobotFileParser

from bilateral.core.errors import DocumentError
from bilateral.documents.exchanges import exchange
from bilateral.documents.http import Limits, host_of
from bilateral.index.measurements.values import DAY, Target
from bilateral.watchtower.outcomes import Code, Probe
from bilateral.watchtower.probes import Asker, ProbeSettings, probe
from bilateral.watchtower.probes.asking import BUSY

AGENT: Final = "bilateral-watchtower"
"""The watchtowers' user agent in robots.txt. Rules for all robots do not apply, because they are meant for crawlers."""

_LOOKUPS_AT_ONCE: Final = 16
_LOOKUP_SECONDS: Final = 5.0
_FIRST_PAUSE: Final = 60
_MOST_DOUBLINGS: Final = 11  # more than a day
_ROBOTS_BYTES: Final = 64 * 1024
_OF_REFERENCE: Final = Limits(bytes=0, seconds=5.0, redirects=0)
"""The limits for a reference host: five unresponsive ones are detected within half a minute."""

Addresses: TypeAlias = "list[str] | OSError | None"
"""The result of a lookup."""

_STORED: Final = ("closed_until", "pauses", "robots", "robots_at")


@dataclass(eq=False)
class Turns:
    """The turns of an address, which any number of hosts may share.

    Attributes:
        seconds: The time between two requests.
        waiting: The jobs that wait for a turn, as a heap: the earliest time, the order, and the job.
        ready_at: The time of the next turn, in the run's time.
        free_at: The time from which requests may be sent again; infinite during a request to a host.
    """

    seconds: ClassVar[float] = 1.0
    waiting: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    ready_at: float = float("inf")
    free_at: float = 0.0


@dataclass(eq=False)
class Host(Turns):
    """A host, and the times at which it may receive requests. Attributes after `rounds` are stored, in Unix times.

    Attributes:
        rounds: The number of rounds between two probes of an endpoint, if the host has more endpoints than fit into one
            round.
        closed_until: The time until which the host asked not to receive requests.
        pauses: The number of consecutive times that the host asked for a pause.
        robots: The lines for watchtowers in the host's robots.txt.
        robots_at: The time at which the host's robots.txt was last read.
    """

    seconds = 3.0
    name: str = ""
    rounds: int = 1
    closed_until: float = 0.0
    pauses: int = 0
    robots: str = ""
    robots_at: float = 0.0

    @property
    def row(self) -> tuple[str, dict[str, Any]]:
        """The host's name, and its state to store."""
        return self.name, {name: getattr(self, name) for name in _STORED}

    def is_closed(self, wall: float) -> bool:
        """Return True if the host asked not to receive requests now. No pause is longer than a day."""
        return wall < self.closed_until <= wall + DAY

    def needs_robots(self, wall: float) -> bool:
        """Return True if the host's robots.txt has not been read for a day."""
        return not wall - DAY < self.robots_at <= wall

    def note_robots(self, robots: str | None, wall: float) -> None:
        """Store the rules for watchtowers. If the file could not be requested, the previous rules stay in force."""
        self.robots, self.robots_at = self.robots if robots is None else robots, wall

    def note(self, outcome: Probe, wall: float) -> None:
        """If the host asks for a pause, pause as long as requested, but at least twice as long as last time."""
        if outcome.code is Code.RATE_LIMITED or (outcome.status in BUSY and outcome.retry_after is not None):
            pause = max(_FIRST_PAUSE << min(self.pauses, _MOST_DOUBLINGS), outcome.retry_after or 0)
            self.closed_until, self.pauses = wall + min(pause, DAY), self.pauses + 1
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
        settings: The probe settings.
    """

    def __init__(self, settings: ProbeSettings) -> None:
        self._settings, self._lookups = settings, threading.BoundedSemaphore(_LOOKUPS_AT_ONCE)

    def look_up(self, url: str) -> Addresses:
        """Return the addresses of a URL's host, or the error of the lookup; None if the URL's probe will explain."""
        try:
            return self._resolve(*host_of(url))
        except OSError as problem:
            return problem
        except (ValueError, OverflowError):
            return None

    def probe(self, target: Target, addresses: Addresses, *, is_deep: bool, previous: Mapping[str, Any]) -> Probe:
        """Probe an endpoint at the addresses of its host."""
        return probe(Asker(target, self._settings_at(target.url, addresses), previous, is_deep))

    def robots(self, target: Target, addresses: Addresses) -> str | None:
        """Return the rules for watchtowers in the host's robots.txt; None if the file could not be requested."""
        try:
            url, asker = urljoin(target.url, "/robots.txt"), Asker(target, self._settings_at(target.url, addresses))
            answer = asker.ask("GET", url, max_bytes=_ROBOTS_BYTES, is_cut=True)
        except DocumentError:
            return None
        return robots_group(answer.content.decode(errors="replace")) if answer.status == HTTPStatus.OK else ""

    def reaches(self, url: str) -> bool:
        """Return whether a reference host responds, whatever the status."""
        try:
            exchange("HEAD", url, _OF_REFERENCE, self._settings.network.trusting(url), is_cut=True)
        except DocumentError:
            return False
        return True

    def _settings_at(self, url: str, addresses: Addresses) -> ProbeSettings:
        """Return the settings for one probe. It looks up only the hosts that it is redirected to."""
        own_host = urlsplit(url).hostname

        def resolver(host: str, port: int) -> list[str]:
            if isinstance(addresses, OSError):
                raise addresses
            return addresses if addresses is not None and host == own_host else self._resolve(host, port)

        return replace(self._settings, network=replace(self._settings.network, resolver=resolver))

    def _resolve(self, host: str, port: int) -> list[str]:
        if not self._lookups.acquire(timeout=_LOOKUP_SECONDS):
            raise gaierror(EAI_AGAIN, "the resolver is busy")
        try:
            return self._settings.network.resolver(host, port)
        finally:
            self._lookups.release()
