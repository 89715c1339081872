"""The measurement vocabulary, which watchtowers and readers of the index share."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from bilateral.core.identifiers import AgentId

DAY: Final = 86_400
"""The number of seconds in a day; Unix time has no leap seconds."""


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
    """It responds, and requires authorization or payment."""

    DEGRADED = "degraded"
    DOWN = "down"
    UNKNOWN = "unknown"
    """It was not measured: a problem on our side, a rate limit, a challenge page, or it opted out."""

    UNFIT = "unfit"
    """It cannot be probed: a placeholder, a private address, an invalid URL."""


REACHABLE = frozenset({Outcome.UP, Outcome.GATED, Outcome.DEGRADED})


class Alive(StrEnum):
    """Whether an agent responds, judged by its endpoint that responded last."""

    NOW = "now"
    """An endpoint responds, measured within a day."""

    RECENTLY = "recently"
    """One responded within seven days."""

    FORMERLY = "formerly"
    """One responded earlier, but none within seven days."""

    NEVER = "never"
    """No endpoint ever responded."""

    UNKNOWN = "unknown"
    """No endpoint was measured within seven days. This is not a failure of the agent."""


def endpoint_id(protocol: Protocol, url: str) -> bytes:
    """Return the 32 bytes that identify an endpoint for all watchtowers, by its protocol and normalized URL."""
    return hashlib.sha256(f"{protocol}\n{url}".encode()).digest()


@dataclass(frozen=True)
class Target:
    """An endpoint that is probed for all the agents that list it.

    Attributes:
        url: The normalized URL: scheme and host in lower case, no default port, no fragment.
        agents: The agents whose current files list it.
        is_paid: True if a listing says that it sells through x402.
        method: The HTTP method that a listing declares; None if none does.
        is_active: False if every listing has `active: false`.
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
    """A confirmed change of an endpoint, stored permanently.

    Attributes:
        at: The Unix time of the change, in seconds: for `down`, that of the first failure.
        kind: `state`, or what changed: `price`, `pay_to`, `networks`, `keys`, `tools`, `card`, `signature`.
        old: The previous value, as JSON; None for the first one.
        new: The current value, as JSON.
        code: The code of the outcome that led to a state.
    """

    endpoint_id: bytes
    at: int
    kind: str
    old: Any
    new: Any
    code: str | None = None
