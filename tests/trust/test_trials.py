"""Trials of new agents: those with one source of funds take turns, and whoever is known does not wait."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from bilateral.core.values.decision import TRIAL
from bilateral.trust.decisions import ASKS, decide
from bilateral.trust.features.context import Context
from bilateral.trust.standing.standings import waiting
from tests.trust.conftest import Scene, address_of, addressed

WEEK, AT = 7 * 86_400.0, 1_000_000.0


def funded(*owners, source="patron"):
    """Return agents 1, 2, …, registered second by second by owners whom one account funded."""
    scene = Scene()
    for owner in dict.fromkeys(owners):
        scene.transfer(source, owner, ts=AT - 100)
    for number, owner in enumerate(owners):
        scene.agent(number + 1, owner, ts=AT + number)
    return scene


def waits(scene, now=AT + 100, known=(), cost=TRIAL):
    """Return the agents that wait at a time, where the evidence of some agents has a cost."""
    scene.payment("somebody", "stranger", None, ts=now)
    ledger = scene.ledger()
    costs = np.where(np.isin(ledger.agent_ids, known), cost, 0.0)
    reasons = waiting(Context.of(ledger), costs)
    return {int(ledger.agent_ids[place]): reason for place, reason in reasons.items()}


def test_new_agents_of_one_source_of_funds_wait_for_the_first():
    assert set(waits(funded("ann", "bob", "cid"))) == {2, 3}


def test_new_agents_of_strangers_do_not_wait():
    scene = funded("ann")
    scene.transfer("another", "bob", ts=AT - 100)
    scene.agent(2, "bob", ts=AT + 1)
    assert not waits(scene)


def test_owners_funded_by_an_exchange_share_nothing():
    assert not waits(funded(*(f"owner {number}" for number in range(151)), source="exchange"))
    assert len(waits(funded(*(f"owner {number}" for number in range(150)), source="patron"))) == 149


@pytest.mark.parametrize(
    ("source", "amount", "ts", "expected"),
    [
        ("exchange", 1.1, AT - 50, set()),
        ("exchange", 1.0, AT - 50, {2}),  # no more than the first funds
        ("exchange", 1.1, AT + 50, {2}),  # after the registration
        ("friend", 1.1, AT - 50, {2}),  # of the same source
    ],
)
def test_first_funds_tie_nobody_who_got_more_from_elsewhere_before_its_registration(source, amount, ts, expected):
    scene = funded("ann", "bob")
    scene.transfer("patron", "friend", ts=AT - 90)
    scene.transfer(source, "bob", amount, ts)
    assert set(waits(scene)) == expected


@pytest.mark.parametrize(("now", "expected"), [(AT + 1 + WEEK - 1, {2, 3}), (AT + 1 + WEEK, {3})])
def test_a_turn_takes_seven_days(now, expected):
    assert set(waits(funded("ann", "bob", "cid"), now)) == expected


def test_the_reason_tells_how_many_are_ahead_and_until_when():
    third = waits(funded("ann", "bob", "cid"))[3]
    assert (third.code, third.amount) == ("shared_trial", None)
    assert third.figures == {"ahead": 2, "until": int(AT + 2 + 2 * WEEK)}


def test_the_first_four_agents_of_an_owner_are_tried_together():
    assert set(waits(funded(*["ann"] * 6))) == {5, 6}


@pytest.mark.parametrize(("cost", "expected"), [(np.nextafter(TRIAL, 0), {2, 3}), (TRIAL, {3})])
def test_the_next_agent_is_tried_as_soon_as_the_first_has_evidence(cost, expected):
    assert set(waits(funded("ann", "bob", "cid"), known=(1,), cost=cost)) == expected


@pytest.mark.parametrize(("spent", "expected"), [(np.nextafter(TRIAL, 0), {2, 3, 4}), (TRIAL, {3, 4})])
def test_a_source_whose_accounts_buy_has_more_turns_at_once(spent, expected):
    scene = funded("ann", "bob", "cid", "dan")
    scene.agent(9, "seller")
    scene.transfer("patron", "buyer", ts=AT - 50)
    for stranger in ("early", "earlier"):
        scene.payment(stranger, "seller", 9, TRIAL, ts=AT - 500)
    scene.payment("buyer", "seller", 9, spent, ts=AT)
    assert set(waits(scene)) == expected


def test_a_decision_about_an_agent_that_waits_is_caution_and_says_why():
    scene = funded("ann", "bob")
    scene.agent(9, "seller")
    scene.payment("client", "seller", 9, ts=AT + 50)
    scene.feedback("client", 9, 90, ts=AT + 60)
    asks = {"ask_id": [0, 1], "asker": [address_of("client")] * 2, "agent_id": [1, 2], "ts": [AT + 99] * 2}
    answers = decide(addressed(scene.tables()), pa.table({**asks, "amount": [TRIAL, 0.01]}, schema=ASKS)).to_pylist()
    assert [row["verdict"] for row in answers] == ["accept", "caution"]
    assert (
        answers[1]["reason"]
        == "agent 2 is new, and another new agent with the same source of funds has to be tried first"
    )
