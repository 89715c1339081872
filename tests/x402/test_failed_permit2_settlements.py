"""Payments by Permit2 that fail after the application has served, in each way in which a buyer can do it."""

from __future__ import annotations

from types import SimpleNamespace

import httpx
import pytest
from fastapi import FastAPI, Response
from x402 import x402ResourceServer
from x402.http import FacilitatorConfig, HTTPFacilitatorClient
from x402.http.middleware.fastapi import set_settlement_overrides
from x402.http.types import PaymentOption, RouteConfig
from x402.mechanisms.evm.exact import register_exact_evm_server
from x402.mechanisms.evm.upto import UptoEvmServerScheme

from bilateral.core.values.failures import FailureCount, FailureReason
from bilateral.dev.servers import serving
from bilateral.x402 import Reputation8004ResourceServerExtension, declare_8004_reputation
from bilateral.x402.proof.failures import FailureProof, check_failure
from bilateral.x402.server.asgi import ReputationMiddleware
from bilateral.x402.server.failures import FailedSettlements
from tests.permit2 import RELAYER
from tests.waiting import until
from tests.x402.metered import pay_headers
from tests.x402.test_failed_settlements import count, failed
from tests.x402.test_undelivered import later
from tests.x402.world import NETWORK, SIGNING_KEY

CEILING, CHARGE = 5000, 1234


@pytest.fixture(params=["exact", "upto"])
def shop(request, payment_chain, every_facilitator_url, agent, deployment, seller, verifier):
    """A route that is paid by Permit2; its handler acts before it answers."""
    made = SimpleNamespace(act=lambda: None, undone=[], charge=str(CHARGE), scheme=request.param, chain=payment_chain)
    made.failures = FailedSettlements(on_failure=made.undone.append)
    app = FastAPI()

    @app.get("/metered")
    def metered(response: Response):
        made.act()
        if made.scheme == "upto":
            set_settlement_overrides(response, {"amount": made.charge})
        return {"weather": "snow"}

    extra = {"name": "Test Dollar", "version": "2", "assetTransferMethod": "permit2"}
    price = {"asset": payment_chain.token, "amount": str(CEILING), "extra": extra}
    terms = {"network": NETWORK, "pay_to": seller.address, "price": price, "max_timeout_seconds": 600}
    option = PaymentOption(scheme=request.param, **terms)
    routes = {"GET /metered": RouteConfig(option, extensions=declare_8004_reputation(agent, deployment))}
    server = x402ResourceServer(HTTPFacilitatorClient(FacilitatorConfig(url=every_facilitator_url)))
    register_exact_evm_server(server, NETWORK)
    server.register(NETWORK, UptoEvmServerScheme())
    settings = {"verifier": verifier, "failures": made.failures}
    made.extension = Reputation8004ResourceServerExtension(SIGNING_KEY, **settings)
    server.register_extension(made.extension)
    app.add_middleware(ReputationMiddleware, routes=routes, server=server)
    with serving(app) as url:
        made.url = url + "/metered"
        yield made


@pytest.fixture
def buyer(payment_chain):
    return payment_chain.buyer()


def pay(shop, buyer):
    """Pay for the route, and return the answer and the signed payload."""
    payloads = []

    def change(payload):
        payloads.append(payload.payload)
        return payload

    headers = pay_headers(shop.url, buyer, change)
    act, shop.act = shop.act, lambda: act(payloads[0])
    try:
        return httpx.get(shop.url, headers=headers, timeout=60), payloads[0]
    finally:
        shop.act = act


def spend(shop, buyer, left=0):
    data = shop.chain.code("MockPaymentToken", "transfer", RELAYER.address, shop.chain.balance(buyer.address) - left)
    shop.chain.send(shop.chain.token, data, buyer)


ACTS = {
    FailureReason.INSUFFICIENT_BALANCE: lambda shop, buyer, _: spend(shop, buyer),
    FailureReason.INSUFFICIENT_ALLOWANCE: lambda shop, buyer, _: shop.chain.approve(buyer, amount=0),
    FailureReason.AUTHORIZATION_CANCELED: lambda shop, buyer, payload: shop.chain.cancel(
        buyer, payload["permit2Authorization"]["nonce"]
    ),
}


@pytest.mark.parametrize("reason", ACTS)
def test_each_act_of_a_buyer_counts_and_is_proven(shop, buyer, web3, verifier, payment_chain, reason):
    shop.act = lambda payload: ACTS[reason](shop, buyer, payload)
    response, payload = pay(shop, buyer)
    assert response.status_code == 402
    failure = failed(shop)
    assert failure.reason is reason
    assert count(shop, buyer).reasons == {reason: 1}
    with later(web3, int(payload["permit2Authorization"]["deadline"]) + 1):
        assert check_failure(verifier, failure.evidence, tokens=[payment_chain.token]) is reason


@pytest.mark.parametrize("shop", ["exact"], indirect=True)
def test_payment_that_a_stranger_settled_first_does_not_count(shop, buyer):
    shop.act = shop.chain.settle
    assert pay(shop, buyer)[0].status_code == 402
    assert (shop.undone, count(shop, buyer)) == ([], FailureCount())


@pytest.mark.parametrize("shop", ["upto"], indirect=True)
@pytest.mark.parametrize(("left", "number"), [(CHARGE, 0), (CHARGE - 1, 1)])
def test_buyer_needs_what_is_charged_and_not_the_ceiling(shop, buyer, left, number):
    shop.act = lambda _: spend(shop, buyer, left)
    response, _ = pay(shop, buyer)
    assert response.status_code == (402 if number else 200)
    assert [failure.amount for failure in until(lambda: shop.undone, lambda seen: len(seen) == number)] == [
        CHARGE
    ] * number
    assert count(shop, buyer).number == number


@pytest.mark.parametrize("shop", ["upto"], indirect=True)
@pytest.mark.parametrize("charge", [str(CEILING + 1), "0"])
def test_seller_that_charges_an_amount_that_is_refused_undoes_its_work_and_blames_nobody(shop, buyer, charge):
    shop.charge, shop.act = charge, lambda _: spend(shop, buyer)
    assert pay(shop, buyer)[0].status_code == 402
    failure = failed(shop)
    assert failure.code in {"settlement_exceeds_ceiling", "nothing_charged"}
    assert (failure.reason, failure.proof, count(shop, buyer)) == (None, None, FailureCount())


@pytest.mark.parametrize("shop", ["exact"], indirect=True)
def test_seller_without_a_node_undoes_its_work_too(shop, buyer, monkeypatch):
    monkeypatch.setattr(shop.extension, "verifier", None)
    shop.act = lambda _: spend(shop, buyer)
    assert pay(shop, buyer)[0].status_code == 402
    assert failed(shop).reason is FailureReason.INSUFFICIENT_BALANCE  # the facilitator's code is clear


def test_allowance_that_the_chain_never_shows_is_not_revoked(shop, buyer, verifier, monkeypatch):
    """A payment with a permit of the token (EIP-2612) needs no allowance before its settlement."""
    proof = FailureProof(FailureReason.INSUFFICIENT_ALLOWANCE, 9, None)
    monkeypatch.setattr(verifier, "run_on", lambda *_: proof)
    shop.act = lambda _: shop.chain.approve(buyer, amount=0)
    assert pay(shop, buyer)[0].status_code == 402
    failure = failed(shop)
    assert failure.reason is (None if failure.code.endswith("transaction_failed") else proof.reason)
    assert count(shop, buyer).number == (failure.reason is not None)
