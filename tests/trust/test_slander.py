"""A search for slander that harms: plans under a budget against sellers of every size, climbed towards the most harm.

Each account buys a few times elsewhere, pays the victim once, and calls it bad. What it says weighs as far as its
purchases back it, so that the slanderers have a share of the voices about the victim.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import pytest

from bench.market.play import address
from bilateral.core.values.decision import TRIAL, limit_of
from bilateral.core.values.standing import Side, Standing
from bilateral.trust.scores.backing import backing
from bilateral.trust.scores.scores import PROVEN
from tests.trust.attacks import SETTINGS, Attack, by_raters, honest_market, raters_of

BUDGET = 60.0
SIZES = (0, 1, 3, 6, 13, 30, 50, 113)
OF_SIZE = 3
SLACK = 6.0
"""The points that a fall may have beyond the share of the voices: the interval gets wider, too."""
PAUSED = {13: 14.0, 50: 20.0}
"""These points in a long search, for some numbers of raters. Two of three sellers with 13 raters, and two with 50, had
less than half of their usual customers in the last six days, which looks like a turn. In eight searches, the median
fall exceeded the share by up to 12 and 18 points. Counting a burst of complaints by its square as a sign of slander
removes this excess, but buyers then lost more to fraud in both markets that tried it: 4.5 % instead of 2.8 %, and 5.1 %
instead of 4.1 %.
"""
LAST = float(SETTINGS.days)


@dataclass(frozen=True)
class Plan:
    """The acts of a slanderer.

    Attributes:
        accounts: The number of accounts, fewer if the budget is used up.
        purchases: The purchases of each account from honest sellers.
        price: The price of each.
        paid: The payment of each account to the victim.
        spread: The days over which they call it bad.
        value: The value that they give.
        rates: The share of purchases elsewhere that they rate honestly.
    """

    accounts: float = 8.0
    purchases: float = 2.0
    price: float = 1.0
    paid: float = 0.4
    spread: float = 0.1
    value: float = 0.0
    rates: float = 1.0

    @classmethod
    def drawn(cls, random):
        return cls(*(random.uniform(low, high) for low, high in RANGES))

    def near(self, random):
        values = [getattr(self, field.name) for field in fields(self)]
        steps = random.normal(0, 0.3, len(values)) * (random.random(len(values)) < 0.5)
        moved = [
            float(np.clip(value + step * (high - low), low, high))
            for value, step, (low, high) in zip(values, steps, RANGES, strict=True)
        ]
        return replace(self, **dict(zip((field.name for field in fields(self)), moved, strict=True)))

    @property
    def size(self):
        """The accounts that the budget pays for."""
        bought, gas = int(self.purchases), SETTINGS.gas
        price = SETTINGS.withdrawal + self.paid + 2 * gas + bought * (self.price + gas * (1 + (self.rates > 0)))
        return min(int(self.accounts), int(BUDGET / price))


RANGES = ((2, 40), (0, 6.99), (0.5, 2.5), (0.05, 4), (0.02, 6), (0, 30), (0, 1))
STARTS = (
    Plan(),
    Plan(40, 1, 1.9, 0.3, 0.1, 0, 0),
    Plan(40, 2, 1.9, 0.3, 5, 0, 1),
    Plan(40, 3, 1.9, 0.3, 2, 10, 0.5),
    Plan(40, 0, 1, 1.2, 3, 0, 0),
)
"""The plans from which a search climbs, besides random ones."""


@dataclass(frozen=True)
class Harm:
    """The harm to sellers of one size.

    Attributes:
        size: The number of their honest raters.
        voices: The weight of the honest raters of each, and that of the slanderers.
        fall: The fall of each lower bound.
        refused: Marks those that must not be paid any more.
    """

    size: int
    voices: tuple[np.ndarray, np.ndarray]
    fall: np.ndarray
    refused: np.ndarray

    @property
    def bound(self):
        """The slanderers' share of the voices, in points of 100."""
        honest, false = self.voices
        return 100 * false / (honest + false + 1e-9)


@pytest.fixture(scope="module")
def victims():
    """Return some sellers of each size, and their standings."""
    market = honest_market()
    agents = by_raters(market)
    raters = np.array([len(raters_of(market.log, agent)) for agent in agents])
    chosen = np.array([agents[np.argsort(np.abs(raters - size), kind="stable")[:OF_SIZE]] for size in SIZES])
    return chosen, [standing for standing, _ in Attack(market).answers(*chosen.ravel())]


def slander(attack, victim, plan, elsewhere):
    """Let accounts buy elsewhere, pay the victim, and call it bad."""
    random, count, bought = attack.random, plan.size, int(plan.purchases)
    start = LAST - 0.3 - plan.spread
    accounts = attack.accounts(count, start - 1, amount=plan.paid + bought * plan.price + 1)
    if bought:
        clients = np.repeat(accounts, bought)
        sellers = np.concatenate([random.choice(elsewhere, bought, replace=False) for _ in accounts])
        at = start - random.uniform(0.1, 0.9, len(clients))
        rows = attack.buy(clients, sellers, plan.price, at)
        rated = random.random(len(clients)) < plan.rates
        honest = np.clip(100 * attack.market.agents.quality[sellers] + random.normal(0, 8, len(clients)), 0, 100)
        attack.rate(clients[rated], sellers[rated], honest[rated].round(), at[rated] + 0.02, rows[rated])
    at = start + np.sort(random.uniform(0, plan.spread, count))
    rows = attack.buy(accounts, np.full(count, victim), plan.paid, at)
    attack.rate(accounts, victim, plan.value, at + 0.03, rows)
    return accounts


