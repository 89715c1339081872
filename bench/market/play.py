"""The closed loop: buyers follow the answers of one policy, buy, and rate; the policy answers from these rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from bench.market.people import settle
from bench.market.rows import Log, Rows

if TYPE_CHECKING:
    from bench.market.people import Array
    from bench.market.settings import Settings

_SALE = {
    "day": np.int64, "buyer": np.int64, "agent": np.int64, "amount": np.float64, "paid": np.float64,
    "value": np.float64, "cheated": np.bool_, "refund": np.float64,
}  # fmt: skip
_PAIR = 1 << 32
"""A factor that makes one number of two."""

BAD = 0.25
"""The quality of a seller that turned bad. It still delivers, so this is not fraud."""


@dataclass(frozen=True)
class Answers:
    """The answers of a policy about all agents, which hold until it answers again.

    Attributes:
        score: The figure by which buyers order offers, by agent.
        limit: The greatest amount that the policy lets a buyer pay; 0 for a refusal.
        unknown: Score and limit of an agent that was registered later.
    """

    score: Array
    limit: Array
    unknown: tuple[float, float] = (0.0, np.inf)

    def of(self, count: int) -> tuple[Array, Array]:
        """Return the scores and limits of all agents.

        Args:
            count: The number of agents.
        """
        missing = count - len(self.score)
        score, limit = self.unknown
        return (
            np.concatenate([self.score, np.full(missing, score)]),
            np.concatenate([self.limit, np.full(missing, limit)]),
        )


class Policy(Protocol):
    """A system that buyers follow."""

    name: str
    every: int
    """The number of days between its answers."""

    def answer(self, market: Market) -> Answers:
        """Answer about all agents.

        Args:
            market: The market. All but an oracle read nothing but its `log` and `today`.
        """


class Crowd(Protocol):
    """Those who act besides honest people."""

    def act(self, market: Market) -> None:
        """Act on a day, before the buyers do.

        Args:
            market: The market.
        """


class Market:
    """One market, from its first day to its last.

    Attributes:
        settings: The assumptions.
        policy: The system that buyers follow.
        log: The rows so far.
        people, agents: The honest accounts, and the truth about agents.
        today: The day.
        sales: All purchases, with what nobody but the buyer sees.
        unserved: For each day, the needs without an acceptable offer, and all needs.
        declined: For each day, the share of good sellers that the policy refuses.
        random: Decides all draws of honest people.
    """

    def __init__(self, settings: Settings, policy: Policy, seed: int, crowds: tuple[Crowd, ...] = ()) -> None:
        """Settle a market.

        Args:
            settings: The assumptions.
            policy: The system that buyers follow.
            seed: Decides all draws of honest people.
            crowds: Those who act besides honest people.
        """
        self.settings, self.policy, self.crowds = settings, policy, crowds
        self.random = np.random.default_rng(seed)
        self.log = Log(seed)
        self.people, self.agents = settle(settings, self.log, self.random)
        self.sales = Rows(_SALE)
        self.unserved: list[tuple[int, int]] = []
        self.declined: list[float] = []
        self.today = 0
        self._last_good = np.full((settings.accounts, 3), -1)
        self._avoided = np.zeros(0, np.int64)
        self._gifts = self._launches()

    def run(self) -> Market:
        """Play all days."""
        answers = Answers(np.zeros(0), np.zeros(0))
        for day in range(self.settings.days):
            self.today = day
            self._drift()
            for crowd in self.crowds:
                crowd.act(self)
            if self.today % self.policy.every == 0:
                answers = self.policy.answer(self)
            self._trade(*answers.of(len(self.log.agents)))
            self._withdraw()
        self.today = self.settings.days
        return self

    @property
    def present(self) -> Array:
        """Mark the agents that are registered and can be bought from."""
        present: Array = self.agents.alive & (self.log.agents["ts"] <= self.settings.time(self.today))
        return present

    def _launches(self) -> dict[int, tuple[int, Array]]:
        """Draw the launches: one new seller in ten sends small gifts to buyers, who then try it."""
        start = self.settings.time(0)
        days = ((self.log.agents["ts"] - start) / (self.settings.time(1) - start)).astype(int)
        later = np.flatnonzero((days > 0) & (days < self.settings.days - 1))
        chosen = self.random.choice(later, len(later) // 10, replace=False)
        return {int(days[agent]) + 1: (int(agent), self.random.integers(len(days) * 5, size=25)) for agent in chosen}

    def _drift(self) -> None:
        """Let the quality of honest sellers wander, and let some turn bad."""
        agents, honest = self.agents, self.agents.honest
        steps = self.random.normal(0, 0.01, len(honest))
        agents.quality = np.where(honest, np.clip(agents.quality + steps, 0.05, 0.99), agents.quality)
        agents.quality[honest & (agents.turns <= self.today)] = BAD

    def _trade(self, score: Array, limit: Array) -> None:
        """Let all needs of a day be served as the policy says."""
        settings, random, people = self.settings, self.random, self.people
        good = self.agents.good & self.present
        self.declined.append(float(np.mean(limit[good] < settings.price)) if good.any() else 0.0)
        wishes = random.poisson(np.where(people.born <= self.today, people.needs, 0.0))
        place = np.repeat(np.arange(settings.accounts), wishes)
        slot = random.integers(3, size=len(place))
        amount = np.clip(settings.price * random.lognormal(0, 1.2, len(place)), 0.01, 200.0)
        offers = self.offers(place, slot, np.where(limit > 0, score, -np.inf))
        chosen = self.choices(offers, amount, score, limit)
        served = chosen >= 0
        self.unserved.append((int((~served).sum()), len(served)))
        self._deliver(place[served], slot[served], chosen[served], amount[served])
        if self.today in self._gifts:
            agent, invited = self._gifts[self.today]
            self._gift(agent, np.unique(invited % settings.accounts))

    def _gift(self, agent: int, invited: Array) -> None:
        """Send gifts to buyers, who then try the agent."""
        invited = invited[self.people.born[invited] <= self.today]
        sent = self.settings.time(self.today) + self.random.uniform(0, 3600, len(invited))
        owner = self.log.agents["owner"][agent]
        self.log.transfers.add(src=owner, dst=self.people.buyers[invited], amount=2.0, ts=sent)
        amount = self.random.uniform(1, 2, len(invited))
        self._deliver(invited, np.zeros(len(invited), int), np.full(len(invited), agent), amount)

    def offers(self, place: Array, slot: Array, score: Array) -> Array:
        """Return the agents that each need compares; -1 stands for no offer.

        The first is the last good one. Half of the others are of the policy's leaders of this kind of service, half are
        of all.

        Args:
            place: The buyer of each need.
            slot: Which of its three kinds of service each needs.
            score: The policy's score of each agent.
        """
        kind = self.people.taste[place, slot]
        present = np.flatnonzero(self.present)
        order = np.lexsort((-score[present] - self.random.random(len(present)), self.log.agents["kind"][present]))
        present = present[order]
        counts = np.bincount(self.log.agents["kind"][present], minlength=self.settings.categories)
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        reach = np.repeat(counts[kind][:, None], self.settings.candidates, axis=1)
        reach[:, : self.settings.candidates // 2] = np.minimum(counts[kind], self.settings.leaders)[:, None]
        drawn = self.random.random(reach.shape) * reach
        rows = np.where(counts[kind][:, None] > 0, starts[kind][:, None] + drawn.astype(int), -1)
        offers = np.append(present, -1)[rows]
        last = self._last_good[place, slot]
        offers[:, 0] = np.where((last >= 0) & self.agents.alive[last], last, offers[:, 0])
        buyer = self.people.buyers[place][:, None]
        own = self.log.agents["owner"][offers] == buyer
        return np.where(own | np.isin(buyer * _PAIR + offers, self._avoided), -1, offers)

    def choices(self, offers: Array, amount: Array, score: Array, limit: Array) -> Array:
        """Return the agent that each need goes to, or -1.

        Args:
            offers: The agents that each need compares.
            amount: The amount of each need.
            score: The policy's score of each agent.
            limit: The greatest amount that the policy lets a buyer pay each agent.
        """
        settings, random = self.settings, self.random
        allowed = (offers >= 0) & (limit[offers] >= amount[:, None]) & (limit[offers] > 0)
        rank = np.where(allowed, score[offers] + random.random(offers.shape) * 0.5, -np.inf)
        heard = np.bincount(self.log.feedback["agent"], minlength=len(score))
        unheard = np.where(allowed, -heard[offers] + random.random(offers.shape), -np.inf)
        tries = (amount <= settings.price) & (random.random(len(amount)) < settings.tries)
        column = np.where(tries, unheard.argmax(axis=1), rank.argmax(axis=1))
        known = self._is_last_good(offers) & allowed[:, 0] & ~tries & (random.random(len(amount)) < settings.returns)
        column[known] = 0
        rows = np.arange(len(amount))
        chosen: Array = np.where(allowed[rows, column], offers[rows, column], -1)
        return chosen

    def _is_last_good(self, offers: Array) -> Array:
        last: Array = np.isin(offers[:, 0], self._last_good)
        return last & (offers[:, 0] >= 0)

    def _deliver(self, place: Array, slot: Array, agent: Array, amount: Array) -> None:
        """Deliver some purchases, with payments, refunds, cashback, feedback and ratings."""
        settings, random, agents, log = self.settings, self.random, self.agents, self.log
        count = len(place)
        buyer = self.people.buyers[place]
        ts = settings.time(self.today) + np.sort(random.uniform(0, 64_800, count))
        paid = np.where(agents.free[agent], 0.0, amount)
        cheated = amount >= agents.cheats[agent]
        share = np.clip(agents.quality[agent] + random.normal(0, 0.1, count), 0, 1)
        share = np.where(random.random(count) < 0.05, random.uniform(0, 0.2, count), share)  # noqa: PLR2004
        share = np.where(cheated, 0.0, share)
        row = np.full(count, -1)
        row[paid > 0] = log.pay(buyer[paid > 0], agent[paid > 0], paid[paid > 0], ts[paid > 0])
        failed = (share < 0.3) & ~cheated & (random.random(count) < agents.refunds[agent])  # noqa: PLR2004
        refund = np.where(failed, paid, 0.0)
        self.give_back(buyer, agent, refund, ts + random.uniform(600, 18_000, count))
        self.give_back(buyer, agent, paid * agents.cashback[agent], ts + 300.0)
        self.sales.add(
            day=self.today, buyer=buyer, agent=agent, amount=amount, paid=paid,
            value=share * amount, cheated=cheated, refund=refund,
        )  # fmt: skip
        value = 100 * share + self.people.bias[place] + random.normal(0, 6, count)
        value = np.where(self.people.flatters[place] & ~cheated, 100.0, value)
        value = np.clip(np.where(failed, np.maximum(value, 40.0), value), 0, 100).round()
        rates = random.random(count) < settings.rates
        proof = np.where(random.random(count) < settings.proves, row, -1)
        log.feedback.add(
            client=buyer[rates], agent=agent[rates], value=value[rates],
            ts=(ts + random.uniform(60, 18_000, count))[rates], payment=proof[rates],
        )  # fmt: skip
        back = (random.random(count) < settings.rates_back) & agents.honest[agent]
        log.ratings.add(
            client=buyer[back], agent=agent[back], value=np.clip(random.normal(85, 8, back.sum()), 0, 100).round(),
            ts=(ts + random.uniform(60, 18_000, count))[back],
        )  # fmt: skip
        self._last_good[place[share > 0.6], slot[share > 0.6]] = agent[share > 0.6]  # noqa: PLR2004
        bad = share < 0.3  # noqa: PLR2004
        self._avoided = np.union1d(self._avoided, buyer[bad] * _PAIR + agent[bad])

    def give_back(self, buyer: Array, agent: Array, amount: Array, ts: Array) -> None:
        """Send money from agents to buyers.

        Args:
            buyer: The accounts.
            agent: The agents, whose owners send.
            amount: The amounts; nothing is sent for 0.
            ts: The times.
        """
        some = amount > 0
        owner = self.log.agents["owner"][agent[some]]
        self.log.transfers.add(src=owner, dst=buyer[some], amount=amount[some], ts=ts[some])

    def _withdraw(self) -> None:
        """Let sellers send the revenue of a week to an exchange."""
        if self.today % 7 != 6 or not len(self.log.payments):  # noqa: PLR2004
            return
        recent = self.log.payments["ts"] > self.settings.time(self.today - 6)
        owner = self.log.agents["owner"][self.log.payments["agent"][recent]]
        owners = np.unique(owner)
        revenue = np.bincount(owner, self.log.payments["amount"][recent], self.log.accounts)[owners]
        ts = self.settings.time(self.today) + self.random.uniform(70_000, 86_000, len(owners))
        target = self.people.funded_by(len(owners), self.random)
        self.log.transfers.add(src=owners, dst=target, amount=0.9 * revenue, ts=ts)
