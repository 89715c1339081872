"""Simulated probes of an endpoint, which the watchtower's own state machine and the check's own rules judge."""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bilateral import checks
from bilateral.checks import endpoint_facts, endpoint_rules, facts, verdicts
from bilateral.core.values.standing import Side
from bilateral.watchtower.endpoints import Condition, Endpoint, next_due, phase
from bilateral.watchtower.outcomes import HOUR, Code, Probe
from bilateral.watchtower.run import RETRY_SECONDS, WatchSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bilateral.index.measurements.values import Target

_STRICT: Final = checks.Policy.model_validate("strict")
"""The policy that declines agents that do not respond. Under `balanced`, this is a caution."""


@dataclass(frozen=True)
class Losses:
    """The assumptions about probes that fail though the endpoint responds to others.

    Attributes:
        lost: The share of probes that are lost.
        cuts: How often in a day the watchtower alone is cut off from an endpoint.
        cut: The length of the shortest such cut in seconds. Lengths have a Pareto distribution: one in eight is longer
            than 10 minutes.
        tail: The exponent of this distribution, which is near the one of partial outages between clouds and networks
            (Katz-Bassett et al., LIFEGUARD, SIGCOMM 2012).
    """

    lost: float = 0.01
    cuts: float = 0.2
    cut: float = 90.0
    tail: float = 1.1

    def draw(
        self, first: float, end: float, outage: tuple[float, float], random: np.random.Generator
    ) -> Callable[[float], bool]:
        """Draw when an endpoint is cut off, and return whether a probe at a Unix time gets no response.

        Args:
            first: The Unix time of the first probe.
            end: The Unix time of the end.
            outage: The Unix times from which and until which the endpoint responds to nobody.
            random: Decides all draws.
        """
        cuts = np.sort(random.uniform(first, end, random.poisson(self.cuts * (end - first) / (24 * HOUR))))
        stops = np.maximum.accumulate(cuts + self.cut * (1 + random.pareto(self.tail, len(cuts))))
        starts, last_stops = cuts.tolist(), [0.0, *stops.tolist()]
        return lambda at: bool(
            outage[0] <= at < outage[1] or at < last_stops[bisect(starts, at)] or random.random() < self.lost
        )


def advice(target: Target, first: float, end: float, fails: Callable[[float], bool]) -> Iterator[tuple[float, bool]]:
    """Probe an endpoint, and yield when a check's advice about its agent may change: True to stay away.

    Args:
        target: The endpoint.
        first: The Unix time from which it is listed.
        end: The Unix time of the end.
        fails: Returns whether a probe at a Unix time gets no response.
    """
    entry, interval, at = Endpoint(0, target, Condition()), WatchSettings.interval, first
    key, condition = target.endpoint_id, entry.condition
    while (at := next_due(key, at, interval * condition.rounds_to_next(at, interval))) < end:
        has_failed = fails(at)
        if has_failed and entry.may_retry:
            entry.failed = Probe.of(Code.TIMEOUT_CONNECT)
            at += RETRY_SECONDS[0] + phase(key, RETRY_SECONDS[1])
            has_failed = fails(at)
        if entry.conclude(Probe.of(Code.TIMEOUT_CONNECT if has_failed else Code.OK), int(at)):
            yield at, _is_declined(entry, int(at))


def _is_declined(entry: Endpoint, at: int) -> bool:
    """Return whether a check declines an agent that lists this endpoint alone."""
    condition = entry.condition
    state = (condition.state, condition.code, condition.since, condition.since, condition.was_alive)
    endpoint = endpoint_facts.EndpointFacts(entry.target.protocol, *state)
    measured = endpoint_facts.MeasurementFacts(at, 0, (endpoint,))
    as_of = verdicts.AsOf(0, 0)
    found = facts.Facts(source=facts.Source.INDEX, side=Side.SERVER, as_of=as_of, measurements=measured)
    drafts = endpoint_rules.endpoints(found, _STRICT)
    return any((draft.severity or _STRICT.severity_of(draft.code)) is checks.Severity.DECLINE for draft in drafts)
