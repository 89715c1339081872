"""Pages of accounts and agents show what payments prove about them as buyers."""

from __future__ import annotations

from decimal import Decimal

from tests.buyers.service.world import ALICE, CHAIN, SELLER, STRANGER, WASHER


def test_page_of_an_account_shows_its_record_as_a_buyer(buyers):
    (record,) = buyers.get(f"/accounts/{ALICE.address}.json").json()["buyers"]
    profile = buyers.get(f"/api/buyer/{ALICE.address}").json()
    assert (record["account"], record["chain_id"]) == (ALICE.address, CHAIN)
    metrics, reputation = profile["metrics"], profile["reputation"]
    assert record["payments"] == metrics["paymentCount"] == 5
    assert Decimal(record["dollars"]) == metrics["totalVolumeUsdc"] == 21
    assert record["sellers"] == metrics["distinctSellers"] == 2
    assert record["reviews"] == metrics["reviewsGiven"]
    assert (record["score"], record["tier"]) == (reputation["score"], reputation["tier"])
    page = buyers.get(f"/accounts/{ALICE.address}").text
    assert "As a buyer" in page
    assert "5 payments totalling $21.00 to 2 agents, " in page


def test_wash_trader_has_two_scores_beside_each_other(buyers):
    (record,) = buyers.get(f"/accounts/{WASHER.address}.json").json()["buyers"]
    assert record["payments"] == 50
    assert record["independent_score"] < record["score"]
    assert "returned_payments" in record["reasons"]
    assert "returned payments" in buyers.get(f"/accounts/{WASHER.address}").text


def test_account_that_paid_nobody_has_no_record(buyers):
    for account in (STRANGER, SELLER):  # the seller paid itself only
        assert buyers.get(f"/accounts/{account.address}.json").json()["buyers"] == []
        assert "As a buyer" not in buyers.get(f"/accounts/{account.address}").text
