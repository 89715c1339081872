"""Numbers of payments prove nothing: a payment more costs a twentieth of a cent, and metered buyers make many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilateral.core.payments.contracts import BATCH, CANONICAL, EXACT_PROXY, PERMIT2
from bilateral.trust.decisions import decide
from bilateral.trust.detectors.wash import WashPayments
from bilateral.trust.engine import Engine
from bilateral.trust.features.ties import COLLECTOR
from bilateral.trust.results import Results
from bilateral.trust.tables.schema import COLUMNS
from tests.trust.test_decisions import asked
from tests.trust.test_standings import ring_and_market

DAY = 86_400.0
UNIT = 1e-6
"""The smallest amount of a token with six digits."""

MANY = 1000
AT = 101 * DAY
DISPLAYED = {"payments", "reasons"}
"""The columns of a standing that say how many payments there were. Nothing else reads them."""


def market_with_wash():
    """Return a market with a ring, buyers whose money comes back, and two owners who pay each other."""
    scene = ring_and_market()
    for agent_id, owner in ((4, "laundry"), (5, "left"), (6, "right")):
        scene.agent(agent_id, owner, ts=3 * DAY)
    for number in range(5):
        scene.payment(f"washer {number}", "laundry", 4, amount=2.0 + number, ts=(50 + number) * DAY)
        scene.transfer("laundry", f"washer {number}", amount=1.9 + number, ts=(52 + number) * DAY)
        scene.feedback(f"washer {number}", 4, 100, ts=(51 + number) * DAY)
        scene.payment("left", "right", 6, amount=4.0 + number, ts=(60 + 10 * number) * DAY)
        scene.payment("right", "left", 5, amount=4.0 + number, ts=(61 + 10 * number) * DAY)
    return scene


def outcome(scene):
    """Return all that an analysis says, without the numbers of payments that it displays."""
    engine = Engine().fit(scene.tables())
    results = Results.of(engine)
    standings = results.standings.drop_columns(list(DISPLAYED)).to_pylist()
    findings = results.findings.select(["detector", "q_value", "strength", "actors", "beneficiaries"]).to_pylist()
    buyers = results.buyers.drop_columns(["payments"]).to_pylist()
    addresses = results.addresses.drop_columns(["cluster"]).to_pylist()
    asks = asked(*((agent, AT + DAY, amount) for agent in (1, 2, 3) for amount in (0.5, 5.0, 50.0)))
    verdicts = decide(scene.tables(), asks).select(["verdict", "score", "lower", "status"]).to_pylist()
    return {"standings": standings, "findings": findings, "buyers": buyers, "addresses": addresses, "asks": verdicts}


def assert_same(left, right):
    for name, rows in left.items():
        assert len(rows) == len(right[name]), name
        for row, other in zip(rows, right[name], strict=True):
            assert row == {
                key: pytest.approx(value, abs=1e-6, nan_ok=True) if isinstance(value, float) else value
                for key, value in other.items()
            }, name


def split(scene, places, parts, pause=0.0):
    """Divide some payments into equal ones, all in one transaction or with pauses."""
    rows = scene.rows["payments"]
    for place in places:
        tx, payer, payee, agent_id, amount, ts = rows[place]
        rows[place] = (tx, payer, payee, agent_id, amount / parts, ts)
        for part in range(1, parts):
            scene.payment(payer, payee, agent_id, amount / parts, ts + part * pause)
    return scene


@pytest.fixture(scope="module")
def whole():
    return outcome(market_with_wash())


@settings(max_examples=15, deadline=None)
@given(data=st.data(), parts=st.integers(2, 60))
def test_a_sum_says_the_same_in_one_payment_and_in_many(whole, data, parts):
    scene = market_with_wash()
    place = st.integers(0, len(scene.rows["payments"]) - 1)
    assert_same(outcome(split(scene, data.draw(st.sets(place, min_size=1, max_size=20)), parts)), whole)


def test_a_sum_says_the_same_in_one_payment_and_in_many_through_the_day(whole):
    scene = market_with_wash()
    after = outcome(split(scene, range(len(scene.rows["payments"])), 12, 60.0))
    assert after["asks"] == [ask | {"lower": pytest.approx(ask["lower"], abs=0.1)} for ask in whole["asks"]]


@pytest.mark.parametrize(
    ("payer", "payee", "agent_id"),
    [
        ("ring 0", "master", 3),  # a rater of the ring to its own agent
        ("stranger", "master", 3),
        ("stranger", "good", 1),  # to a rival, to make it look bought
        ("ring 0", "good", 1),  # to buy a history
        ("client 0", "good", 1),
        ("good", "fair", 2),
    ],
)
def test_a_thousand_payments_of_a_unit_move_nothing_that_one_of_their_sum_does_not(payer, payee, agent_id):
    several, one = market_with_wash(), market_with_wash()
    for _ in range(MANY):
        several.payment(payer, payee, agent_id, UNIT, AT)
    one.payment(payer, payee, agent_id, MANY * UNIT, AT)
    assert_same(outcome(several), outcome(one))


def test_payments_of_a_unit_on_many_days_change_no_standing_of_another_agent(whole):
    scene = market_with_wash()
    for number in range(MANY):
        scene.payment("ring 0", "master", 3, UNIT, (60 + number % 40) * DAY + number)
    for row, before in zip(outcome(scene)["standings"], whole["standings"], strict=True):
        if row["agent_id"] != 3:
            assert (row["lower"], row["status"], row["evidence_cost"]) == (
                pytest.approx(before["lower"], abs=0.1),
                before["status"],
                pytest.approx(before["evidence_cost"]),
            )
        else:
            assert row["lower"] <= before["lower"]
            assert row["status"] == before["status"]


def test_small_purchases_of_several_days_add_up_to_a_usual_one(market):
    for number in range(100):
        market.payment(f"client{number}", "owner3", 4, 1.0, 900.0)
    for day in range(40):
        market.payment("metered", "owner3", 4, 0.01, 900.0 + day * DAY)
        market.payment("stingy", "owner3", 4, UNIT, 900.0 + day * DAY)
    market.feedback("metered", 4, 80, 50 * DAY)
    market.feedback("stingy", 4, 80, 50 * DAY)
    context = market.context()
    raters = context.ledger.addresses.take(context.ledger.opinions.rater).to_pylist()
    paid = dict(zip(raters, context.paid.tolist(), strict=True))
    assert (paid["metered"], paid["stingy"]) == (True, False)


def test_small_purchases_count_from_the_day_on_which_they_are_enough(market):
    for number in range(100):
        market.payment(f"client{number}", "owner3", 4, 1.0, 900.0)
    for day in range(40):
        market.payment("metered", "owner3", 4, 0.01, 900.0 + day * DAY)
    for day in (1, 30):
        market.feedback("metered", 4, 80, day * DAY)
    context = market.context()
    metered = context.ledger.addresses.index("metered").as_py()
    own = context.ledger.opinions.rater == metered
    assert context.paid[own].tolist() == [False, True]


def test_one_price_is_usual_to_whoever_pays_it_once_or_twice_a_day(market):
    for number in range(100):
        for _ in range(1 + (number > 30)):
            market.payment(f"client{number}", "owner3", 4, 0.01, 900.0)
        market.feedback(f"client{number}", 4, 80, 2000.0)
    context = market.context()
    assert context.paid[context.ledger.opinions.ts == 2000.0].all()


@pytest.mark.parametrize("days", [1, 20])
def test_sellers_and_buyers_lose_nothing_by_a_meter(days):
    usual, metered = ring_and_market(), ring_and_market()
    for scene in (usual, metered):  # whoever pays for a while rates at its end
        rows = scene.rows["feedback"]
        rows[:] = [(*row[:5], row[5] + days * DAY, row[6]) for row in rows]
    rows, metered.rows["payments"] = metered.rows["payments"], []
    for _, payer, payee, agent_id, amount, ts in rows:
        for part in range(40):
            metered.payment(payer, payee, agent_id, amount / 40, ts + DAY * (part % days))
    before, after = (Engine().fit(scene.tables()) for scene in (usual, metered))
    assert not after.suspicion_.flagged[~before.suspicion_.flagged].any()
    for row, other in zip(after.standings().to_pylist(), before.standings().to_pylist(), strict=True):
        assert row["lower"] >= other["lower"] - 0.5
        assert (row["status"], row["paid"]) == (other["status"], pytest.approx(other["paid"]))
        assert row["evidence_cost"] == pytest.approx(other["evidence_cost"], rel=0.05)


def test_one_complaint_explains_the_refund_of_a_metered_day(market):
    market.agent(99, "shop")
    for number in range(4):
        for part in range(30):
            market.payment(f"buyer{number}", "shop", 99, 0.1, 900.0 + part)
        market.feedback(f"buyer{number}", 99, 10, 1000.0)
        market.transfer("shop", f"buyer{number}", 3.0, 1100.0)
    assert WashPayments(level=1.1).fit(market.context()).findings_ == []


def test_a_sum_that_returns_in_many_payments_is_found_with_all_of_them(market):
    market.agent(99, "crook")
    for number in range(3):
        market.agent(90 + number, f"partner{number}")
        market.payment(f"partner{number}", "crook", 99, 1.5 + number, 900.0)
        for part in range(10):
            market.payment("crook", f"partner{number}", 90 + number, (1.5 + number) / 10, 1000.0 + part)
    detector = WashPayments().fit(market.context())
    assert detector.returned_.sum() == 33
    assert [len(finding.payments) for finding in detector.findings_] == [33]


def test_payments_of_dust_beside_equal_ones_do_not_hide_these(market):
    market.agent(99, "crook")
    for number in range(3):
        market.agent(90 + number, f"partner{number}")
        market.payment(f"partner{number}", "crook", 99, 1.5 + number, 900.0)
        market.payment("crook", f"partner{number}", 90 + number, 1.5 + number, 1000.0)
        for day in range(1, 5):
            market.payment(f"partner{number}", "crook", 99, UNIT, 900.0 + day * DAY)
    assert len(WashPayments().fit(market.context()).findings_) == 1


@pytest.mark.parametrize("address", [BATCH, BATCH.lower(), PERMIT2, EXACT_PROXY])
def test_contracts_that_payments_go_through_fund_and_join_nobody(address):
    scene = ring_and_market()
    for number in range(200):
        scene.transfer(address, f"user {number}", 1.0, 10.0 + number)
        scene.transfer("exchange", f"user {number}", 1.0, 500.0 + number)
        scene.transfer(f"user {number}", address, 0.5, 1000.0 + number)
        scene.feedback(f"user {number}", 1, 90, 150 * DAY + number * 3600)
    context = scene.context()
    ledger, ties = context.ledger, context.ties
    contract = ledger.addresses.index(address).as_py()
    users = np.array([ledger.addresses.index(f"user {number}").as_py() for number in range(200)])
    assert not ties.is_hub[contract]
    assert (ledger.funder[users] == -1).all(), "nor does the next sender become their source"
    assert ledger.funder[contract] == -1
    assert all((grouping.group[users] == -1).all() for grouping in ties.groupings if grouping.name == COLLECTOR)
    assert not np.isin(contract, np.concatenate([ledger.src, ledger.dst]))
    assert [grouping.name for grouping in ties.groupings if grouping.group[contract] >= 0] == []


def test_deposits_and_payouts_of_contracts_are_no_purchases(whole):
    scene = market_with_wash()
    for contract in CANONICAL:
        scene.payment("client 0", contract, 1, 1000.0, AT)
        scene.payment(contract, "good", 1, 1000.0, AT)
        scene.transfer("client 0", contract, 1000.0, AT)
        scene.transfer(contract, "good", 1000.0, AT)
    for row, before in zip(outcome(scene)["standings"], whole["standings"], strict=True):
        assert (row["paid"], row["evidence_cost"]) == (before["paid"], before["evidence_cost"])
        assert row["lower"] == pytest.approx(before["lower"], abs=0.1)


def test_tables_know_neither_the_kind_of_a_payment_nor_what_was_signed():
    assert list(COLUMNS["payments"]) == ["tx", "payer", "payee", "agent_id", "amount", "ts"]
