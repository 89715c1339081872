"""A buyer climbs by real payments, and gets its discount inside x402; an impostor does not."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from base64 import b64decode
from decimal import Decimal

import httpx
import pytest
from eth_account import Account

from bilateral.api.settings import ApiSettings
from bilateral.buyers.messages import content_hash
from bilateral.buyers.requests import EnrichmentBody
from bilateral.core.signatures import Domain
from bilateral.dev.servers import serving
from bilateral.index.files.worker import FileSettings
from bilateral.index.log.database import open_database
from bilateral.index.operating.settings import ChainSettings, IndexSettings
from bilateral.index.operating.worker import follow_chains
from bilateral.index.payments.terms import PaymentTerms
from bilateral.index.reading.registries import AgentKey
from bilateral.x402.server.discounts import BuyerPricing, payer_of, service_lookup
from examples.discount_seller import make_app
from tests.api.world import served
from tests.x402.world import payment_for, refusal

EXTRA = {"name": "Test Dollar", "version": "2"}
PRICE = 6_000_000


def price_in(response):
    """Return the amount that a refusal asks for."""
    required = json.loads(b64decode(response.headers["payment-required"]))
    return int(required["accepts"][0]["amount"])


@pytest.fixture
def market(tmp_path, monkeypatch, rpc, deployment, token, facilitator, seller, register):
    """The service, and a seller with discounts. `index()` learns what is new on the chain."""
    agent = register(seller)
    global_id = f"eip155:{deployment.chain_id}:{deployment.identity}#{agent}"
    database = f"sqlite:///{tmp_path / 'index.sqlite'}"

    def index():
        engine = open_database(database)
        chain = ChainSettings((rpc,), (deployment,), from_block=0, payments=PaymentTerms({token.address: 6}))
        settings = IndexSettings((chain,), files=FileSettings(workers=0), analyses=False)
        follow_chains(engine, settings, stop=threading.Event(), until_head=True)
        engine.dispose()

    index()
    with served(ApiSettings(database=database, rate=None, max_silence=10**9)) as url:
        incentives = {"enabled": True, "discounts": {"verified": 5, "trusted": 10}}
        body = {"globalId": global_id, "serviceName": "audit", "buyerIncentives": incentives}
        body["issuedAt"] = int(time.time())
        message = EnrichmentBody.model_validate({**body, "signature": "0x00"}).message(
            AgentKey(deployment.chain_id, deployment.identity, agent, ()), content_hash(body)
        )
        signed = seller.sign_message(message.signable(Domain(deployment.chain_id, deployment.identity)))
        posted = {**body, "signature": "0x" + bytes(signed.signature).hex()}
        httpx.post(f"{url}/api/agent/enrichment", json=posted).raise_for_status()
        for name, value in {
            "PROVIDER": f"{url}/api/buyer",
            "SELLER": global_id,
            "PAY_TO": seller.address,
            "FACILITATOR_URL": facilitator,
            "PRICE": json.dumps({"asset": token.address, "amount": str(PRICE), "extra": EXTRA}),
        }.items():
            monkeypatch.setenv(name, value)
        yield index, url


def audit_url(url, buyer=None):
    return f"{url}/audit" if buyer is None else f"{url}/audit?buyerAddress={buyer.address}"


def test_buyer_climbs_and_an_impostor_does_not_get_its_price(market, token, buyer, enrich):
    index, service = market
    app = make_app()
    with serving(app) as url:
        for _ in range(3):
            assert price_in(httpx.get(audit_url(url))) == PRICE
            response = httpx.get(audit_url(url), headers=payment_for(audit_url(url), buyer))
            assert response.status_code == 200
    index()
    answer = httpx.get(f"{service}/api/buyer/{buyer.address}").json()
    assert (answer["metrics"]["paymentCount"], answer["metrics"]["totalVolumeUsdc"]) == (3, 18)
    assert answer["reputation"]["tier"] == "verified"
    with serving(make_app()) as url:
        own = audit_url(url, buyer)
        assert price_in(httpx.get(own)) == PRICE * 95 // 100
        impostor = enrich()
        before = token.functions.balanceOf(impostor.address).call()
        refused = httpx.get(own, headers=payment_for(own, impostor))
        assert refused.status_code == 402
        assert "buyer_mismatch" in refusal(refused)
        assert token.functions.balanceOf(impostor.address).call() == before
        balance = token.functions.balanceOf(buyer.address).call()
        assert httpx.get(own, headers=payment_for(own, buyer)).status_code == 200
        assert balance - token.functions.balanceOf(buyer.address).call() == PRICE * 95 // 100
        unknown = audit_url(url, enrich())
        assert price_in(httpx.get(unknown)) == PRICE


class Request:
    """A request that names a buyer."""

    def __init__(self, buyer):
        self.adapter = self
        self._buyer = buyer

    def get_query_param(self, name):
        return self._buyer if name == "buyerAddress" else None

    def get_header(self, _):
        return None


BUYER = Account.from_key(b"\1" * 32).address


@pytest.mark.parametrize("claim", [None, "", "0x12", "x" * 42, ["a", "b"]], ids=["none", "empty", "short", "x", "two"])
def test_claim_that_names_nobody_costs_the_full_price(claim):
    pricing = BuyerPricing(lambda _: Decimal(50), "0x", 1000, EXTRA)
    assert asyncio.run(pricing.price(Request(claim))).amount == "1000"


def test_price_of_a_buyer_stays_the_same_while_it_is_held():
    answers = iter([Decimal(10), Decimal(20)])
    pricing = BuyerPricing(lambda _: next(answers), "0x", 1000, EXTRA)
    assert [asyncio.run(pricing.price(Request(BUYER))).amount for _ in range(2)] == ["900", "900"]
    answers = iter([Decimal(10), Decimal(20)])
    pricing = BuyerPricing(lambda _: next(answers), "0x", 1000, EXTRA, hold_seconds=0)
    assert [asyncio.run(pricing.price(Request(BUYER))).amount for _ in range(2)] == ["900", "800"]


def test_failed_look_up_keeps_the_full_price_for_half_a_minute_and_no_longer(monkeypatch):
    now, answers = [1_000.0], iter([None, Decimal(10)])
    monkeypatch.setattr("bilateral.x402.server.discounts.time.monotonic", lambda: now[0])
    pricing = BuyerPricing(lambda _: next(answers), "0x", 1000, EXTRA)
    amounts = []
    for seconds in (0, 29, 1):  # both requests of a payment have the same price
        now[0] += seconds
        amounts.append(asyncio.run(pricing.price(Request(BUYER))).amount)
    assert amounts == ["1000", "1000", "900"]


def test_held_prices_are_bounded(monkeypatch):
    monkeypatch.setattr("bilateral.x402.server.discounts._MOST_BUYERS", 2)
    pricing = BuyerPricing(lambda _: Decimal(0), "0x", 1000, EXTRA)
    for number in range(1, 5):
        asyncio.run(pricing.price(Request(Account.from_key(number.to_bytes(32)).address)))
    assert len(pricing._amounts) == 2


def test_service_that_does_not_answer_gives_no_discount():
    assert service_lookup("http://127.0.0.1:1/api/buyer", "eip155:1:0x#1", seconds=0.5)(BUYER) is None


def test_payer_is_read_from_either_form():
    assert payer_of({"authorization": {"from": BUYER.lower()}}) == BUYER
    assert payer_of({"permit2Authorization": {"from": BUYER}}) == BUYER
    assert payer_of({"authorization": {"from": "0x12"}}) is None
    assert payer_of({}) is None
