"""Probes of endpoints: one request or a few, which neither act nor pay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bilateral.documents import Network

if TYPE_CHECKING:
    from bilateral.index.measurements.values import Target
    from bilateral.watchtower.outcomes import Probe


@dataclass(frozen=True)
class ProbeSettings:
    """The settings of all probes.

    Attributes:
        contact: A page or a mail address of the operator, for the user agent.
        network: The settings of connections.
        seconds: The longest time for one request.
    """

    contact: str
    network: Network = Network()
    seconds: float = 10.0


_NOTHING: Mapping[str, Any] = {}


def probe(
    target: Target, settings: ProbeSettings, *, is_deep: bool = False, previous: Mapping[str, Any] = _NOTHING
) -> Probe:
    """Probe an endpoint once.

    Args:
        target: The endpoint.
        settings: The settings of all probes.
        is_deep: Also read what changes rarely: tools, signatures, certificates, terms of payment.
        previous: The facts of the last probe: with an `era` that an MCP server speaks, one request suffices.
    """
    raise NotImplementedError
