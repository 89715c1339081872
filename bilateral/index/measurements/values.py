"""The vocabulary of measurements, which watchtowers write and readers of the index share."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from bilateral.core.identifiers import AgentId


class Protocol(StrEnum):
    """The protocols that a watchtower speaks."""

    WEB = "web"
    MCP = "mcp"
    A2A = "a2a"
    OASF = "oasf"
    X402 = "x402"


class Outcome(StrEnum):
    """The outcomes of a probe. The first three count as reachable; the last two never count against an endpoint."""

    UP = "up"
    GATED = "gated"
    """It answers, and asks for authorization or payment."""

    DEGRADED = "degraded"
    DOWN = "down"
    UNKNOWN = "unknown"
    """It was not measured: trouble on our side, a rate limit, a challenge page, or it asked not to be measured."""

    UNFIT = "unfit"
    """It cannot be probed: a placeholder, a private address, a URL that is none."""


REACHABLE = frozenset({Outcome.UP, Outcome.GATED, Outcome.DEGRADED})


class Alive(StrEnum):
    """Whether an agent answers, by its endpoint that answered last."""

    NOW = "now"
    """An endpoint answers, measured within a day."""

    RECENTLY = "recently"
    """One answered within seven days."""

    FORMERLY = "formerly"
    """One answered before, and none within seven days."""

    NEVER = "never"
    """No probe was ever answered."""

    UNKNOWN = "unknown"
    """No endpoint was measured within seven days. This is no failure of the agent."""


def endpoint_id(protocol: Protocol, url: str) -> bytes:
    """Return the 32 bytes that identify an endpoint for all watchtowers, by its protocol and normalized URL."""
    return hashlib.sha256(f"{protocol}\n{url}".encode()).digest()


@dataclass(frozen=True)
class Target:
    """An endpoint that is probed for all the agents that list it.

    Attributes:
        url: The normalized URL: scheme and host in lower case, no default port, no fragment.
        agents: The agents whose current files list it.
        is_paid: True if a listing says that it sells by x402.
        method: The HTTP method that a listing declares; None if none does.
        is_active: False if each listing says `active: false`.
    """

    protocol: Protocol
    url: str
    host: str
    agents: tuple[AgentId, ...] = ()
    is_paid: bool = False
    method: str | None = None
    is_active: bool = True

    @property
    def endpoint_id(self) -> bytes:
        """The identity of the endpoint."""
        return endpoint_id(self.protocol, self.url)


@dataclass(frozen=True)
class Change:
    """A confirmed change of an endpoint, kept for ever.

    Attributes:
        at: The Unix time of the change, in seconds: for `down`, that of the first failure.
        kind: `state`, or what drifted: `price`, `pay_to`, `networks`, `keys`, `tools`, `card`, `signature`.
        old: The value before, as JSON; None at the first one.
        new: The value now, as JSON.
        code: The code of the outcome behind a state.
    """

    endpoint_id: bytes
    at: int
    kind: str
    old: Any
    new: Any
    code: str | None = None


@dataclass(frozen=True)
class Day:
    """What one vantage measured of an endpoint on one UTC day.

    Attributes:
        day: Days since 1970.
        scheduled: The probes that were due.
        counts: The probes that ended with each outcome.
        median_ms: The median time to the first byte; None without an answer.
        p95_ms: The 95th percentile.
    """

    endpoint_id: bytes
    day: int
    vantage: str
    scheduled: int
    counts: Mapping[Outcome, int] = field(default_factory=dict)
    median_ms: int | None = None
    p95_ms: int | None = None


@dataclass(frozen=True)
class Current:
    """The state of an endpoint now.

    Attributes:
        state: The state; None before the first probe that counts.
        since: The Unix time of the last change of the state.
        probed_at: The Unix time of the last probe that measured something.
        failures: The probes in a row that failed.
    """

    endpoint_id: bytes
    vantage: str
    state: Outcome | None
    code: str | None
    since: int | None
    probed_at: int | None
    failures: int = 0
    milliseconds: int | None = None
