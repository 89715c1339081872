"""The requests of a probe, which neither act nor pay, and the outcomes that all protocols share."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import rfc8785

from bilateral.core import errors
from bilateral.core.http.waits import seconds_to_wait
from bilateral.core.text.encoding import decode_object
from bilateral.documents import Limits, Network, Validators
from bilateral.documents.exchanges import Answer, Event, exchange
from bilateral.documents.http import host_of
from bilateral.index.measurements.values import Outcome, Protocol, Target
from bilateral.watchtower.outcomes import Code, Probe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx

_MAX_BYTES: Final = 1024 * 1024

_HEADERS: Final = frozenset(
    {
        *("host", "user-agent", "accept", "accept-encoding", "connection", "content-type", "content-length"),
        *("if-none-match", "if-modified-since", "mcp-protocol-version", "mcp-method", "mcp-session-id"),
    }
)
"""The headers that a probe may send: none authorizes, pays or identifies a user."""

_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})

_QUESTIONS: Final = frozenset({"server/discover", "initialize", "notifications/initialized", "tools/list"})
"""The messages of MCP that a probe may send: none calls a tool or reads what a user would read."""

_CHALLENGE_HEADERS: Final = {"cf-mitigated": {"challenge"}, "x-amzn-waf-action": {"challenge", "captcha"}}

_CHALLENGE: Final = re.compile(
    rb"captcha|cdn-cgi/challenge-platform|cf-chl|awswafintegration|_incapsula_|datadome|just a moment\.\.\.|perimeterx",
    re.IGNORECASE,
)
"""The marks of pages that ask whether a robot reads them."""

_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_CHALLENGE_STATUSES: Final = frozenset({200, 403, 429, 503})
_MOST_CHALLENGES: Final = 3
"""Challenges in a row that count as not measured. An endpoint that always sends them blocks robots, so agents too."""

_EXPLANATIONS: Final = {
    Code.DNS_NONE: "the host's name does not exist",
    Code.DNS_TROUBLE: "our resolver of names does not answer",
    Code.VANTAGE: "our network has no connection to the host",
    Code.REFUSED: "the host accepts no connection at this port",
    Code.TLS_CA: "the certificate is of an authority that is not trusted here",
    Code.FORBIDDEN_ADDRESS: "the host has an address that is not public",
    Code.URL: "the URL is not one of HTTP without a user",
    Code.PLACEHOLDER: "the URL is an example or a template",
    Code.ENCODING: "the answer has an encoding that was not asked for",
    Code.CHALLENGE: "a page asks whether a robot reads it",
    Code.REDIRECT_REFUSED: "the redirect is not one to follow",
    Code.NOT_EXERCISED: "no method that a probe may use is allowed",
    Code.VALIDATES_FIRST: "the server checks the request before it names its price",
    Code.FREE: "the server asks for no payment",
}


class ForbiddenRequestError(errors.DocumentError):
    """A probe must not send a request. Nothing of it was sent."""

    reason = "forbidden_request"


@dataclass(frozen=True)
class ProbeSettings:
    """The settings of all probes.

    Attributes:
        contact: A page or a mail address of the operator, for the user agent.
        network: The settings of connections.
        seconds: The longest time for one request.
    """

    contact: str
    network: Network = field(default_factory=Network)
    seconds: float = 10.0


@dataclass(frozen=True)
class Asker:
    """Sends the requests of one probe, each over a connection of its own."""

    target: Target
    settings: ProbeSettings

    def ask(  # noqa: PLR0913  # a request, and how much of its answer to read
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        max_bytes: int = _MAX_BYTES,
        is_last: Callable[[Event], bool] | None = None,
        is_cut: bool = False,
    ) -> Answer:
        """Send a request. Redirects are followed for GET."""
        limits = Limits(bytes=max_bytes, seconds=self.settings.seconds)
        agent = f"bilateral-watchtower/{_version()} (+{self.settings.contact})"
        sent = {"User-Agent": agent, "Accept": "*/*", **(headers or {})}
        network = self.settings.network
        return exchange(
            method, url, limits, network, headers=sent, body=body, check=self.check, is_last=is_last, is_cut=is_cut
        )

    def check(self, request: httpx.Request) -> None:
        """Refuse a request that could act, pay, or say who asks.

        Raises:
            ForbiddenRequestError: It could.
        """
        names = {name.lower() for name in request.headers}
        is_plain = names <= _HEADERS and request.headers.get("accept-encoding") == "identity"
        if not is_plain or request.url.userinfo or not self._is_question(request.method, request.read(), names):
            raise ForbiddenRequestError("a probe does not send this request")

    def _is_question(self, method: str, body: bytes, headers: set[str]) -> bool:
        if method != "POST":
            is_end_of_session = method == "DELETE" and "mcp-session-id" in headers
            return not body and (method in _SAFE_METHODS or is_end_of_session)
        if self.target.protocol is Protocol.X402:
            return self.target.is_paid and body == b"{}"
        return self.target.protocol is Protocol.MCP and decode_object(body).get("method") in _QUESTIONS


@cache
def _version() -> str:
    return version("bilateral")


def result(outcome: Outcome, code: Code, answer: Answer | None = None, **facts: Any) -> Probe:
    """Return the result of a probe."""
    explanation = _EXPLANATIONS.get(code, code.replace("_", " "))
    if answer is None:
        return Probe(outcome, code, facts=facts, explanation=explanation)
    if lags := _LAG.findall(answer.headers.get("index-state", "")):
        facts["lag"] = max(map(int, lags))
    wait = seconds_to_wait(answer.headers.get("retry-after", ""))
    is_waiting = answer.status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
    return Probe(outcome, code, answer.milliseconds, answer.status, wait if is_waiting else None, facts, explanation)


_LAG: Final = re.compile(r";lag=(\d{1,9})\b")
"""The blocks by which an index like ours is late, in its header `Index-State`."""

_GATED: Final = (Outcome.GATED, Code.AUTHORIZATION)
_OF_STATUS: Final = {
    401: _GATED,
    402: (Outcome.GATED, Code.PAYMENT),
    403: _GATED,
    404: (Outcome.DOWN, Code.STATUS_404),
    410: (Outcome.DOWN, Code.STATUS_404),
    429: (Outcome.UNKNOWN, Code.RATE_LIMITED),
}
_OF_CLASS: Final = {3: Code.REDIRECT_REFUSED, 5: Code.STATUS_5XX}


def result_of_status(answer: Answer, previous: Mapping[str, Any], *, is_page: bool = False) -> Probe | None:
    """Return the result that an answer has in each protocol; None if its content decides.

    Args:
        is_page: True if HTML is what a user expects.
    """
    status, is_html = answer.status, answer.media_type in _HTML and not is_page
    if _is_challenge(answer, is_html=is_html):
        challenges = int(previous.get("challenges") or 0) + 1
        if challenges <= _MOST_CHALLENGES:
            return result(Outcome.UNKNOWN, Code.CHALLENGE, answer, challenges=challenges)
        if not is_html or _has_marks(answer):
            return result(Outcome.DEGRADED, Code.CHALLENGE, answer, challenges=challenges)
    if status == HTTPStatus.SERVICE_UNAVAILABLE and "retry-after" in answer.headers:
        status = HTTPStatus.TOO_MANY_REQUESTS
    if status >= HTTPStatus.MULTIPLE_CHOICES:
        of_class = Outcome.DOWN, _OF_CLASS.get(status // 100, Code.STATUS)
        return result(*_OF_STATUS.get(status, of_class), answer)
    return result(Outcome.DOWN, Code.WRONG_TYPE, answer) if is_html else None


def _is_challenge(answer: Answer, *, is_html: bool) -> bool:
    if any(answer.headers.get(name) in values for name, values in _CHALLENGE_HEADERS.items()):
        return True
    if not is_html or answer.status not in _CHALLENGE_STATUSES or "retry-after" in answer.headers:
        return False
    return answer.status != HTTPStatus.OK or _has_marks(answer)


def _has_marks(answer: Answer) -> bool:
    return _CHALLENGE.search(answer.content) is not None


_OF_ERROR: Final[tuple[tuple[type[errors.DocumentError], Outcome, Code], ...]] = (
    (errors.ResolverError, Outcome.UNKNOWN, Code.DNS_TROUBLE),
    (errors.OwnNetworkError, Outcome.UNKNOWN, Code.VANTAGE),
    (errors.EncodedAnswerError, Outcome.UNKNOWN, Code.ENCODING),
    (errors.HostNotFoundError, Outcome.DOWN, Code.DNS_NONE),
    (errors.ConnectionRefusedDocumentError, Outcome.DOWN, Code.REFUSED),
    (errors.ExpiredCertificateError, Outcome.DOWN, Code.TLS_EXPIRED),
    (errors.CertificateNameError, Outcome.DOWN, Code.TLS_NAME),
    (errors.SelfSignedCertificateError, Outcome.DOWN, Code.TLS_SELF),
    (errors.UnknownAuthorityError, Outcome.DEGRADED, Code.TLS_CA),
    (errors.TlsError, Outcome.DOWN, Code.TLS),
    (errors.DocumentTooLargeError, Outcome.DOWN, Code.TOO_BIG),
    (errors.HeadersTooLargeError, Outcome.DOWN, Code.TOO_BIG),
    (errors.TooManyRedirectsError, Outcome.DOWN, Code.REDIRECT_REFUSED),
    (errors.UnsupportedUriError, Outcome.DOWN, Code.REDIRECT_REFUSED),
    (ForbiddenRequestError, Outcome.DOWN, Code.REDIRECT_REFUSED),
    (errors.MalformedDocumentError, Outcome.DOWN, Code.NOT_PROTOCOL),
)
"""The outcomes of errors, the most exact class first. A refused URI is one of a redirect: the first is checked."""


def result_of_error(error: errors.DocumentError, target: Target) -> Probe:
    """Return the result of a request without a whole answer."""
    if isinstance(error, errors.ForbiddenAddressError):
        if error.host.lower() == host_of(target.url)[0].lower():
            return result(Outcome.UNFIT, Code.FORBIDDEN_ADDRESS)
        return result(Outcome.DOWN, Code.REDIRECT_REFUSED)
    for kind, outcome, code in _OF_ERROR:
        if isinstance(error, kind):
            return result(outcome, code)
    if isinstance(error, errors.DocumentTimeoutError):
        return result(Outcome.DOWN, Code(f"timeout_{error.phase}"))
    return result(Outcome.DOWN, Code.BROKEN)


@dataclass(frozen=True)
class Reading:
    """A JSON document as a host answered with it.

    Attributes:
        document: The document; None if it did not change since it was valid.
        url: The URL that was asked for.
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
        if answer.status == HTTPStatus.NOT_MODIFIED and etag:
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


def digest(value: Any) -> str:
    """Return the hash of a JSON value in its canonical form (RFC 8785), or as Python writes it without one."""
    try:
        content = rfc8785.dumps(value)
    except rfc8785.CanonicalizationError:  # a number that JavaScript does not know exactly
        content = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    return hashlib.sha256(content).hexdigest()


def is_same_domain(host: str, other: str) -> bool:
    """Tell whether two hosts have one owner, by the last two labels, or three below a suffix such as `co.uk`."""
    return _domain(host) == _domain(other)


_SUFFIXES: Final = frozenset({"ac", "co", "com", "edu", "gov", "ne", "net", "or", "org"})


def _domain(host: str) -> list[str]:
    labels = host.lower().rstrip(".").split(".")
    if labels[-1].isdigit() or ":" in host:
        return labels
    has_suffix = len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SUFFIXES  # noqa: PLR2004  # a country
    return labels[-3 if has_suffix else -2 :]
