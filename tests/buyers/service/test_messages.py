"""Messages of sellers and buyers: feedback, reviews, disputes and services (sections 5.3, 6.1 and 7)."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from sqlalchemy import update

from bilateral.buyers import proofs
from bilateral.buyers.acceptance import BuyerMessages
from bilateral.buyers.errors import BuyerRefusalError
from bilateral.buyers.requests import DisputeBody, EnrichmentBody, FeedbackBody, ReviewBody
from bilateral.buyers.sellers import read_offers
from bilateral.buyers.tables import agent_enrichment
from bilateral.core.errors import NodeTimeoutError
from bilateral.index.log.database import open_database
from bilateral.index.reading.registries import agent_key, read_registries
from tests.buyers.service.world import (
    ALICE,
    BOB,
    CAROL,
    CHAIN,
    OPERATOR,
    OTHER_ID,
    OTHER_SELLER,
    SAMPLE,
    SELLER,
    SELLER_ID,
    SISTER_ID,
    STRANGER,
    WASH_ID,
    WASH_SELLER,
    enrichment,
    feedback,
    payments_of,
    proof,
    review,
    signed,
)

pytestmark = pytest.mark.one_engine


def metrics(buyers, buyer):
    return buyers.get(f"/api/buyer/{buyer.address}").json()["metrics"]


def test_feedback_of_the_seller_counts_once(buyers, buyers_database):
    transaction, _ = payments_of(buyers_database, ALICE)[0]
    body = signed(FeedbackBody, feedback(transaction), SELLER_ID, SELLER)
    answers = [buyers.post("/api/buyer/feedback", json=body).json() for _ in range(2)]
    shown = {name: answers[0][name] for name in ("success", "buyerId", "sellerGlobalId", "message")}
    assert shown == {
        "success": True,
        "buyerId": f"eip155:{CHAIN}:{ALICE.address}",
        "sellerGlobalId": SELLER_ID,
        "message": "Feedback recorded. Buyer reputation will be updated.",
    }
    assert re.fullmatch(r"fb_[0-9a-f]{8}", answers[0]["feedbackId"])
    assert [answer["isNew"] for answer in answers] == [True, False]
    assert answers[0]["feedbackId"] == answers[1]["feedbackId"]
    now = metrics(buyers, ALICE)
    assert (now["sellerFeedbackCount"], now["avgSellerFeedback"]) == (1, 90)
    other = signed(FeedbackBody, feedback(transaction, score=10), SELLER_ID, SELLER)
    response = buyers.post("/api/buyer/feedback", json=other)
    assert (response.status_code, response.json()["code"]) == (409, "already_given")


def test_unsigned_feedback_is_answered_and_does_not_count(buyers, buyers_database):
    transaction, _ = payments_of(buyers_database, SAMPLE)[0]
    before = metrics(buyers, SAMPLE)["sellerFeedbackCount"]
    response = buyers.post("/api/buyer/feedback", json=feedback(transaction, buyer=SAMPLE))
    assert (response.status_code, response.json()["counted"]) == (200, False)
    assert metrics(buyers, SAMPLE)["sellerFeedbackCount"] == before


def test_operator_may_refuse_unsigned_feedback(buyers_with, buyers_database):
    transaction, _ = payments_of(buyers_database, ALICE)[0]
    with buyers_with(requires_signature=True) as url:
        response = httpx.post(f"{url}/api/buyer/feedback", json=feedback(transaction))
    assert (response.status_code, response.json()["code"]) == (401, "signature_required")


def test_stranger_may_not_speak_for_the_seller(buyers, buyers_database):
    transaction, _ = payments_of(buyers_database, ALICE)[1]
    body = signed(FeedbackBody, feedback(transaction), SELLER_ID, STRANGER)
    response = buyers.post("/api/buyer/feedback", json=body)
    assert (response.status_code, response.json()["code"]) == (401, "invalid_signature")


def test_signature_is_of_one_text(buyers, buyers_database):
    transaction, _ = payments_of(buyers_database, ALICE)[1]
    body = signed(FeedbackBody, feedback(transaction), SELLER_ID, SELLER)
    response = buyers.post("/api/buyer/feedback", json={**body, "note": "Never pays"})
    assert response.json()["code"] == "invalid_signature"


def test_transaction_with_two_payments_needs_the_index_of_a_log(buyers, buyers_database):
    (transaction, first), (_, second) = payments_of(buyers_database, BOB)
    response = buyers.post("/api/buyer/feedback", json=feedback(transaction, buyer=BOB))
    assert (response.status_code, response.json()["code"]) == (409, "ambiguous_payment")
    assert response.json()["logIndices"] == [first, second]
    for log_index in (first, second):
        body = signed(FeedbackBody, feedback(transaction, buyer=BOB, logIndex=log_index), SELLER_ID, SELLER)
        assert buyers.post("/api/buyer/feedback", json=body).json()["isNew"]


def test_payment_to_another_agent_proves_nothing(buyers, buyers_database):
    transaction, _ = payments_of(buyers_database, ALICE, OTHER_SELLER)[0]
    body = feedback(transaction, seller=OTHER_SELLER)  # it names agent 1
    response = buyers.post("/api/buyer/feedback", json=signed(FeedbackBody, body, SELLER_ID, SELLER))
    assert (response.status_code, response.json()["code"]) == (422, "other_seller")


def test_payment_to_oneself_proves_nothing(buyers, buyers_database):
    transaction, _ = payments_of(buyers_database, SELLER)[0]
    response = buyers.post("/api/buyer/feedback", json=feedback(transaction, buyer=SELLER))
    assert (response.status_code, response.json()["code"]) == (422, "own_payment")


def test_transaction_that_does_not_exist_proves_nothing(buyers):
    response = buyers.post("/api/buyer/feedback", json=feedback("0x" + "ab" * 32))
    assert (response.status_code, response.json()["code"]) == (422, "payment_not_found")
    assert "the chain does not contain it" in response.json()["detail"]


def test_agents_with_one_wallet_are_one_seller(buyers, buyers_database):
    (first, _), (second, _), _ = payments_of(buyers_database, CAROL)
    before = metrics(buyers, CAROL)
    assert (before["distinctSellers"], before["reviewsGiven"], before["avgReviewScore"]) == (1, 1, 80)
    sister = signed(FeedbackBody, feedback(first, buyer=CAROL, global_id=SISTER_ID, score=40), SISTER_ID, SELLER)
    assert buyers.post("/api/buyer/feedback", json=sister).json()["counted"]
    elder = signed(FeedbackBody, feedback(second, buyer=CAROL, score=61), SELLER_ID, SELLER)
    assert buyers.post("/api/buyer/feedback", json=elder).json()["counted"]
    body = signed(ReviewBody, review(first, buyer=CAROL, global_id=SISTER_ID, score=60), SISTER_ID, CAROL)
    assert buyers.post("/api/review", json=body).json()["counted"]
    now = metrics(buyers, CAROL)
    assert (now["distinctSellers"], now["reviewsGiven"], now["avgReviewScore"]) == (1, 2, 70)
    assert (now["sellerFeedbackCount"], now["avgSellerFeedback"]) == (1, 50.5)  # one vote
    again = signed(FeedbackBody, feedback(first, buyer=CAROL), SELLER_ID, SELLER)
    response = buyers.post("/api/buyer/feedback", json=again)
    assert (response.status_code, response.json()["code"]) == (409, "already_given")


@pytest.mark.parametrize(
    ("which", "payee", "code"),
    [
        ("unlisted", SELLER, "token_not_listed"),
        ("plain", SELLER, "payment_not_settled"),
        ("apart", SELLER, "payment_not_settled"),
        ("nobody", STRANGER, "payment_not_counted"),
    ],
    ids=["token", "plain", "authorization of another transfer", "no agent"],
)
def test_transfer_that_the_index_will_never_count_is_not_pending(buyers, buyers_market, which, payee, code):
    """A payment by Permit2 is a plain transfer: the token logs no authorization of EIP-3009."""
    body = feedback(getattr(buyers_market, which), buyer=CAROL, seller=payee)
    response = buyers.post("/api/buyer/feedback", json=body)
    assert (response.status_code, response.json()["code"]) == (422, code)
    assert metrics(buyers, CAROL)["paymentCount"] == 3


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"score": 101}, "invalid_body"),
        ({"score": -1}, "invalid_body"),
        ({"score": True}, "invalid_body"),
        ({"score": 9.5}, "invalid_body"),
        ({"tags": ["x"] * 11}, "invalid_body"),
        ({"tags": ["x" * 65]}, "invalid_body"),
        ({"note": "x" * 1001}, "invalid_body"),
        ({"note": "<script>"}, "markup"),
        ({"note": "a\0b"}, "invalid_body"),
        ({"buyerAddress": BOB.address}, "invalid_body"),
        ({"signature": "0x0"}, "invalid_body"),
        ({"proofOfPayment": {}}, "invalid_body"),
    ],
    ids=[*"abcdefghijkl"],
)
def test_body_out_of_its_limits_is_refused(buyers, buyers_database, change, code):
    transaction, _ = payments_of(buyers_database, ALICE)[2]
    response = buyers.post("/api/buyer/feedback", json={**feedback(transaction), **change})
    assert (response.status_code, response.json()["code"]) == (422, code)
    assert response.json()["error"] == response.json()["detail"]


def test_limits_themselves_pass(buyers, buyers_database):
    transaction, _ = payments_of(buyers_database, ALICE)[2]
    largest = {"score": 100, "tags": ["x" * 64] * 10, "note": "x" * 1000}
    assert buyers.post("/api/buyer/feedback", json={**feedback(transaction), **largest}).status_code == 200
    assert buyers.post("/api/buyer/feedback", json=feedback(transaction, score=0)).status_code == 200


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "invalid_json"),
        (b"[]", "invalid_json"),
        (b"{", "invalid_json"),
        (b'"x"', "invalid_json"),
        (b"[" * 10_000, "malformed_body"),  # every route refuses it
        (b'{"a":' + b"[" * 40 + b"]" * 40 + b"}", "invalid_json"),
    ],
    ids=["nothing", "list", "half", "text", "brackets", "depth"],
)
def test_body_without_an_object_is_refused(buyers, body, code):
    response = buyers.post("/api/buyer/feedback", content=body)
    assert (response.status_code, response.json()["code"]) == (400, code)


def test_review_of_the_buyer_counts(buyers, buyers_database):
    transaction, _ = payments_of(buyers_database, ALICE)[0]
    body = signed(ReviewBody, review(transaction), SELLER_ID, ALICE)
    assert buyers.post("/api/review", json=body).json()["counted"]
    assert not buyers.post("/api/review", json=body).json()["isNew"]
    now = metrics(buyers, ALICE)
    assert (now["reviewsGiven"], now["avgReviewScore"]) == (1, 85)


def test_review_that_would_be_refused_is_refused_before_its_signature(buyers, buyers_database, buyers_settings):
    transaction, _ = payments_of(buyers_database, ALICE)[0]
    body = review(transaction)
    buyers.post("/api/review", json=signed(ReviewBody, body, SELLER_ID, ALICE))
    changes = {
        "already_given": {"score": 1},
        "markup": {"feedbackNote": "<b>good"},
        "payment_not_found": {"proofOfPayment": body["proofOfPayment"] | {"txHash": "0x" + "ab" * 32}},
    }
    engine = open_database(buyers_database)
    messages = BuyerMessages(engine, buyers_settings.buyers)
    messages.check_review(body)  # the same one again
    for code, change in changes.items():
        with pytest.raises(BuyerRefusalError) as refused:
            messages.check_review(body | change)
        assert refused.value.code == code
    engine.dispose()


def test_seller_may_not_review_itself_in_the_name_of_the_buyer(buyers, buyers_database):
    transaction, _ = payments_of(buyers_database, ALICE)[1]
    body = signed(ReviewBody, review(transaction), SELLER_ID, SELLER)
    assert buyers.post("/api/review", json=body).json()["code"] == "invalid_signature"


def test_the_same_feedback_sent_at_once_is_stored_once(buyers, buyers_database):
    transaction, _ = payments_of(buyers_database, ALICE)[3]
    body = signed(FeedbackBody, feedback(transaction), SELLER_ID, SELLER)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: buyers.post("/api/buyer/feedback", json=body).json(), range(16)))
    assert [answer["isNew"] for answer in answers].count(True) == 1
    assert len({answer["feedbackId"] for answer in answers}) == 1


def test_dispute_of_the_seller_counts_until_it_is_withdrawn(buyers, buyers_database):
    transaction, _ = payments_of(buyers_database, SAMPLE)[-1]
    body = {"sellerGlobalId": SELLER_ID, "reason": "charged back", "proofOfPayment": proof(transaction, SAMPLE)}
    path = f"/api/buyer/{SAMPLE.address}/disputes"
    filed = {**body, "state": "filed"}
    assert buyers.post(path, json=signed(DisputeBody, filed, SELLER_ID, STRANGER)).status_code == 401
    assert buyers.post(path, json=signed(DisputeBody, filed, SELLER_ID, SELLER)).json()["isNew"]
    now = metrics(buyers, SAMPLE)
    assert (now["disputeCount"], now["disputeRate"]) == (1, 2.13)
    score = buyers.get(f"/api/buyer/{SAMPLE.address}").json()["reputation"]["score"]
    assert score == 56
    withdrawn = signed(DisputeBody, {**body, "state": "withdrawn"}, SELLER_ID, SELLER)
    assert buyers.post(path, json=withdrawn).status_code == 200
    assert metrics(buyers, SAMPLE)["disputeCount"] == 0


def test_disputes_are_off_by_default(buyers_with):
    with buyers_with(disputes=False) as url:
        response = httpx.post(f"{url}/api/buyer/{ALICE.address}/disputes", json={})
    assert (response.status_code, response.json()["code"]) == (403, "disputes_off")


@pytest.mark.parametrize(
    "more",
    [
        *({"pricePerCallUsdc": text} for text in ("1_0", "\N{ARABIC-INDIC DIGIT THREE}", "5", True)),
        {"uptimePercent": "99"},
        *({"buyerIncentives": {"enabled": True, "discounts": {"verified": text}}} for text in ("1_0", "5", False)),
        {"buyerIncentives": {"enabled": True, "maxDisputeRate": "5"}},
        *(
            {"buyerIncentives": {"enabled": True, "policyUrl": f"https://seller.example/{name}"}}
            for name in ("a\nb", "a\0b", "a b", "a\u202eb", "a\n")
        ),
        {"apiEndpoint": "https://seller.example/\n"},
        {"docsUrl": "https://seller.example/\r\nX-Header: 1"},
    ],
)
def test_text_in_place_of_a_number_and_control_characters_in_a_url_are_refused(buyers, more):
    body = signed_anyway(enrichment(OTHER_ID, serviceName="odd", **more))
    response = buyers.post("/api/agent/enrichment", json=body)
    assert (response.status_code, response.json()["code"]) == (422, "invalid_body")


def signed_anyway(body):
    return {**body, "signature": "0x" + "11" * 65}


def test_numbers_of_every_kind_are_taken(buyers):
    policy = {
        "enabled": True,
        "discounts": {"verified": 5, "trusted": 7.5},
        "policyUrl": "https://seller.example/p?q=1",
    }
    body = enrichment(OTHER_ID, serviceName="numbers", pricePerCallUsdc=0.25, uptimePercent=99, buyerIncentives=policy)
    posted = buyers.post("/api/agent/enrichment", json=signed(EnrichmentBody, body, OTHER_ID, OTHER_SELLER))
    assert posted.json()["isNew"]


def test_service_that_only_an_older_version_took_is_left_out(buyers, buyers_database):
    body = signed(EnrichmentBody, enrichment(OTHER_ID, serviceName="older", pricePerCallUsdc=1), OTHER_ID, OTHER_SELLER)
    assert buyers.post("/api/agent/enrichment", json=body).json()["isNew"]
    engine = open_database(buyers_database)
    table = agent_enrichment
    with engine.connect() as connection:  # nothing is committed
        seller = agent_key(read_registries(connection), OTHER_ID)
        names = [
            service.name for service in read_offers(connection, [seller])[CHAIN, seller.identity_registry, 2].services
        ]
        for odd in ({"pricePerCallUsdc": "1_0"}, {"buyerIncentives": {"enabled": True, "discounts": {"premium": "5"}}}):
            content = json.dumps({"serviceName": "older", **odd})
            connection.execute(update(table).where(table.c.service_name == "older").values(content=content))
            offer = read_offers(connection, [seller])[CHAIN, seller.identity_registry, 2]
            assert [service.name for service in offer.services] == [name for name in names if name != "older"]
    engine.dispose()


def test_agent_has_a_limited_number_of_services(buyers, monkeypatch):
    monkeypatch.setattr("bilateral.buyers.acceptance.MOST_SERVICES", 3)
    answers, no_policy = [], {"buyerIncentives": None}  # tests of discounts need a seller without a policy
    for number in range(4):
        body = enrichment(WASH_ID, serviceName=f"service {number}", issued_at=1_000, **no_policy)
        answers.append(buyers.post("/api/agent/enrichment", json=signed(EnrichmentBody, body, WASH_ID, WASH_SELLER)))
    assert [answer.status_code for answer in answers] == [200, 200, 200, 409]
    assert answers[3].json()["code"] == "too_many_services"
    later = enrichment(WASH_ID, serviceName="service 0", issued_at=2_000, **no_policy)
    response = buyers.post("/api/agent/enrichment", json=signed(EnrichmentBody, later, WASH_ID, WASH_SELLER))
    assert response.json()["isNew"]


def test_later_service_replaces_the_one_with_its_name(buyers):
    first = signed(EnrichmentBody, enrichment(OTHER_ID, issued_at=1_000), OTHER_ID, OTHER_SELLER)
    later = signed(EnrichmentBody, enrichment(OTHER_ID, issued_at=2_000, tags=["new"]), OTHER_ID, OTHER_SELLER)
    assert buyers.post("/api/agent/enrichment", json=first).json()["isNew"]
    assert not buyers.post("/api/agent/enrichment", json=first).json()["isNew"]
    assert buyers.post("/api/agent/enrichment", json=later).json()["isNew"]
    response = buyers.post("/api/agent/enrichment", json=first)
    assert (response.status_code, response.json()["code"]) == (409, "older_enrichment")


def test_stranger_may_not_describe_a_seller(buyers):
    body = signed(EnrichmentBody, enrichment(), SELLER_ID, STRANGER)
    assert buyers.post("/api/agent/enrichment", json=body).json()["code"] == "invalid_signature"


def test_operator_of_the_owner_describes_its_agents_until_the_owner_ends_that(buyers):
    body = enrichment(OTHER_ID, serviceName="by an operator")
    taken = buyers.post("/api/agent/enrichment", json=signed(EnrichmentBody, body, OTHER_ID, OPERATOR))
    assert (taken.status_code, taken.json()["isNew"]) == (200, True)
    for signer, global_id in ((BOB, OTHER_ID), (OPERATOR, SELLER_ID)):  # a former operator, and one of another owner
        body = enrichment(global_id, serviceName="by an operator")
        refused = buyers.post("/api/agent/enrichment", json=signed(EnrichmentBody, body, global_id, signer))
        assert (refused.status_code, refused.json()["code"]) == (401, "invalid_signature")


def test_service_counts_while_its_author_is_the_owners_operator(buyers, buyers_database):
    body = enrichment(OTHER_ID, serviceName="by an operator of today")
    buyers.post("/api/agent/enrichment", json=signed(EnrichmentBody, body, OTHER_ID, OPERATOR))
    table = agent_enrichment.c
    of_service = table.service_name == "by an operator of today"
    engine = open_database(buyers_database)
    with engine.connect() as connection:
        registries = read_registries(connection)
        keys = [agent_key(registries, OTHER_ID)]

        def names():
            return [service.name for offer in read_offers(connection, keys).values() for service in offer.services]

        assert "by an operator of today" in names()
        connection.execute(agent_enrichment.update().where(of_service).values(signer=BOB.address))
        assert "by an operator of today" not in names()
        connection.rollback()
    engine.dispose()


@pytest.mark.parametrize("percent", [-1, 101])
def test_percentage_out_of_range_is_refused(buyers, percent):
    incentives = {"enabled": True, "discounts": {"trusted": percent}}
    body = {**enrichment(buyerIncentives=incentives), "signature": "0x00"}
    response = buyers.post("/api/agent/enrichment", json=body)
    assert (response.status_code, response.json()["code"]) == (422, "invalid_body")


def test_percentage_above_the_cap_of_its_tier_is_accepted_with_a_warning(buyers):
    incentives = {"enabled": True, "discounts": {"trusted": 11}}
    body = enrichment(OTHER_ID, serviceName="capped", buyerIncentives=incentives)
    answer = buyers.post("/api/agent/enrichment", json=signed(EnrichmentBody, body, OTHER_ID, OTHER_SELLER)).json()
    assert answer["warnings"] == ["trusted: 11 % exceeds the tier's maximum and is reduced to 10 %"]


def test_figures_of_messages_are_shown(buyers):
    buyers.post("/api/buyer/feedback", json=feedback("0x" + "ab" * 32))
    assert 'bilateral_buyer_messages_total{kind="feedback",outcome="payment_not_found"}' in buyers.get("/metrics").text


def test_payment_is_pending_while_the_node_does_not_answer(buyers, monkeypatch):
    def ask(*_):
        raise NodeTimeoutError("the node takes longer than 5 s")

    monkeypatch.setattr(proofs, "_ask", ask)
    response = buyers.post("/api/buyer/feedback", json=feedback("0x" + "ab" * 32))
    assert (response.status_code, response.json()["code"]) == (409, "payment_pending")
    assert response.headers["retry-after"] == "5"
