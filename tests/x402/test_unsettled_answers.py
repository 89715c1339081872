"""An answer whose settlement is pending is kept, and handed over once the chain shows the payment."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Timer

import httpx
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import Response
from flask import Flask, request
from x402 import x402FacilitatorSync, x402ResourceServer, x402ResourceServerSync
from x402.extensions.payment_identifier import declare_payment_identifier_extension
from x402.mechanisms.evm.exact import register_exact_evm_facilitator
from x402.mechanisms.evm.signers import FacilitatorWeb3Signer

from bilateral.dev.servers import facilitator_app_of, serving
from bilateral.x402 import Preflight, Reputation8004ResourceServerExtension, declare_8004_reputation
from bilateral.x402.server.asgi import ReputationMiddleware
from bilateral.x402.server.stores import StoredAnswers
from bilateral.x402.server.wsgi import protect_flask
from tests.sdk.client.helpers import transact
from tests.x402.clients import CLIENTS
from tests.x402.conftest import account
from tests.x402.test_undelivered import signed_cancellation
from tests.x402.world import (
    NETWORK,
    PRICE,
    SIGNING_KEY,
    assert_proves,
    payment_for,
    resource_server,
    route,
    serving_wsgi,
    settled,
)

IDENTIFIER = "a-secret-of-16-or-more"
WHOLE = 10**9


class HastyFacilitator:
    """A facilitator that waits a moment for receipts, and forgets pending transactions when it starts again."""

    def __init__(self, rpc):
        self._rpc, self.is_failing = rpc, False
        self.start_again()

    def start_again(self):
        self._inner = x402FacilitatorSync()
        signer = FacilitatorWeb3Signer(account(9).key.hex(), self._rpc, confirmation_timeout_seconds=0.1)
        register_exact_evm_facilitator(self._inner, signer, NETWORK)

    def settle(self, *arguments):
        result = self._inner.settle(*arguments)
        if self.is_failing:
            raise RuntimeError("the facilitator fails after the settlement")
        return result

    def __getattr__(self, name):
        return getattr(self._inner, name)


@pytest.fixture
def hasty(rpc):
    return HastyFacilitator(rpc)


def fastapi_shop(url, routes, runs, verifier, tmp_path):
    app = FastAPI()

    @app.post("/echo")
    async def echo(request: Request):
        runs.append(await request.body())
        return Response(runs[-1], media_type="text/plain", headers={"x-kept": "yes"})

    server = resource_server(x402ResourceServer, url, Reputation8004ResourceServerExtension(SIGNING_KEY))
    answers = StoredAnswers(f"sqlite:///{tmp_path / 'answers.sqlite'}")
    preflight = Preflight(verifier)
    app.add_middleware(ReputationMiddleware, routes=routes, server=server, answers=answers, preflight=preflight)
    return serving(app)


def flask_shop(url, routes, runs, verifier, _tmp_path):
    app = Flask("shop")

    @app.post("/echo")
    def echo():
        runs.append(request.get_data())
        return runs[-1], {"content-type": "text/plain", "x-kept": "yes"}

    extension = Reputation8004ResourceServerExtension(SIGNING_KEY, verifier=verifier)
    protect_flask(app, routes, resource_server(x402ResourceServerSync, url, extension))
    return serving_wsgi(app)


@pytest.fixture(params=[fastapi_shop, flask_shop], ids=["FastAPI", "Flask"])
def shop(request, hasty, token, seller, agent, deployment, verifier, tmp_path):
    """The URL of a paid route, and its runs."""
    declared = declare_8004_reputation(agent, deployment)
    declared["payment-identifier"] = declare_payment_identifier_extension()
    routes, runs = {"* /*": route(token.address, seller.address, declared)}, []
    with (
        serving(facilitator_app_of(hasty)) as url,
        request.param(url, routes, runs, verifier, tmp_path) as shop_url,
    ):
        yield shop_url + "/echo", runs


@pytest.fixture
def mine(web3):
    """Mines when it is called, and nothing before."""

    def make():
        web3.provider.make_request("evm_mine", [])

    web3.provider.make_request("evm_setAutomine", [False])
    yield make
    make()
    web3.provider.make_request("evm_setAutomine", [True])


@contextmanager
def pending(url, buyer):
    """Send a payment whose settlement is pending, and yield a function that sends it again."""
    headers = payment_for(url, buyer, method="POST", identifier=IDENTIFIER)
    send = lambda content=b"snow": httpx.post(url, headers=headers, content=content, timeout=60)  # noqa: E731
    response = send()
    assert (response.status_code, settled(response)["errorReason"]) == (402, "settlement_pending")
    yield send


def assert_delivers(response):
    assert (response.status_code, response.content, response.headers["x-kept"]) == (200, b"snow", "yes")
    assert_proves(response, b"snow", b"snow")


def test_answer_is_handed_over_once_its_pending_payment_is_settled(shop, buyer, mine, token):
    url, runs = shop
    with pending(url, buyer) as send:
        assert send().status_code == 402
        assert send(b"rain").json() == {"error": "payment_of_another_request"}
        mine()
        assert_delivers(send())
        assert_delivers(send())  # the signed answer is kept
    assert runs == [b"snow"]
    assert token.functions.balanceOf(buyer.address).call() == WHOLE - PRICE


def test_answer_is_handed_over_after_the_facilitator_forgot_its_transaction(shop, buyer, mine, hasty):
    url, runs = shop
    with pending(url, buyer) as send:
        mine()
        hasty.start_again()
        assert_delivers(send())
    assert runs == [b"snow"]


def test_answer_is_handed_over_after_the_facilitator_failed_behind_a_settlement(shop, buyer, hasty, token):
    url, runs = shop
    hasty.is_failing = True
    payment = payment_for(url, buyer, method="POST", identifier=IDENTIFIER)
    assert httpx.post(url, headers=payment, content=b"snow", timeout=60).status_code == 402
    assert_delivers(httpx.post(url, headers=payment, content=b"snow", timeout=60))
    assert runs == [b"snow"]
    assert token.functions.balanceOf(buyer.address).call() == WHOLE - PRICE


def test_canceled_authorization_buys_no_answer(shop, buyer, mine, hasty, token, web3):
    """The nonce of the payment is used, and nothing was paid."""
    url, runs = shop
    headers = []

    def change(payload):
        headers.append(payload.payload["authorization"]["nonce"])
        return payload

    payment = payment_for(url, buyer, method="POST", identifier=IDENTIFIER, change=change)
    sent = httpx.post(url, headers=payment, content=b"snow", timeout=60)
    web3.provider.make_request("anvil_dropTransaction", [settled(sent)["transaction"]])
    web3.provider.make_request("evm_setAutomine", [True])
    cancellation = signed_cancellation(token, buyer, headers[0])
    transact(web3, token.functions.cancelAuthorization(buyer.address, headers[0], cancellation), buyer)
    hasty.start_again()
    for _ in range(2):
        response = httpx.post(url, headers=payment, content=b"snow", timeout=60)
        assert (response.status_code, response.content) != (200, b"snow")
    assert runs == [b"snow"]
    assert token.functions.balanceOf(buyer.address).call() == WHOLE


def test_client_gets_an_answer_that_settles_late_in_one_call(shop, buyer, mine, rpc, deployment):
    url, runs = shop
    with CLIENTS["httpx"](buyer, {rpc: deployment}) as client:
        timer = Timer(1.5, mine)
        timer.start()
        response = client.post(url, b"snow")
        timer.join()
    assert client.verification_of(response).is_verified
    assert runs == [b"snow"]
