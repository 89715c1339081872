"""A probe's requests, which have no side effects and pay nothing, and the outcomes that all protocols share."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Final

import httpx
import rfc8785

from bilateral.core import errors
from bilateral.core.http.waits import seconds_to_wait
from bilateral.core.text.encoding import decode_object
from bilateral.documents import Limits, Network
from bilateral.documents.exchanges import Answer, exchange
from bilateral.documents.http import host_of
from bilateral.index.measurements.values import Outcome, Protocol, Target
from bilateral.watchtower.outcomes import OUTCOMES, Code, Probe

MIB: Final = 1024 * 1024
_AGENT: Final = f"bilateral-watchtower/{version('bilateral')}"

_HEADERS: Final = frozenset(
    {
        *("host", "user-agent", "accept", "accept-encoding", "connection", "content-type", "content-length"),
        *("if-none-match", "if-modified-since", "mcp-protocol-version", "mcp-method", "mcp-session-id"),
    }
)
"""The headers that a probe may send. None of them authorizes, pays, or identifies a user."""

_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})

_QUESTIONS: Final = frozenset({"server/discover", "initialize", "notifications/initialized", "tools/list"})
"""The MCP messages that a probe may send. None of them calls a tool, or reads prompts or resources."""

_CHALLENGE_HEADERS: Final = {"cf-mitigated": {"challenge"}, "x-amzn-waf-action": {"challenge", "captcha"}}

_CHALLENGE: Final = re.compile(
    rb"captcha|cdn-cgi/challenge-platform|cf-chl|awswafintegration|_incapsula_|datadome|just a moment\.\.\.|perimeterx",
    re.IGNORECASE,
)
"""Typical contents of pages that challenge robots."""

_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_MOST_CHALLENGES: Final = 3
"""The number of consecutive challenges that count as not measured. After that, the endpoint blocks agents, too."""


class ForbiddenRequestError(errors.DocumentError):
    """A probe must not send this request, and did not send it."""

    reason = "forbidden_request"


@dataclass(frozen=True)
class ProbeSettings:
    """The settings for all probes.

    Attributes:
        contact: The operator's page or email address, for the user agent.
        network: The connection settings.
        seconds: The maximum time for one request.
    """

    contact: str
    network: Network = field(default_factory=Network)
    seconds: float = 10.0


@dataclass
class Asker:
    """Sends one probe's requests, each over its own connection.

    Attributes:
        previous: The facts of earlier probes by name; newer facts replace older ones. With these facts, one request
            suffices, and what only a deep probe reads remains valid until the next deep probe.
        is_deep: True to also read what changes rarely: tools, signatures, payment terms.
        requests: The number of requests so far, including redirects.
    """

    target: Target
    settings: ProbeSettings
    previous: Mapping[str, Any] = field(default_factory=dict)
    is_deep: bool = False
    requests: int = 0

    def ask(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, max_bytes: int = MIB, **options: Any
    ) -> Answer:
        """Send a request, with the options of `exchange`. Redirects are followed for GET."""
        sent = {"User-Agent": f"{_AGENT} (+{self.settings.contact})", "Accept": "*/*", **(headers or {})}
        limits = Limits(bytes=max_bytes, seconds=self.settings.seconds)
        return exchange(method, url, limits, self.settings.network, headers=sent, check=self.check, **options)

    def check(self, request: httpx.Request) -> None:
        """Reject a request that could act, pay, or identify the sender.

        Raises:
            ForbiddenRequestError: The request could act, pay, or identify the sender.
        """
        names = {name.lower() for name in request.headers}
        is_plain = names <= _HEADERS and request.headers.get("accept-encoding") == "identity"
        if not is_plain or request.url.userinfo or not self._is_question(request.method, request.read(), names):
            raise ForbiddenRequestError("a probe must not send this request")
        self.requests += 1

    def _is_question(self, method: str, body: bytes, headers: set[str]) -> bool:
        if method != "POST":
            is_end_of_session = method == "DELETE" and "mcp-session-id" in headers
            return not body and (method in _SAFE_METHODS or is_end_of_session)
        if self.target.protocol is Protocol.X402:
            return self.target.is_paid and body == b"{}"
        return self.target.protocol is Protocol.MCP and decode_object(body).get("method") in _QUESTIONS


def result(code: Code | None, answer: Answer, outcome: Outcome | None = None, **facts: Any) -> Probe:
    """Return the result for a response: up without a code, and by default the code's outcome."""
    code = code or Code.OK
    if lags := _LAG.findall(answer.headers.get("index-state", "")):
        facts["lag"] = max(map(int, lags))
    wait = seconds_to_wait(answer.headers.get("retry-after", "")) if answer.status in BUSY else None
    return Probe(outcome or OUTCOMES[code], code, answer.milliseconds, answer.status, wait, facts=facts)


