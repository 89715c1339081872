"""Policies of the market: what each of them orders by, on rows that are easy to check."""

from __future__ import annotations

import numpy as np
import pytest

from bench.market.measures import held_back, play
from bench.market.play import Log
from bench.market.policies import Standings, by_counts, by_distinct_raters, by_payments, mean, simple, trust_by_walk
from tests.bench.market.conftest import SMALL


@pytest.fixture
def log():
    """Return two agents: one with a single perfect rating, one with many good ones, of which some are paid."""
    log = Log(1)
    log.open(12)
    log.agents.add(owner=[0, 1], kind=0, ts=0.0)
    rows = log.pay([2, 3], 1, 4.0, 1.0)
    log.feedback.add(client=4, agent=0, value=100, ts=2.0, payment=-1)
    log.feedback.add(client=np.arange(2, 12), agent=1, value=90, ts=3.0, payment=[*rows, *[-1] * 8])
    return log


def test_the_plain_mean_prefers_a_single_perfect_rating_and_the_others_do_not(log):
    assert mean(log).tolist() == [100, 90]
    for figure in (by_counts, by_distinct_raters, by_payments):
        first, second = figure(log)
        assert first < second


def test_a_rater_who_repeats_itself_counts_once_in_the_lower_bound(log):
    before = by_distinct_raters(log)
    log.feedback.add(client=4, agent=0, value=[100] * 20, ts=4.0, payment=-1)
    assert by_distinct_raters(log).tolist() == before.tolist()


def test_little_trust_walks_into_a_region_with_one_edge():
    log = Log(1)
    log.open(60)
    log.agents.add(owner=np.arange(20), kind=0, ts=0.0)
    honest = np.random.default_rng(1).integers(10, size=(20, 5))
    log.pay(np.repeat(np.arange(20, 40), 5), honest.ravel(), 1.0, 1.0)
    false = np.random.default_rng(2).integers(10, 20, size=(20, 5))
    log.pay(np.repeat(np.arange(40, 60), 5), false.ravel(), 1.0, 1.0)
    log.pay(40, 0, 1.0, 1.0)
    trust = trust_by_walk(log, np.array([20, 21, 22]))
    assert trust[20:40].mean() > 5 * trust[41:60].mean()


@pytest.mark.parametrize("policy", simple(), ids=lambda policy: policy.name)
def test_each_policy_serves_a_market(policy):
    market, _ = next(play(SMALL, policy, 3))
    assert len(market.sales) > 500


def test_our_standing_answers_about_each_agent(peaceful):
    answers = Standings(weighs=True).answer(peaceful)
    assert len(answers.score) == len(answers.limit) == len(peaceful.log.agents)
    assert (answers.limit >= 0).all()


def test_the_held_back_are_those_that_our_standing_refuses(peaceful):
    refused = Standings().answer(peaceful).limit == 0
    assert held_back(peaceful.log, peaceful.agents.good)["held"] == refused.mean()
