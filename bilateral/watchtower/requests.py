"""The requests of a watchtower. They run in threads of their own; all decisions are made by the loop of `run`."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

from bilateral.core.errors import DocumentError
from bilateral.documents.http import Deadline
from bilateral.index.measurements.values import Target
from bilateral.watchtower.outcomes import Probe
from bilateral.watchtower.politeness import CountingBackend, Names, robots_group
from bilateral.watchtower.probes import ProbeSettings, probe
from bilateral.watchtower.probes.asking import Asker
from bilateral.watchtower.vantage import is_reachable

_ROBOTS_BYTES: Final = 64 * 1024
_REFERENCE_SECONDS: Final = 5.0
"""The time for a reference host: five that are silent are known to be within half a minute."""


@dataclass(frozen=True)
class Requests:
    """Asks hosts for what the loop wants to know.

    Attributes:
        settings: The settings of probes. Their resolver and backend are those of this object.
    """

    settings: ProbeSettings
    names: Names = field(init=False)
    _backend: CountingBackend = field(init=False, default_factory=CountingBackend)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", Names(self.settings.network.resolver))
        network = replace(self.settings.network, resolver=self.names, backend=self._backend)
        object.__setattr__(self, "settings", replace(self.settings, network=network))

    def address(self, url: str, *, is_retry: bool) -> str | None:
        """Return the address of the host of a URL; None if there is none, as its probe will explain."""
        parsed = urlsplit(url)
        host = parsed.hostname or ""
        if is_retry:
            self.names.forget(host)
        try:
            return min(self.names(host, parsed.port or 443), default=None)
        except (OSError, UnicodeError, OverflowError):
            return None

    def probe(self, target: Target, *, is_deep: bool, previous: Mapping[str, Any]) -> tuple[Probe, int]:
        """Probe an endpoint, and return the result with the count of connections."""
        self._backend.reset()
        result = probe(target, self.settings, is_deep=is_deep, previous=previous)
        return result, self._backend.reset()

    def robots(self, target: Target) -> str | None:
        """Return the group of the host's robots.txt for watchtowers; None if the host does not tell."""
        parsed = urlsplit(target.url)
        try:
            url = f"{parsed.scheme}://{parsed.netloc}/robots.txt"
            answer = Asker(target, self.settings).ask("GET", url, max_bytes=_ROBOTS_BYTES, is_cut=True)
        except DocumentError:
            return None
        return robots_group(answer.content.decode(errors="replace")) if answer.status == HTTPStatus.OK else ""

    def reaches(self, url: str) -> bool:
        """Return True if a reference host is reached, by a name that is looked up now."""
        self.names.forget(urlsplit(url).hostname or "")
        return is_reachable(url, self.settings.network, Deadline(_REFERENCE_SECONDS).remaining)
