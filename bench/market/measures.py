"""The measures of a market that was played: in money, and by the truth that no policy saw."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bench.market.attackers import Attackers
from bench.market.people import GOOD
from bench.market.plans import Memory
from bench.market.play import Market

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.market.attackers import Campaign
    from bench.market.people import Array
    from bench.market.play import Policy
    from bench.market.settings import Settings

WARM: Final = 10
"""The days that are not measured, in which nobody knows anybody."""

CHEAP: Final = 20.0
"""The mean cost of a campaign, in dollars, up to which a strategy counts as cheap."""


@dataclass(frozen=True)
class Outcome:
    """The measures of one market. Shares are from 0 to 1.

    Attributes:
        lost: The share of the money that went to cheats.
        value: The value that buyers received, in dollars.
        declined: The share of good sellers that the policy refuses, as a mean of days.
        served: The share of needs that had an acceptable offer.
        profit: The profit of attackers for each dollar that they spent; 0 without attackers.
        spent: The dollars that attackers spent.
        newcomers: The share of good sellers that came later, at least ten days before the end, and sold nothing.
        gini: The Gini coefficient of the revenue of honest sellers.
        strategies: For each strategy: campaigns, cost, revenue, and the money lost to it.
    """

    lost: float
    value: float
    declined: float
    served: float
    profit: float
    spent: float
    newcomers: float
    gini: float
    strategies: dict[str, tuple[int, float, float, float]]


def play(settings: Settings, policy: Policy, seed: int, rehearsals: int = 0) -> Iterator[tuple[Market, Attackers]]:
    """Play a market with attackers, after others in which they learn.

    Args:
        settings: The assumptions.
        policy: The system that buyers follow.
        seed: Decides all draws.
        rehearsals: The markets under the same policy that the attackers learn from before.

    Yields:
        Each market and its attackers: the rehearsals, and then the market.
    """
    memory = Memory()
    for number in range(rehearsals + 1):
        own = seed + 10_007 * (rehearsals - number)
        attackers = Attackers(own, memory)
        market = Market(settings, policy, own, (attackers,)).run()
        attackers.finish(market)
        yield market, attackers


def outcome(market: Market, attackers: Attackers | None = None) -> Outcome:
    """Measure a market.

    Args:
        market: The market, which was played.
        attackers: Its attackers.
    """
    sales, agents = market.sales, market.agents
    warm = sales["day"] >= WARM
    paid, cheated = sales["paid"][warm], sales["cheated"][warm]
    needs = np.array(market.unserved[WARM:])
    revenue = np.bincount(sales["agent"], sales["paid"], len(agents.quality))
    campaigns = attackers.campaigns if attackers is not None else []
    cost = sum(campaign.cost for campaign in campaigns)
    gained = sum(campaign.revenue for campaign in campaigns)
    return Outcome(
        lost=float(paid[cheated].sum() / paid.sum()),
        value=float(sales["value"][warm].sum()),
        declined=float(np.mean(market.declined[WARM:])),
        served=float(1 - needs[:, 0].sum() / max(needs[:, 1].sum(), 1)),
        profit=float((gained - cost) / cost) if cost else 0.0,
        spent=float(cost),
        newcomers=_newcomers(market),
        gini=gini(revenue[agents.honest & ~agents.free]),
        strategies=_strategies(market, campaigns),
    )


def _newcomers(market: Market) -> float:
    """Return the share of good sellers that came while the market ran and sold nothing."""
    settings, agents = market.settings, market.agents
    born = market.log.agents["ts"]
    later = (born > settings.time(WARM)) & (born < settings.time(settings.days - WARM))
    good = agents.honest & (agents.quality >= GOOD) & later
    sold = np.bincount(market.sales["agent"], minlength=len(born)) > 0
    return float(np.mean(~sold[good])) if good.any() else 0.0


def gini(values: Array) -> float:
    """Return the Gini coefficient: 0 if all are equal, 1 if one has everything.

    Args:
        values: Values that are not negative.
    """
    ordered = np.sort(values)
    count, total = len(ordered), float(ordered.sum())
    if not total:
        return 0.0
    return float(2 * np.sum(np.arange(1, count + 1) * ordered) / (count * total) - (count + 1) / count)


def _strategies(market: Market, campaigns: list[Campaign]) -> dict[str, tuple[int, float, float, float]]:
    """Return campaigns, cost, revenue and the money lost, by strategy."""
    sales = market.sales
    number = market.agents.campaign[sales["agent"]]
    counts = (sales["day"] >= WARM) & sales["cheated"] & (number >= 0)
    lost = np.bincount(number[counts], sales["paid"][counts], len(campaigns))
    out: dict[str, tuple[int, float, float, float]] = {}
    for campaign, loss in zip(campaigns, lost, strict=True):
        runs, cost, revenue, sum_lost = out.get(campaign.plan.strategy, (0, 0.0, 0.0, 0.0))
        out[campaign.plan.strategy] = (runs + 1, cost + campaign.cost, revenue + campaign.revenue, sum_lost + loss)
    return out


def as_record(measured: Outcome) -> dict[str, object]:
    """Return the measures as they are recorded.

    Args:
        measured: The measures.
    """
    return asdict(measured)
