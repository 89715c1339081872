"""Discounts of sellers for buyers, and the search that shows them (sections 5.2, 5.4, 6 and 9)."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from sqlalchemy import create_engine, delete, insert

from bilateral.buyers.discounts import BuyerIncentives, Verdict, discount_for, discounted, discounted_amount
from bilateral.buyers.policies import BRP, Weighed
from bilateral.buyers.records import Standing
from bilateral.buyers.requests import EnrichmentBody
from bilateral.buyers.score import BuyerMetrics
from bilateral.index.standing import tables as standings
from bilateral.x402.server.discounts import service_lookup
from tests.buyers.service.world import (
    CHAIN,
    IDENTITY,
    OTHER_ID,
    OTHER_SELLER,
    SAMPLE,
    SELLER,
    SELLER_ID,
    SISTER_ID,
    STRANGER,
    WASH_ID,
    enrichment,
    signed,
)

pytestmark = pytest.mark.one_engine

OFFER = {"enabled": True, "discounts": {"verified": 5, "trusted": 10, "premium": 15}}
TRUSTED = BuyerMetrics(payments=10, volume=50_000_000, reviews=10, review_sum=650, disputes=1)
VERIFIED = BuyerMetrics(payments=3, volume=10_000_000)
PREMIUM = BuyerMetrics(payments=60, volume=600_000_000, reviews=10, review_sum=650, age_days=400)


def standing(metrics, sellers=1):
    return Standing(1, "0x", Weighed(metrics, None, None, sellers, ()), BRP, 1)


@pytest.mark.parametrize(
    ("incentives", "metrics", "percentage", "verdict"),
    [
        (OFFER, TRUSTED, 10, "granted"),
        (OFFER, VERIFIED, 5, "granted"),
        (OFFER, PREMIUM, 15, "granted"),
        (OFFER, BuyerMetrics(), 0, "tier_too_low"),
        ({"enabled": False, "discounts": {"trusted": 10}}, TRUSTED, 0, "disabled"),
        (None, TRUSTED, 0, "not_offered"),
        ({"enabled": True, "discounts": {"trusted": 50}}, TRUSTED, 10, "granted"),
        ({"enabled": True, "discounts": {"trusted": 10}}, PREMIUM, 10, "granted"),
        ({"enabled": True, "discounts": {"trusted": 10}}, VERIFIED, 0, "tier_too_low"),
        ({**OFFER, "minimumBuyerScore": 43}, TRUSTED, 10, "granted"),
        ({**OFFER, "minimumBuyerScore": 44}, TRUSTED, 0, "score_too_low"),
        ({**OFFER, "excludeHighDisputeRate": True, "maxDisputeRate": 10}, TRUSTED, 10, "granted"),
        ({**OFFER, "excludeHighDisputeRate": True, "maxDisputeRate": 9.99}, TRUSTED, 0, "dispute_rate_too_high"),
        ({**OFFER, "maxDisputeRate": 1}, TRUSTED, 10, "granted"),
        ({**OFFER, "minimumFairnessScore": 100}, TRUSTED, 10, "granted"),
        ({**OFFER, "minimumFairnessScore": 1}, VERIFIED, 0, "fairness_too_low"),
        ({**OFFER, "minimumSellers": 1}, TRUSTED, 10, "granted"),
        ({**OFFER, "minimumSellers": 2}, TRUSTED, 0, "too_few_sellers"),
    ],
    ids=[str(number) for number in range(18)],
)
def test_discount_follows_the_policy_of_the_seller(incentives, metrics, percentage, verdict):
    policy = None if incentives is None else BuyerIncentives.model_validate(incentives)
    discount = discount_for(policy, standing(metrics))
    assert (discount.percentage, discount.verdict) == (percentage, Verdict(verdict))


@pytest.fixture
def seller_held_back(buyers_database):
    """The index holds the first seller's agent back as a client."""
    engine, table = create_engine(buyers_database), standings.standing
    row = dict.fromkeys(("lower_bound", "upper_bound", "effective_raters", "paid", "evidence_cost"), 0.0)
    row |= {"chain_id": CHAIN, "identity_registry": IDENTITY, "agent_id": 1, "side": "client"}
    row |= {"status": "held_back", "raters": 3, "payments": 0, "reasons": "[]"}
    with engine.begin() as connection:
        connection.execute(insert(table).values(row))
    yield SELLER
    with engine.begin() as connection:
        connection.execute(delete(table))
    engine.dispose()


