"""Probe results, the codes for their reasons, and counts of results."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Self

from bilateral.index.measurements.values import DAY, REACHABLE, Outcome

HOUR: Final = DAY // 24

_BASE: Final = 1.25
_BUCKETS: Final = 46
"""Latency buckets: each ends a quarter above the previous one, the last at 28 seconds."""


_UP, _GATED, _DEGRADED, _UNKNOWN, _UNFIT = (outcome for outcome in Outcome if outcome is not Outcome.DOWN)


class Code(StrEnum):
    """The reasons for outcomes, which are stored and published, so none is ever renamed.

    Each has an explanation, and the outcome that it usually leads to. Errors of `bilateral.documents` have the same
    codes in their attribute `reason`.
    """

    explanation: str
    outcome: Outcome

    def __new__(cls, code: str, explanation: str = "", outcome: Outcome = Outcome.DOWN) -> Self:
        """Return a reason's code."""
        member = str.__new__(cls, code)
        member._value_, member.explanation, member.outcome = code, explanation, outcome
        return member

    OK = "ok", "it responds as its protocol requires", _UP
    FREE = "free", "it does not ask for payment", _UP
    VALIDATES_FIRST = "validates_first", "it validates the request before it states a price", _GATED
    NOT_EXERCISED = "not_exercised", "it allows no method that a probe may use", _UNKNOWN
    AUTHORIZATION = "authorization", "it requires authorization", _GATED
    PAYMENT = "payment", "it requires payment", _GATED
    DNS_NONE = "host_not_found", "the host name does not exist"
    DNS_TROUBLE = "resolver_failed", "our resolver did not respond", _UNKNOWN
    REFUSED = "connection_refused", "the host refused the connection"
    TIMEOUT_CONNECT = "timeout_connect", "the host did not respond"
    TIMEOUT_TLS = "timeout_tls", "the TLS handshake timed out"
    TIMEOUT_FIRST_BYTE = "timeout_first_byte", "no response arrived in time"
    TIMEOUT_BODY = "timeout_body", "the response did not complete in time"
    TLS_EXPIRED = "certificate_expired", "the certificate has expired"
    TLS_NAME = "certificate_name", "the certificate is for a different host"
    TLS_SELF = "certificate_self_signed", "the certificate is self-signed"
    TLS_CA = "certificate_authority", "the certificate's authority is not trusted here", _DEGRADED
    TLS = "tls", "the TLS handshake failed"
    BROKEN = "broken_answer", "the response is incomplete or not valid HTTP"
    STATUS_404 = "status_404", "nothing exists at this URL"
    STATUS_5XX = "status_5xx", "the server returned an error"
    STATUS = "status", "the server rejected the request"
    WRONG_TYPE = "wrong_type", "the response has a different media type"
    NOT_PROTOCOL = "not_protocol", "the response does not follow the protocol"
    TOO_BIG = "too_big", "the response is too large"
    CHALLENGE = "challenge", "a challenge page blocks automated requests", _UNKNOWN
    RATE_LIMITED = "rate_limited", "it limits the rate of requests", _UNKNOWN
    REDIRECT_REFUSED = "redirect_refused", "it redirects to a URL that a probe must not request"
    FORBIDDEN_ADDRESS = "forbidden_address", "the host has an address that is not public", _UNFIT
    ENCODING = "unasked_encoding", "the response has a content encoding that was not requested", _UNKNOWN
    STALLED = "stalled", "this program was suspended during the probe", _UNKNOWN
    FLAPPING = "flapping", "it keeps going up and down", _DEGRADED
    VANTAGE = "own_network", "our network has no connection", _UNKNOWN
    SHARED_CAUSE = "shared_cause", "too many hosts failed at the same time", _UNKNOWN
    SAMPLED_OUT = "sampled_out", "its host has too many endpoints for one round", _UNKNOWN
    OPTED_OUT = "opted_out", "it opted out of being measured", _UNKNOWN
    PLACEHOLDER = "placeholder", "the URL is an example or a template", _UNFIT
    URL = "url", "the URL is not an http or https URL", _UNFIT
    OTHER_DOMAIN = "other_domain", "it leads to a different domain", _DEGRADED
    CERTIFICATE_ENDS = "certificate_ends", "the certificate expires within a week", _DEGRADED
    ERA = "era", "it only supports a version that clients no longer use", _DEGRADED
    EMPTY = "empty", "it offers nothing", _DEGRADED
    OLD_VERSION = "old_version", "it only supports an old version", _DEGRADED
    SIGNATURE_INVALID = "signature_invalid", "its signature is invalid", _DEGRADED
    TERMS_MISSING = "terms_missing", "it requires payment without complete terms", _DEGRADED
    TERMS_DIFFER = "terms_differ", "the header and the body state different terms", _DEGRADED


@dataclass(frozen=True)
class Probe:
    """The result of one probe.

    Attributes:
        milliseconds: The time to the response's first byte; None without a response.
        status: The response's HTTP status; None without a response.
        retry_after: The number of seconds that the server asks clients to wait; None if the server does not ask.
        requests: The number of requests that the probe sent.
        facts: The facts, which are compared with those of the last deep probe: `price`, `pay_to`, `networks`, `keys`,
            `tools`, `card`, `signature`, `certificate_ends`, `era`; JSON, with hashes in place of untrusted text.
    """

    outcome: Outcome
    code: Code
    milliseconds: int | None = None
    status: int | None = None
    retry_after: int | None = None
    requests: int = 0
    facts: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, code: Code) -> Self:
        """Return the result for a reason that leads to its usual outcome."""
        return cls(code.outcome, code)

    @property
    def explanation(self) -> str:
        """The result in one sentence, for the operator."""
        return f"{self.outcome}: {self.code.explanation}"


def counted(probe: Probe, scheduled: int = 1) -> Counter[str]:
    """Return a probe's counts, which add up exactly over hours, days and vantages.

    The keys are the probe's outcome and code, `scheduled` (the number of probes that were due since the previous one)
    and, if the probe counts and got a response, `answered` and its latency bucket: bucket n starts at 1.25^n
    milliseconds.
    """
    counts = Counter({"scheduled": scheduled, str(probe.outcome): 1, str(probe.code): 1})
    if probe.milliseconds is not None and probe.outcome in {*REACHABLE, Outcome.DOWN}:
        bucket = int(math.log(max(probe.milliseconds, 1), _BASE) + 1e-9)
        counts.update(("answered", str(min(bucket, _BUCKETS - 1))))
    return counts


def reached(counts: Counter[str]) -> int:
    """Return the number of probes that reached the endpoint."""
    return sum(counts[outcome] for outcome in REACHABLE)


def measured(counts: Counter[str]) -> int:
    """Return the number of probes that count for or against the endpoint."""
    return reached(counts) + counts[Outcome.DOWN]


def quantile(counts: Counter[str], part: float) -> int | None:
    """Return a quantile of the response latency, accurate to 12.5 %; None without responses."""
    rank, total = max(math.ceil(part * counts["answered"]), 1), 0
    for bucket in sorted(int(key) for key in counts if key.isdigit()):
        total += counts[str(bucket)]
        if total >= rank:
            return int(_BASE ** (bucket + 0.5))
    return None
