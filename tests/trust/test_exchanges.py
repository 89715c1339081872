"""An exchange is known by what its customers lose to others: nobody becomes one by dust or by a few small accounts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bench.market.play import EXCHANGES, Market, address
from bench.market.policies import Ranking, by_counts
from bilateral.trust.features.ties import ties_of
from bilateral.trust.tables.coding import coded
from tests.trust.attacks import SETTINGS, Attack, honest_market

BUDGET = 20.0


def hubs(log):
    """Return the numbers of the accounts that are exchanges."""
    ledger = coded(log.tables())
    places = {name: place for place, name in enumerate(ledger.addresses.to_pylist())}
    is_hub = ties_of(ledger).is_hub
    return {number for number in range(log.accounts) if is_hub[places.get(address(log.seed, number), 0)]}


@pytest.fixture(scope="module")
def small_market():
    """A market of 600 accounts; its smallest exchange funds some forty."""
    return Market(replace(SETTINGS, accounts=600), Ranking("mean by counts", by_counts), 1).run()


def test_exchanges_of_a_market_are_found_and_nobody_else():
    assert hubs(honest_market().log) == set(range(EXCHANGES))


def test_exchanges_of_a_small_market_are_found(small_market):
    assert hubs(small_market.log) == set(range(EXCHANGES))


def test_exchanges_are_found_by_opinions_where_no_payments_are_recorded(small_market):
    attack = Attack(small_market)
    attack.log.payments.size = 0
    attack.log.feedback["payment"][:] = -1
    assert hubs(attack.log) == set(range(EXCHANGES))


def test_an_exchange_that_funds_all_early_buyers_is_found(small_market):
    attack = Attack(small_market)
    funders = attack.log.transfers["src"]
    funders[funders < EXCHANGES] = 0
    assert 0 in hubs(attack.log)


def plan(random):
    """Add the acts of an attacker that wants its wallet to look like an exchange, for less than the budget."""
    attack = Attack(honest_market(), int(random.integers(1 << 30)))
    wallet = attack.accounts(1, 5.0, amount=500.0)[0]
    ring = attack.accounts(14, 30.0, source=wallet)
    agents = attack.agents(ring, 31.0)
    for place, member in enumerate(ring):
        attack.rate(np.full(13, member), np.delete(agents, place), 100.0, 33.0 + 0.01 * place)
    dust, children = int(random.integers(0, 400)), int(random.integers(0, 60))
    attack.send(wallet, attack.log.open(dust), random.choice([0.01, 1.0, 50.0]), np.linspace(6, 55, dust))
    buyers = attack.accounts(children, 8.0, source=wallet)
    sellers = attack.agents(attack.accounts(3, 4.0), 4.5)
    others = np.flatnonzero(honest_market().agents.good)
    while children and attack.cost < BUDGET:
        own = random.random() < 0.5
        targets = random.choice(sellers if own else others, children)
        attack.buy(buyers, targets, random.choice([0.01, 0.2, 1.0]), random.uniform(10, 58, children))
        attack.rate(buyers[:5], targets[:5], 90.0, 59.0)
    return attack, wallet, ring, agents


@pytest.mark.parametrize("seed", range(6))
def test_no_plan_of_twenty_dollars_makes_an_exchange(seed):
    attack, wallet, *_ = plan(np.random.default_rng(seed))
    assert wallet not in hubs(attack.log)


@pytest.mark.parametrize("seed", range(2))
def test_no_plan_of_twenty_dollars_clears_a_ring(seed):
    attack, _, _, agents = plan(np.random.default_rng(100 + seed))
    assert [limit for _, limit in attack.answers(*agents)] == [0.0] * 14


@pytest.mark.parametrize("dust", [0, 151, 400])
def test_dust_lets_no_second_newcomer_of_a_source_be_tried(dust):
    attack = Attack(honest_market())
    wallet = attack.accounts(1, 5.0, amount=500.0)[0]
    attack.send(wallet, attack.log.open(dust), 0.01, np.linspace(6, 55, dust))
    agents = attack.agents(attack.accounts(20, 58.0, source=wallet), 58.5)
    assert sum(limit > 0 for _, limit in attack.answers(*agents)) == 1
