"""The search for the cheapest false evidence: the plan of an attacker whose agent gets most for what it spends."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Final

import numpy as np

from bench.market.framing import raters
from bench.market.play import Array, Market
from bench.market.policies import Ranking, by_counts
from bench.market.settings import Settings
from bilateral.core.values.decision import limit_of
from bilateral.core.values.standing import Side, Standing
from bilateral.trust.engine import Engine

SETTINGS: Final = Settings(accounts=1_800, days=60)


@cache
def honest_market(seed: int = 1) -> Market:
    """Return a market of some 370 agents and 9,000 ratings without attackers. Copy what you change.

    Args:
        seed: Decides all draws.
    """
    return Market(SETTINGS, Ranking("mean by counts", by_counts), seed).run()


class Attack:
    """The acts of one attacker on a market, and what they cost it in dollars.

    Times are in days since the start of the market. Accounts and agents are numbers.

    Attributes:
        log: The rows of the market, with the acts.
        cost: The dollars that the attacker lost so far: prices of others, fees, gas, and what accounts retain.
        own: The agents of the attacker.
    """

    def __init__(self, market: Market, seed: int = 0, settings: Settings = SETTINGS) -> None:
        """Begin without acts.

        Args:
            market: The market, which is copied.
            seed: Decides all draws.
            settings: The prices.
        """
        self.market, self.settings, self.log = market, settings, deepcopy(market.log)
        self.random = np.random.default_rng([seed, 77])
        self.own: set[int] = set()
        self.cost = 0.0

    def time(self, day: Any) -> Any:
        """Return a time in Unix seconds."""
        return self.settings.time(np.asarray(day, float))

    def accounts(self, count: int, at: Any, source: int | None = None, amount: Any = 5.0) -> Array:
        """Open accounts that an exchange funds, or the account `source`."""
        opened = self.log.open(count)
        funders = self.market.people.funded_by(count, self.random) if source is None else np.full(count, source)
        times = self.time(at) + self.random.uniform(0, 600, count)
        self.log.transfers.add(src=funders, dst=opened, amount=amount, ts=times)
        self.cost += count * (self.settings.withdrawal if source is None else self.settings.gas)
        return opened

    def agents(self, owners: Array, at: Any) -> Array:
        """Register an agent for each owner."""
        numbers = self.log.agents.add(owner=owners, kind=0, ts=self.time(at))
        self.own.update(numbers.tolist())
        self.cost += self.settings.registration * len(numbers)
        return numbers

    def buy(self, clients: Any, agents: Any, amount: Any, at: Any) -> Array:
        """Pay agents. What an agent of the attacker gets is not lost, but for the fee."""
        clients, agents, amount, at = np.broadcast_arrays(clients, agents, amount, self.time(at))
        is_own = np.isin(agents, list(self.own))
        self.cost += float((np.where(is_own, self.settings.fee, 1.0) * amount).sum())
        self.cost += self.settings.gas * len(clients)
        return self.log.pay(clients, agents, amount, at)

    def rate(self, clients: Any, agents: Any, value: Any, at: Any, payment: Any = -1) -> None:
        """Rate agents, with the rows of payments as proofs or without."""
        clients = np.asarray(clients)
        self.cost += self.settings.gas * len(clients)
        self.log.feedback.add(client=clients, agent=agents, value=value, ts=self.time(at), payment=payment)

    def praise(self, clients: Any, agents: Any, value: Any, at: Any, amount: Any) -> None:
        """Pay agents and rate them an hour later."""
        rows = self.buy(clients, agents, amount, at)
        self.rate(clients, agents, value, np.asarray(at, float) + 1 / 24, rows)

    def send(self, source: Any, target: Any, amount: Any, at: Any) -> None:
        """Send money, which is lost only if the target is not the attacker's; add that to `cost` yourself."""
        source, target, amount, at = np.broadcast_arrays(source, target, amount, self.time(at))
        self.log.transfers.add(src=source, dst=target, amount=amount, ts=at)
        self.cost += self.settings.gas * len(source)

    def engine(self) -> Engine:
        """Analyse the market with the acts."""
        return Engine().fit(self.log.tables())

    def answers(self, *agents: Any) -> list[tuple[Standing, float]]:
        """Return the standing of each agent, and the amount up to which it is accepted."""
        table = self.engine().standings().to_pylist()
        of_agent = {row["agent_id"] - 1: Standing.of(row) for row in table if row["side"] == Side.SERVER}
        return [(of_agent[int(agent)], limit_of(of_agent[int(agent)]).amount) for agent in agents]


def by_raters(market: Market) -> Array:
    """Return the good agents that take money, those with most raters first."""
    count = raters(market.log)
    good = np.flatnonzero(market.agents.good & ~market.agents.free)
    return good[np.argsort(-count[good], kind="stable")]


