"""Probes of web pages."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from bilateral.documents.http import host_of
from bilateral.index.measurements.values import Outcome
from bilateral.watchtower.outcomes import Code, Probe
from bilateral.watchtower.probes.asking import Asker, is_same_domain, result, result_of_status

if TYPE_CHECKING:
    from collections.abc import Mapping

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