def test_buyer_whose_agent_is_held_back_gets_no_discount(buyers, offered, seller_held_back):
    path = f"/api/buyer/{seller_held_back.address}/discount"
    discount = buyers.get(path, params={"sellerGlobalId": SELLER_ID}).json()["discount"]
    assert (discount["percentage"], discount["code"]) == (0, "held_back")
    honest = buyers.get(f"/api/buyer/{SAMPLE.address}/discount", params={"sellerGlobalId": SELLER_ID}).json()
    assert honest["discount"]["percentage"] == 10
    results = buyers.get("/api/search", params={"buyerAddress": seller_held_back.address}).json()["results"]
    shown = next(entry for entry in results if entry["globalId"] == SELLER_ID)
    assert (shown["pricing"]["discounted"], shown["buyerDiscount"]["code"]) == (0.001, "held_back")


def test_standing_takes_a_discount_that_the_policy_would_give():
    policy = BuyerIncentives.model_validate(OFFER)
    assert discount_for(policy, standing(TRUSTED)).percentage == 10
    discount = discount_for(policy, standing(TRUSTED), is_withheld=True)
    assert (discount.percentage, discount.verdict) == (0, Verdict.WITHHELD)


def test_prices_of_the_specification():
    assert discounted(Decimal("0.001"), Decimal(10)) == Decimal("0.0009")
    assert discounted(Decimal("0.05"), Decimal(10)) == Decimal("0.045")
    assert discounted(Decimal("0.50"), Decimal(10)) == Decimal("0.45")


def test_discounted_amount_is_rounded_up():
    assert discounted_amount(1000, Decimal(10)) == 900
    assert discounted_amount(1, Decimal(20)) == 1
    assert discounted_amount(1001, Decimal(10)) == 901


@pytest.fixture(scope="module")
def offered(buyers):
    """The seller publishes its services."""
    for name, price in (("search", 0.001), ("register", 0.05)):
        body = enrichment(serviceName=name, pricePerCallUsdc=price)
        assert buyers.post("/api/agent/enrichment", json=signed(EnrichmentBody, body, SELLER_ID, SELLER)).is_success


def test_discount_of_the_specification(buyers, offered):
    # The literal example: a client that sends # as it is loses it, so it is written %23.
    path = f"/api/buyer/{SAMPLE.address}/discount?sellerGlobalId={SELLER_ID.replace('#', '%23')}"
    response = buyers.get(path)
    answer = response.json()
    assert (answer["sellerGlobalId"], answer["buyerTier"]) == (SELLER_ID, "trusted")
    discount = answer["discount"]
    assert discount["percentage"] == 10
    assert discount["reason"] == "Trusted buyer tier (10+ payments, $50+ volume, fair reviews)"
    assert discount["appliesTo"] == ["register", "search"]
    assert discount["validUntil"] == datetime.now(UTC).strftime("%Y-%m-%dT23:59:59Z")
    assert answer["originalPricing"] == {"search": 0.001, "register": 0.05}
    assert answer["discountedPricing"] == {"search": 0.0009, "register": 0.045}
    assert "GMT" in response.headers["expires"]


def test_policy_holds_for_the_service_that_it_was_published_with(buyers):
    services = {
        "audit": {"pricePerCallUsdc": 2, "buyerIncentives": OFFER},
        "lint": {"pricePerCallUsdc": 1, "buyerIncentives": {"enabled": False}},
        "tests": {"pricePerCallUsdc": 3, "buyerIncentives": {"enabled": True, "discounts": {"trusted": 4}}},
        "talk": {"pricePerCallUsdc": 4, "buyerIncentives": None},
    }
    for name, more in services.items():
        body = enrichment(SISTER_ID, serviceName=name, **more)
        assert buyers.post("/api/agent/enrichment", json=signed(EnrichmentBody, body, SISTER_ID, SELLER)).is_success
    path, query = f"/api/buyer/{SAMPLE.address}/discount", {"sellerGlobalId": SISTER_ID}
    answer = buyers.get(path, params=query).json()
    assert (answer["discount"]["percentage"], answer["discount"]["appliesTo"]) == (10, ["audit"])
    assert answer["discountedPricing"] == {"audit": 1.8, "lint": 1, "tests": 2.88, "talk": 4}
    assert {name: (service["percentage"], service["code"]) for name, service in answer["services"].items()} == {
        "audit": (10, "granted"),
        "lint": (0, "disabled"),
        "tests": (4, "granted"),
        "talk": (0, "not_offered"),
    }
    tests_alone = buyers.get(path, params={**query, "serviceName": "tests"}).json()
    assert (tests_alone["discount"]["percentage"], tests_alone["originalPricing"]) == (4, {"tests": 3})
    missing = buyers.get(path, params={**query, "serviceName": "cook"})
    assert (missing.status_code, missing.json()["code"]) == (404, "service_not_found")
    results = buyers.get("/api/search", params={"buyerAddress": SAMPLE.address}).json()["results"]
    result = next(
        entry for entry in results if entry["globalId"] == SISTER_ID
    )  # the cheapest service, by its own policy
    assert (result["pricing"]["discounted"], result["buyerDiscount"]["code"]) == (1, "disabled")


