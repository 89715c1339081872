"""The measures of a market that was played: in money, and by the truth that no policy saw."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa

from bench.market.attackers import Attackers, Campaign
from bench.market.plans import Memory
from bench.market.play import EXCHANGES, GOOD, Array, Log, Market, Policy
from bench.market.policies import Ranking, by_counts, fitted, held
from bench.market.settings import Settings
from bilateral.trust.decisions import ASKS, decide

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
        newcomers: The share of good sellers that came later, at least ten days before the end, and sold nothing.
        strategies: For each strategy: campaigns, cost, revenue, the money lost to it, and the revenue for good service.
    """

    lost: float
    value: float
    declined: float
    served: float
    profit: float
    newcomers: float
    strategies: dict[str, tuple[float, ...]]


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
    sales = market.sales
    warm = sales["day"] >= WARM
    paid, cheated = sales["paid"][warm], sales["cheated"][warm]
    needs = np.array(market.unserved[WARM:])
    campaigns = attackers.campaigns if attackers is not None else []
    cost = sum(campaign.cost for campaign in campaigns)
    gained = sum(campaign.revenue for campaign in campaigns)
    return Outcome(
        lost=float(paid[cheated].sum() / paid.sum()),
        value=float(sales["value"][warm].sum()),
        declined=float(np.mean(market.declined[WARM:])),
        served=float(1 - needs[:, 0].sum() / max(needs[:, 1].sum(), 1)),
        profit=float((gained - cost) / cost) if cost else 0.0,
        newcomers=_newcomers(market),
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


def _strategies(market: Market, campaigns: list[Campaign]) -> dict[str, tuple[float, ...]]:
    """Return campaigns, cost, revenue, the money lost, and the revenue for good service, by strategy."""
    sales = market.sales
    number = market.agents.campaign[sales["agent"]]
    counts = (sales["day"] >= WARM) & sales["cheated"] & (number >= 0)
    lost = np.bincount(number[counts], sales["paid"][counts], len(campaigns))
    sums: dict[str, Array] = {}
    for campaign, loss in zip(campaigns, lost, strict=True):
        row = np.array([1, campaign.cost, campaign.revenue, loss, campaign.served])
        sums[campaign.plan.strategy] = sums.get(campaign.plan.strategy, np.zeros(len(row))) + row
    return {name: tuple(row.tolist()) for name, row in sums.items()}


SIZES: Final = (3_000, 10_000, 40_000, 150_000)
"""The numbers of honest accounts."""

MOST_PAID: Final = 100
"""The number of agents that count as the most paid."""


def free_market(settings: Settings, accounts: int, seed: int) -> Market:
    """Play a market without attackers, whose buyers follow the mean by counts.

    Args:
        settings: The assumptions.
        accounts: The number of honest accounts.
        seed: Decides all draws.
    """
    return Market(replace(settings, accounts=accounts), Ranking("mean by counts", by_counts), seed).run()


def joined(markets: Sequence[Market], crossing: float = 0.0, seed: int = 0) -> Log:
    """Return the rows of several markets as one: platforms with the same exchanges, and agents of their own.

    Args:
        markets: The markets, which were played. Their accounts and agents follow one another in their order.
        crossing: The share of purchases for which a buyer of the next market pays and rates instead of its own.
        seed: Decides which, and who buys.
    """
    log, random = Log(markets[0].log.seed), np.random.default_rng([seed, 3])
    log.open(EXCHANGES)
    first = EXCHANGES
    shifts = []
    for market in markets:
        shifts.append(first - EXCHANGES)
        first += market.log.accounts - EXCHANGES
    log.accounts = first
    for place, (market, shift) in enumerate(zip(markets, shifts, strict=True)):
        following = (place + 1) % len(markets)
        guests = markets[following].people
        weight = guests.needs * (guests.born <= 0)
        own = market.log
        _append(log, own, shift)
        payee = own.agents["owner"][own.payments["agent"]]
        returned = np.isin(pairs(payee, own.payments["payer"]), pairs(own.transfers["src"], own.transfers["dst"]))
        crosses = ~returned & (random.random(len(own.payments)) < crossing)
        guest = random.choice(guests.buyers, int(crosses.sum()), p=weight / weight.sum()) + shifts[following]
        rows = np.flatnonzero(crosses) + len(log.payments) - len(crosses)
        log.payments["payer"][rows] = guest
        payer_of = np.where(log.feedback["payment"] >= 0, log.feedback["payment"], 0)
        paid = np.isin(log.feedback["payment"], rows)
        log.feedback["client"][paid] = log.payments["payer"][payer_of[paid]]
    return log


def pairs(left: Array, right: Array) -> Array:
    """Return one number for each pair of accounts."""
    return left * (1 << 32) + right


def _append(log: Log, rows: Log, shift: int) -> None:
    """Append the rows of a market; its exchanges are those of the others."""
    agents, payments = len(log.agents), len(log.payments)

    def moved(accounts: Array) -> Array:
        return np.where(accounts < EXCHANGES, accounts, accounts + shift)

    later = {
        "owner": moved, "client": moved, "payer": moved, "src": moved, "dst": moved, "agent": lambda of: of + agents,
        "payment": lambda of: np.where(of < 0, -1, of + payments),
    }  # fmt: skip
    for name in ("agents", "feedback", "ratings", "payments", "transfers", "handovers"):
        table = getattr(rows, name)
        columns = {column: later.get(column, np.asarray)(table[column]) for column in table.columns}
        getattr(log, name).add(**columns)


def held_back(log: Log, good: Array) -> dict[str, float]:
    """Return who is held back in a market without attackers, and the time of the analysis.

    Args:
        log: The rows.
        good: Marks the good sellers.
    """
    started = time.perf_counter()
    engine = fitted(log)
    marked = held(engine)
    seconds = time.perf_counter() - started
    payments = log.payments
    paid = np.bincount(payments["agent"], payments["amount"], len(marked))
    return {
        "opinions": len(log.feedback) + len(log.ratings),
        "held": float(marked.mean()),
        "held of the most paid": int(marked[np.argsort(-paid)[:MOST_PAID]].sum()),
        "held of good": float(marked[good].mean()),
        "seconds": seconds,
    }


def beyond_analysis(log: Log, asks: int = 10_000) -> float:
    """Return the processor's seconds that `decide` takes for many asks, beside those of its one analysis.

    Args:
        log: The rows.
        asks: The number of asks.
    """
    tables, random = log.tables(), np.random.default_rng(3)
    last = float(log.feedback["ts"].max())
    columns = {
        "ask_id": np.arange(asks), "asker": ["0x" + "11" * 20] * asks,
        "agent_id": 1 + random.integers(len(log.agents), size=asks), "ts": np.full(asks, last),
        "amount": random.lognormal(0, 1.2, asks),
    }  # fmt: skip
    table = pa.table(columns, schema=ASKS)

    def seconds(count: int) -> float:
        started = time.process_time()
        decide(tables, table.slice(0, count))
        return time.process_time() - started

    seconds(1)
    return max(min(seconds(asks) for _ in range(2)) - min(seconds(1) for _ in range(2)), 0.0)
