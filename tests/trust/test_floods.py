"""Floods of opinions neither frame honest accounts nor contest scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bilateral.trust.detectors.cotargeting import CoTargeting
from bilateral.trust.detectors.lockstep import Lockstep
from bilateral.trust.scores.scores import scores
from tests.trust.conftest import judged


@pytest.mark.parametrize("customers", [140, 300], ids=["of a small source", "of an exchange"])
def test_a_flood_at_one_subject_frames_no_honest_customers_of_one_source(scene, customers):
    for number in range(60):
        scene.agent(number + 1, f"owner{number}", ts=10.0 * number)
    for number in range(600):
        source = "source" if number < customers else f"source{number}"
        scene.transfer(source, f"client{number}", 20.0 + number, 100_000.0 * number)
        for step in range(4):
            scene.feedback(f"client{number}", (number * (step + 3)) % 59 + 2, 80, 70_000_000.0 + number)
    assert CoTargeting().fit(scene.context()).findings_ == []
    for number in range(50_000):
        scene.feedback(f"flood{number}", 1, 100, 71_000_000.0 + 600 * number)
    assert CoTargeting().fit(scene.context()).findings_ == []


def test_busy_raters_frame_no_honest_customers_of_one_source(scene):
    for number in range(1000):
        scene.agent(number + 1, f"owner{number}", ts=10.0 * number)
    for number in range(600):
        source = "source" if number < 140 else f"source{number}"
        scene.transfer(source, f"client{number}", 20.0 + number, 100_000.0 * number)
        for step in range(4):
            scene.feedback(f"client{number}", (number * (step + 3)) % 60 + 1, 80, 70_000_000.0 + number)
    assert CoTargeting().fit(scene.context()).findings_ == []
    for number in range(30_000):
        scene.feedback(f"flood{number // 1000}", number % 1000 + 1, 75, 71_000_000.0 + number)
    assert CoTargeting().fit(scene.context()).findings_ == []


def test_one_owner_that_rates_many_makes_no_newcomers_of_honest_raters(market):
    assert Lockstep().fit(market.context()).findings_ == []
    for number in range(20_000):
        market.rating(f"stranger{number}", 1, number % 100, 5000.0 + number)
    assert Lockstep().fit(market.context()).findings_ == []


def standing(engine, agent_id):
    """The status of an agent, and the share of its raters who are removed."""
    place = engine.context_.ledger.agent_ids.tolist().index(agent_id)
    return engine.scores_.status[place], engine.scores_.removed[place]


def test_false_opinions_of_strangers_contest_no_score(market):
    for number in range(60):
        market.transfer("framer", f"sybil{number}", 5.0, 6000.0 + number)
        market.feedback(f"sybil{number}", 7, 0 if number % 2 else 100, 7000.0 + number)
    engine, _ = judged(market)
    status, removed = standing(engine, 7)
    assert status == "ok"
    assert removed > 0.5


def test_a_client_that_repeats_itself_contests_no_score(market):
    for number in range(500):
        market.feedback("client7", 1, 20, 40000.0 + number)
    status, removed = standing(judged(market)[0], 1)
    assert (status, removed) == ("ok", 0.0)


@pytest.mark.parametrize(("own", "status"), [(True, "contested"), (False, "ok")])
def test_opinions_that_an_agent_is_tied_to_contest_its_score(market, own, status):
    engine, _ = judged(market)
    opinions = engine.context_.ledger.opinions
    false = (opinions.subject == 0) & (np.arange(len(opinions)) % 2 == 0)
    altered = replace(engine.suspicion_, row=false.astype(float), own=false & own)
    scored = scores(engine.context_, altered)
    assert (scored.status[0], scored.removed[0]) == (status, pytest.approx(0.5, abs=0.01))


def test_a_contested_score_without_independent_opinions_has_no_lower_bound_above_zero(market):
    engine, _ = judged(market)
    opinions = engine.context_.ledger.opinions
    false = opinions.subject == 0
    altered = replace(engine.suspicion_, row=false.astype(float), own=false)
    scored = scores(engine.context_, altered)
    assert (scored.status[0], scored.effective[0], scored.lower[0]) == ("contested", 0.0, 0.0)
    assert scores(engine.context_, replace(altered, own=np.zeros_like(false))).lower[0] > 0
