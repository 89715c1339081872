"""Endpoint probes: one or a few requests, without side effects or payments."""

import re
from dataclasses import replace
from typing import Final

from bilateral.core import errors
from bilateral.index.measurements.values import Outcome, Protocol
from bilateral.watchtower.outcomes import Code, Probe
from bilateral.watchtower.probes.asking import Asker, ProbeSettings, result_of_error
from bilateral.watchtower.probes.documents import probe_a2a, probe_oasf, probe_web
from bilateral.watchtower.probes.mcp import probe_mcp
from bilateral.watchtower.probes.x402 import probe_x402

__all__ = ["Asker", "ProbeSettings", "probe"]

_PROBES: Final = {
    Protocol.WEB: probe_web,
    Protocol.MCP: probe_mcp,
    Protocol.A2A: probe_a2a,
    Protocol.OASF: probe_oasf,
    Protocol.X402: probe_x402,
}

_PLACEHOLDER: Final = re.compile(
    r"[{}<>]|%7b|%3c|\$[A-Z]|//([^/]*\.)?example\.(com|net|org)([:/]|$)|//([^/]*[.-])?(your|my)[-_]?(domain|server|agent)\b",
    re.IGNORECASE,
)
"""Marks of URLs with placeholders that their authors forgot to fill in."""


def probe(asker: Asker) -> Probe:
    """Probe an endpoint once."""
    target, previous = asker.target, asker.previous
    if _PLACEHOLDER.search(target.url):
        return Probe.of(Code.PLACEHOLDER)
    if not target.url.startswith(("http://", "https://")):
        return Probe.of(Code.URL)
    try:
        answer = _PROBES[target.protocol](asker)
    except errors.DocumentError as error:
        answer = result_of_error(error, target)
    outcome, code, facts = answer.outcome, answer.code, dict(answer.facts)
    if not asker.is_deep and outcome is Outcome.UP and previous.get("deep_code"):
        outcome, code = Outcome.DEGRADED, Code(previous["deep_code"])
    if previous.get("challenges") and code is not Code.CHALLENGE:
        facts["challenges"] = 0
    if (lag := facts.get("lag")) is not None:
        before = previous.get("lag", lag)
        facts["lag"] = round(before + (lag - before) / _LAGS, 2)
    return replace(answer, outcome=outcome, code=code, facts=facts, requests=asker.requests)


_LAGS: Final = 16
"""The number of probes over which a service's lag is averaged. Recent probes weigh more."""
