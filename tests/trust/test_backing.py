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
PRICE = 2.0


def usual_market():
    """Return a market of six sellers, of whom each of 24 buyers pays and rates four, and a seller that is new."""
    scene = Scene()
    for number in range(SELLERS):
        scene.agent(number, f"owner {number}")
    scene.agent(NEW, "newcomer")
    for number in range(BUYERS):
        for step in range(4):
            agent, at = (number + step) % SELLERS, (1 + number + 5 * step) * DAY
            scene.payment(f"buyer {number}", f"owner {agent}", agent, PRICE, at)
            scene.feedback(f"buyer {number}", agent, 70 + (7 * number + 5 * step) % 23, at + 600)
    return scene


def buys(scene, client, agent, owner, at=60 * DAY, value=100, amount=PRICE):
    """Let a client pay an agent and rate it."""
    scene.payment(client, owner, agent, amount, at)
    scene.feedback(client, agent, value, at + 600)


def weights(scene, *clients):
    """Return the weights of some clients' opinions about the new seller."""
    context = scene.context()
    ledger, opinions = context.ledger, context.ledger.opinions
    rows = np.flatnonzero(np.isfinite(opinions.percent))
    weight = backing(context, rows)
    names, place = ledger.addresses.to_pylist(), list(ledger.agent_ids).index(NEW)
    about = opinions.subject[rows] == place
    return [float(weight[about & (opinions.rater[rows] == names.index(client))][0]) for client in clients]


def spent(scene, client):
    """Return the usual purchases that a client is worth."""
    context = scene.context()
    return float(context.spending.of_client[context.ledger.addresses.to_pylist().index(client)])


def test_who_bought_from_others_counts_and_who_paid_the_rated_alone_does_not():
    scene = usual_market()
    buys(scene, "fresh", NEW, "newcomer")
    buys(scene, "buyer 0", NEW, "newcomer")
    assert weights(scene, "fresh") == [0.0]
    assert weights(scene, "buyer 0")[0] > 0.5


def test_a_voice_is_shared_among_all_whom_the_rater_rates():
    scene = usual_market()
    buys(scene, "buyer 0", NEW, "newcomer")
    (before,) = weights(scene, "buyer 0")
    for agent in range(200, 212):
        scene.agent(agent, f"other {agent}")
        scene.feedback("buyer 0", agent, 100, 61 * DAY)
    assert weights(scene, "buyer 0")[0] == pytest.approx(4 / 17)
    assert before > 3 * weights(scene, "buyer 0")[0]


def test_a_fortune_counts_as_one_usual_purchase_and_only_at_a_trusted_seller():
    scene = usual_market()
    scene.payment("whale", "owner 0", 0, 1000 * PRICE, 40 * DAY)
    assert spent(scene, "whale") == 1.0
    scene.agent(200, "accomplice")
    scene.payment("whale", "accomplice", 200, 1000 * PRICE, 41 * DAY)
    assert spent(scene, "whale") == 1.0


def test_money_that_came_back_backs_nothing():
    scene = usual_market()
    for agent in range(4):
        buys(scene, "washer", agent, f"owner {agent}", 40 * DAY)
        scene.transfer(f"owner {agent}", "washer", PRICE, 41 * DAY)
    buys(scene, "washer", NEW, "newcomer")
    assert weights(scene, "washer") == [0.0]


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
    assert max(weights(scene, *(f"ring {agent}" for agent in ring))) == 0.0


@pytest.mark.parametrize("amount", [PRICE / 1000, PRICE * 1000])
def test_payments_by_those_who_come_later_change_no_usual_price(amount):
    scene = usual_market()
    usual = scene.context().spending.usual
    for number in range(300):
        for step in range(4):
            scene.payment(f"late {number}", f"owner {step}", step, amount, 50 * DAY + 60 * number)
    assert scene.context().spending.usual == usual == PRICE


def test_however_many_come_later_none_of_them_is_early():
    scene = usual_market()
    for number in range(300):
        for step in range(4):
            scene.payment(f"late {number}", f"owner {step}", step, PRICE, 50 * DAY + 60 * number)
    context = scene.context()
    names = np.array(context.ledger.addresses.to_pylist())[context.spending.is_early]
    assert len(names)
    assert all(name.startswith("buyer") for name in names)


def test_slander_by_fresh_buyers_hardly_lowers_a_seller():
    def lower(slanderers):
        scene = usual_market()
        for number in range(slanderers):
            scene.transfer(f"exchange {number % 5}", f"slanderer {number}", 3.0 + number, (50 + number % 3) * DAY)
            buys(scene, f"slanderer {number}", 0, "owner 0", 60 * DAY + 3000 * number, 0)
        engine = Engine().fit(scene.tables())
        assert engine.scores_.status[0] == Status.OK
        return engine.scores_.lower[0]

    assert lower(10) > 0.95 * lower(0)
