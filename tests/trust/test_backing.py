"""Backing: an opinion weighs as far as its rater bought from others, whom early buyers trust."""

from __future__ import annotations

import numpy as np
import pytest

from bilateral.trust.engine import Engine
from bilateral.trust.scores.backing import backing
from bilateral.trust.scores.scores import Status
from tests.trust.conftest import Scene

DAY = 86_400.0
SELLERS, BUYERS, NEW = 6, 24, 99


def usual_market():
    """Return a market of six sellers, of whom each of 24 buyers pays and rates four, and a seller that is new."""
    scene = Scene()
    for number in range(SELLERS):
        scene.agent(number, f"owner {number}")
    scene.agent(NEW, "newcomer")
    for number in range(BUYERS):
        for step in range(4):
            agent, at = (number + step) % SELLERS, (1 + number + 5 * step) * DAY
            scene.payment(f"buyer {number}", f"owner {agent}", agent, 2.0, at)
            scene.feedback(f"buyer {number}", agent, 70 + (7 * number + 5 * step) % 23, at + 600)
    return scene


def buys(scene, client, agent, owner, at=60 * DAY, value=100):
    """Let a client pay an agent and rate it."""
    scene.payment(client, owner, agent, 2.0, at)
    scene.feedback(client, agent, value, at + 600)


def weights(scene, *clients):
    """Return the weights of some clients' opinions about the new seller."""
    context = scene.context()
    ledger, opinions = context.ledger, context.ledger.opinions
    rows = np.flatnonzero(np.isfinite(opinions.percent))
    weight = backing(context, rows, np.arange(ledger.accounts))
    names, place = ledger.addresses.to_pylist(), list(ledger.agent_ids).index(NEW)
    about = opinions.subject[rows] == place
    return [float(weight[about & (opinions.rater[rows] == names.index(client))][0]) for client in clients]


def test_who_bought_from_others_counts_and_who_paid_the_rated_alone_hardly_does():
    scene = usual_market()
    buys(scene, "fresh", NEW, "newcomer")
    assert weights(scene, "fresh") == [pytest.approx(0.05)]
    buys(scene, "buyer 0", NEW, "newcomer")
    assert weights(scene, "buyer 0")[0] > 0.5


def test_who_paid_the_rated_alone_counts_nothing_beside_three_who_bought_from_others():
    scene = usual_market()
    buys(scene, "fresh", NEW, "newcomer", value=0)
    weight = [weights(scene, "fresh")[0]]
    for number in range(5):
        buys(scene, f"buyer {number}", NEW, "newcomer")
        weight.append(weights(scene, "fresh")[0])
    assert weight == sorted(weight, reverse=True)
    assert weight[1] > 0
    assert weight[5] == 0


def test_buyers_to_whom_one_account_gave_money_before_have_one_voice():
    scene = usual_market()
    paid = [f"buyer {number}" for number in range(8)]
    for buyer in paid:
        scene.transfer("broker", buyer, 3.0, 60 * DAY - 7200)
        buys(scene, buyer, NEW, "newcomer")
    assert sum(weights(scene, *paid)) == pytest.approx(1.0)


def test_gifts_after_an_opinion_take_no_weight_from_it():
    scene = usual_market()
    paid = [f"buyer {number}" for number in range(8)]
    for buyer in paid:
        buys(scene, buyer, NEW, "newcomer")
        scene.transfer("rival", buyer, 3.0, 61 * DAY)
    assert sum(weights(scene, *paid)) > 4.0


def test_money_that_came_back_backs_nothing():
    scene = usual_market()
    for agent in range(4):
        buys(scene, "washer", agent, f"owner {agent}", 40 * DAY)
        scene.transfer(f"owner {agent}", "washer", 2.0, 41 * DAY)
    buys(scene, "washer", NEW, "newcomer")
    assert weights(scene, "washer") == [pytest.approx(0.05)]


def test_sellers_that_pay_and_praise_each_other_back_nobody():
    scene = usual_market()
    ring = range(200, 208)
    for agent in ring:
        scene.agent(agent, f"ring {agent}")
    for agent in ring:
        for other in ring:
            if other != agent:
                buys(scene, f"ring {agent}", other, f"ring {other}", 40 * DAY)
        buys(scene, f"ring {agent}", NEW, "newcomer")
    assert max(weights(scene, *(f"ring {agent}" for agent in ring))) <= 0.05 + 1e-9


def test_slander_by_fresh_buyers_hardly_lowers_a_seller():
    def lower(slanderers):
        scene = usual_market()
        for number in range(slanderers):
            scene.transfer(f"exchange {number % 5}", f"slanderer {number}", 3.0 + number, (50 + number % 3) * DAY)
            buys(scene, f"slanderer {number}", 0, "owner 0", 60 * DAY + 3000 * number, 0)
        engine = Engine().fit(scene.tables())
        assert engine.scores_.status[0] == Status.OK
        return engine.scores_.lower[0]

    assert lower(10) > 0.8 * lower(0)
