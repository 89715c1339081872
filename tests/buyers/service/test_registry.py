"""The registry of buyers and the service: records apart, anchored states, credentials, contract wallets."""

from __future__ import annotations

import time
from dataclasses import replace

import httpx
import pytest
from eth_account import Account
from eth_account.messages import encode_defunct
from sqlalchemy import func, select

from bilateral.api.routes.buyers import consent_text
from bilateral.api.settings import ApiSettings
from bilateral.buyers.anchoring import anchor_states
from bilateral.buyers.anchors import verify_state
from bilateral.buyers.messages import content_hash
from bilateral.buyers.policies import BuyerSettings
from bilateral.buyers.requests import EnrichmentBody, FeedbackBody, ReviewBody
from bilateral.buyers.tables import buyer_anchor, buyer_state
from bilateral.core.contracts.buyer_terms import (
    AttestedPayment,
    BuyerFeedback,
    BuyerReviews,
    BuyerState,
    BuyerTier,
    PaymentRecord,
    policy_hash,
)
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import AgentId
from bilateral.core.signatures import Domain
from bilateral.index.log.database import open_database
from bilateral.index.reading.registries import AgentKey
from scripts._anvil import running_anvil
from tests.api.world import served
from tests.buyers.service.interrupted import POINTS, anchor_and_kill
from tests.buyers.service.registry import BUYER, CHAIN, DOLLAR, SELLER, SERVICE, RealMarket
from tests.index.schemas import make_schema
from tests.postgres import running_postgres
from tests.sdk.client.helpers import deploy

POLICIES = ("brp-1.0", "independent-1.0")
PAID_AT = 1_700_000_000


@pytest.fixture(scope="module")
def node(project):
    with running_anvil("--gas-limit", str(10**9)) as url:
        yield url


