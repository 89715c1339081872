"""Worlds, measures and baselines of `make evaluate`, and the page that it writes."""

from __future__ import annotations

from copy import deepcopy
from functools import cache

import numpy as np
import pytest

from bench.report import interval
from bench.trust import page
from bench.trust.baselines import baselines
from bench.trust.measures import Truth, ranking, scoring, threshold
from bench.trust.study import known_honest, price
from bench.trust.worlds.honest import honest_world
from bench.trust.worlds.kinds import FAMILIES, KINDS
from bench.trust.worlds.lookalikes import add_bystanders
from bench.trust.worlds.world import Settings
from bilateral.trust.engine import Engine

TINY = Settings(clients=250, owners=120, platforms=1, communities=2)


@cache
def analysed():
    made = honest_world(3, TINY)
    for family in ("star", "ring"):
        FAMILIES[family](made, made.begin(family, 8))
    tables, truth = made.tables()
    engine = Engine().fit(tables)
    return engine, Truth.of(engine, truth)


@cache
def market():
    return honest_world(5, TINY)


@pytest.mark.sample(30)
@pytest.mark.parametrize(
    ("kind", "family"), [(kind, family) for kind, value in KINDS.items() for family in value.families]
)
def test_every_family_adds_an_attack_with_members(kind, family):
    made = deepcopy(market())
    KINDS[kind].families[family](made, made.begin(family, 4))
    members = [account for account in made.accounts if account.attack == 0] + [
        agent for agent in made.agents if agent.attack == 0
    ]
    assert len(members) >= 4
    assert made.tables()[1]["attacks"]["family"].to_pylist() == [family]


def test_bystanders_are_honest_and_have_groups_of_their_own():
    made = deepcopy(market())
    add_bystanders(made)
    groups = {account.group for account in made.accounts} - {account.group for account in market().accounts}
    assert groups == {"dispute", "launch campaign", "DAO team", "refund merchant"}
    assert {account.attack for account in made.accounts} == {-1}


def test_a_world_depends_on_its_seed_alone():
    first, second, other = (honest_world(seed, TINY).tables()[0].feedback for seed in (4, 4, 5))
    assert first.equals(second)
    assert not first.equals(other)


def test_measures_know_a_perfect_and_a_random_ranking():
    _, truth = analysed()
    perfect = ranking((truth.attack >= 0).astype(float), truth)
    assert perfect == {"AUC": 1.0, "recall at 1 %": 1.0, "recall at 0.1 %": 1.0, "networks found": 1.0}
    random = ranking(np.random.default_rng(0).random(len(truth.attack)), truth)
    assert 0.3 < random["AUC"] < 0.7


@pytest.mark.nightly
def test_the_engine_beats_every_baseline_on_plain_attacks():
    engine, truth = analysed()
    ours = ranking(engine.suspicion_.total, truth)["AUC"]
    others = baselines(engine.context_, known_honest(truth))
    theirs = {name: ranking(np.nan_to_num(score), truth)["AUC"] for name, score in others.items()}
    assert len(theirs) == 5
    assert ours > max(theirs.values())


def test_the_threshold_and_the_scores_are_measured():
    engine, truth = analysed()
    measured = threshold(engine, truth)
    assert measured["recall"] == 1
    assert measured["precision"] >= 0.9
    assert scoring(engine, truth)["mean error, honest agents"] < scoring(engine, truth)["mean error of the plain mean"]


def test_the_interval_holds_the_mean():
    assert interval([1.0, 2.0, 3.0])[0] == 2.0
    assert interval([1.0, 2.0, 3.0])[1] <= 2.0 <= interval([1.0, 2.0, 3.0])[2]
    assert np.isnan(interval([float("nan")])[0])


def test_the_price_follows_the_gas_and_its_price():
    assert price(gwei=0.02)["dollars"] == pytest.approx(2 * price(gwei=0.01)["dollars"])


def test_the_page_shows_the_recorded_figures():
    assert page.PAGE.read_text() == page.section(page.recorded())
