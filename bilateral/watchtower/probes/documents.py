"""Probes of what is read by GET alone: web pages and OASF records. The probe of A2A builds on the latter."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from bilateral.core.text.encoding import decode_object
from bilateral.documents import Validators
from bilateral.documents.exchanges import Answer
from bilateral.documents.http import host_of
from bilateral.index.measurements.values import Outcome
from bilateral.watchtower.outcomes import Code, Probe
from bilateral.watchtower.probes.asking import Asker, digest, is_same_domain, result, result_of_status

_PAGE_BYTES: Final = 64 * 1024
_RENEWAL_SECONDS: Final = 7 * 86_400
"""The time before its end in which a certificate should have been renewed."""


def probe_web(asker: Asker, previous: Mapping[str, Any], *, is_deep: bool) -> Probe:  # noqa: ARG001  # nothing is rare
    """Get a page."""
    answer = asker.ask("GET", asker.target.url, max_bytes=_PAGE_BYTES, is_cut=True)
    if (failure := result_of_status(answer, previous, is_page=True)) is not None:
        return failure
    ends = answer.certificate_ends
    outcome, code = Outcome.UP, Code.OK
    if not is_same_domain(host_of(answer.url)[0], host_of(asker.target.url)[0]):
        outcome, code = Outcome.DEGRADED, Code.OTHER_DOMAIN
    elif ends is not None and ends < time.time() + _RENEWAL_SECONDS:
        outcome, code = Outcome.DEGRADED, Code.CERTIFICATE_ENDS
    return result(outcome, code, answer, **({} if ends is None else {"certificate_ends": ends}))


_UNCHANGED: Final = 304


@dataclass(frozen=True)
class Reading:
    """A JSON document as a host answered with it.

    Attributes:
        document: The document; None if it did not change since it was valid.
        url: The URL that was requested.
    """

    answer: Answer
    document: dict[str, Any] | None
    url: str

    def result(self, outcome: Outcome, code: Code, **facts: Any) -> Probe:
        """Return the result of the probe. The next one asks for changes of a valid document only."""
        if self.document is not None:
            etag = Validators.of(self.answer.headers).etag if outcome is Outcome.UP else None
            facts |= {"document_url": self.url, "etag": etag}
        return result(outcome, code, self.answer, **facts)


def read_document(asker: Asker, urls: list[str], previous: Mapping[str, Any], *, is_deep: bool) -> Reading | Probe:
    """Get a JSON document from the first URL that has one, or from the one that had it last time."""
    last_url = previous.get("document_url")
    failures = []
    for url in sorted(urls, key=lambda url: url != last_url):
        etag = previous.get("etag") if url == last_url and not is_deep else None
        answer = asker.ask("GET", url, headers={"Accept": "application/json", **Validators(etag).headers()})
        if answer.status == _UNCHANGED and etag:
            return Reading(answer, None, url)
        failure = result_of_status(answer, previous)
        if failure is None:
            return Reading(answer, decode_object(answer.body), url)
        failures.append(failure)
        if failure.code not in {Code.STATUS_404, Code.WRONG_TYPE}:
            break
    return failures[-1] if failures[-1].outcome is not Outcome.DOWN else failures[0]


def well_known(url: str, *paths: str) -> list[str]:
    """Return the URLs of a document: the URL itself if it is one of a file, otherwise the paths of its host."""
    parts = urlsplit(url)
    if parts.path.endswith(".json"):
        return [url]
    return [f"{parts.scheme}://{parts.netloc}/.well-known/{path}" for path in paths]


def probe_oasf(asker: Asker, previous: Mapping[str, Any], *, is_deep: bool) -> Probe:
    """Get a record: of the URL, or the one of the host if the URL has no path."""
    url = asker.target.url
    urls = [url] if urlsplit(url).path.strip("/") else well_known(url, "oasf-record.json")
    reading = read_document(asker, urls, previous, is_deep=is_deep)
    if isinstance(reading, Probe):
        return reading
    record = reading.document
    if record is None:
        return reading.result(Outcome.UP, Code.OK)
    if not isinstance(record.get("schema_version"), str) or not isinstance(record.get("skills"), list):
        return reading.result(Outcome.DOWN, Code.NOT_PROTOCOL)
    return reading.result(Outcome.UP, Code.OK, card=digest(record))
