"""A week of probes in a watchtower's database, written as the watchtower writes them."""

from __future__ import annotations

from dataclasses import replace

from bilateral.index.measurements.values import Change, Outcome, Protocol, Target
from bilateral.watchtower.endpoints import Condition, Endpoint
from bilateral.watchtower.outcomes import Code, Probe
from bilateral.watchtower.periods import ROUND_SECONDS, Period
from bilateral.watchtower.store import Result, open_store

WEEK = Period.parse("2025-W47")
ROUNDS = (WEEK.end - WEEK.first) // ROUND_SECONDS


def target(number, *agents, protocol=Protocol.MCP, host=None):
    """An endpoint of some agents."""
    host = host or f"{number}.example"
    return Target(protocol, f"https://{host}/mcp", host, agents)


class Week:
    """The database of a watchtower, and what it probed."""

    def __init__(self, folder, *targets):
        self.store = open_store(f"sqlite:///{folder / 'watchtower.sqlite'}")
        self.listed = []
        self.list(*targets)

    def list(self, *targets):
        """List more endpoints."""
        self.listed += targets
        self.store.set_targets(self.listed)
        self.numbers = {entry.target.endpoint_id: entry.number for entry in self.store.endpoints()}

    def probe(self, endpoint, outcomes, *, period=WEEK, vantage="eu-1", code="ok", latency=lambda _: 100):
        """Store an outcome of each round; None for a round without a probe."""
        results, entry = [], Endpoint(self.numbers[endpoint.endpoint_id], endpoint, Condition())
        for number, outcome in enumerate(outcomes):
            at = period.first + number * ROUND_SECONDS
            if outcome is not None:
                ms = None if outcome in (Outcome.DOWN, Outcome.UNKNOWN) else latency(number)
                entry.conclude(Probe(outcome, Code(code), ms), at)
                results.append(Result(entry.number, vantage, at, replace(entry.condition)))
        self.store.save(results)

    def change(self, endpoint, at, new, *, kind="state", old=None, vantage="eu-1", code="ok"):
        """Store a change."""
        change = Change(endpoint.endpoint_id, at, kind, old, new, code)
        number = self.numbers[endpoint.endpoint_id]
        self.store.save([Result(number, vantage, at, Condition(), [change])])

    def up(self, endpoint, *, period=WEEK, downs=0, vantage="eu-1"):
        """Store a week in which an endpoint was up but for its last rounds."""
        self.change(endpoint, period.first - 2, Outcome.UP, vantage=vantage)
        outcomes = [Outcome.UP] * (ROUNDS - downs) + [Outcome.DOWN] * downs
        self.probe(endpoint, outcomes, period=period, vantage=vantage)