_LAG: Final = re.compile(r";lag=(\d{1,9})\b")
"""The number of blocks by which an index like ours lags behind, from its `Index-State` header."""

BUSY: Final = frozenset({429, 503})
_OF_STATUS: Final = {
    **dict.fromkeys((401, 403), Code.AUTHORIZATION),
    **dict.fromkeys((404, 410), Code.STATUS_404),
    402: Code.PAYMENT,
    429: Code.RATE_LIMITED,
    **dict.fromkeys(range(300, 400), Code.REDIRECT_REFUSED),
    **dict.fromkeys(range(500, 600), Code.STATUS_5XX),
}


def result_of_status(asker: Asker, answer: Answer, *, is_page: bool = False) -> Probe | None:
    """Return a response's result if it is the same for every protocol; None if the content decides.

    Args:
        is_page: True if HTML is what a user expects.
    """
    status, is_html = answer.status, answer.media_type in _HTML and not is_page
    is_marked = is_html and _CHALLENGE.search(answer.content) is not None
    is_waiting = status in BUSY and "retry-after" in answer.headers
    has_header = any(answer.headers.get(name) in values for name, values in _CHALLENGE_HEADERS.items())
    is_refused = is_html and status in {403, *BUSY} and not is_waiting
    if has_header or is_refused or (is_marked and status == 200):  # noqa: PLR2004
        challenges = int(asker.previous.get("challenges") or 0) + 1
        outcome = None if challenges <= _MOST_CHALLENGES else Outcome.DEGRADED
        if outcome is None or is_marked or not is_html:
            return result(Code.CHALLENGE, answer, outcome, challenges=challenges)
    if is_waiting:
        return result(Code.RATE_LIMITED, answer)
    if status >= 300:  # noqa: PLR2004  # no success
        return result(_OF_STATUS.get(status, Code.STATUS), answer)
    return result(Code.WRONG_TYPE, answer) if is_html else None


_OF_REASON: Final = {
    **{code.value: code for code in Code},
    **dict.fromkeys(("document_too_large", "headers_too_large"), Code.TOO_BIG),
    "malformed_document": Code.NOT_PROTOCOL,
    "unreachable_document": Code.BROKEN_ANSWER,
    "forbidden_address": Code.REDIRECT_REFUSED,
}


def result_of_error(error: errors.DocumentError, target: Target) -> Probe:
    """Return the result for a request without a complete response."""
    if isinstance(error, errors.ForbiddenAddressError) and error.host.lower() == host_of(target.url)[0].lower():
        return Probe.of(Code.FORBIDDEN_ADDRESS)
    phase = getattr(error, "phase", "resolve")
    reason = error.reason if phase == "resolve" else f"timeout_{phase}"
    # The first URL was checked, so any other reason is due to a redirect.
    return Probe.of(_OF_REASON.get(reason, Code.REDIRECT_REFUSED))


def digest(value: Any) -> str:
    """Return the hash of a JSON value's canonical form (RFC 8785) or, without such a form, of Python's JSON output."""
    try:
        content = rfc8785.dumps(value)
    except rfc8785.CanonicalizationError:  # a number that JavaScript cannot represent exactly
        content = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    return hashlib.sha256(content).hexdigest()
