"""The results of probes, and the codes that say why."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from bilateral.index.measurements.values import Outcome


class Code(StrEnum):
    """The reasons of outcomes. They are stored and published, so none is renamed."""

    OK = "ok"
    FREE = "free"
    VALIDATES_FIRST = "validates_first"
    NOT_EXERCISED = "not_exercised"
    AUTHORIZATION = "authorization"
    PAYMENT = "payment"
    DNS_NONE = "dns_none"
    DNS_TROUBLE = "dns_trouble"
    REFUSED = "refused"
    TIMEOUT_CONNECT = "timeout_connect"
    TIMEOUT_TLS = "timeout_tls"
    TIMEOUT_FIRST_BYTE = "timeout_first_byte"
    TIMEOUT_BODY = "timeout_body"
    TLS_EXPIRED = "tls_expired"
    TLS_NAME = "tls_name"
    TLS_SELF = "tls_self"
    TLS_CA = "tls_ca"
    TLS = "tls"
    BROKEN = "broken"
    STATUS_404 = "status_404"
    STATUS_5XX = "status_5xx"
    STATUS = "status"
    WRONG_TYPE = "wrong_type"
    NOT_PROTOCOL = "not_protocol"
    TOO_BIG = "too_big"
    CHALLENGE = "challenge"
    RATE_LIMITED = "rate_limited"
    REDIRECT_REFUSED = "redirect_refused"
    FORBIDDEN_ADDRESS = "forbidden_address"
    ENCODING = "encoding"
    STALLED = "stalled"
    FLAPPING = "flapping"
    VANTAGE = "vantage"
    SHARED_CAUSE = "shared_cause"
    SAMPLED_OUT = "sampled_out"
    OPTED_OUT = "opted_out"
    PLACEHOLDER = "placeholder"
    URL = "url"
    OTHER_DOMAIN = "other_domain"
    CERTIFICATE_ENDS = "certificate_ends"
    ERA = "era"
    EMPTY = "empty"
    OLD_VERSION = "old_version"
    SIGNATURE_INVALID = "signature_invalid"
    TERMS_MISSING = "terms_missing"
    TERMS_DIFFER = "terms_differ"


@dataclass(frozen=True)
class Probe:
    """The result of one probe.

    Attributes:
        milliseconds: The time to the first byte of the answer; None without an answer.
        status: The HTTP status of the answer; None without one.
        retry_after: The seconds that the server asks to wait; None if it asks nothing.
        facts: What a deep probe compares with the last one: `price`, `pay_to`, `networks`, `keys`, `tools`, `card`,
            `signature`, `certificate_ends`, `era`; JSON, hashes in place of strangers' words.
        explanation: One sentence for the operator.
    """

    outcome: Outcome
    code: Code
    milliseconds: int | None = None
    status: int | None = None
    retry_after: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    explanation: str = ""
