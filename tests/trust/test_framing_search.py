"""A search over acts under a budget finds none by which an attacker gets an honest seller held back or contested."""

from __future__ import annotations

from collections import Counter

import pytest

from bench.trust.worlds.honest import honest_world
from bench.trust.worlds.world import DAY, START, Settings
from tests.trust.framing_search import Plan, search

WORLD = Settings(clients=400, owners=200, platforms=1, communities=2, refunding=0.3, cashback=0.1)


@pytest.fixture(scope="module")
def market():
    return honest_world(5, WORLD)


def sellers(market):
    """The agents of owners without a group that some clients rated."""
    rated = Counter(row[1] for row in market.feedback)
    early = [agent for agent in market.servers if agent.wallet is agent.owner and agent.ts < START + 60 * DAY]
    return [agent for agent in early if 6 <= rated[agent.number] <= 20 and not agent.owner.group]


@pytest.mark.parametrize("seed", range(2))
def test_no_acts_under_a_budget_get_an_honest_seller_held_back(market, seed):
    tried = search(market, sellers(market)[seed], 10, seed)
    assert tried[0][0] == Plan()
    assert len({plan for plan, _ in tried}) > 5
    assert not any(harm.held for _, harm in tried)
    assert not any(harm.contested for _, harm in tried)
    unslandered = [harm for plan, harm in tried if plan.slanders == 0]
    assert unslandered
    assert all(harm.lower[0] > 0.75 * harm.lower[1] for harm in unslandered)
