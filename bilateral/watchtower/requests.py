"""A watchtower's requests. They run in their own threads; all decisions are made by the loop in `run`."""

import ssl
from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

import httpcore

from bilateral.core.errors import DocumentError
from bilateral.core.http.connections import DeadlineBackend
from bilateral.documents.http import Deadline
from bilateral.index.measurements.values import Target
from bilateral.watchtower.outcomes import Probe
from bilateral.watchtower.politeness import Names, robots_group
from bilateral.watchtower.probes import ProbeSettings, probe
from bilateral.watchtower.probes.asking import Asker

_ROBOTS_BYTES: Final = 64 * 1024
_REFERENCE_SECONDS: Final = 5.0
"""The timeout for a reference host: five unresponsive ones are detected within half a minute."""


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
        parsed = urlsplit(target.url)
        try:
            url = f"{parsed.scheme}://{parsed.netloc}/robots.txt"
            answer = Asker(target, self.settings).ask("GET", url, max_bytes=_ROBOTS_BYTES, is_cut=True)
        except DocumentError:
            return None
        return robots_group(answer.content.decode(errors="replace")) if answer.status == HTTPStatus.OK else ""

    def reaches(self, url: str) -> bool:
        """Return whether a reference host accepts a connection, after a fresh lookup. No request is sent."""
        parsed, network = urlsplit(url), self.settings.network
        host, port = parsed.hostname or "", parsed.port or (80 if parsed.scheme == "http" else 443)
        self.names.forget(host)
        remaining = Deadline(_REFERENCE_SECONDS).remaining
        backend = DeadlineBackend(remaining, resolver=network.resolver, inner=network.backend)
        try:
            stream = backend.connect_tcp(host, port)
            try:
                if parsed.scheme != "http":
                    context = network.ssl_context or ssl.create_default_context()
                    stream = stream.start_tls(context, host, remaining())
            finally:
                stream.close()
        except (httpcore.NetworkError, httpcore.TimeoutException, OSError, DocumentError):
            return False
        return True