@dataclass(frozen=True)
class Forgery:
    """A plan to forge evidence for one agent. Numbers are rounded down.

    Attributes:
        accounts: The attacker's accounts that praise the agent.
        bought: The honest sellers from whom each of them buys, and the mean price.
        price: The mean price of these purchases.
        famous: The share of them from the best known sellers.
        paid: The payment with each praise, which comes back.
        age: The days for which accounts exist before they praise.
        wash: The money that each account pays to each further seller of the attacker.
        shops: Those sellers.
        hops: The accounts through which the money leaves them.
        guests: The honest buyers whom each of them serves, and who praise it.
        shares: The further agents that the same accounts praise.
        dust: The payments of a cent or less among further accounts.
        bribes: The honest buyers who are bribed to buy and praise.
        hides: 1 if an exchange funds the accounts.
    """

    accounts: float = 6
    bought: float = 1
    price: float = 1.0
    famous: float = 1.0
    paid: float = 1.0
    age: float = 5
    wash: float = 0.0
    shops: float = 0
    hops: float = 0
    guests: float = 0
    dust: float = 0
    bribes: float = 0
    hides: float = 1


RANGES: Final[dict[str, tuple[float, float]]] = {
    "accounts": (0, 20), "bought": (0, 5.99), "price": (0.05, 3), "famous": (0, 1), "paid": (0, 3), "age": (0.5, 40),
    "wash": (0, 1000), "shops": (0, 3.99), "hops": (0, 3.99), "guests": (0, 12), "dust": (0, 400), "bribes": (0, 20),
    "hides": (0, 1.99),
}  # fmt: skip
"""The range of each number. Half of all draws leave each of the devices of `DEVICES` out."""

DEVICES: Final = ("wash", "guests", "dust", "bribes")
"""What a plan may leave out."""

BRIBE: Final = 1.0
"""The mean price of a praise, beside the purchase that a bribed buyer gets back: that of `bought praise` in markets."""

_PRAISE_DAY: Final = 50.0
_RETAINED: Final = 0.05
"""The dollars that are left in an account that nobody needs any more."""


def drawn(random: np.random.Generator, devices: tuple[str, ...] = DEVICES) -> Forgery:
    """Draw a plan.

    Args:
        random: Decides the draw.
        devices: The devices that it may use.
    """
    numbers = {name: float(random.uniform(*ends)) for name, ends in RANGES.items()}
    dropped = {name: 0.0 for name in DEVICES if name not in devices or random.random() < 0.5}  # noqa: PLR2004
    numbers["wash"] *= float(random.random()) ** 2  # most sums are small
    return Forgery(**numbers | dropped)


def changed(plan: Forgery, random: np.random.Generator) -> Forgery:
    """Change half of the numbers of a plan a little, within their ranges; what it leaves out stays out."""
    steps = {}
    for entry in fields(Forgery):
        low, high = RANGES[entry.name]
        value = getattr(plan, entry.name)
        if value and random.random() < 0.5:  # noqa: PLR2004
            steps[entry.name] = float(np.clip(value + random.normal(0, 0.2) * (high - low), low, high))
    return replace(plan, **steps)