def harms(victims, plan, seed=0):
    """Return the harm of a plan to all victims at once, each with a budget of its own, by size."""
    chosen, before = victims
    market = honest_market()
    attack = Attack(market, seed)
    elsewhere = np.setdiff1d(by_raters(market)[:80], chosen)
    own = np.concatenate([slander(attack, victim, plan, elsewhere) for victim in chosen.ravel()])
    assert attack.cost <= BUDGET * chosen.size + 1
    engine = attack.engine()
    table = engine.standings().to_pylist()
    of_agent = {row["agent_id"] - 1: Standing.of(row) for row in table if row["side"] == Side.SERVER}
    after = [of_agent[int(victim)] for victim in chosen.ravel()]
    fall = np.array([old.lower - new.lower for old, new in zip(before, after, strict=True)])
    refused = np.array([limit_of(standing).amount == 0 for standing in after])
    honest, false = voices(engine, attack.log, own)
    shape = chosen.shape
    return [
        Harm(size, (honest[agents], false[agents]), *parts)
        for size, agents, *parts in zip(SIZES, chosen, fall.reshape(shape), refused.reshape(shape), strict=True)
    ]


def voices(engine, log, accounts):
    """Return the backed weights of honest raters and of some accounts, by the number of the agent."""
    ledger, rows = engine.context_.ledger, engine.context_.pair
    own = {address(log.seed, int(account)) for account in accounts}
    is_own = np.array([name in own for name in ledger.addresses.to_pylist()])[ledger.opinions.rater[rows]]
    backed, agent = backing(engine.context_, rows), ledger.subject_agent[ledger.opinions.subject[rows]]
    number = np.where(agent >= 0, ledger.agent_ids[agent] - 1, 0)
    return tuple(np.bincount(number, backed * side * (agent >= 0), len(log.agents)) for side in (~is_own, is_own))


def search(victims, tries, seed):
    """Return the harm of plans that climb towards the most harm."""
    random = np.random.default_rng(seed)
    found = [(plan, harms(victims, plan)) for plan in STARTS]
    for number in range(tries):
        worst = max(found, key=lambda entry: sum(harm.fall.mean() for harm in entry[1]))[0]
        plan = Plan.drawn(random) if number % 4 == 3 else worst.near(random)
        found.append((plan, harms(victims, plan, number + 1)))
    return found


def check(found, paused):
    for plan, tried in found:
        for harm in tried:
            # A seller whose customers pause while it is slandered looks as if it had turned. Most do not.
            slack = paused.get(harm.size, SLACK)
            assert np.median(harm.fall) <= np.median(harm.bound) + slack, (plan, harm)
            assert not harm.refused[harm.voices[1] < PROVEN].any(), (plan, harm)
            assert harm.size < 100 or harm.fall.max() <= 15, (plan, harm)


def test_slander_costs_a_seller_at_most_its_share_of_the_voices_and_never_refuses_it(victims):
    check(search(victims, 3, 0), {})


def test_slanderers_who_buy_elsewhere_on_the_same_day_take_nothing_from_sellers_of_any_size(victims):
    for plan in (Plan(40, 3, 1.9, 0.3, 0.05), Plan(40, 2, 1.0, 1.2, 0.05)):
        assert max(np.median(harm.fall) for harm in harms(victims, plan)) <= 1, plan


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(1, 4))
def test_slander_costs_little_in_a_long_search(victims, seed):
    check(search(victims, 40, seed), PAUSED)


def complained(count, value=4):
    """Return the standing of a new agent about which buyers complain, and the amount up to which it sells."""
    market = honest_market()
    attack = Attack(market)
    (agent,) = attack.agents(attack.accounts(1, 50), 51)
    bought = np.bincount(market.log.payments["payer"], minlength=market.log.accounts)
    usual = np.flatnonzero(bought >= 5)
    clients = attack.random.choice(usual, count, replace=False)
    attack.praise(clients, np.full(count, agent), value, 51 + 8 * attack.random.random(count), 1.0)
    return attack.answers(agent)[0]


def test_a_newcomer_that_cheats_its_first_buyers_is_declined_after_their_complaints():
    few, many = complained(4), complained(20)
    assert few[1] <= TRIAL
    assert few[0].lower < 40
    assert many[1] == 0


@pytest.mark.parametrize(("raters", "days"), [(30, 9), (113, 4)])
def test_a_seller_that_turns_bad_is_noticed_within_days(raters, days):
    market = honest_market()
    counts = {agent: len(raters_of(market.log, agent)) for agent in by_raters(market)}
    agents = sorted(counts, key=lambda agent: abs(counts[agent] - raters))[:5]
    attack = Attack(market)
    feedback, turned = attack.log.feedback, SETTINGS.time(LAST - days)
    rows = np.flatnonzero(np.isin(feedback["agent"], agents) & (feedback["ts"] >= turned))
    feedback["value"][rows] = np.clip(attack.random.normal(15, 10, len(rows)), 0, 100).round()
    before = np.mean([standing.lower for standing, _ in Attack(market).answers(*agents)])
    after = np.mean([standing.lower for standing, _ in attack.answers(*agents)])
    assert after < before - 25
