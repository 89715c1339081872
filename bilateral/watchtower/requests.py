"""A watchtower's requests. They run in threads; all decisions are made by the loop in `run`."""

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

from bilateral.core.errors import DocumentError
from bilateral.documents.exchanges import exchange
from bilateral.documents.http import Limits
from bilateral.index.measurements.values import Target
from bilateral.watchtower.outcomes import Probe
from bilateral.watchtower.politeness import Names, robots_group
from bilateral.watchtower.probes import ProbeSettings, probe
from bilateral.watchtower.probes.asking import Asker

_ROBOTS_BYTES: Final = 64 * 1024
_OF_REFERENCE: Final = Limits(bytes=0, seconds=5.0, redirects=0)
"""The limits for a reference host: five unresponsive ones are detected within half a minute."""


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
        """Return the group for watchtowers from the host's robots.txt; None if the host does not return the file."""
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