def test_discount_of_a_route_is_that_of_its_service_even_without_prices(buyers, offered):
    """A service without a price is in `services` alone."""
    for name, incentives in (("draw", OFFER), ("cook", {"enabled": False})):
        body = enrichment(OTHER_ID, serviceName=name, buyerIncentives=incentives)
        assert buyers.post(
            "/api/agent/enrichment", json=signed(EnrichmentBody, body, OTHER_ID, OTHER_SELLER)
        ).is_success
    provider = f"{buyers.base_url}/api/buyer".replace("//api", "/api")
    percentages = {
        (seller, name): service_lookup(provider, seller, service=name, seconds=30)(SAMPLE.address)
        for seller, name in ((OTHER_ID, None), (OTHER_ID, "draw"), (OTHER_ID, "cook"), (SELLER_ID, None))
    }
    assert list(percentages.values()) == [0, 10, 0, 10]


def test_id_whose_agent_a_client_lost_is_explained(buyers):
    response = buyers.get(f"/api/buyer/{SAMPLE.address}/discount?sellerGlobalId={SELLER_ID}")  # the literal example
    assert response.status_code == 400
    assert "%23" in response.json()["detail"]


def test_id_with_a_colon_is_understood(buyers, offered):
    path = f"/api/buyer/{SAMPLE.address}/discount"
    answer = buyers.get(path, params={"sellerGlobalId": SELLER_ID.replace("#", ":")}).json()
    assert (answer["sellerGlobalId"], answer["discount"]["percentage"]) == (SELLER_ID, 10)


def test_seller_without_a_policy_gives_no_discount(buyers):
    answer = buyers.get(f"/api/buyer/{SAMPLE.address}/discount", params={"sellerGlobalId": WASH_ID}).json()
    assert (answer["discount"]["percentage"], answer["discount"]["code"]) == (0, "not_offered")


def test_search_shows_the_prices_of_the_buyer(buyers, offered):
    answer = buyers.get("/api/search", params={"buyerAddress": SAMPLE.address}).json()
    assert {
        name: answer["buyerContext"][name] for name in ("buyerAddress", "buyerTier", "discountsAvailable", "note")
    } == {
        "buyerAddress": SAMPLE.address,
        "buyerTier": "trusted",
        "discountsAvailable": True,
        "note": "Your trusted tier qualifies you for up to 10% discount from participating sellers",
    }
    result = next(entry for entry in answer["results"] if entry["globalId"] == SELLER_ID)
    assert result["pricing"] == {"original": 0.001, "discounted": 0.0009, "discountPercent": 10, "currency": "USDC"}
    assert result["buyerDiscount"]["eligible"]
    assert result["buyerDiscount"]["reason"] == "Seller offers 10% to trusted+ buyers"
    assert answer["meta"]["total"] == len(answer["results"]) == 4


def test_search_without_a_buyer_has_no_context(buyers, offered):
    answer = buyers.get("/api/search").json()
    assert answer["buyerContext"] is None
    assert {entry["buyerDiscount"] for entry in answer["results"]} == {None}


def test_new_buyer_pays_the_full_price(buyers, offered):
    answer = buyers.get("/api/search", params={"buyerAddress": STRANGER.address}).json()
    assert not answer["buyerContext"]["discountsAvailable"]
    result = next(entry for entry in answer["results"] if entry["globalId"] == SELLER_ID)
    assert result["pricing"]["discounted"] == result["pricing"]["original"]
    assert result["buyerDiscount"]["code"] == "score_too_low"


def test_well_known_document_of_the_specification(buyers):
    response = buyers.get("/.well-known/agent-buyer-incentives.json", headers={"Origin": "https://other.example"})
    assert response.json() == {
        "type": "https://agentarena.site/spec/buyer-incentives#v1",
        "sellerGlobalId": SELLER_ID,
        "buyerIncentives": {
            "enabled": True,
            "discounts": {"verified": 5, "trusted": 10, "premium": 15},
            "minimumBuyerScore": 50,
            "policyUrl": "https://myagent.com/buyer-policy",
        },
        "reputationProvider": "https://provider.example/api/buyer",
    }
    assert response.headers["cache-control"] == "public, max-age=300"
    assert response.headers["access-control-allow-origin"] == "*"
    assert response.headers["etag"]
