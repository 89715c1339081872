"""What watchtowers measure is no opinion of quality: it leaves the analysis, unless its writer paid the agent."""

from __future__ import annotations

import pytest

from bilateral.core.values import MEASURED_TAGS, STANDARD_TAGS
from bilateral.core.values.standing import Side
from bilateral.trust.engine import Engine

UNRATED = 21


@pytest.fixture
def observed(market):
    """A market in which agents are sold, and one is unrated."""
    market.agent(UNRATED, "newcomer", ts=50.0)
    for number in range(60):
        market.payment(f"client{number}", f"owner{number % 20}", number % 20 + 1, ts=4000.0 + number)
    for number in range(10):
        market.transfer("exchange", f"tower{number}", 5.0, 2000.0 + number)
    return market


def tables(engine):
    return {(row["side"], row["agent_id"]): row for row in engine.standings().to_pylist()}


def measure(scene, tag, agent_id=UNRATED, value=1, towers=10):
    for number in range(towers):
        scene.feedback(f"tower{number}", agent_id, value, 9000.0 + number, tag=tag)


def test_measured_tags_are_standard_ones_and_no_ratings():
    assert set(MEASURED_TAGS) == STANDARD_TAGS.keys() - {"starred", "tradingYield"}


def test_measurements_without_payments_change_no_standing(observed):
    before = Engine().fit(observed.tables())
    for tag in MEASURED_TAGS:
        measure(observed, tag, 1)
        measure(observed, tag, UNRATED)
    after = Engine().fit(observed.tables())
    assert tables(after) == tables(before)
    assert after.context_.ledger.dropped == 0


def test_a_measurement_of_a_rater_who_paid_the_agent_counts_as_its_rating(observed):
    measure(observed, "uptime", value=98, towers=3)
    for tower, agent_id, amount in ((0, UNRATED, 1.0), (1, 1, 1.0), (2, UNRATED, 0.0)):
        observed.payment(f"tower{tower}", "any", agent_id, amount, 8000.0)
    ledger = Engine().fit(observed.tables()).context_.ledger
    about = ledger.subject_agent[ledger.opinions.subject] == UNRATED - 1
    raters = ledger.addresses.take(ledger.opinions.rater[about]).to_pylist()
    assert (raters, ledger.opinions.percent[about].tolist()) == (["tower0"], [98.0])


def test_a_payment_to_an_earlier_owner_backs_no_measurement(observed):
    measure(observed, "uptime", value=98, towers=1)
    observed.payment("tower0", "newcomer", UNRATED, 1.0, 7000.0)
    observed.hand_over(UNRATED, "buyer", 8000.0)
    assert tables(Engine().fit(observed.tables()))[Side.SERVER, UNRATED]["raters"] == 0


@pytest.mark.parametrize("tag", ["responseTime", "blocktimeFreshness", "revenues"])
def test_a_measured_number_without_a_scale_of_quality_is_no_rating(observed, tag):
    measure(observed, tag, value=900, towers=2)
    observed.payment("tower0", "newcomer", UNRATED, 1.0, 8000.0)
    row = tables(Engine().fit(observed.tables()))[Side.SERVER, UNRATED]
    assert (row["raters"], row["effective_raters"], row["evidence_cost"]) == (1, 0.0, 0.0)
