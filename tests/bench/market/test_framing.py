"""Framing: the same needs are drawn before and after, so that a difference is due to the acts."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest

from bench.market.evidence import Attack, honest_market
from bench.market.framing import BUDGET, GROUPS, KINDS, demand, framed, raters, victims, worst
from bench.market.policies import Ranking, mean

PLAIN = Ranking("plain mean", mean)
NEEDS = 10_000


def test_without_acts_the_demand_is_the_same(peaceful):
    heard = raters(peaceful.log)
    assert (demand(deepcopy(peaceful), PLAIN, heard, NEEDS) == demand(deepcopy(peaceful), PLAIN, heard, NEEDS)).all()


@pytest.fixture(scope="module")
def groups(peaceful):
    revenue = demand(deepcopy(peaceful), PLAIN, raters(peaceful.log))
    return victims(peaceful, revenue, np.random.default_rng(1))


def test_victims_are_of_every_size_and_do_not_compete(peaceful, groups):
    count = raters(peaceful.log)
    assert list(groups) == list(GROUPS)
    sizes = [count[agents].mean() for agents in groups.values() if len(agents)]
    assert sizes == sorted(sizes, reverse=True)
    kinds = peaceful.log.agents["kind"][np.concatenate(list(groups.values()))]
    assert len(set(kinds.tolist())) == len(kinds)


def test_slander_costs_sellers_under_the_plain_mean_and_praise_does_not(peaceful):
    before = len(peaceful.log.feedback)
    slander, praise = (worst(peaceful, PLAIN, name, 2, 2, needs=NEEDS) for name in ("slander", "praises"))
    assert max(slander.values()) > 0.3
    assert max(praise.values()) < 0.02
    assert len(peaceful.log.feedback) == before


@pytest.mark.parametrize("name", KINDS)
def test_acts_keep_to_the_budget(peaceful, groups, name):
    copy, targets = deepcopy(peaceful), groups["many raters"]
    framed(copy, KINDS[name], targets, np.random.default_rng(3))
    later = slice(len(peaceful.log.payments), None)
    spent = copy.log.payments["amount"][later].sum()
    assert spent <= BUDGET * len(targets)
    copy.log.tables()


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_a_burst_of_false_praise_takes_no_evidence_from_sellers_that_were_just_rated(seed):
    market, count = honest_market(), raters(honest_market().log)
    last = np.zeros(len(count))
    np.maximum.at(last, market.log.feedback["agent"], market.log.feedback["ts"])
    few = np.flatnonzero(market.agents.good & (count > 0) & (count <= 12))
    targets, attack = few[np.argsort(-last[few])][:12], Attack(market)
    before = [standing.evidence_cost for standing, _ in attack.answers(*targets)]
    copy = deepcopy(market)
    framed(copy, KINDS["praises within a ring"], targets, np.random.default_rng(seed))
    attack.log = copy.log
    after = [standing.evidence_cost for standing, _ in attack.answers(*targets)]
    assert sum(before) > 0
    assert np.min(np.array(after) - before) > -1e-6
