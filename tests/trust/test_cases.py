"""Many reviewed cases teach a model, which ranks accounts that move money like the guilty."""

from __future__ import annotations

import numpy as np
import pytest

from bilateral.trust.detectors.cases import CaseModel
from bilateral.trust.engine import Engine
from bilateral.trust.features.reviews import Reviews
from tests.trust.conftest import moves, names


def crowd(scene, guilty=150, innocent=150):
    """Accounts that send money to collectors, ten to one, beside accounts that pay shops."""
    for number in range(guilty):
        scene.transfer(f"faucet{number}", f"guilty{number}", 5.0, 100.0 + number)
        for step in range(3):
            scene.transfer(f"guilty{number}", f"collector{(number + step) % 15}", 1.0, 1000.0 + number)
        scene.feedback(f"guilty{number}", number % 20 + 1, 80, 9000.0 + 300 * number)
    for number in range(innocent):
        scene.transfer(f"bank{number}", f"innocent{number}", 5.0, 100.0 + number)
        scene.transfer(f"innocent{number}", f"shop{number}", 1.0, 1000.0 + number)
        scene.feedback(f"innocent{number}", number % 20 + 1, 80, 9000.0 + 300 * number)
    return scene.tables()


def cases(guilty, innocent):
    named = [(f"guilty{n}", "guilty") for n in range(guilty)] + [(f"innocent{n}", "innocent") for n in range(innocent)]
    return Reviews.of([{"account": name, "verdict": verdict, "reason": ""} for name, verdict in named])


def alike(engine):
    return [finding for finding in engine.findings_ if "move money like" in finding.sentence]


def test_accounts_that_move_money_like_the_guilty_are_ranked_and_not_flagged(market):
    engine = Engine().fit(crowd(market), cases(100, 100))
    likenesses = alike(engine)
    ranked = {name for entry in likenesses for name in names(engine.context_, entry.tied)}
    assert ranked == {f"guilty{number}" for number in range(100, 150)}
    assert not any(len(entry.actors) for entry in likenesses)
    flagged = names(engine.context_, np.flatnonzero(engine.suspicion_.flagged))
    assert not flagged & ranked


@pytest.mark.parametrize(("guilty", "innocent"), [(99, 100), (19, 150)])
def test_too_few_cases_teach_no_model(market, guilty, innocent):
    assert alike(Engine().fit(crowd(market), cases(guilty, innocent))) == []


def test_kin_of_the_guilty_are_told_with_the_transfers_that_tie_them(market):
    for number in range(5):
        market.transfer("boss", f"kin{number}", 3.0, 6000.0)
        market.feedback(f"kin{number}", number + 1, 80, 9000.0)
    reviews = Reviews.of([{"account": "kin0", "verdict": "guilty", "reason": "It confessed."}])
    engine = Engine().fit(market.tables(), reviews)
    findings = next(finding for finding in engine.findings_ if "share one funder with 1" in finding.sentence)
    assert findings.statistic == "1 guilty and 0 innocent among 5 accounts"
    assert moves(market, engine.context_, findings) == {("boss", f"kin{number}") for number in range(5)}


def test_a_model_without_neighbours_looks_at_no_verdict_about_counterparts():
    source, target = np.arange(60) % 30, np.arange(60) % 7 + 30
    label = np.full(37, -1, np.int64)
    label[:20] = np.arange(20) % 2
    moved = CaseModel(neighbours=False).fit(source, target, np.zeros(60, np.int64), label, label >= -1)
    assert ((moved.probability_ >= 0) & (moved.probability_ <= 1)).all()
