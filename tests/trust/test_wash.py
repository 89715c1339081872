"""Money that comes back is found, at once, through an account between, and as an equal payment."""

from __future__ import annotations

import numpy as np
import pytest

from bilateral.trust.detectors import wash
from bilateral.trust.detectors.wash import WashPayments
from tests.trust.conftest import moves, names

DAY = 86400.0


def paid(scene, amount=1.0, ts=900.0):
    scene.agent(99, "crook")
    for number in range(4):
        scene.payment(f"washer{number}", "crook", 99, amount, ts)
        scene.feedback(f"washer{number}", 99, 100, ts + 60)


def fit(scene):
    context = scene.context()
    detector = WashPayments().fit(context)
    return context, detector


def test_payments_that_return_are_found_with_payers_and_owner(market):
    paid(market)
    for number in range(4):
        market.transfer("crook", f"washer{number}", 0.99, 1000.0 + number)
    context, detector = fit(market)
    assert len(detector.findings_) == 1
    assert names(context, detector.findings_[0].actors) == {f"washer{number}" for number in range(4)}
    assert names(context, detector.findings_[0].beneficiaries) == {"crook"}
    assert detector.returned_.sum() == 4
    assert moves(market, context, detector.findings_[0]) == {("crook", f"washer{number}") for number in range(4)}


def test_coins_do_not_return_dollars_although_their_number_is_the_same(market):
    paid(market)
    for number in range(4):
        market.transfer("crook", f"washer{number}", 0.99, 1000.0 + number, coin="ETH")
        market.transfer("crook", f"mule{number}", 0.99, 1000.0 + number, coin="ETH")
        market.transfer(f"mule{number}", f"washer{number}", 0.97, 2000.0 + number)
    context, detector = fit(market)
    assert not detector.findings_
    assert not detector.returned_.any()
    crook, washer = (np.array([context.ledger.addresses.index(name).as_py()]) for name in ("crook", "washer0"))
    assert context.money.between(washer, crook) == 1
    assert not context.money.between(crook, washer)


def test_payments_that_return_through_an_account_between_are_found(market):
    paid(market)
    for number in range(4):
        market.transfer("crook", f"mule{number}", 0.99, 1000.0 + number)
        market.transfer(f"mule{number}", f"washer{number}", 0.97, 2000.0 + number)
    context, detector = fit(market)
    assert detector.returned_.sum() == 4
    both = {end for number in range(4) for end in (("crook", f"mule{number}"), (f"mule{number}", f"washer{number}"))}
    assert moves(market, context, detector.findings_[0]) == both


def test_accounts_with_the_most_steps_are_left_out_where_steps_are_too_many(market, monkeypatch):
    paid(market)
    for number in range(4):
        market.transfer("crook", f"mule{number}", 0.99, 1000.0 + number)
        market.transfer(f"mule{number}", f"washer{number}", 0.97, 2000.0 + number)
    for source in range(10):
        market.transfer(f"flood{source}", "busy", 1.0, 1000.0)
        market.transfer("busy", f"flood target{source}", 1.0, 2000.0)
    for most, count in ((104, 4), (103, 4), (4, 4), (3, 3)):
        monkeypatch.setattr(wash, "_STEPS", most)
        assert fit(market)[1].returned_.sum() == count


def test_payments_that_return_to_the_payers_funder_are_found(market):
    for number in range(4):
        market.transfer("boss", f"washer{number}", 5.0, 100.0)
    paid(market)
    market.transfer("crook", "boss", 3.9, 5000.0)
    assert fit(market)[1].returned_.sum() == 4


def test_equal_payments_in_both_directions_are_found(market):
    market.agent(99, "crook")
    for number in range(3):
        market.agent(90 + number, f"partner{number}")
        market.payment(f"partner{number}", "crook", 99, 1.5 + number, 900.0 + number)
        market.payment("crook", f"partner{number}", 90 + number, 1.5 + number, 1000.0 + number)
    detector = fit(market)[1]
    assert detector.returned_.sum() == 6
    assert [finding.payments.tolist() for finding in detector.findings_] == [[0, 1, 2, 3, 4, 5]]
    assert detector.findings_[0].sentence == "3 payments from 3 accounts to agent 99 went back to the payer."


def test_partners_who_pay_each_other_for_different_work_are_not_found(market):
    market.agent(98, "partner")
    market.agent(99, "friend")
    for number in range(3):
        market.payment("partner", "friend", 99, 1.5 + number, 900.0 + number)
        market.payment("friend", "partner", 98, 0.4 + number, 1000.0 + number)
    assert fit(market)[1].findings_ == []


@pytest.mark.parametrize(("pause", "count"), [(30 * DAY, 4), (30 * DAY + 1, 0)])
def test_money_returns_within_thirty_days(market, pause, count):
    paid(market, ts=900.0)
    for number in range(4):
        market.transfer("crook", f"washer{number}", 0.99, 900.0 + pause)
    assert fit(market)[1].returned_.sum() == count


