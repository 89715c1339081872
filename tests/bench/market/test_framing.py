"""Framing: the same needs are drawn before and after, so that a difference is due to the acts."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest

from bench.market.measures import BUDGET, KINDS, demand, framed, victims, worst
from bench.market.policies import Ranking, mean

PLAIN = Ranking("plain mean", mean)


def test_without_acts_the_demand_is_the_same(peaceful):
    assert (demand(deepcopy(peaceful), PLAIN) == demand(deepcopy(peaceful), PLAIN)).all()


def test_slander_costs_sellers_under_the_plain_mean_and_praise_costs_nothing(peaceful):
    lost = worst(peaceful, PLAIN, 2)
    assert lost["slander"] > 0.3
    assert lost["praises"] == 0.0
    assert lost.keys() == KINDS.keys()


def test_a_search_leaves_the_market_as_it_was(peaceful):
    before = len(peaceful.log.feedback)
    worst(peaceful, PLAIN, 1)
    assert len(peaceful.log.feedback) == before


@pytest.mark.parametrize("name", KINDS)
def test_acts_keep_to_the_budget_and_give_back_no_more_than_was_paid(peaceful, name):
    copy, targets = deepcopy(peaceful), victims(peaceful)
    framed(copy, KINDS[name], targets, np.random.default_rng(3))
    later = slice(len(peaceful.log.payments), None)
    spent = np.bincount(copy.log.payments["agent"][later], copy.log.payments["amount"][later], len(copy.log.agents))
    assert spent[targets].max() <= BUDGET
    assert spent.sum() == spent[targets].sum()
    copy.log.tables()
