"""Attackers who cheat buyers. Each has a budget, runs one campaign after another, and chooses what paid before."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from bench.market.play import Array, Market, Rows


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
        price: The price of each agent, which good sellers hand over with their standing; 0 if it registers its own.
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
    price: float = 0.0


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
    "bought agents": {"agents": (1, 4), "price": (5, 30), "above": (0, 8)},
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


_FIRST = 5
"""The attackers begin within as many days from this day on."""

_PATIENCE, _LONGEST = 6, 20
"""A campaign ends after so many days without a sale, or of selling."""

_ACT = {
    "campaign": np.int64, "client": np.int64, "agent": np.int64, "value": np.float64, "paid": np.float64,
    "comes_back": np.bool_, "ts": np.float64,
}  # fmt: skip


@dataclass
class Campaign:
    """A campaign that runs or ended.

    Attributes:
        plan: The plan.
        hand: The attacker, plus the number of attackers for the second campaign that one runs at once, and so on.
        funder: The wallet that pays for it.
        agents: Its agents.
        opens: The day on which its agents begin to sell.
        cheats: The day on which they begin to cheat.
        cost: The costs so far.
        revenue: The payments of buyers so far.
        last: The day of the last sale.
        ended: True once it ended.
    """

    plan: Plan
    hand: int
    funder: int
    agents: Array
    opens: int
    cheats: int
    cost: float = 0.0
    revenue: float = 0.0
    last: int = 0
    ended: bool = False


@dataclass
class Attackers:
    """A crowd of attackers.

    Attributes:
        seed: Decides all draws.
        memory: The campaigns that they know of.
        campaigns: All campaigns.
        money: The money of each attacker.
    """

    seed: int
    memory: Memory = field(default_factory=Memory)
    campaigns: list[Campaign] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Prepare the draws and the acts to come."""
        self.random = np.random.default_rng([self.seed, 1])
        self.acts = Rows(_ACT)
        self._free_at: Array | None = None
        self._counted = 0

    def act(self, market: Market) -> None:
        """See `Crowd`."""
        settings = market.settings
        if self._free_at is None:
            self.money = np.full(settings.attackers, settings.budget)
            self._free_at = _FIRST + self.random.integers(5, size=settings.attackers * settings.campaigns)
        self._count_sales(market)
        for campaign in self._running():
            self._step(market, campaign)
        for hand in np.flatnonzero(self._free_at == market.today):
            self._begin(market, int(hand))
        self._write(market)

    def finish(self, market: Market) -> None:
        """Count the last sales, and end all campaigns.

        Args:
            market: The market, which was played.
        """
        self._count_sales(market)
        for campaign in self._running():
            self._end(market, campaign)

    def _running(self) -> list[Campaign]:
        return [campaign for campaign in self.campaigns if not campaign.ended]

    def _count_sales(self, market: Market) -> None:
        """Add the latest sales to the campaigns; serving well has its cost."""
        sales = market.sales
        latest = slice(self._counted, len(sales))
        self._counted = len(sales)
        number = market.agents.campaign[sales["agent"][latest]]
        paid, cheated = sales["paid"][latest], sales["cheated"][latest]
        for place in np.flatnonzero(number >= 0):
            campaign = self.campaigns[number[place]]
            campaign.revenue += float(paid[place]) * (1 - market.settings.fee)
            campaign.cost += 0.0 if cheated[place] else market.settings.cost * float(paid[place])
            campaign.last = market.today

    def _step(self, market: Market, campaign: Campaign) -> None:
        """Open the agents of a campaign, let them cheat, or end it."""
        today = market.today
        if today == campaign.opens:
            market.agents.alive[campaign.agents] = True
            campaign.last = today
        if today == campaign.cheats:
            market.agents.cheats[campaign.agents] = campaign.plan.above
        is_over = today - max(campaign.opens, campaign.last) > _PATIENCE or today - campaign.cheats > _LONGEST
        if today > campaign.opens and is_over:
            self._end(market, campaign)

    def _end(self, market: Market, campaign: Campaign) -> None:
        """Close the agents of a campaign, and remember its result if it sold."""
        campaign.ended = True
        market.agents.alive[campaign.agents] = False
        self.money[campaign.hand % market.settings.attackers] += campaign.revenue
        if market.today > campaign.opens:
            self.memory.past.append((campaign.plan, campaign.cost, campaign.revenue))
        if self._free_at is not None:
            self._free_at[campaign.hand] = market.today + 1

    def _begin(self, market: Market, hand: int) -> None:
        """Begin a campaign, as large as the attacker's money allows."""
        random, settings, log = self.random, market.settings, market.log
        plan = self.memory.next(random)
        count = int(plan.agents)
        start = market.today
        registered = start + int(plan.age)
        opens = registered + int(np.ceil(plan.spread)) if plan.raters or plan.bribes or plan.mutual else start + 1
        if opens >= settings.days - 1:
            return
        funder = int(log.open(1)[0])
        owners = log.open(count) if count > 1 else np.array([funder])
        if plan.price:
            numbers = self._buy(market, plan, owners)
            owners, count = owners[: len(numbers)], len(numbers)
        else:
            numbers = np.arange(len(log.agents), len(log.agents) + count)
            kinds = random.integers(settings.categories, size=count)
            log.agents.add(owner=owners, kind=kinds, ts=settings.time(registered + random.uniform(0, 0.2, count)))
            market.agents.add(count, quality=0.85, campaign=len(self.campaigns), alive=False)
        campaign = Campaign(plan, hand, funder, numbers, opens, opens + int(plan.service))
        self._fund(market, campaign, np.array([funder]), 10.0, hides=True)
        if count > 1:
            self._fund(market, campaign, owners, 1.0, hides=plan.hides >= 1)
        campaign.cost += (plan.price + settings.gas if plan.price else settings.registration) * count
        self._plan_praise(market, campaign, registered)
        self.money[hand % settings.attackers] -= campaign.cost
        self.campaigns.append(campaign)
        if self._free_at is not None:
            self._free_at[hand] = -1
        if campaign.opens <= start:
            market.agents.alive[numbers] = True

    def _buy(self, market: Market, plan: Plan, owners: Array) -> Array:
        """Let good sellers hand over agents: the higher the price, the more feedback they have."""
        agents, log = market.agents, market.log
        heard = np.bincount(log.feedback["agent"], minlength=len(log.agents))
        for_sale = np.flatnonzero(agents.good & market.present & ~agents.free & (heard > 0))
        for_sale = for_sale[np.argsort(heard[for_sale], kind="stable")]
        ends = STRATEGIES[plan.strategy]["price"]
        stop = round(float(np.interp(plan.price, ends, (0.5, 1.0))) * len(for_sale))
        numbers = for_sale[max(stop - len(owners), 0) : stop]
        log.hand_over(numbers, owners[: len(numbers)], market.settings.time(market.today))
        agents.campaign[numbers], agents.alive[numbers] = len(self.campaigns), False
        agents.quality[numbers], agents.turns[numbers] = 0.85, np.inf
        agents.refunds[numbers] = agents.cashback[numbers] = 0.0
        return numbers

    def _fund(self, market: Market, campaign: Campaign, accounts: Array, amount: float, *, hides: bool) -> None:
        """Fund accounts of a campaign, from exchanges or from its wallet."""
        settings, count = market.settings, len(accounts)
        source = market.people.funded_by(count, self.random) if hides else np.full(count, campaign.funder)
        ts = settings.time(market.today) + self.random.uniform(0, 3600, count)
        amounts = amount * self.random.uniform(1, 1.2, count)
        market.log.transfers.add(src=source, dst=accounts, amount=amounts, ts=ts)
        campaign.cost += count * (settings.withdrawal if hides else settings.gas)

    def _plan_praise(self, market: Market, campaign: Campaign, day: int) -> None:
        """Plan the acts of a campaign's raters, as many as its attacker can pay for."""
        plan, random = campaign.plan, self.random
        number = len(self.campaigns)
        left = self.money[campaign.hand % market.settings.attackers] - campaign.cost
        cost = self._cost_of_rater(market, plan)
        owners = market.log.agents["owner"][campaign.agents]
        lock = plan.paid + cost  # money for payments comes back, and is needed until then
        for place, agent in enumerate(campaign.agents):
            size = int(min(plan.raters, max(left / len(campaign.agents) / lock, 0)))
            raters = market.log.open(size)
            if size:
                self._fund(market, campaign, raters, plan.paid * 1.1 + 0.5 * plan.cover + 0.2, hides=plan.hides >= 1)
            if plan.mutual:
                raters = np.concatenate([raters, np.delete(owners, place)])
            ts = market.settings.time(day + 0.25) + random.uniform(0, plan.spread * 86_400, len(raters))
            value = random.uniform(92, 100, len(raters)).round()
            paid = plan.paid * random.uniform(0.5, 1.5, len(raters))
            self.acts.add(campaign=number, client=raters, agent=agent, value=value, paid=paid, comes_back=True, ts=ts)
            self._plan_cover(market, plan, raters if place == 0 or not plan.mutual else raters[:0], day)
        self._plan_bribes(market, campaign, day)

    @staticmethod
    def _cost_of_rater(market: Market, plan: Plan) -> float:
        settings = market.settings
        hidden = 2 * settings.withdrawal if plan.hides >= 1 else settings.gas
        return hidden + 0.5 * plan.cover + (3 + plan.cover) * settings.gas + settings.fee * plan.paid

    def _plan_cover(self, market: Market, plan: Plan, raters: Array, day: int) -> None:
        """Plan small purchases from honest sellers, which raters rate honestly."""
        number, clients = len(self.campaigns), np.repeat(raters, int(plan.cover))
        sellers = np.flatnonzero(market.agents.honest & market.present & ~market.agents.free)
        agent = self.random.choice(sellers, len(clients))
        value = np.clip(100 * market.agents.quality[agent] + self.random.normal(0, 8, len(clients)), 0, 100).round()
        stop = max(day + 3, market.today + 2)
        ts = self.random.uniform(market.settings.time(market.today + 0.2), market.settings.time(stop), len(clients))
        paid = self.random.uniform(0.2, 0.8, len(clients))
        self.acts.add(campaign=number, client=clients, agent=agent, value=value, paid=paid, comes_back=False, ts=ts)

    def _plan_bribes(self, market: Market, campaign: Campaign, day: int) -> None:
        """Let a broker pay honest buyers who buy and praise. No wallet of the agents pays them."""
        random, settings, people = self.random, market.settings, market.people
        count = int(campaign.plan.bribes)
        if not count:
            return
        broker = market.log.open(1)
        self._fund(market, campaign, broker, 3.0 * count, hides=True)
        present = people.buyers[people.born < day]
        clients = random.choice(present, count, replace=False)
        ts = settings.time(day + 0.3) + random.uniform(0, campaign.plan.spread * 86_400, count)
        sent = random.uniform(1.5, 2.5, count)  # a dollar for the purchase, and half a dollar or more for the praise
        market.log.transfers.add(src=broker, dst=clients, amount=sent, ts=ts - 7200)
        campaign.cost += float(sent.sum() - (1 - settings.fee) * count)  # a dollar of each comes back as the payment
        value = random.uniform(92, 100, count).round()
        self.acts.add(
            campaign=len(self.campaigns), client=clients, agent=campaign.agents[0], value=value, paid=1.0,
            comes_back=False, ts=ts,
        )  # fmt: skip

    def _write(self, market: Market) -> None:
        """Write the acts of a day, with their costs."""
        settings, log, acts = market.settings, market.log, self.acts
        today = (acts["ts"] >= settings.time(market.today)) & (acts["ts"] < settings.time(market.today + 1))
        today[today] = [not self.campaigns[number].ended for number in acts["campaign"][today]]
        rows = np.flatnonzero(today)
        campaign, client, agent = (acts[name][rows] for name in ("campaign", "client", "agent"))
        paid, ts, comes_back = (acts[name][rows] for name in ("paid", "ts", "comes_back"))
        payment = np.full(len(rows), -1)
        pays = paid > 0
        payment[pays] = log.pay(client[pays], agent[pays], paid[pays], ts[pays])
        log.feedback.add(
            client=client, agent=agent, value=acts["value"][rows], ts=ts + self.random.uniform(60, 7200, len(rows)),
            payment=payment,
        )  # fmt: skip
        returned = np.flatnonzero(pays & comes_back)
        hides = np.array([self.campaigns[number].plan.hides >= 1 for number in campaign[returned]], bool)
        funders = np.array([self.campaigns[number].funder for number in campaign[returned]], np.int64)
        target = np.where(hides, market.people.funded_by(len(returned), self.random), funders)
        owner = log.agents["owner"][agent[returned]]
        some = owner != target
        log.transfers.add(
            src=owner[some], dst=target[some], amount=0.98 * paid[returned][some],
            ts=(ts[returned] + self.random.uniform(3600, 72_000, len(returned)))[some],
        )  # fmt: skip
        own = np.isin(agent, np.flatnonzero(~market.agents.honest))
        cost = settings.gas * (1 + pays) + np.where(own, settings.fee, 1.0) * paid
        cost[returned] += np.where(hides, settings.withdrawal, settings.gas)
        for number, amount in zip(campaign, cost, strict=True):
            self.campaigns[number].cost += float(amount)
