"""Attackers who cheat buyers. Each has a budget, and runs one campaign after another."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench.market.plans import STRATEGIES, Memory, Plan
from bench.market.play import Array, Market, Rows

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
            log.agents.add(owner=owners, kind=kinds, ts=settings.time(registered + random.uniform(0.05, 0.2, count)))
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
