"""Probes of OASF records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bilateral.index.measurements.values import Outcome
from bilateral.watchtower.outcomes import Code, Probe
from bilateral.watchtower.probes.asking import Asker, digest, read_document, well_known

if TYPE_CHECKING:
    from collections.abc import Mapping


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
