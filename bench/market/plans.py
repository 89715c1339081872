"""The plans of attackers who cheat buyers: their strategies, and how they choose what paid before."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np


@dataclass(frozen=True)
class Plan:
    """The plan of one campaign.

    Attributes:
        strategy: Its name, one of `STRATEGIES`.
        agents: The agents that it registers.
        raters: The accounts that praise each of them.
        paid: The payment with each praise, which comes back; 0 for none.
        hides: 1 if money comes from exchanges and returns to them, so that no wallet is shared.
        age: The days for which raters exist before they praise.
        spread: The days over which praise is spread.
        cover: The purchases of each rater from honest sellers, which it rates honestly.
        service: The days for which the agents serve well before they cheat.
        above: The amount from which they cheat.
        bribes: The honest buyers whom a broker pays to buy and praise.
        mutual: 1 if the agents' owners praise each other.
        price: The mean price of those purchases.
        wash: The money that each rater pays to another seller of the attacker, in each round. It comes back.
        rounds: The rounds of those payments.
        serves: 1 if that seller serves buyers well.
        hub: The accounts to which the attacker's wallet sends a cent, so that it looks like an exchange.
        busy: The share of them that buy once.
        dust: The payments of a cent or less between further buyers and sellers of the attacker.
        lead: The share of `spread` after which the agents begin to sell.
        offer: The price of each agent, which good sellers hand over with their standing; 0 if it registers its own.
    """

    strategy: str
    agents: float = 1
    raters: float = 0
    paid: float = 0.0
    hides: float = 0
    age: float = 0
    spread: float = 1
    cover: float = 0
    service: float = 0
    above: float = 0.0
    bribes: float = 0
    mutual: float = 0
    price: float = 0.5
    wash: float = 0.0
    rounds: float = 1
    serves: float = 0
    hub: float = 0
    busy: float = 0.0
    dust: float = 0
    lead: float = 1
    offer: float = 0.0


_HIDES: Final = (0, 1.99)
STRATEGIES: Final[dict[str, dict[str, tuple[float, float]]]] = {
    "start anew": {"agents": (1, 12)},
    "unpaid praise": {"agents": (1, 5), "raters": (3, 40), "hides": _HIDES, "spread": (1, 8)},
    "paid praise": {"agents": (1, 5), "raters": (3, 30), "paid": (0.2, 6), "hides": _HIDES, "spread": (1, 10)},
    "aged praise": {
        "agents": (1, 4), "raters": (3, 20), "paid": (0.2, 6), "hides": _HIDES, "age": (3, 15), "spread": (1, 10),
        "cover": (1, 6),
    },
    "ring": {
        "agents": (3, 9), "paid": (0, 4), "hides": _HIDES, "mutual": (1, 1), "age": (0, 8), "spread": (1, 10),
        "cover": (0, 4),
    },
    "bought praise": {"bribes": (4, 30), "spread": (1, 8)},
    "exit scam": {"agents": (1, 6), "service": (4, 20)},
    "exit scam with praise": {
        "agents": (1, 4), "service": (4, 15), "raters": (3, 15), "paid": (0, 4), "hides": _HIDES, "spread": (1, 10),
    },
    "cheats on large amounts": {"agents": (1, 6), "service": (0, 8), "above": (2, 20)},
    "wash evidence": {
        "agents": (1, 4), "raters": (3, 12), "cover": (1, 4.99), "price": (0.1, 1.5), "wash": (10, 200),
        "rounds": (1, 6), "serves": (0, 1.99), "paid": (0.2, 4), "hides": _HIDES, "age": (2, 10), "spread": (1, 8),
        "above": (-10, 20),
    },
    "own hub": {
        "agents": (3, 20), "raters": (0, 8), "paid": (0, 3), "hub": (60, 300), "busy": (0, 0.3), "mutual": (0, 1.99),
        "cover": (0, 3), "price": (0.05, 0.6), "age": (0, 12), "spread": (1, 6),
    },
    "dust": {
        "agents": (1, 4), "raters": (3, 15), "paid": (0.01, 1), "cover": (1, 4), "price": (0.005, 0.3),
        "dust": (40, 300), "hides": _HIDES, "age": (1, 8), "spread": (1, 8),
    },
    "drip": {
        "agents": (1, 4), "raters": (4, 7), "paid": (0, 2), "cover": (2, 5), "price": (0.1, 1), "hides": _HIDES,
        "age": (0, 8), "spread": (8, 28), "lead": (0.2, 1), "service": (0, 6),
    },
    "fresh buyers": {
        "agents": (1, 4), "raters": (6, 14), "paid": (0.1, 2), "cover": (1, 2.99), "price": (0.05, 1),
        "hides": _HIDES, "age": (0, 3), "spread": (1, 8),
    },
    "bought agents": {"agents": (1, 4), "offer": (5, 30), "above": (-4, 8)},
}  # fmt: skip
"""The strategies, and the range of each number that one may choose."""


def drawn(strategy: str, random: np.random.Generator) -> Plan:
    """Draw a plan.

    Args:
        strategy: The strategy.
        random: Decides the draw.
    """
    numbers: dict[str, Any] = {name: random.uniform(*ends) for name, ends in STRATEGIES[strategy].items()}
    return replace(Plan(strategy), **numbers)


def changed(plan: Plan, random: np.random.Generator) -> Plan:
    """Change the numbers of a plan a little, within their ranges.

    Args:
        plan: The plan.
        random: Decides the change.
    """
    ranges = STRATEGIES[plan.strategy]
    steps: dict[str, Any] = {
        name: float(np.clip(getattr(plan, name) + random.normal(0, 0.2) * (high - low), low, high))
        for name, (low, high) in ranges.items()
    }
    return replace(plan, **steps)


@dataclass
class Memory:
    """The campaigns that attackers know of. They share them, and carry them from one market to the next.

    Attributes:
        past: Each ended campaign: plan, cost, and revenue.
    """

    past: list[tuple[Plan, float, float]] = field(default_factory=list)

    def next(self, random: np.random.Generator) -> Plan:
        """Choose a plan: of a strategy that paid, mostly a change of a plan that paid best.

        Args:
            random: Decides the choice.
        """
        names = list(STRATEGIES)
        worth = np.array([self._worth(name) for name in names])
        odds = np.exp((worth - worth.max()) / 0.25)  # a strategy with 50 cents less for a dollar is tried 1 time in 8
        strategy = names[int(random.choice(len(names), p=odds / odds.sum()))]
        own = [entry for entry in self.past if entry[0].strategy == strategy]
        if len(own) < 3 or random.random() < 0.25:  # noqa: PLR2004
            return drawn(strategy, random)
        best = sorted(own, key=lambda entry: -_profit(entry))[:5]
        return changed(best[int(random.integers(len(best)))][0], random)

    def _worth(self, strategy: str) -> float:
        """Return the mean profit of the better half of recent campaigns; an untried strategy raises hopes."""
        recent = [_profit(entry) for entry in self.past if entry[0].strategy == strategy][-16:]
        hoped: Mapping[int, float] = {0: 1.0, 1: 0.5}
        if len(recent) in hoped:
            return hoped[len(recent)]
        return float(np.mean(sorted(recent)[len(recent) // 2 :]))


def _profit(entry: tuple[Plan, float, float]) -> float:
    """Return the profit for each dollar; five dollars are added to the cost, for the time that a campaign takes."""
    _, cost, revenue = entry
    return float(np.clip((revenue - cost) / (cost + 5.0), -1, 3))