@pytest.fixture(scope="module")
def market(node):
    """Four settled payments, one to the payer's own agent, and what the attestor says of the buyer."""
    market = RealMarket(node)
    for dollars in (4, 5, 6):
        market.settle(dollars * DOLLAR)
    market.fund(SELLER.address)
    market.settle(7 * DOLLAR, buyer=SELLER)  # to itself: not counted
    service = market.connect(SERVICE)
    payments = [
        PaymentRecord(bytes([number]) * 32, AttestedPayment(BUYER.address, number * DOLLAR, PAID_AT + number, 255))
        for number in (1, 2)
    ]
    service.record_payments(8453, payments).wait()
    for score in (10, 80):
        service.record_buyer_feedback(BuyerFeedback(BUYER.address, SELLER.address, score)).wait()
    for reviews in ((1, 50, 0), (4, 290, 1)):
        service.record_buyer_reviews([BuyerReviews(BUYER.address, *reviews)]).wait()
    return market


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def database(request, market, tmp_path_factory):
    """The URL of the market's index."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('registry') / 'index.sqlite'}"
        market.index(url)
        yield url
        return
    with running_postgres() as server:
        url = make_schema(server, "registry")
        market.index(url)
        yield url


@pytest.fixture(scope="module")
def engine(database):
    engine = open_database(database)
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def settings(database, market):
    buyers = BuyerSettings(nodes={str(CHAIN): market.url}, key_variable="BUYERS_KEY")
    return ApiSettings(database=database, rate=None, query_seconds=60.0, max_silence=10**9, buyers=buyers)


@pytest.fixture(scope="module")
def service(settings):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BUYERS_KEY", "0x" + bytes(SERVICE.key).hex())
        with served(settings) as url, httpx.Client(base_url=url, timeout=120) as client:
            yield client


def test_settled_and_attested_records_are_shown_apart_and_attested_ones_do_not_count(service, market):
    answer = service.get(f"/api/buyer/{BUYER.address}").json()
    (records,) = answer["registryRecords"]
    assert records["registry"] == f"eip155:{CHAIN}:{market.deployment.buyers}"
    settled, attested = records["settled"], records["attested"]
    assert answer["metrics"]["paymentCount"] == settled["paymentCount"] == 3
    assert answer["metrics"]["totalVolumeUsdc"] == settled["totalVolumeUsdc"] == 15
    assert settled["totalVolumeAtomic"] == "15000000"
    assert settled["distinctSellers"] == 1
    assert settled["firstPaymentAt"] == answer["metrics"]["firstPaymentAt"]
    assert settled["lastPaymentAt"] == answer["metrics"]["lastPaymentAt"]
    assert attested == {
        "paymentCount": 2,
        "totalVolumeUsdc": 3,
        "totalVolumeAtomic": "3000000",
        "firstPaymentAt": "2023-11-14T22:13:21Z",
        "lastPaymentAt": "2023-11-14T22:13:22Z",
        "reviewsGiven": 4,
        "avgReviewScore": 72.5,
        "sellerFeedbackCount": 1,
        "avgSellerFeedback": 80,
        "disputeCount": 1,
    }


def test_stranger_has_empty_records(service):
    (records,) = service.get(f"/api/buyer/{Account.create().address}").json()["registryRecords"]
    assert records["settled"]["paymentCount"] == records["attested"]["paymentCount"] == 0
    assert records["settled"]["firstPaymentAt"] is records["attested"]["avgReviewScore"] is None


def count(engine, table):
    with engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()


def state_in(answer):
    """Return the state of an answer as the SDK has it."""
    values = list(answer["state"].values())
    values[3] = BuyerTier.of_level(values[3])
    values[5] = int(values[5])
    values[13] = bytes.fromhex(values[13][2:])
    return BuyerState(*values)


def as_bytes(text):
    return bytes.fromhex(text[2:])


def test_anchored_state_is_proven_to_everybody(service, market, engine, database):
    anchorer = market.connect(SERVICE)
    epoch = anchor_states(engine, anchorer, POLICIES)
    market.index(database)
    for policy in POLICIES:
        answer = service.get(f"/api/buyer/{BUYER.address}/anchor", params={"policy": policy}).json()
        state, proof = state_in(answer), [as_bytes(entry) for entry in answer["proof"]]
        assert (answer["epoch"], as_bytes(answer["root"])) == (epoch, anchorer.get_root(epoch))
        assert (state.buyer, state.payments, state.policy) == (BUYER.address, 3, policy_hash(policy))
        assert verify_state(state, as_bytes(answer["root"]), proof)
        assert anchorer.verify_buyer(state, epoch, proof)
        assert not anchorer.verify_buyer(replace(state, score=state.score + 1), epoch, proof)
    profile = service.get(f"/api/buyer/{BUYER.address}").json()["reputation"]
    assert (state.score, state.tier) == (profile["score"], profile["tier"])


def test_buyer_without_a_payment_is_in_no_tree(service, market, engine, database):
    anchor_states(engine, market.connect(SERVICE), POLICIES)
    market.index(database)
    response = service.get(f"/api/buyer/{SELLER.address}/anchor")
    assert (response.status_code, response.json()["code"]) == (404, "not_anchored")


def test_states_of_the_last_two_epochs_are_kept(market, engine):
    anchorer = market.connect(SERVICE)
    last = [anchor_states(engine, anchorer, POLICIES) for _ in range(3)][-1]
    with engine.connect() as connection:
        kept = connection.execute(select(buyer_state.c.epoch).distinct().order_by(buyer_state.c.epoch)).scalars().all()
    assert kept == [last - 1, last]


def test_stranger_may_not_anchor_and_the_next_run_of_the_anchorer_posts_the_stored_states(market, engine):
    epoch = market.connect().get_next_epoch()
    with pytest.raises(Exception, match="NotRoleHolder"):
        anchor_states(engine, market.connect(SELLER), POLICIES)
    with engine.connect() as connection:
        stored = connection.execute(select(buyer_anchor.c.root).where(buyer_anchor.c.epoch == epoch)).scalar_one()
    assert anchor_states(engine, market.connect(SERVICE), POLICIES) == epoch
    assert market.connect().get_root(epoch) == bytes(stored)


def test_index_without_payments_has_nothing_to_anchor(market, tmp_path):
    engine = open_database(f"sqlite:///{tmp_path / 'empty.sqlite'}")
    with pytest.raises(InvalidArgumentError, match="no payments by buyers are indexed yet"):
        anchor_states(engine, market.connect(SERVICE), POLICIES)
    engine.dispose()


@pytest.mark.parametrize("point", POINTS)
def test_killed_process_loses_and_doubles_no_anchor(market, engine, database, point):
    anchorer = market.connect(SERVICE)
    epoch = anchorer.get_next_epoch()
    anchor_and_kill(point, market.url, market.deployment, bytes(SERVICE.key), database, POLICIES)
    with engine.connect() as connection:
        of_epoch = buyer_anchor.c.epoch == epoch
        stored = connection.execute(select(buyer_anchor.c.root).where(of_epoch)).scalar_one_or_none()
    assert (stored is None) is (point == "while it stores states")
    last = anchor_states(engine, anchorer, POLICIES)
    assert last == epoch + (point == "after it sent the root")
    assert anchorer.get_next_epoch() == last + 1
    assert stored is None or anchorer.get_root(epoch) == bytes(stored)
    market.index(database)
    with engine.connect() as connection:
        of_buyer = buyer_state.c.epoch == epoch, buyer_state.c.buyer == BUYER.address
        states = select(buyer_state.c.policy).where(*of_buyer).order_by(buyer_state.c.policy)
        assert connection.execute(states).scalars().all() == list(POLICIES)


def feedback(market, transaction, payer, payee=SELLER.address):
    """Return the body of feedback of the seller."""
    proof = {"txHash": transaction, "fromAddress": payer, "toAddress": payee, "chainId": CHAIN}
    return {
        "buyerAddress": payer,
        "sellerGlobalId": market.seller_id,
        "score": 77,
        "tags": [],
        "note": "",
        "proofOfPayment": proof,
    }


def signed(kind, body, market, signer):
    """Return a body with a signature."""
    seller = AgentKey(CHAIN, market.deployment.identity, 1, ())
    message = kind.model_validate({**body, "signature": "0x00"}).message(seller)
    signature = signer.sign_message(message.signable(Domain(CHAIN, market.deployment.identity))).signature
    return {**body, "signature": "0x" + bytes(signature).hex()}


def test_contract_wallet_signs_as_a_buyer_and_another_key_does_not(service, market, database, project):
    key = Account.create()
    wallet = deploy(market.web3, project.MockWallet, key.address)
    market.fund(wallet)
    transaction = market.settle(3 * DOLLAR, buyer=key, payer=wallet)
    market.index(database)
    proof = {"txHash": transaction, "fromAddress": wallet, "toAddress": SELLER.address, "chainId": CHAIN}
    body = {"agentId": market.seller_id, "score": 70, "proofOfPayment": proof}
    refused = service.post("/api/review", json=signed(ReviewBody, body, market, Account.create()))
    assert (refused.status_code, refused.json()["code"]) == (401, "invalid_signature")
    taken = [service.post("/api/review", json=signed(ReviewBody, body, market, key)).json() for _ in range(2)]
    assert [(answer["counted"], answer["isNew"]) for answer in taken] == [(True, True), (True, False)]
    metrics = service.get(f"/api/buyer/{wallet}").json()["metrics"]
    assert (metrics["reviewsGiven"], metrics["avgReviewScore"]) == (1, 70)
    path, until = f"/api/buyer/{wallet}?expand=messages", int(time.time()) + 300
    text = encode_defunct(text=consent_text(f"eip155:{CHAIN}:{wallet}", until))
    for signer, status in ((key, 200), (Account.create(), 401)):
        signature = "0x" + bytes(signer.sign_message(text).signature).hex()
        headers = {"X-Buyer-Until": str(until), "X-Buyer-Signature": signature}
        assert service.get(path, headers=headers).status_code == status


def test_payment_that_is_not_confirmed_yet_is_pending(settings, market, tmp_path):
    """The index of this test counts a payment from its third block."""
    url, buyer = f"sqlite:///{tmp_path / 'index.sqlite'}", Account.create()
    market.fund(buyer.address)
    transaction = market.settle(1 * DOLLAR, buyer=buyer)
    market.index(url, confirmations=3)
    body = signed(FeedbackBody, feedback(market, transaction, buyer.address), market, SELLER)
    with (
        pytest.MonkeyPatch.context() as patch,
        served(replace(settings, database=url, buyers=replace(settings.buyers, key_variable=""))) as base,
        httpx.Client(base_url=base, timeout=120) as client,
    ):
        patch.delenv("BUYERS_KEY", raising=False)
        pending = client.post("/api/buyer/feedback", json=body)
        assert (pending.status_code, pending.json()["code"]) == (409, "payment_pending")
        assert int(pending.headers["Retry-After"]) > 0
        market.web3.provider.make_request("anvil_mine", ["0x3"])
        market.index(url, confirmations=3)
        taken = client.post("/api/buyer/feedback", json=body)
    assert (taken.status_code, taken.json()["counted"]) == (200, True)


def test_workflow_of_the_specification(service, market, database):
    """The seven steps of section 10, but the payment's HTTP, which tests/x402/test_buyer_discounts.py has."""
    buyer = Account.create()
    market.fund(buyer.address)
    market.web3.provider.make_request("anvil_setBalance", [buyer.address, hex(10**18)])
    body = {"globalId": market.seller_id, "serviceName": "audit", "pricePerCallUsdc": 4, "issuedAt": int(time.time())}
    body["buyerIncentives"] = {"enabled": True, "discounts": {"verified": 5}}
    seller, domain = AgentKey(CHAIN, market.deployment.identity, 1, ()), Domain(CHAIN, market.deployment.identity)
    wanted = EnrichmentBody.model_validate({**body, "signature": "0x00"}).message(seller, content_hash(body))
    signature = "0x" + bytes(SELLER.sign_message(wanted.signable(domain)).signature).hex()
    assert service.post("/api/agent/enrichment", json={**body, "signature": signature}).is_success

    def offered():  # steps 1 and 2
        answer = service.get("/api/search", params={"buyerAddress": buyer.address}).json()
        return next(
            entry["pricing"]["discounted"] for entry in answer["results"] if entry["globalId"] == market.seller_id
        )

    def profile():
        return service.get(f"/api/buyer/{buyer.address}").json()

    assert (offered(), profile()["reputation"]["score"]) == (4, 0)
    paid = [market.settle(4 * DOLLAR, buyer=buyer) for _ in range(3)]  # steps 3 and 4
    market.index(database)
    scores = [profile()["reputation"]["score"]]
    assert (offered(), profile()["reputation"]["tier"]) == (3.8, "verified")
    proof = {"txHash": paid[0], "fromAddress": buyer.address, "toAddress": SELLER.address, "chainId": CHAIN}
    paid_feedback = {"agentId": market.seller_id, "score": 85, "proofOfPayment": proof}
    assert service.post("/api/review", json=signed(ReviewBody, paid_feedback, market, buyer)).json()[
        "counted"
    ]  # step 5
    scores.append(profile()["reputation"]["score"])
    altered = signed(FeedbackBody, {**feedback(market, paid[0], buyer.address), "score": 100}, market, SELLER)
    assert service.post("/api/buyer/feedback", json=altered).json()["counted"]  # step 6
    scores.append(profile()["reputation"]["score"])
    assert scores == sorted(set(scores))  # step 7: each of them improves the buyer
    market.connect(buyer).give_feedback(AgentId(1, CHAIN), 85, "starred").wait()
    market.index(database)
    assert service.get("/api/search", params={"minScore": 85}).json()["meta"]["total"] == 1  # and the seller
