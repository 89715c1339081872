"""A holder of a tier credential gets the discount of the tier; nobody else gets it, and holders are one customer."""

from __future__ import annotations

import asyncio
import json
import time
from base64 import b64encode
from dataclasses import replace
from decimal import Decimal

import httpx
import pytest
from eth_account import Account
from fastapi import FastAPI
from x402 import x402ResourceServer
from x402.http import FacilitatorConfig, HTTPFacilitatorClient
from x402.http.middleware.fastapi import PaymentMiddlewareASGI
from x402.http.types import PaymentOption, RouteConfig
from x402.mechanisms.evm.exact import register_exact_evm_server

from bilateral.buyers.credentials import agent_scope, issue_credential, sign_credential
from bilateral.core.contracts.buyer_terms import BuyerTier, policy_hash
from bilateral.core.signatures import Domain
from bilateral.dev.servers import serving
from bilateral.x402.server.discounts import CREDENTIAL_HEADER, BuyerPricing, CredentialDiscounts, credential_headers
from tests.x402.test_buyer_discounts import EXTRA, PRICE, price_in
from tests.x402.world import payment_for, refusal

ATTESTOR, STRANGER = Account.create(), Account.create()
DOMAIN = Domain(8453, "0x742d35Cc6634C0532925a3b844Bc9e7595f2bD58")
BRP = policy_hash("brp-1.0")
SCOPE = agent_scope(8453, "0x8004A169FB4a3325136EB29fA0ceB6D2e539a432", 247)
PSEUDONYM = b"\x07" * 32


def shown(credential, signer=ATTESTOR):
    """Return the headers that show a credential, as the service answers with it."""
    values = dict(zip(credential.solidity_types, credential.arguments, strict=True))
    message = {name: "0x" + value.hex() if isinstance(value, bytes) else value for name, value in values.items()}
    return credential_headers(
        {"message": message, "signature": "0x" + sign_credential(credential, DOMAIN, signer).hex()}
    )


def credential_of(holder, tier=BuyerTier.TRUSTED, **changes):
    made = issue_credential(holder, tier, BRP, scope=SCOPE, pseudonym=PSEUDONYM)
    return replace(made, **changes)


@pytest.fixture
def pricing(token):
    discounts = {BuyerTier.VERIFIED: Decimal(5), BuyerTier.TRUSTED: Decimal(10)}
    credentials = CredentialDiscounts(discounts, DOMAIN, ATTESTOR.address, policy=BRP, scope=SCOPE)
    return BuyerPricing(lambda _: None, token.address, PRICE, EXTRA, credentials=credentials)


@pytest.fixture
def shop(pricing, deployment, facilitator, seller):
    """The URL of a paid route."""
    network = f"eip155:{deployment.chain_id}"
    server = x402ResourceServer(HTTPFacilitatorClient(FacilitatorConfig(url=facilitator)))
    register_exact_evm_server(server, network)
    server.on_before_verify(pricing.check_payer)
    option = PaymentOption(scheme="exact", network=network, pay_to=seller.address, price=pricing.price)
    app = FastAPI()

    @app.get("/audit")
    def audit():
        return {"audit": "no findings"}

    app.add_middleware(PaymentMiddlewareASGI, routes={"GET /audit": RouteConfig(option)}, server=server)
    with serving(app) as url:
        yield f"{url}/audit"


def test_holder_pays_less_and_whoever_copied_its_credential_does_not(shop, token, enrich):
    holder, thief = enrich(), enrich()
    headers = shown(credential_of(holder.address))
    balance = token.functions.balanceOf(holder.address).call()
    payment = payment_for(shop, holder, headers=headers)
    assert httpx.get(shop, headers=headers | payment).status_code == 200
    assert balance - token.functions.balanceOf(holder.address).call() == PRICE * 90 // 100
    before = token.functions.balanceOf(thief.address).call()
    refused = httpx.get(shop, headers=headers | payment_for(shop, thief, headers=headers))
    assert (refused.status_code, "buyer_mismatch" in refusal(refused)) == (402, True)
    assert token.functions.balanceOf(thief.address).call() == before
    without = httpx.get(shop, headers=payment_for(shop, holder, headers=headers))  # the cheap payment, nothing shown
    assert without.status_code == 402


@pytest.mark.parametrize(
    ("tier", "share"),
    [(BuyerTier.NEW, 100), (BuyerTier.VERIFIED, 95), (BuyerTier.TRUSTED, 90), (BuyerTier.PREMIUM, 90)],
)
def test_price_is_that_of_the_tier(shop, tier, share):
    headers = shown(credential_of(STRANGER.address, tier))
    assert price_in(httpx.get(shop, headers=headers)) == PRICE * share // 100


DAY = 86_400


@pytest.mark.parametrize(
    "changes",
    [
        {"policy": policy_hash("independent-1.0")},
        {"scope": agent_scope(8453, "0x8004A169FB4a3325136EB29fA0ceB6D2e539a432", 248)},
        {"issued_at": int(time.time()) - DAY, "valid_until": int(time.time()) + 60},
        {"valid_until": int(time.time()) - 60},
    ],
    ids=["policy", "scope", "day", "expired"],
)
def test_credential_for_another_use_costs_the_full_price(shop, changes):
    headers = shown(credential_of(STRANGER.address, **changes))
    assert price_in(httpx.get(shop, headers=headers)) == PRICE


def test_credential_that_the_attestor_did_not_sign_costs_the_full_price(shop):
    headers = shown(credential_of(STRANGER.address), signer=STRANGER)
    assert price_in(httpx.get(shop, headers=headers)) == PRICE


def encoded(value):
    return b64encode(json.dumps(value).encode()).decode()


@pytest.mark.parametrize(
    "text",
    [
        *("", "?", "e30=", encoded([]), encoded({"message": {}, "signature": "0x"}), encoded("x" * 5_000)),
        *(encoded({"message": None, "signature": None}), "W1tb" * 1_000, encoded({"message": {"policy": 7}})),
    ],
)
def test_malformed_credential_costs_the_full_price(shop, text):
    assert price_in(httpx.get(shop, headers={CREDENTIAL_HEADER: text})) == PRICE


class Request:
    """A request with headers."""

    def __init__(self, headers):
        self.adapter = self
        self._headers = headers

    def get_query_param(self, _):
        return None

    def get_header(self, name):
        return self._headers.get(name)


def test_thirty_holders_of_one_buyer_are_one_customer(pricing):
    requests = [Request(shown(credential_of(Account.create().address))) for _ in range(30)]
    assert {pricing.customer_of(request) for request in requests} == {PSEUDONYM}
    assert {asyncio.run(pricing.price(request)).amount for request in requests} == {str(PRICE * 90 // 100)}
    assert pricing.customer_of(Request({})) is None
