"""The profile of a buyer over HTTP (sections 4.1, 5.1), and the records behind it."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import httpx
import pytest
from eth_account.messages import encode_defunct
from joserfc import jwt
from joserfc.jwk import KeySet

from bilateral.api.routes.buyers import consent_text
from bilateral.buyers.issuing import BuyerResult
from bilateral.buyers.messages import domain_of
from bilateral.core.signatures import recover_signer
from tests.api.world import served
from tests.buyers.service.world import ALICE, CAROL, CHAIN, SAMPLE, SELLER_ID, STRANGER, WASHER
from tests.sdk.servers import HttpServer, respond

pytestmark = pytest.mark.one_engine

SPECIFIED = ("paymentCount", "totalVolumeUsdc", "reviewsGiven", "avgReviewScore", "disputeCount", "disputeRate")


def test_sample_of_the_specification(buyers):
    answer = buyers.get(f"/api/buyer/{SAMPLE.address}").json()
    assert answer["buyerId"] == f"eip155:{CHAIN}:{SAMPLE.address}"
    assert answer["buyerAddress"] == SAMPLE.address
    metrics = {name: answer["metrics"][name] for name in (*SPECIFIED[:4], "accountAgeDays")}
    assert metrics == {
        "paymentCount": 47,
        "totalVolumeUsdc": 234.5,
        "reviewsGiven": 32,
        "avgReviewScore": 72.5,
        "accountAgeDays": 53,
    }
    reputation = answer["reputation"]
    shown = {name: reputation[name] for name in ("tier", "reviewFairnessScore", "discountEligibility")}
    assert shown == {"tier": "trusted", "reviewFairnessScore": 85, "discountEligibility": 10}
    assert reputation["score"] in (56, 57)  # the sample's 78 does not follow from the formula; a dispute costs 0.32
    assert abs(sum(reputation["breakdown"].values()) - reputation["score"]) <= 0.5
    assert answer["metrics"]["totalVolumeAtomic"] == "234500000"
    assert reputation["scoringPolicy"] == "brp-1.0"


def test_buyer_without_payments_has_the_specified_record_of_zeros(buyers):
    response = buyers.get(f"/api/buyer/{STRANGER.address}")
    assert response.status_code == 200
    answer = response.json()
    assert {name: answer["metrics"][name] for name in (*SPECIFIED, "accountAgeDays")} == {
        "paymentCount": 0,
        "totalVolumeUsdc": 0,
        "reviewsGiven": 0,
        "avgReviewScore": None,
        "disputeCount": 0,
        "disputeRate": 0,
        "accountAgeDays": 0,
    }
    names = ("score", "tier", "reviewFairnessScore", "discountEligibility")
    assert [answer["reputation"][name] for name in names] == [0, "new", None, 0]
    assert answer["reputation"]["reasons"] == ["no_payments"]


@pytest.mark.parametrize("form", ["lower", "upper", "checksum", "global id"])
def test_buyer_has_one_address_in_every_form(buyers, form):
    address = ALICE.address
    forms = {"lower": address.lower(), "upper": "0x" + address[2:].upper(), "checksum": address}
    text = forms.get(form, f"eip155:{CHAIN}:{address}")
    assert buyers.get(f"/api/buyer/{text}").json()["buyerAddress"] == address


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/api/buyer/0x12", 400, "malformed_identifier"),
        ("/api/buyer/" + STRANGER.address.swapcase().replace("0X", "0x"), 400, "malformed_identifier"),
        (f"/api/buyer/{STRANGER.address}?chainId=5", 422, "unsupported_chain"),
        (f"/api/buyer/eip155:{CHAIN}:{STRANGER.address}?chainId=5", 400, "invalid_argument"),
        (f"/api/buyer/{STRANGER.address}?chainId=0", 400, "invalid_argument"),
        (f"/api/buyer/{STRANGER.address}?policy=best", 400, "invalid_argument"),
        (f"/api/buyer/{STRANGER.address}?expand=all", 400, "invalid_argument"),
        (f"/api/buyer/{STRANGER.address}?expand=recentTransactions", 401, "signature_required"),
    ],
    ids=["short", "checksum", "chain", "two chains", "chain 0", "policy", "expand", "private"],
)
def test_problem_says_why_in_the_member_that_published_clients_read(buyers, path, status, code):
    response = buyers.get(path)
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    problem = response.json()
    assert problem["code"] == code
    assert problem["error"] == problem["detail"]


def test_wash_trader_has_one_score_by_the_formula_and_another_by_the_policy_that_discounts_it(buyers):
    plain, strict = (
        buyers.get(f"/api/buyer/{WASHER.address}", params={"policy": policy}).json()
        for policy in ("brp-1.0", "independent-1.0")
    )
    assert (plain["reputation"]["tier"], plain["metrics"]["paymentCount"]) == ("premium", 50)
    assert (strict["reputation"]["tier"], strict["metrics"]["paymentCount"]) == ("new", 0)
    assert strict["reputation"]["score"] == 0
    assert strict["reputation"]["reasons"] == ["no_payments", "returned_payments"]


def test_batch_keeps_the_order(buyers):
    wanted = [SAMPLE.address, STRANGER.address, ALICE.address]
    answer = buyers.post("/api/buyers", json={"addresses": wanted}).json()
    assert [buyer["buyerAddress"] for buyer in answer["buyers"]] == wanted
    assert buyers.post("/api/buyers", json={"addresses": wanted * 33 + wanted[:1]}).status_code == 200
    assert buyers.post("/api/buyers", json={"addresses": wanted * 34}).status_code == 400
    assert buyers.post("/api/buyers", json={"addresses": []}).status_code == 400


def consent(buyer, until):
    text = consent_text(f"eip155:{CHAIN}:{buyer.address}", until)
    signature = "0x" + bytes(buyer.sign_message(encode_defunct(text=text)).signature).hex()
    return {"X-Buyer-Until": str(until), "X-Buyer-Signature": signature}


def test_buyer_sees_its_own_payments(buyers):
    path = f"/api/buyer/{SAMPLE.address}?expand=recentTransactions"
    recent_transactions = buyers.get(path, headers=consent(SAMPLE, int(time.time()) + 300)).json()["recentTransactions"]
    assert len(recent_transactions) == 20
    assert set(recent_transactions[0]) == {
        "txHash",
        "agentGlobalId",
        "amountUsdc",
        "timestamp",
        "reviewGiven",
        "reviewScore",
        "kind",
        "ceilingUsdc",
    }
    assert (recent_transactions[0]["kind"], recent_transactions[0]["ceilingUsdc"]) == ("eip3009", None)
    assert (recent_transactions[0]["agentGlobalId"], recent_transactions[0]["amountUsdc"]) == (SELLER_ID, 5)


@pytest.mark.parametrize(
    ("signer", "seconds"),
    [(STRANGER, 300), (SAMPLE, -60), (SAMPLE, 700)],
    ids=["stranger", "expired", "too far ahead"],
)
def test_others_do_not_see_the_payments_of_a_buyer(buyers, signer, seconds):
    headers = consent(signer, int(time.time()) + seconds)
    response = buyers.get(f"/api/buyer/{SAMPLE.address}?expand=recentTransactions", headers=headers)
    assert response.status_code == 401


def test_node_that_is_slow_to_check_a_signature_holds_no_connection(buyers_settings):
    asked, go_on = threading.Event(), threading.Event()

    def stall(handler):
        asked.set()
        go_on.wait(120)
        respond(handler, b"{}")

    path = f"/api/buyer/{SAMPLE.address}"
    garbage = {"X-Buyer-Until": str(int(time.time()) + 300), "X-Buyer-Signature": "0x00"}
    with HttpServer() as node, ThreadPoolExecutor(1) as pool:
        node.routes["/"] = stall
        buyers = replace(buyers_settings.buyers, key_variable="", nodes={str(CHAIN): node.url})
        with (
            served(replace(buyers_settings, connections=1, buyers=buyers)) as url,
            httpx.Client(base_url=url, timeout=120) as client,
        ):
            refused = pool.submit(client.get, path, params={"expand": "messages"}, headers=garbage)
            assert asked.wait(120)
            response = client.get(path, params={"unknown": 1})  # the shortcut has a connection of its own
            go_on.set()
            assert refused.result().status_code == 401
    assert response.status_code == 200


def test_operator_may_show_payments(buyers_with):
    with buyers_with(shows_transactions=True) as url:
        answer = httpx.get(f"{url}/api/buyer/{SAMPLE.address}?expand=recentTransactions").json()
    assert len(answer["recentTransactions"]) == 20


def test_signed_result_is_checked_without_the_service(buyers):
    answer = buyers.get(f"/api/buyer/{SAMPLE.address}/signed").json()
    message = answer["message"]
    result = BuyerResult(*[int(value) if name == "volume" else value for name, value in message.items()])
    assert recover_signer(result.digest(domain_of(CHAIN)), bytes.fromhex(answer["signature"][2:])) == answer["signer"]
    keys = KeySet.import_key_set(buyers.get("/.well-known/jwks.json").json())
    claims = jwt.decode(answer["jws"], keys, algorithms=["ES256K"]).claims
    assert claims["sub"] == f"eip155:{CHAIN}:{SAMPLE.address}"
    assert (claims["score"], claims["tier"]) == (message["score"], "trusted")
    assert claims["iss"] == "https://provider.example"
    assert claims["exp"] - claims["iat"] == 3600


def test_service_without_a_key_signs_nothing(buyers_with):
    with buyers_with() as url:
        response = httpx.get(f"{url}/api/buyer/{SAMPLE.address}/signed")
        assert (response.status_code, response.json()["code"]) == (404, "no_key")
        assert httpx.get(f"{url}/.well-known/jwks.json").status_code == 404


def test_profile_has_an_etag(buyers):
    first = buyers.get(f"/api/buyer/{STRANGER.address}")
    again = buyers.get(f"/api/buyer/{STRANGER.address}", headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304


@pytest.mark.parametrize("query", ["", "policy=independent-1.0", "policy=unknown"])
@pytest.mark.parametrize(
    "text",
    [SAMPLE.address, f"eip155:31337:{WASHER.address}", CAROL.address, f"eip155:5:{SAMPLE.address}", "0x12", "x" * 200],
    ids=["address", "global id", "review of an agent with a shared wallet", "another chain", "short", "long"],
)
def test_a_profile_is_the_same_with_and_without_the_router(buyers, text, query):
    short, routed = (buyers.get(f"/api/buyer/{text}?{entry}") for entry in (query, f"{query}&unknown=1"))
    assert (short.status_code, short.content) == (routed.status_code, routed.content)
    for name in ("content-type", "etag", "cache-control"):
        assert short.headers.get(name) == routed.headers.get(name)
