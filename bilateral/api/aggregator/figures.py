"""Figures of the aggregator for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bilateral.x402.aggregator.service import Aggregator

_PREFIX: Final = "bilateral_aggregator_"
_COUNTERS: Final = {
    "accepted": "Feedback that was taken.",
    "submitted": "Transactions that were signed and sent.",
    "confirmed": "Feedback that is on chain.",
    "failed": "Feedback that can never be on chain.",
    "gas_wei": "The cost of confirmed transactions, in wei.",
}


class AggregatorFigures(Collector):
    """The figures of one aggregator, read when somebody asks.

    Args:
        aggregator: The aggregator.
    """

    def __init__(self, aggregator: Aggregator) -> None:
        """See the class."""
        self._aggregator = aggregator

    def describe(self) -> Iterable[Any]:
        """Return nothing: the database is not asked when the figures are registered."""
        return ()

    def collect(self) -> Iterable[Any]:
        """Read the figures."""
        counts = self._aggregator.read_counts()
        for name, text in _COUNTERS.items():
            yield CounterMetricFamily(_PREFIX + name, text, value=counts[name])
        refused = CounterMetricFamily(_PREFIX + "refused", "Refusals by code.", labels=["code"])
        for name, count in sorted(counts.items()):
            if name.startswith("refused "):
                refused.add_metric([name.removeprefix("refused ")], count)
        yield refused
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
