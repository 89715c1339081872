"""Honest people: exchanges, teams, buyers with habits, and sellers who refund, give cashback, drift and turn bad."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from bench.market.rows import Log
    from bench.market.settings import Settings

Array = np.ndarray[Any, Any]

EXCHANGES: Final = 6
_SELLERS: Final = 6
"""One honest account in six sells."""

GOOD: Final = 0.6
"""The quality from which a seller is good: on average a buyer gets 60 % of the price or more."""


@dataclass
class Agents:
    """The truth about agents, by number. No policy but an oracle sees it.

    Attributes:
        quality: The mean share of its price that a service is worth.
        campaign: The campaign of an attacker; -1 for an honest seller.
        cheats: The amounts from which an agent delivers nothing; infinite for one that serves.
        alive: Marks agents that can be bought from.
        free: Marks services that take no money.
        refunds: The share of failures that the seller refunds.
        cashback: The share of each price that the seller returns.
        turns: The day on which an honest seller turns bad; infinite for most.
    """

    quality: Array = field(default_factory=lambda: np.zeros(0))
    campaign: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    cheats: Array = field(default_factory=lambda: np.zeros(0))
    alive: Array = field(default_factory=lambda: np.zeros(0, bool))
    free: Array = field(default_factory=lambda: np.zeros(0, bool))
    refunds: Array = field(default_factory=lambda: np.zeros(0))
    cashback: Array = field(default_factory=lambda: np.zeros(0))
    turns: Array = field(default_factory=lambda: np.zeros(0))

    def add(self, count: int, **columns: Any) -> None:
        """Add agents that serve well, but for the columns that are named.

        Args:
            count: The number of agents.
            **columns: Columns, as for the attributes.
        """
        usual = {"quality": 0.85, "campaign": -1, "cheats": np.inf, "alive": True, "free": False} | {
            "refunds": 0.0, "cashback": 0.0, "turns": np.inf,
        }  # fmt: skip
        for name, value in (usual | columns).items():
            array = getattr(self, name)
            setattr(self, name, np.concatenate([array, np.full(count, value, array.dtype)]))

    @property
    def honest(self) -> Array:
        """Mark the agents of honest sellers."""
        return self.campaign < 0

    @property
    def good(self) -> Array:
        """Mark honest sellers that are good now."""
        good: Array = self.honest & (self.quality >= GOOD)
        return good


@dataclass
class People:
    """The honest accounts, by number; exchanges come first, treasuries of teams last.

    Attributes:
        exchanges: The accounts of exchanges.
        buyers: The accounts that buy; sellers do so, too.
        needs: The mean number of needs of each of them in a day.
        born: The day on which each of them begins.
        bias: The points by which each of them rates above its experience.
        flatters: Marks those who always give 100.
        taste: Three kinds of service that each of them buys.
    """

    exchanges: Array
    buyers: Array
    needs: Array
    born: Array
    bias: Array
    flatters: Array
    taste: Array

    def funded_by(self, count: int, random: np.random.Generator) -> Array:
        """Draw the exchanges that fund some accounts. Few exchanges fund most.

        Args:
            count: The number of accounts.
            random: Decides the draw.
        """
        share = 1 / np.arange(1, len(self.exchanges) + 1)
        drawn: Array = self.exchanges[random.choice(len(self.exchanges), count, p=share / share.sum())]
        return drawn


def settle(settings: Settings, log: Log, random: np.random.Generator) -> tuple[People, Agents]:
    """Draw the honest accounts and agents, and write their registrations and funding.

    Args:
        settings: The assumptions.
        log: The rows, which are added to.
        random: Decides all draws.
    """
    count, days = settings.accounts, settings.days
    exchanges, accounts = log.open(EXCHANGES), log.open(count)
    # Six in ten are there from the start; the others come while the market runs.
    born = np.where(random.random(count) < 0.6, 0.0, random.uniform(0, 0.85 * days, count))  # noqa: PLR2004
    share = 1 / np.arange(1, settings.categories + 1)
    kinds = random.choice(settings.categories, (count, 3), p=share / share.sum())
    people = People(
        exchanges,
        accounts,
        settings.needs * random.gamma(0.5, 2.0, count),
        born,
        np.where(random.random(count) < 0.05, -25.0, random.normal(0, 6, count)),  # noqa: PLR2004
        random.random(count) < 0.1,  # noqa: PLR2004
        kinds,
    )
    agents = Agents()
    owners = random.choice(count, count // _SELLERS, replace=False)
    number = np.where(random.random(len(owners)) < 0.9, 1, random.integers(2, 6, len(owners)))  # noqa: PLR2004
    _team(settings, log, people, random)
    rows = np.repeat(owners, number)
    sizes = len(rows)
    turns = np.where(random.random(sizes) < 0.05, random.uniform(0.3, 1.0, sizes) * days, np.inf)  # noqa: PLR2004
    agents.add(
        sizes,
        quality=random.beta(6, 1.7, sizes),
        free=random.random(sizes) < 0.08,  # noqa: PLR2004
        refunds=np.where(random.random(sizes) < 0.4, random.uniform(0.3, 1, sizes), 0.0),  # noqa: PLR2004
        cashback=np.where(random.random(sizes) < 0.12, random.uniform(0.03, 0.12, sizes), 0.0),  # noqa: PLR2004
        turns=turns,
    )
    log.agents.add(
        owner=accounts[rows],
        kind=random.choice(settings.categories, sizes, p=share / share.sum()),
        ts=settings.time(born[rows] + random.uniform(0, 0.9, sizes)),
    )
    return people, agents


def _team(settings: Settings, log: Log, people: People, random: np.random.Generator) -> None:
    """Fund all accounts: most by exchanges, a tenth by friends, a twentieth by treasuries of teams of five to ten."""
    count = len(people.buyers)
    funder = people.funded_by(count, random)
    friend = random.integers(count, size=count)
    by_friend = (random.random(count) < 0.1) & (people.born[friend] <= people.born)  # noqa: PLR2004
    funder[by_friend] = people.buyers[friend[by_friend]]
    members = random.permutation(count)[: count // 20]
    size = int(random.integers(5, 11))
    treasuries = log.open(len(members) // size + 1)
    funder[members] = treasuries[np.arange(len(members)) // size]
    people.taste[members] = people.taste[members[np.arange(len(members)) // size * size]]  # a team has one trade
    log.transfers.add(
        src=people.funded_by(len(treasuries), random), dst=treasuries, amount=500.0, ts=settings.time(-2.0)
    )
    log.transfers.add(
        src=funder,
        dst=people.buyers,
        amount=random.lognormal(3, 1, count),
        ts=settings.time(people.born - random.uniform(0.01, 1.5, count)),
    )
