"""The measurement vocabulary, which watchtowers and readers of the index share."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

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
    """The outcomes of a probe. The first three mean "reachable"; the last two are never held against an endpoint."""

    UP = "up"
    GATED = "gated"
    """The endpoint responds, but requires authorization or payment."""

    DEGRADED = "degraded"
    DOWN = "down"
    UNKNOWN = "unknown"
    """The endpoint was not measured, because of a problem on our side, a rate limit, a challenge page or an opt-out."""

    UNFIT = "unfit"
    """The endpoint cannot be probed, because its URL is a placeholder, a private address or invalid."""


REACHABLE = frozenset({Outcome.UP, Outcome.GATED, Outcome.DEGRADED})


class Alive(StrEnum):
    """Whether an agent responds, judged by the endpoint that responded last."""

    NOW = "now"
    """One of the agent's endpoints is up, as measured within the last day."""

    RECENTLY = "recently"
    """One of the agent's endpoints responded within the last seven days."""

    FORMERLY = "formerly"
    """One of the agent's endpoints once responded, but none within the last seven days."""

    NEVER = "never"
    """None of the agent's endpoints ever responded."""

    UNKNOWN = "unknown"
    """No endpoint was measured within the last seven days. This is not the agent's fault."""


@dataclass(frozen=True)
class Target:
    """An endpoint that is probed for all the agents that list it.

    Attributes:
        url: The normalized URL: scheme and host in lower case, no default port, no fragment.
        agents: The short ids of the agents whose current files list the endpoint, such as `8453:247`.
        is_paid: True if a listing says that the endpoint sells through x402.
        method: The HTTP method that a listing declares; None if no listing declares one.
        is_active: False if every listing has `active: false`.
    """

    protocol: Protocol
    url: str
    host: str
    agents: tuple[str, ...] = ()
    is_paid: bool = False
    method: str | None = None
    is_active: bool = True

    @property
    def endpoint_id(self) -> bytes:
        """The 32 bytes that identify the endpoint to all watchtowers."""
        return hashlib.sha256(f"{self.protocol}\n{self.url}".encode()).digest()


@dataclass(frozen=True)
class Change:
    """A confirmed change of an endpoint, stored permanently.

    Attributes:
        at: The Unix time of the change in seconds; for `down`, the time of the first failure.
        kind: `state`, or what changed: `price`, `pay_to`, `networks`, `keys`, `tools`, `card`, `signature`.
        old: The previous value, as JSON; None if there is no previous value.
        new: The current value, as JSON.
        code: The code of the outcome that led to a state.
    """

    endpoint_id: bytes
    at: int
    kind: str
    old: Any
    new: Any
    code: str | None = None
