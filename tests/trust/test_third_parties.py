"""No act of a third party takes weight from an honest opinion, and no bad rating lifts its agent."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest

from bilateral.trust.scores.scores import Credence, weights
from tests.trust.attacks import Attack, by_raters, honest_market, raters_of

ROUNDING = 1e-6


def trust_of_opinions(engine):
    """Return the weight of each feedback by rater, agent and time."""
    ledger, opinions = engine.context_.ledger, engine.context_.ledger.opinions
    rows = np.flatnonzero(np.isfinite(opinions.percent) & (ledger.subject_agent[opinions.subject] >= 0))
    credence = Credence.of(engine.context_, engine.suspicion_, rows)
    weight = weights(engine.context_, engine.suspicion_, rows, credence)[0] * credence.solid()
    agents = ledger.agent_ids[ledger.subject_agent[opinions.subject[rows]]]
    keys = zip(opinions.rater[rows].tolist(), agents.tolist(), opinions.ts[rows].tolist(), strict=True)
    names = ledger.addresses.to_pylist()
    return {(names[rater], agent, ts): value for (rater, agent, ts), value in zip(keys, weight.tolist(), strict=True)}


def interfered(market, seed):
    """Return an attacker who sends money to a rival's raters, and rates the rival, by a plan drawn at random."""
    attack = Attack(market, seed)
    random, sellers = attack.random, by_raters(market)
    rival = sellers[random.integers(150)]
    wallet = attack.accounts(1, 30, amount=500.0)[0]
    accounts = attack.accounts(int(random.integers(3, 40)), 50, None if random.random() < 0.5 else wallet)
    days = 55 + random.random(len(accounts)) * random.choice([0.1, 3.0])
    if random.random() < 0.6:
        raters, amount = raters_of(market.log, rival), random.choice([0.01, 2.0])
        attack.send(random.choice([wallet, accounts[0]]), raters, amount, 50 + random.random() * 9)
    if random.random() < 0.5:
        attack.praise(accounts, sellers[random.integers(30, size=len(accounts))], 90, days - 3, 1.0)
    if random.random() < 0.5:
        attack.praise(accounts, rival, random.choice([0, 100]), days, 1.0)
    else:
        attack.rate(accounts, rival, random.choice([0, 100]), days)
    return attack


@pytest.mark.parametrize("seed", range(6))
def test_neither_money_received_nor_ratings_by_others_take_weight_from_an_opinion(seed):
    before = trust_of_opinions(Attack(honest_market()).engine())
    after = trust_of_opinions(interfered(honest_market(), seed).engine())
    lost = {key: weight - after[key] for key, weight in before.items() if after[key] < weight - ROUNDING}
    assert not lost


@pytest.fixture(scope="module")
def rated():
    """Return agents with some favourable opinions of buyers of different weight, and one without any."""
    attack = Attack(honest_market())
    agents = attack.agents(attack.accounts(4, 40), 41)
    buyers = market_buyers(attack.log)
    for number, agent in enumerate(agents[1:]):
        attack.praise(buyers[number : number + 4 * (number + 1)], agent, 85, 45.0, 2.0)
    return attack, agents


def market_buyers(log):
    """Return accounts that paid, those that paid most often first."""
    return np.argsort(-np.bincount(log.payments["payer"], minlength=log.accounts), kind="stable")


def bounds(attack, agents):
    return np.array([standing.lower for standing, _ in attack.answers(*agents)])


@pytest.mark.parametrize("value", [0, 20, 49])
@pytest.mark.parametrize("place", [0, 30, 400])
def test_a_bad_rating_never_raises_the_lower_bound(rated, value, place):
    attack, agents = rated
    worse = Attack(attack.market)
    worse.log, worse.own = deepcopy(attack.log), attack.own
    rater = market_buyers(attack.log)[100 + place]
    for agent in agents:
        worse.praise([rater], agent, value, 55.0, 2.0)
    assert (bounds(worse, agents) <= bounds(attack, agents) + 0.2).all()


def test_a_cent_ranks_no_newcomer_above_those_without_ratings():
    attack = Attack(honest_market())
    owners = attack.accounts(4, 40)
    agents = attack.agents(owners, 41)
    fresh = attack.accounts(6, 42)
    attack.rate(fresh[:1], agents[1], 100, 45.0)
    attack.praise(fresh[1:2], agents[2], 100, 45.0, 0.01)
    attack.praise(fresh[2:], agents[3], 100, 45.0, 1.0)  # the money comes back to whoever owns both
    unrated, *others = bounds(attack, agents)
    assert others == pytest.approx([unrated] * 3, abs=0.2)
