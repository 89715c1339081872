"""Attacks on a market of honest accounts: each act of an attacker has its price, and an analysis answers afterwards."""

from __future__ import annotations

from copy import deepcopy
from functools import cache

import numpy as np

from bench.market.play import Market
from bench.market.policies import Ranking, by_counts
from bench.market.settings import Settings
from bilateral.core.values.decision import limit_of
from bilateral.core.values.standing import Side, Standing
from bilateral.trust.engine import Engine

SETTINGS = Settings(accounts=1_800, days=60)
DAY = 86_400.0


@cache
def honest_market(seed: int = 1) -> Market:
    """Return a market of some 370 agents and 9,000 ratings without attackers. Copy what you change."""
    return Market(SETTINGS, Ranking("mean by counts", by_counts), seed).run()


class Attack:
    """The acts of one attacker on a market, and what they cost it in dollars.

    Times are in days since the start of the market. Accounts and agents are numbers.
    """

    def __init__(self, market: Market, seed: int = 0) -> None:
        self.market, self.log = market, deepcopy(market.log)
        self.random = np.random.default_rng([seed, 77])
        self.own: set[int] = set()
        self.cost = 0.0

    def time(self, day):
        return SETTINGS.time(np.asarray(day, float))

    def accounts(self, count, at, source=None, amount=5.0):
        """Open accounts that an exchange funds, or the account `source`."""
        opened = self.log.open(count)
        funders = self.market.people.funded_by(count, self.random) if source is None else np.full(count, source)
        times = self.time(at) + self.random.uniform(0, 600, count)
        self.log.transfers.add(src=funders, dst=opened, amount=amount, ts=times)
        self.cost += count * (SETTINGS.withdrawal if source is None else SETTINGS.gas)
        return opened

    def agents(self, owners, at):
        """Register an agent for each owner."""
        numbers = self.log.agents.add(owner=owners, kind=0, ts=self.time(at))
        self.own.update(numbers.tolist())
        self.cost += SETTINGS.registration * len(numbers)
        return numbers

    def buy(self, clients, agents, amount, at):
        """Pay agents. What an agent of the attacker gets is not lost, but for the fee."""
        clients, agents, amount, at = np.broadcast_arrays(clients, agents, amount, self.time(at))
        is_own = np.isin(agents, list(self.own))
        self.cost += float((np.where(is_own, SETTINGS.fee, 1.0) * amount).sum()) + SETTINGS.gas * len(clients)
        return self.log.pay(clients, agents, amount, at)

    def rate(self, clients, agents, value, at, payment=-1):
        """Rate agents, with the rows of payments as proofs or without."""
        clients = np.asarray(clients)
        self.cost += SETTINGS.gas * len(clients)
        self.log.feedback.add(client=clients, agent=agents, value=value, ts=self.time(at), payment=payment)

    def praise(self, clients, agents, value, at, amount):
        """Pay agents and rate them an hour later."""
        rows = self.buy(clients, agents, amount, at)
        self.rate(clients, agents, value, np.asarray(at, float) + 1 / 24, rows)

    def send(self, source, target, amount, at):
        """Send money, which is lost only if the target is not the attacker's; add that to `cost` yourself."""
        source, target, amount, at = np.broadcast_arrays(source, target, amount, self.time(at))
        self.log.transfers.add(src=source, dst=target, amount=amount, ts=at)
        self.cost += SETTINGS.gas * len(source)

    def engine(self) -> Engine:
        return Engine().fit(self.log.tables())

    def answers(self, *agents) -> list[tuple[Standing, float]]:
        """Return the standing of each agent, and the amount up to which it is accepted."""
        table = self.engine().standings().to_pylist()
        of_agent = {row["agent_id"] - 1: Standing.of(row) for row in table if row["side"] == Side.SERVER}
        return [(of_agent[int(agent)], limit_of(of_agent[int(agent)]).amount) for agent in agents]


def raters_of(log, agent):
    """Return the distinct accounts that rated an agent."""
    return np.unique(log.feedback["client"][log.feedback["agent"] == agent])


def by_raters(market: Market) -> np.ndarray:
    """Return the good agents that take money, those with most raters first."""
    feedback, count = market.log.feedback, len(market.log.agents)
    pairs = np.unique(feedback["agent"] * (1 << 32) + feedback["client"]) >> 32
    raters = np.bincount(pairs, minlength=count)
    good = np.flatnonzero(market.agents.good & ~market.agents.free)
    return good[np.argsort(-raters[good], kind="stable")]
