"""Probe results, the codes for their reasons, and counts of results."""

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import resources
from typing import Any, Final, Self

from bilateral.index.measurements.values import DAY, REACHABLE, Outcome

HOUR: Final = DAY // 24

_BASE: Final = 1.25
_BUCKETS: Final = 46
"""Latency buckets: each ends a quarter above the previous one, the last at 28 seconds."""

Code = StrEnum(
    "Code",
    "OK FREE VALIDATES_FIRST AUTHORIZATION PAYMENT CERTIFICATE_AUTHORITY FLAPPING OTHER_DOMAIN CERTIFICATE_ENDS ERA "
    "EMPTY OLD_VERSION SIGNATURE_INVALID TERMS_MISSING TERMS_DIFFER HOST_NOT_FOUND CONNECTION_REFUSED "
    "TIMEOUT_CONNECT TIMEOUT_TLS TIMEOUT_FIRST_BYTE TIMEOUT_BODY CERTIFICATE_EXPIRED CERTIFICATE_NAME "
    "CERTIFICATE_SELF_SIGNED TLS BROKEN_ANSWER STATUS_404 STATUS_5XX STATUS WRONG_TYPE NOT_PROTOCOL TOO_BIG "
    "REDIRECT_REFUSED NOT_EXERCISED RESOLVER_FAILED CHALLENGE RATE_LIMITED UNASKED_ENCODING STALLED OWN_NETWORK "
    "SHARED_CAUSE SAMPLED_OUT OPTED_OUT FORBIDDEN_ADDRESS PLACEHOLDER URL",
)
"""The reasons for outcomes, which are stored and published, so none is ever renamed.

Errors of `bilateral.documents` have the same codes in their attribute `reason`. `codes.json` explains each code, under
the outcome that it usually leads to.
"""

_CODES: Final[Any] = json.loads((resources.files("bilateral.watchtower") / "codes.json").read_bytes())
OUTCOMES: Final = {Code(code): Outcome(outcome) for outcome, codes in _CODES.items() for code in codes}
"""The outcome that each code usually leads to."""


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
        return cls(OUTCOMES[code], code)

    @property
    def explanation(self) -> str:
        """The result in one sentence, for the operator."""
        return f"{self.outcome}: {_CODES[OUTCOMES[self.code]][self.code]}"


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
