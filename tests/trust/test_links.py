"""Ties between rater and rated are found where the rated cannot be framed by them."""

from __future__ import annotations

from bilateral.trust.detectors.links import Links
from tests.trust.conftest import moves, names


def found(scene):
    context = scene.context()
    return context, Links().fit(context).findings_


def test_an_account_that_its_rated_agent_funded_is_found_with_the_owner(market):
    market.agent(99, "crook", ts=50.0)
    for number in range(3):
        market.transfer("crook", f"puppet{number}", 3.0, 6000.0)
        market.feedback(f"puppet{number}", 99, 100, 6100.0 + number)
    context, findings = found(market)
    assert names(context, findings[0].actors) == {"puppet0", "puppet1", "puppet2"}
    assert names(context, findings[0].beneficiaries) == {"crook"}
    assert moves(market, context, findings[0]) == {("crook", f"puppet{number}") for number in range(3)}


def test_an_owner_that_rates_its_own_agent_from_its_wallet_is_found(market):
    market.agent(99, "crook", ts=50.0, wallet="pocket")
    market.feedback("pocket", 99, 100, 6000.0)
    context, findings = found(market)
    assert names(context, findings[0].actors) == {"pocket"}


def test_a_low_opinion_of_a_related_account_does_not_count_as_promotion(market):
    market.agent(99, "crook", ts=50.0)
    market.transfer("crook", "child", 3.0, 6000.0)
    market.feedback("child", 99, 10, 6100.0)
    assert found(market)[1] == []


def test_money_from_the_rated_to_raters_is_found(market):
    market.agent(99, "crook", ts=50.0)
    for number in range(4):
        market.transfer("crook", f"client{number}", 2.0, 30000.0)
        market.feedback(f"client{number}", 99, 100, 31000.0)
    context, findings = found(market)
    assert "sent them money" in findings[0].sentence
    assert names(context, findings[0].actors) == {f"client{number}" for number in range(4)}
    assert moves(market, context, findings[0]) == {("crook", f"client{number}") for number in range(4)}


def test_a_gift_from_raters_to_a_rival_does_not_frame_the_rival(market):
    for number in range(4):
        market.transfer("mastermind", f"sybil{number}", 5.0, 6000.0)
        market.transfer(f"sybil{number}", "owner3", 2.0, 90000.0)
        market.feedback(f"sybil{number}", 4, 100, 7000.0)
    context, findings = found(market)
    assert not any("owner3" in names(context, one.beneficiaries) for one in findings)


def test_customers_of_one_exchange_are_not_linked(market):
    for number in range(200, 420):
        market.transfer("exchange", f"client{number}", 20.0 + number, 100.0 * number)
        market.feedback(f"client{number}", number % 20 + 1, 70 + number % 20, 40000.0 + number)
    for number in range(20):
        market.transfer("exchange", f"owner{number}", 50.0 + number, 5.0)
    assert found(market)[1] == []
