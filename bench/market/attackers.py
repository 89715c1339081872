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


_FIRST = 5
"""The attackers begin within as many days from this day on."""

_PATIENCE, _LONGEST = 6, 20
"""A campaign ends after so many days without a sale, or of selling."""

_ACT: dict[str, type] = {
    "campaign": np.int64, "client": np.int64, "agent": np.int64, "value": np.float64, "paid": np.float64,
    "back": np.int64, "ts": np.float64,
}  # fmt: skip
"""Purchases and feedback to come: `value` is nan without feedback, and `back` the account that the money goes on to."""

_SENT: dict[str, type] = {"src": np.int64, "dst": np.int64, "amount": np.float64, "ts": np.float64}
"""Transfers to come."""


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
        served: The part of the revenue for which buyers were served.
        shops: Its further sellers, which take part in no fraud.
        upfront: The costs that were paid when it began.
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
    served: float = 0.0
    shops: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    upfront: float = 0.0
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
        self.acts, self.sends = Rows(_ACT), Rows(_SENT)
        self._needs: list[tuple[Array, Array]] = []
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
        agent, paid, cheated = (sales[name][latest] for name in ("agent", "paid", "cheated"))
        for place in np.flatnonzero(number >= 0):
            campaign = self.campaigns[number[place]]
            campaign.revenue += float(paid[place]) * (1 - market.settings.fee)
            if not cheated[place]:
                campaign.served += float(paid[place])
                campaign.cost += market.settings.cost * float(paid[place])
            if agent[place] in campaign.agents:
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
        market.agents.alive[np.concatenate([campaign.agents, campaign.shops])] = False
        earned = campaign.revenue - (campaign.cost - campaign.upfront)
        self.money[campaign.hand % market.settings.attackers] += earned
        if market.today > campaign.opens:
            self.memory.past.append((campaign.plan, campaign.cost, campaign.revenue))
        if self._free_at is not None:
            self._free_at[campaign.hand] = market.today + 1

    def _begin(self, market: Market, hand: int) -> None:
        """Begin a campaign, as large as the attacker's money allows."""
        random, settings, log = self.random, market.settings, market.log
        plan = self.memory.next(random)
        count, start = int(plan.agents), market.today
        prepares = plan.cover >= 1 or plan.wash or plan.dust
        registered = start + max(int(plan.age), int(prepares))
        praises = int(plan.raters) or int(plan.mutual) or int(plan.bribes)
        opens = registered + int(np.ceil(plan.lead * plan.spread)) if praises else start + 1
        if opens >= settings.days - 1:
            return
        funder = int(log.open(1)[0])
        owners = log.open(count) if count > 1 else np.array([funder])
        if plan.offer:
            numbers = self._buy(market, plan, owners)
            owners, count = owners[: len(numbers)], len(numbers)
        else:
            numbers = np.arange(len(log.agents), len(log.agents) + count)
            kinds = random.integers(settings.categories, size=count)
            log.agents.add(owner=owners, kind=kinds, ts=settings.time(registered + random.uniform(0, 0.2, count)))
            market.agents.add(count, quality=0.85, campaign=len(self.campaigns), alive=False)
        campaign = Campaign(plan, hand, funder, numbers, opens, opens + int(plan.service))
        campaign.cost += (plan.offer + settings.gas if plan.offer else settings.registration) * count
        self._plan_hub(market, campaign)
        self._plan_dust(market, campaign)
        self._needs = [(owners, np.zeros(count))]
        self._plan_praise(market, campaign, registered)
        self._plan_bribes(market, campaign, registered)
        accounts, place = np.unique(np.concatenate([need[0] for need in self._needs]), return_inverse=True)
        amounts = np.bincount(place, np.concatenate([need[1] for need in self._needs]))
        is_other = accounts != funder
        self._fund(market, campaign, accounts[is_other], amounts[is_other], hides=plan.hides >= 1)
        purse = 0.0 if plan.hides >= 1 else float(amounts[is_other].sum())
        self._fund(market, campaign, np.array([funder]), np.array([10.0 + purse]), hides=True)
        campaign.upfront = campaign.cost
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
        ends = STRATEGIES[plan.strategy]["offer"]
        stop = round(float(np.interp(plan.offer, ends, (0.5, 1.0))) * len(for_sale))
        numbers = for_sale[max(stop - len(owners), 0) : stop]
        log.hand_over(numbers, owners[: len(numbers)], market.settings.time(market.today))
        agents.campaign[numbers], agents.alive[numbers] = len(self.campaigns), False
        agents.quality[numbers], agents.turns[numbers] = 0.85, np.inf
        agents.refunds[numbers] = agents.cashback[numbers] = 0.0
        return numbers

    def _fund(self, market: Market, campaign: Campaign, accounts: Array, needs: Array, *, hides: bool) -> None:
        """Fund accounts of a campaign, from exchanges or from its wallet. Some cents of each are never used."""
        settings, count = market.settings, len(accounts)
        source = market.people.funded_by(count, self.random) if hides else np.full(count, campaign.funder)
        ts = settings.time(market.today) + self.random.uniform(0, 3600, count)
        rest = self.random.uniform(0.01, 0.1, count)
        market.log.transfers.add(src=source, dst=accounts, amount=needs + rest, ts=ts)
        campaign.cost += float(rest.sum()) + count * (settings.withdrawal if hides else settings.gas)

    def _plan_hub(self, market: Market, campaign: Campaign) -> None:
        """Send a cent to new accounts over time, so that the wallet looks like an exchange; some of them buy once."""
        plan, random, settings = campaign.plan, self.random, market.settings
        count = int(plan.hub)
        if not count:
            return
        opened, busy = market.log.open(count), int(plan.hub * plan.busy)
        amount = random.uniform(0.005, 0.015, count)
        amount[:busy] += self._plan_cover(market, plan, opened[:busy], 1, market.today + max(plan.age, 1.0))
        ts = settings.time(market.today + random.uniform(0, max(plan.age, 0.2), count))
        ts[:busy] = settings.time(market.today + 0.05)
        self.sends.add(src=campaign.funder, dst=opened, amount=amount, ts=ts)
        campaign.cost += 0.01 * count + settings.gas * count

    def _open_shops(self, market: Market, campaign: Campaign, count: int, *, serves: bool) -> Array:
        """Open further sellers, whom exchanges fund."""
        owners, ts = market.log.open(count), market.settings.time(market.today + self.random.uniform(0.05, 0.1, count))
        kinds = self.random.integers(market.settings.categories, size=count)
        shops = market.log.agents.add(owner=owners, kind=kinds, ts=ts)
        market.agents.add(count, campaign=len(self.campaigns), alive=serves)
        campaign.shops = np.concatenate([campaign.shops, shops])
        campaign.cost += market.settings.registration * count
        self._fund(market, campaign, owners, np.zeros(count), hides=True)
        return shops

    def _plan_dust(self, market: Market, campaign: Campaign) -> None:
        """Plan payments of a cent or less between further buyers and sellers, each with each."""
        if not campaign.plan.dust:
            return
        count = int(np.ceil(np.sqrt(campaign.plan.dust)))
        shops, buyers = self._open_shops(market, campaign, count, serves=False), market.log.open(count)
        client, agent = np.repeat(buyers, count), np.tile(shops, count)
        paid = self.random.uniform(0.001, 0.01, len(client))
        self._fund(market, campaign, buyers, np.bincount(client - buyers[0], paid), hides=campaign.plan.hides >= 1)
        self._plan(market, client, agent, np.nan, paid, -1, (market.today + 0.2, market.today + 1))

    def _plan(  # noqa: PLR0913, PLR0917
        self, market: Market, client: Array, agent: Any, value: Any, paid: Any, back: Any, days: tuple[float, float]
    ) -> None:
        """Plan purchases of a campaign at random times between two days."""
        ts = market.settings.time(self.random.uniform(*days, len(client)))
        self.acts.add(
            campaign=len(self.campaigns), client=client, agent=agent, value=value, paid=paid, back=back, ts=ts
        )

    def _plan_praise(self, market: Market, campaign: Campaign, day: int) -> None:
        """Plan the acts of a campaign's raters, as many as its attacker can pay for."""
        plan, random = campaign.plan, self.random
        room = self.money[campaign.hand % market.settings.attackers] - campaign.cost
        owners = market.log.agents["owner"][campaign.agents]
        lock = plan.paid + plan.wash + self._cost_of_rater(market, plan)  # most of it comes back later
        shop = self._open_shops(market, campaign, 1, serves=plan.serves >= 1) if plan.wash else campaign.shops
        for place, agent in enumerate(campaign.agents):
            opened = market.log.open(int(min(plan.raters, max(room / len(campaign.agents) / lock, 0))))
            is_mutual = plan.mutual >= 1
            raters = np.concatenate([opened, np.delete(owners, place)]) if is_mutual else opened
            value = random.uniform(92, 100, len(raters)).round()
            paid = plan.paid * random.uniform(0.5, 1.5, len(raters))
            back = self._returns(market, campaign, len(raters), hides=plan.hides >= 1)
            self._plan(market, raters, agent, value, paid, back, (day + 0.25, day + 0.25 + plan.spread))
            self._needs.append((raters, paid))
            covered = np.concatenate([opened, owners]) if is_mutual and not place else opened
            self._needs.append((covered, self._plan_cover(market, plan, covered, int(plan.cover), day + 0.2)))
            if plan.wash:
                self._plan_wash(market, campaign, opened, int(shop[0]), day)

    def _returns(self, market: Market, campaign: Campaign, count: int, *, hides: bool) -> Array:
        """Return the accounts that the money of payments to the attacker goes on to."""
        return market.people.funded_by(count, self.random) if hides else np.full(count, campaign.funder)

    @staticmethod
    def _cost_of_rater(market: Market, plan: Plan) -> float:
        settings, rounds = market.settings, int(plan.rounds) if plan.wash else 0
        hidden = (settings.withdrawal if plan.hides >= 1 else settings.gas) + settings.withdrawal * max(rounds - 1, 0)
        cover = int(plan.cover) * (plan.price + 2 * settings.gas)
        return hidden + cover + (3 + 2 * rounds) * settings.gas + settings.fee * (plan.paid + rounds * plan.wash) + 0.1

    def _plan_cover(self, market: Market, plan: Plan, raters: Array, count: int, end: float) -> Array:
        """Plan small purchases from honest sellers, which raters rate honestly; return what each rater pays."""
        clients = np.repeat(raters, count)
        sellers = np.flatnonzero(market.agents.honest & market.present & ~market.agents.free)
        agent = self.random.choice(sellers, len(clients))
        value = np.clip(100 * market.agents.quality[agent] + self.random.normal(0, 8, len(clients)), 0, 100).round()
        paid = plan.price * self.random.uniform(0.4, 1.6, len(clients))
        self._plan(market, clients, agent, value, paid, -1, (market.today + 0.1, end))
        return np.asarray(paid.reshape(len(raters), count).sum(axis=1))

    def _plan_wash(self, market: Market, campaign: Campaign, raters: Array, shop: int, day: int) -> None:
        """Plan payments to the further seller, whose money comes back by exchanges for the next round."""
        random, settings, count = self.random, market.settings, len(raters)
        rounds = int(campaign.plan.rounds)
        step = (day + 0.2 - market.today - 0.1) / rounds
        self._needs.append((raters, np.full(count, campaign.plan.wash)))
        for number in range(rounds):
            first = market.today + 0.1 + step * number
            back = self._returns(market, campaign, count, hides=True)
            self._plan(market, raters, shop, np.nan, campaign.plan.wash, back, (first + 0.3 * step, first + 0.6 * step))
            if number:
                source = market.people.funded_by(count, random)
                ts = settings.time(random.uniform(first, first + 0.3 * step, count))
                self.sends.add(src=source, dst=raters, amount=campaign.plan.wash, ts=ts)
                campaign.cost += settings.withdrawal * count

    def _plan_bribes(self, market: Market, campaign: Campaign, day: int) -> None:
        """Let a broker pay honest buyers who buy and praise. No wallet of the agents pays them."""
        random, settings, people = self.random, market.settings, market.people
        count = int(campaign.plan.bribes)
        if not count:
            return
        broker = market.log.open(1)
        sent = random.uniform(1.5, 2.5, count)  # a dollar for the purchase, and half a dollar or more for the praise
        self._fund(market, campaign, broker, np.array([sent.sum()]), hides=True)
        present = people.buyers[people.born < day]
        clients = random.choice(present, count, replace=False)
        value = random.uniform(92, 100, count).round()
        self._plan(market, clients, campaign.agents[0], value, 1.0, -1, (day + 0.3, day + 0.3 + campaign.plan.spread))
        ts = self.acts["ts"][-count:]
        self.sends.add(src=broker, dst=clients, amount=sent, ts=ts - 7200)
        campaign.cost += float(sent.sum() - count) + settings.gas * count  # a dollar of each comes back as the payment

    def _write(self, market: Market) -> None:
        """Write the acts of a day, with their costs."""
        settings, log, acts = market.settings, market.log, self.acts
        start, end = settings.time(market.today), settings.time(market.today + 1)
        sends = np.flatnonzero((self.sends["ts"] >= start) & (self.sends["ts"] < end))
        log.transfers.add(**{name: self.sends[name][sends] for name in _SENT})
        today = (acts["ts"] >= start) & (acts["ts"] < end)
        today[today] = [not self.campaigns[number].ended for number in acts["campaign"][today]]
        rows = np.flatnonzero(today)
        campaign, client, agent, value = (acts[name][rows] for name in ("campaign", "client", "agent", "value"))
        paid, ts, back = (acts[name][rows] for name in ("paid", "ts", "back"))
        payment = np.full(len(rows), -1)
        pays, rates = paid > 0, np.isfinite(value)
        payment[pays] = log.pay(client[pays], agent[pays], paid[pays], ts[pays])
        log.feedback.add(
            client=client[rates], agent=agent[rates], value=value[rates], payment=payment[rates],
            ts=(ts + self.random.uniform(60, 7200, len(rows)))[rates],
        )  # fmt: skip
        owner = log.agents["owner"][agent]
        returned = pays & (back >= 0) & (back != owner)
        log.transfers.add(
            src=owner[returned], dst=back[returned], amount=0.98 * paid[returned],
            ts=(ts + self.random.uniform(3600, 72_000, len(rows)))[returned],
        )  # fmt: skip
        own = np.isin(agent, np.flatnonzero(~market.agents.honest))
        cost = settings.gas * (rates.astype(int) + pays + returned) + np.where(own, settings.fee, 1.0) * paid
        for number, amount in zip(campaign, cost, strict=True):
            self.campaigns[number].cost += float(amount)