def forge(attack: Attack, plan: Forgery) -> int:
    """Carry a plan out, and return the agent whose evidence it forges.

    Args:
        attack: The attack, which is added to.
        plan: The plan.
    """
    random, start = attack.random, _PRAISE_DAY - plan.age
    wallet = attack.accounts(1, start - 0.2, amount=1000.0)
    agent = attack.agents(attack.accounts(1, start - 0.1), start)
    count = int(plan.accounts)
    source = None if plan.hides >= 1 else int(wallet[0])
    raters = attack.accounts(count, start, source, plan.paid + plan.price * int(plan.bought) + plan.wash + _RETAINED)
    attack.cost += _RETAINED * count
    shops = _shops(attack, plan, start) if plan.wash >= 1 else np.zeros(0, np.int64)
    _dust(attack, int(plan.dust), start)
    days = np.sort(random.uniform(0.2, 0.9, max(count, 1)))[:count]
    order = by_raters(attack.market)
    for _ in range(int(plan.bought)):
        known = random.random(count) < plan.famous
        sellers = np.where(known, random.choice(order[: len(order) // 4], count), random.choice(order, count))
        price = plan.price * random.uniform(0.6, 1.4, count)
        value = 100 * attack.market.agents.quality[sellers]
        attack.praise(raters, sellers, value.round(), start + plan.age * days * random.uniform(0.6, 1, count), price)
    for shop in shops:
        attack.buy(raters, int(shop), plan.wash, start + plan.age * days)
        _cash_out(attack, int(attack.log.agents["owner"][shop]), plan.wash * count, int(plan.hops))
    at = _PRAISE_DAY + random.uniform(0, 5, count)
    attack.praise(raters, int(agent[0]), random.integers(90, 100, count), at, np.full(count, plan.paid))
    _bribe(attack, int(plan.bribes), int(agent[0]), start)
    return int(agent[0])


def _shops(attack: Attack, plan: Forgery, start: float) -> Array:
    """Register further sellers, which serve honest buyers well first; that costs what it earns."""
    shops = attack.agents(attack.accounts(int(plan.shops), start), start)
    people, guests = attack.market.people, int(plan.guests)
    for shop in shops:
        clients = attack.random.choice(people.buyers[people.born <= start], guests, replace=False)
        at = attack.time(start + attack.random.uniform(0.1, max(plan.age / 2, 0.2), guests))
        rows = attack.log.pay(clients, int(shop), attack.random.uniform(0.3, 3, guests), at)
        value = attack.random.integers(70, 96, guests)
        attack.log.feedback.add(client=clients, agent=int(shop), value=value, ts=at + 3600, payment=rows)
    return shops


def _cash_out(attack: Attack, owner: int, amount: float, hops: int) -> None:
    """Send the revenue of a seller to an exchange, through further accounts."""
    at = _PRAISE_DAY - 0.05
    for place in range(hops):
        following = attack.log.open(1)
        attack.send(owner, following, amount, at + place / 100)
        owner = int(following[0])
    attack.send(owner, attack.market.people.funded_by(1, attack.random), amount, at + hops / 100)


def _dust(attack: Attack, count: int, start: float) -> None:
    """Let further buyers pay further sellers a cent or less, each each."""
    side = int(np.sqrt(count))
    if side:
        shops = attack.agents(attack.accounts(side, start), start)
        buyers = attack.accounts(side, start, amount=0.5)
        amount = attack.random.uniform(0.001, 0.01, side * side)
        attack.buy(np.repeat(buyers, side), np.tile(shops, side), amount, start + 0.1)


def _bribe(attack: Attack, count: int, agent: int, start: float) -> None:
    """Let a broker pay honest buyers who buy for a dollar and praise."""
    if not count:
        return
    people, random = attack.market.people, attack.random
    clients = random.choice(people.buyers[people.born <= start], count, replace=False)
    sent, at = 1 + BRIBE * random.uniform(0.5, 1.5, count), _PRAISE_DAY + random.uniform(0.2, 4, count)
    broker = attack.accounts(1, start, amount=float(sent.sum()) + 1)
    attack.send(int(broker[0]), clients, sent, at - 0.1)
    attack.cost += float(sent.sum()) - count
    attack.praise(clients, agent, random.integers(90, 100, count), at, 1.0)


@dataclass(frozen=True)
class Found:
    """A plan, and what it got.

    Attributes:
        plan: The plan.
        cost: The dollars that it cost.
        evidence: The evidence cost of the agent.
        limit: The amount up to which the agent is accepted.
    """

    plan: Forgery
    cost: float
    evidence: float
    limit: float

    @property
    def ratio(self) -> float:
        """The evidence by its real cost."""
        return self.evidence / self.cost


def measured(plans: list[Forgery], seed: int, settings: Settings = SETTINGS) -> list[Found]:
    """Carry plans out in one market, each by an attacker of its own, and return what they got.

    Args:
        plans: The plans. Payments of a cent of one help the others, too.
        seed: Decides all draws.
        settings: The prices.
    """
    attack = Attack(honest_market(), seed, settings)
    agents, costs = [], []
    for plan in plans:
        before = attack.cost
        agents.append(forge(attack, plan))
        costs.append(attack.cost - before)
    rows = zip(plans, costs, attack.answers(*agents), strict=True)
    return [Found(plan, cost, standing.evidence_cost, limit) for plan, cost, (standing, limit) in rows]


def search(
    rounds: int, seed: int = 0, settings: Settings = SETTINGS, devices: tuple[str, ...] = DEVICES
) -> Iterator[Found]:
    """Search for the plans that get most for what they cost, and yield the best so far after each round.

    The first third of the rounds draws plans, the others change the best ones. The best of each round is measured again
    alone, because others may have helped it.

    Args:
        rounds: The rounds, of eight plans each.
        seed: Decides all draws.
        settings: The prices.
        devices: The devices that plans may use.
    """
    random = np.random.default_rng([seed, 9])
    past: list[Found] = []
    best: Found | None = None
    for number in range(rounds):
        top = sorted(past, key=lambda found: -found.ratio)[:4]
        fresh = number < max(rounds // 3, 1)
        plans = [drawn(random, devices) if fresh else changed(top[place % len(top)].plan, random) for place in range(8)]
        past += measured(plans, seed * 1000 + number, settings)
        candidate = max(past[-8:], key=lambda found: found.ratio)
        if best is None or candidate.ratio > best.ratio:
            alone = measured([candidate.plan], seed * 1000 + number, settings)[0]
            best = alone if best is None or alone.ratio > best.ratio else best
        yield best