@pytest.mark.parametrize(("score", "also", "count"), [(49, None, 0), (50, None, 1), (49, 90, 1)])
def test_a_refund_after_low_feedback_alone_blames_nobody(market, score, also, count):
    market.agent(99, "shop")
    for number in range(4):
        market.payment(f"buyer{number}", "shop", 99, 1.0, 900.0)
        market.feedback(f"buyer{number}", 99, score, 960.0)
        if also is not None:
            market.feedback(f"buyer{number}", 99, also, 990.0)
        market.transfer("shop", f"buyer{number}", 1.0, 1000.0 + number)
    detector = fit(market)[1]
    assert len(detector.findings_) == count
    assert detector.returned_.sum() == 4  # to a buyer's record it is money that came back


@pytest.mark.parametrize(("complaints", "rated", "left"), [(3, None, 0), (2, None, 4), (3, 50, 12), (3, 49, 0)])
def test_each_complaint_explains_the_refunds_of_a_day_to_a_client_whom_the_owner_does_not_praise(
    market, complaints, rated, left
):
    market.agent(99, "shop")
    for number in range(4):
        for day in range(3):
            market.payment(f"buyer{number}", "shop", 99, 1.0, 900.0 + day * DAY)
            market.transfer("shop", f"buyer{number}", 1.0, 1000.0 + day * DAY)
        for place in range(complaints):
            market.feedback(f"buyer{number}", 99, 10, 1100.0 + place + 2 * DAY)
        if rated is not None:
            market.rating(f"buyer{number}", 99, rated, 1200.0 + 2 * DAY)
    findings = WashPayments(level=1.1).fit(market.context()).findings_
    assert [len(finding.payments) for finding in findings] == ([left] if left else [])


@pytest.mark.parametrize("ways", [("shop",), ("shop", "pocket"), ("shop", "pocket", "mule")])
def test_a_return_in_parts_by_several_ways_is_found(market, ways):
    market.agent(99, "shop", wallet="pocket")
    for number in range(4):
        market.payment(f"washer{number}", "pocket", 99, 1.0, 900.0)
        market.feedback(f"washer{number}", 99, 100, 960.0)
        for way in ways:
            if way == "mule":
                market.transfer("pocket", f"mule{number}", 1 / len(ways), 990.0)
            market.transfer(f"mule{number}" if way == "mule" else way, f"washer{number}", 1 / len(ways), 1000.0)
    assert len(fit(market)[1].findings_) == 1


def test_more_money_back_than_was_paid_hides_nothing(market):
    paid(market)
    for number in range(4):
        market.transfer("crook", f"washer{number}", 1.45, 1000.0)
    assert len(fit(market)[1].findings_) == 1


def test_dust_beside_one_refund_frames_no_shop(market):
    market.agent(99, "shop")
    for number in range(10):
        market.payment("enemy", "shop", 99, 0.001, 900.0 + number)
    market.payment("enemy", "shop", 99, 1.0, 920.0)
    market.feedback("enemy", 99, 90, 960.0)
    market.transfer("shop", "enemy", 1.0, 1000.0)
    assert fit(market)[1].findings_ == []


@pytest.mark.parametrize(
    ("moves_back", "amount", "count"), [(1, 1.0, 0), (4, 0.1, 0), (1, 2.0, 1), (4, 0.5, 1), (4, 1.0, 1), (1, 3.7, 1)]
)
def test_a_client_counts_from_half_of_its_money_on_however_many_moves_bring_it_back(market, moves_back, amount, count):
    market.agent(99, "shop")
    for client in range(4):
        for number in range(4):
            market.payment(f"buyer{client}", "shop", 99, 1.0, 900.0 + number)
        market.feedback(f"buyer{client}", 99, 90, 960.0)
        for number in range(moves_back):
            market.transfer("shop", f"buyer{client}", amount, 1000.0 + number)
    findings = fit(market)[1].findings_
    assert len(findings) == count
    if findings:
        assert findings[0].statistic == "most of the money of 4 of 4 paying clients returns"


@pytest.mark.parametrize(("refunding", "count"), [(0, 1), (30, 0)])
def test_a_shop_is_compared_with_the_refunds_that_are_usual_in_its_market(market, refunding, count):
    for number in range(30):
        market.agent(100 + number, f"other shop{number}")
        for client in range(8):
            market.payment(f"client{client}", f"other shop{number}", 100 + number, 1.0, 900.0)
            if number < refunding and client < 4:
                market.transfer(f"other shop{number}", f"client{client}", 1.0, 1000.0)
    market.agent(99, "shop")
    for client in range(6):
        market.payment(f"buyer{client}", "shop", 99, 1.0, 900.0)
        market.feedback(f"buyer{client}", 99, 90, 960.0)
        market.transfer("shop", f"buyer{client}", 1.0, 1000.0)
    named = [finding for finding in fit(market)[1].findings_ if "agent 99" in finding.sentence]
    assert len(named) == count


def test_no_payments_give_no_finding(market):
    assert fit(market)[1].findings_ == []
