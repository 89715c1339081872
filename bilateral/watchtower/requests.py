"""The requests of a watchtower. They run in threads of their own; all decisions are made by the loop of `run`."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import urlsplit

from bilateral.core.errors import DocumentError, RefusedDocumentError
from bilateral.documents.http import Deadline, HttpSession, Limits
from bilateral.index.measurements.values import Target
from bilateral.watchtower.outcomes import Probe
from bilateral.watchtower.politeness import CountingBackend, Names, robots_group
from bilateral.watchtower.probes import ProbeSettings, probe
from bilateral.watchtower.vantage import is_reachable

_ROBOTS: Final = Limits(bytes=64 * 1024, seconds=10.0)
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

    def robots(self, url: str) -> str | None:
        """Return the group of the host's robots.txt for watchtowers; None if the host does not tell."""
        parsed = urlsplit(url)
        try:
            with HttpSession(_ROBOTS, self.settings.network) as session:
                return robots_group(
                    session.get(f"{parsed.scheme}://{parsed.netloc}/robots.txt").decode(errors="replace")
                )
        except RefusedDocumentError:
            return ""
        except DocumentError:
            return None

    def reaches(self, url: str) -> bool:
        """Return True if a reference host is reached, by a name that is looked up now."""
        self.names.forget(urlsplit(url).hostname or "")
        return is_reachable(url, self.settings.network, Deadline(_REFERENCE_SECONDS).remaining)
