"""Worlds, measures and baselines of `make evaluate`, and the page that it writes."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from bench.report import interval
from bench.trust import page
from bench.trust.baselines import baselines
from bench.trust.claims import evasion, price
from bench.trust.measures import Truth, ranking, scoring, threshold
from bench.trust.real_data import Otc, alpha, balance, chosen, fairness, forecast, formulas
from bench.trust.study import known_honest
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
    assert len(theirs) == 12
    assert ours > max(theirs.values())


def test_the_threshold_and_the_scores_are_measured():
    engine, truth = analysed()
    measured = threshold(engine, truth)
    assert measured["recall"] == 1
    assert measured["precision"] >= 0.9
    assert scoring(engine, truth)["mean error, honest agents"] < scoring(engine, truth)["mean error of the plain mean"]


def test_label_edges_are_removed(tmp_path):
    rows = ["1,2,8,100", "2,3,-5,200", "4,3,-9,300", "1,4,2,400", "3,2,1,500"]
    (tmp_path / "soc-sign-bitcoinotc.csv").write_text("\n".join(rows))
    (tmp_path / "otc_gt.csv").write_text("2,1\n3,-1\n")
    data = Otc.read(tmp_path)
    assert data.removed == 2
    assert data.value.tolist() == [-0.9, 0.2, 0.1]
    assert data.label.tolist() == [0, 1]
    good, fair = fairness(data)
    assert good[2] < 0 < fair.min()
    assert balance(data, np.full(4, 0.25))[2] > 0


def test_the_forecast_knows_fraud_without_a_label():
    rows = [(rater, rated, 0.8, rater) for rater in range(30) for rated in range(30) if 0 < (rater - rated) % 30 < 8]
    rows += [(n % 30, 30 + n // 5, -0.8 if n // 5 < 10 else 0.8, 100 + n) for n in range(200)]
    rater, rated, value, ts = (np.array(column) for column in zip(*rows, strict=True))
    nodes = np.arange(30, 70)
    data = Otc(rater, rated, value, ts.astype(float), 0, nodes, (nodes < 40).astype(np.int64), 70)
    guess = forecast(data)
    assert guess[30:40].min() > guess[40:].max()
    assert np.array_equal(guess, forecast(replace(data, label=1 - data.label)))


def test_the_interval_holds_the_mean():
    assert interval([1.0, 2.0, 3.0])[0] == 2.0
    assert interval([1.0, 2.0, 3.0])[1] <= 2.0 <= interval([1.0, 2.0, 3.0])[2]
    assert np.isnan(interval([float("nan")])[0])


def test_the_price_follows_the_gas_and_its_price():
    assert price(gwei=0.02)["dollars"] == pytest.approx(2 * price(gwei=0.01)["dollars"])


def test_every_way_around_a_detector_has_a_price():
    ways = evasion()
    assert {way.detector for way in ways} == {
        *("co-targeting", "links", "wash payments", "blocks", "lockstep", "retaliation", "reviewed kin", "values"),
        "weak signs",
    }
    assert all(way.gas >= 21_000 * way.transfers for way in ways)
    assert evasion(gwei=0.02)[0].dollars == pytest.approx(2 * ways[0].dollars)


def test_formulas_are_chosen_on_other_data(tmp_path):
    draw = np.random.default_rng(1)
    rows = [(1, 2 + n, 8, 10 * n) for n in range(5)]
    for trader in range(10, 50):
        rows.append((2 + trader % 5, trader, 6 if trader % 2 else -6, 100 + trader))
        rows += [
            (
                int(draw.integers(60, 90)),
                trader,
                int(draw.integers(1, 9)) * (1 if trader % 2 else -1),
                200 + trader + step,
            )
            for step in range(4)
        ]
        rows.append((trader, int(draw.integers(60, 90)), 3, 300 + trader * (5 if trader % 2 else 1)))
    (tmp_path / "soc-sign-bitcoinalpha.csv").write_text("\n".join(",".join(map(str, row)) for row in rows))
    other = alpha(tmp_path)
    assert (len(other.nodes), int(other.label.sum()), other.removed) == (45, 20, 45)
    name, score = chosen(other, other, received=True)
    assert name in formulas(other, received=True)
    assert score[other.nodes[other.label == 1]].min() > score[other.nodes[other.label == 0]].max()


def test_the_page_shows_the_recorded_figures():
    _, _, written = page.PAGE.read_text().partition(page.HEADING)
    assert page.HEADING + written == page.section(page.recorded())
