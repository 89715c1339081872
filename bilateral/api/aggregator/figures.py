"""Figures of the aggregator for Prometheus."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from bilateral.x402.aggregator.service import Aggregator

_PREFIX: Final = "bilateral_aggregator_"
_COUNTERS: Final = {
    "accepted": "Feedback that was taken.",
    "submitted": "Transactions that were signed and sent.",
    "confirmed": "Feedback that is on chain.",
    "failed": "Feedback that can never be on chain.",
    "gas_wei": "The cost of confirmed transactions, in wei.",
}


class AggregatorCounters:
    """Counters of events. Each process counts its own, and Prometheus' library adds them up.

    Args:
        registry: The registry of the figures that each process counts.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._plain = {name: Counter(_PREFIX + name, text, registry=registry) for name, text in _COUNTERS.items()}
        self._refused = Counter(_PREFIX + "refused", "Refusals by code.", ("code",), registry=registry)

    def observe(self, name: str, amount: int) -> None:
        """Count an event.

        Args:
            name: Its name as `Aggregator` observes it.
        """
        if name in self._plain:
            self._plain[name].inc(amount)
        else:
            self._refused.labels(name.removeprefix("refused ")).inc(amount)

    def close(self) -> None:
        """Remove the counters from the registry."""
        for counter in (*self._plain.values(), self._refused):
            self._registry.unregister(counter)


class AggregatorFigures(Collector):
    """The state of the queue and of the budget, read from the database when somebody asks."""

    def __init__(self, aggregator: Aggregator) -> None:
        self._aggregator = aggregator

    def describe(self) -> Iterable[Any]:
        """Return nothing: the database is not asked when the figures are registered."""
        return ()

    def collect(self) -> Iterable[Any]:
        """Read the figures."""
        queue = GaugeMetricFamily(_PREFIX + "feedback", "Feedback by chain and state.", labels=["chain_id", "state"])
        for (chain_id, state), count in sorted(self._aggregator.count_by_state().items()):
            queue.add_metric([str(chain_id), state], count)
        yield queue
        spent = GaugeMetricFamily(_PREFIX + "spent_today_wei", "Wei that count for today.", labels=["chain_id"])
        budget = GaugeMetricFamily(_PREFIX + "budget_wei", "The budget of a day, in wei.", labels=["chain_id"])
        for chain in self._aggregator.settings.chains:
            spent.add_metric([str(chain.chain_id)], self._aggregator.spent_today(chain))
            budget.add_metric([str(chain.chain_id)], chain.budget)
        yield spent
        yield budget
        working = 1 if self._aggregator.is_working else 0
        yield GaugeMetricFamily(_PREFIX + "working", "1 while every worker runs.", value=working)
