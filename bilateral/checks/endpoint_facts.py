"""Facts measured by watchtowers: whether an agent's endpoints respond, and what has changed in their declarations."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bilateral.checks.verdicts import EventEvidence

REACHABLE: Final = frozenset({"up", "gated", "degraded"})
"""The states in which an endpoint counts as responding, even if it requires authorization or payment."""


@dataclass(frozen=True)
class Drift:
    """The newest change of one kind in what an endpoint declares, such as its price.

    Attributes:
        kind: `price`, `pay_to`, `keys` or another fact.
        at: The Unix time of the change.
        age_seconds: The age of the change, in seconds, when the answer was computed.
        rotates: True if the value differs every time it is read.
    """

    kind: str
    at: int
    age_seconds: int
    old: Any = None
    new: Any = None
    rotates: bool = False


@dataclass(frozen=True)
class EndpointFacts:
    """An endpoint in an agent's registration file.

    Attributes:
        protocol: `web`, `mcp`, `a2a`, `oasf` or `x402`.
        state: The endpoint's state; None if it was never measured.
        code: The reason for the state.
        since: The Unix time at which the endpoint entered this state.
        first_at: The Unix time of the endpoint's first recorded state.
        was_alive: True if the endpoint has ever responded.
        is_probed: False if the registration file opts the endpoint out of probing.
        drifts: The newest change of each kind.
    """

    protocol: str
    state: str | None = None
    code: str | None = None
    since: int | None = None
    first_at: int | None = None
    was_alive: bool = False
    is_probed: bool = True
    drifts: tuple[Drift, ...] = ()


@dataclass(frozen=True)
class Signal:
    """The newest `reachable` signal for an endpoint from a watchtower that the policy trusts."""

    is_reachable: bool
    event: EventEvidence


@dataclass(frozen=True)
class MeasurementFacts:
    """The measurements of an agent's endpoints.

    Attributes:
        measured_at: The Unix time at which the index's watchtower last confirmed the endpoints' states; None without a
            watchtower.
        age_seconds: The age of that confirmation, in seconds, when the answer was computed; None without a watchtower.
        endpoints: The endpoints in the registration file that can be probed.
        signals: The signals that watchtowers published on chain.
        newest: The number of the newest endpoint change on which the answer is based.
    """

    measured_at: int | None = None
    age_seconds: int | None = None
    endpoints: tuple[EndpointFacts, ...] = ()
    signals: tuple[Signal, ...] = ()
    newest: int = 0

    def figures(self) -> Mapping[str, Any]:
        """Return the figures to include in an answer."""
        names = ("protocol", "state", "code", "since")
        endpoints = [{name: getattr(endpoint, name) for name in names} for endpoint in self.endpoints]
        return {"measured_at": self.measured_at, "endpoints": endpoints}
