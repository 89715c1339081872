"""A payment that is verified, served and then not settled counts against its buyer, if the buyer caused it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import httpx
import pytest
from fastapi import FastAPI
from flask import Flask
from x402 import x402ResourceServer, x402ResourceServerSync

from bilateral.core.payments.failures import FailureCount, FailureReason
from bilateral.dev.servers import serving
from bilateral.x402 import Reputation8004ResourceServerExtension, declare_8004_reputation
from bilateral.x402.server.asgi import ReputationMiddleware
from bilateral.x402.server.failures import FailedSettlements
from bilateral.x402.server.wsgi import protect_flask
from tests.sdk.client.helpers import transact
from tests.waiting import until
from tests.x402.world import NETWORK, PRICE, SIGNING_KEY, payment_for, resource_server, route, serving_wsgi, settled

WHOLE = 10**9


def fastapi_shop(url, routes, extension, serve):
    app = FastAPI()
    app.get("/weather")(serve)
    server = resource_server(x402ResourceServer, url, extension)
    app.add_middleware(ReputationMiddleware, routes=routes, server=server)
    return serving(app)


def flask_shop(url, routes, extension, serve):
    app = Flask("shop")
    app.get("/weather")(serve)
    protect_flask(app, routes, resource_server(x402ResourceServerSync, url, extension))
    return serving_wsgi(app)


SHOPS = {"FastAPI": fastapi_shop, "Flask": flask_shop}


@pytest.fixture(params=SHOPS)
def shop(request, facilitator, token, seller, agent, deployment, verifier):
    """A paid route, its failed settlements, those that its hook saw, and what its handler does before it answers."""
    made = SimpleNamespace(act=lambda: None, undone=[], runs=0)
    made.failures = FailedSettlements(on_failure=made.undone.append)

    def serve():
        made.runs += 1
        made.act()
        return {"weather": "snow"}

    extension = Reputation8004ResourceServerExtension(SIGNING_KEY, verifier=verifier, failures=made.failures)
    routes = {"* /*": route(token.address, seller.address, declare_8004_reputation(agent, deployment))}
    with SHOPS[request.param](facilitator, routes, extension, serve) as url:
        made.url = url + "/weather"
        yield made


def pay(shop, buyer, headers=None):
    return httpx.get(shop.url, headers=headers or payment_for(shop.url, buyer), timeout=60)


@pytest.fixture
def spend(token, buyer, stranger):
    """Moves the buyer's money away, and back."""

    def move(amount=WHOLE):
        transact(token.w3, token.functions.transfer(stranger.address, amount), buyer)

    return move


def failed(shop, number=1):
    """Wait for the work after answers, and return what the hook saw."""
    return until(lambda: list(shop.undone), lambda seen: len(seen) == number)


def test_balance_that_is_spent_while_the_seller_works_counts(shop, buyer, spend, seller):
    shop.act = spend
    response = pay(shop, buyer)
    print(settled(response))
    (failure,) = failed(shop)
    print(failure)
    assert response.status_code == 402
    assert (failure.payer, failure.network, failure.method, failure.target) == (buyer.address, NETWORK, "GET", "/weather")
    assert failure.reason is FailureReason.INSUFFICIENT_BALANCE
    assert failure.transaction == settled(response)["transaction"]
    count = shop.failures.count(NETWORK, buyer.address)
    assert (count.number, count.reasons) == (1, {FailureReason.INSUFFICIENT_BALANCE: 1})
    assert shop.failures.count(NETWORK, seller.address) == FailureCount()
