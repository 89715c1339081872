"""Markets in which half of the sellers stop responding, for buyers with and without a watchtower's measurements.

Probes are simulated. The watchtower's own state machine and intervals decide what they mean, and the check's own rules
whether a buyer should stay away, see `simulation.probes`.
"""

from typing import Any

import numpy as np

from bench.market.attackers import Attackers
from bench.market.measures import WARM, outcome
from bench.market.play import PAIR, Array, Market, Policy
from bench.market.settings import DAY, START, Deaths, Settings
from bilateral.index.measurements.values import Protocol, Target
from simulation.probes import advice

_SLOTS, _BUYING_SLOTS = 96, 72
"""The quarters of an hour of a day. Purchases are in the first 18 hours."""


def draw_fates(settings: Settings, born: Array, deaths: Deaths, seed: int) -> tuple[Array, Array]:
    """Draw when sellers respond, and probe them until the market ends.

    Args:
        settings: The assumptions about the market.
        born: The Unix time at which each seller was registered.
        deaths: The assumptions about sellers and probes.
        seed: Decides all draws.

    Returns:
        Two tables by quarter of an hour and seller: who does not respond, and whom the check declines because of its
        measurements. The last column is of the agents of attackers, who always respond.
    """
    random, end = np.random.default_rng([seed, 4]), settings.time(settings.days)
    times = START + DAY / _SLOTS * np.arange(_SLOTS * settings.days)
    is_down, is_declined = np.zeros((2, len(times), len(born) + 1), bool)
    shares = deaths.never, deaths.ends, deaths.outages
    kinds = random.choice(len(shares) + 1, len(born), p=[*shares, 1 - sum(shares)])
    for seller, (kind, first) in enumerate(zip(kinds.tolist(), born.tolist(), strict=True)):
        start = (first, *random.uniform(first, end, 2), end)[kind]
        stop = start + random.exponential(deaths.outage * DAY) if kind == 2 else end  # noqa: PLR2004
        is_down[:, seller] = (start <= times) & (times < stop)
        host, fails = f"seller{seller}.example", deaths.losses.draw(first, end, (start, stop), random)
        target = Target(Protocol.X402, f"https://{host}/", host, is_paid=True)
        for at, declines in advice(target, first, end, fails):
            is_declined[times >= at, seller] = declines
    return is_down, is_declined


class DyingMarket(Market):
    """A market whose sellers may not respond. They take no money then, so the buyer tries another offer.

    Attributes:
        deaths: The assumptions about sellers and buyers.
        is_down, is_declined: Who does not respond, and whom buyers skip, see `draw_fates`.
        daily: For each day, the shares of good sellers that respond and are refused, at all and by measurements, and of
            needs whose first choice did not respond.
    """

    deaths: Deaths
    is_down: Array
    is_declined: Array
    daily: list[list[float]]

    def _at(self, table: Array, slots: Any, agents: Array) -> Array:
        return np.asarray(table[slots, np.where(self.agents.honest[agents] & (agents >= 0), agents, -1)])

    def _trade(self, score: Array, limit: Array) -> None:
        """Count who is refused, and trade. Searches leave out those that are declined in the morning."""
        slots = self.today * _SLOTS + np.arange(_SLOTS)[:, None]
        good = np.flatnonzero(self.agents.good & self.present)
        responds = ~self._at(self.is_down, slots, good)
        is_declined = responds & self._at(self.is_declined, slots, good)
        is_refused = is_declined | (responds & (limit[good] < self.settings.price))
        self.daily.append([marks.sum() / max(responds.sum(), 1) for marks in (is_refused, is_declined)])
        is_hidden = self._at(self.is_declined, slots[0], np.arange(len(score)))
        super()._trade(np.where(is_hidden, -np.inf, score), limit)

    def _choose(self, place: Array, slot: Array, amount: Array, score: Array, limit: Array) -> Array:
        """Return the agent that serves each need, or -1. No buyer goes back to a seller that did not respond."""
        count = max(len(place), 1)
        slots = self.today * _SLOTS + np.arange(len(place)) * _BUYING_SLOTS // count
        offers = self.offers(place, slot, np.where(limit > 0, score, -np.inf))
        offers[self._at(self.is_declined, slots[:, None], offers)] = -1
        chosen, needs = np.full(len(place), -1), np.arange(len(place))
        for _ in range(self.deaths.offers):
            chosen[needs] = self.choices(offers[needs], amount[needs], score, limit)
            needs = needs[(chosen[needs] >= 0) & self._at(self.is_down, slots[needs], chosen[needs])]
            self.daily[-1].append(len(needs) / count)
            self._avoided = np.union1d(self._avoided, self.people.buyers[place[needs]] * PAIR + chosen[needs])
            offers[needs] = np.where(offers[needs] == chosen[needs, None], -1, offers[needs])
            chosen[needs] = -1
        return chosen

    def _gift(self, agent: int, invited: Array) -> None:
        """Send gifts, unless the agent does not respond."""
        if not self._at(self.is_down, self.today * _SLOTS, np.array(agent)):
            super()._gift(agent, invited)


def compared(settings: Settings, policy: Policy, seed: int, deaths: Deaths) -> dict[str, dict[str, float]]:
    """Play a market twice, and return the measures without and with measurements.

    Args:
        settings: The assumptions about the market.
        policy: The system that buyers follow.
        seed: Decides all draws.
        deaths: The assumptions about sellers, buyers and probes.
    """
    tables, rows = None, {}
    for name in ("without", "with"):
        attackers = Attackers(seed)
        market = DyingMarket(settings, policy, seed, (attackers,))
        tables = tables or draw_fates(settings, market.log.agents["ts"], deaths, seed)
        market.deaths, market.daily, market.is_down = deaths, [], tables[0]
        market.is_declined = tables[1] & (name == "with")
        attackers.finish(market.run())
        result, means = outcome(market, attackers), np.mean(market.daily[WARM:], axis=0).tolist()
        down = float(market.is_down[:, :-1].mean())
        rows[name] = {"lost": result.lost, "value": result.value, "served": result.served, "down": down}
        rows[name] |= zip(("refused", "falsely", "silent"), means, strict=False)
    return rows
