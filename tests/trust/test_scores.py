"""Scores withstand fresh slander, and raters whom an attacker makes look odd."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bilateral.trust.engine import Engine
from bilateral.trust.features.signs import MOST, model, weak_signs
from bilateral.trust.scores.scores import scores


def paid(market, count=10):
    """Let honest clients pay and praise agent 99."""
    market.agent(99, "honest", ts=50.0)
    for number in range(count):
        market.payment(f"client{number}", "honest", 99, 1.0, 30000.0 + 500 * number)
        market.feedback(f"client{number}", 99, 90 + number % 5, 30010.0 + 500 * number)


def scored(context, findings):
    """The score and the status of agent 99."""
    place = context.ledger.agent_ids.tolist().index(99)
    told = scores(context, findings)
    return told.score[place], told.status[place]


def odd(engine, names, share):
    """The suspicion of an engine, where some accounts are odd."""
    places = np.isin(engine.context_.ledger.addresses.to_pylist(), names)
    return replace(engine.suspicion_, odd=np.where(places, share * MOST, 0.0))


@pytest.mark.parametrize("share", [0.45, 0.6, 1.0])
def test_two_fresh_slanders_do_not_undo_ten_honest_opinions(market, share):
    paid(market)
    engine = Engine().fit(market.tables())
    score, status = scored(engine.context_, odd(engine, [], share))
    for number in range(2):
        market.feedback(f"fresh{number}", 99, 0, 90000.0 + number)
    engine = Engine().fit(market.tables())
    later, changed = scored(engine.context_, odd(engine, ["fresh0", "fresh1"], share))
    assert (status, changed) == ("ok", "ok")
    assert later > score - 15


def test_three_usual_raters_tell_in_a_day_that_an_agent_turned(market):
    paid(market)
    for number in range(3):
        market.feedback(f"client{20 + number}", 99, 5, 90000.0 + 40_000 * number)
    engine = Engine().fit(market.tables())
    assert scored(engine.context_, odd(engine, [], 0.0))[0] < 40


@pytest.mark.parametrize("times", [3, 10])
def test_one_rater_that_repeats_itself_does_not_tell_that_an_agent_turned(market, times):
    paid(market)
    engine = Engine().fit(market.tables())
    score = scored(engine.context_, odd(engine, [], 0.0))[0]
    for number in range(times):
        market.feedback("client20", 99, 5, 90000.0 + number)
    engine = Engine().fit(market.tables())
    later, status = scored(engine.context_, odd(engine, [], 0.0))
    assert later > score - 15
    assert status == "ok"


@pytest.mark.parametrize("share", [0.05, 0.4])
def test_the_next_paid_opinions_do_not_undo_those_without_a_payment(market, share):
    def lower(count):
        for number, client, agent, *_ in market.rows["feedback"][:count]:
            market.payment(client, f"owner{agent - 1}", agent, 1.0, number)
        context = market.context()
        engine = Engine().fit(market.tables())
        assert context.paid_share == pytest.approx(count / 1000)
        return engine.scores_.lower[:20]

    before, later = lower(int(1000 * share) - 1), lower(int(1000 * share) + 1)
    assert later.mean() > before.mean() - 1


def test_a_flood_by_a_few_accounts_does_not_pass_for_a_market_without_payments(market):
    for number, client, agent, *_ in market.rows["feedback"]:
        market.payment(client, f"owner{agent - 1}", agent, 1.0, number)
    before = market.context()
    for number in range(2000):
        market.feedback(f"flood{number % 10}", 1 + number % 20, 50, 90000.0 + number)
    after = market.context()
    assert after.paid_share < 0.5
    assert after.payer_share > before.payer_share - 0.15


def test_honest_raters_who_look_odd_still_make_a_score(market):
    paid(market, 30)
    engine = Engine().fit(market.tables())
    clients = [f"client{number}" for number in range(30)]
    assert scored(engine.context_, odd(engine, clients, 1.0))[1] == "ok"


@pytest.mark.parametrize(("share", "status"), [(0.5, "ok"), (0.9, "thin evidence")])
def test_many_odd_raters_do_not_lift_an_odd_owner(market, share, status):
    paid(market, 30)
    engine = Engine().fit(market.tables())
    raters = odd(engine, [f"client{number}" for number in range(30)], 1.0)
    owner = odd(engine, ["honest"], share)
    altered = replace(raters, odd=np.maximum(raters.odd, owner.odd))
    assert scored(engine.context_, raters)[1] == "ok"
    assert scored(engine.context_, altered)[1] == status


def test_odd_empty_accounts_do_not_let_other_odd_raters_look_usual(market, monkeypatch):
    for number in range(400):
        market.feedback(f"empty{number}", number % 20 + 1, 80, 90000.0 + number)
    context = market.context()
    names = np.array(context.ledger.addresses.to_pylist())
    is_odd = np.char.startswith(names, "empty")

    def shown(_self, _context, chosen):
        return np.where(is_odd[chosen], 5.0, -4.0), np.zeros((1, len(chosen)), np.uint8)

    monkeypatch.setattr(type(model()), "scores", shown)
    ranked, oddness, _ = weak_signs(context, np.zeros(len(names)))
    assert ranked[is_odd].max() < 0.3
    assert oddness[is_odd].min() > 1.8
