"""A settled payment makes room for the next one, and still buys nothing again."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, suppress
from threading import Event, Thread

import httpx
import pytest
from fastapi import FastAPI
from x402 import x402ResourceServer

from bilateral.dev.servers import serving
from bilateral.x402 import Reputation8004ResourceServerExtension, declare_8004_reputation
from bilateral.x402.server.asgi import ReputationMiddleware
from bilateral.x402.server.exchange import Reservations
from bilateral.x402.server.stores import StoredReservations
from tests.x402.world import PRICE, SIGNING_KEY, payment_for, refusal, resource_server, route

SECONDS = 120


class Shop:
    """A paid application that counts its runs."""

    def __init__(self, reservations):
        self.runs, self.hold, self.entered, self.url = [], None, Event(), ""
        self.reservations, self.app = reservations, FastAPI()

        @self.app.get("/weather")
        def weather():
            self.runs.append(1)
            self.entered.set()
            if self.hold:
                self.hold.wait(SECONDS)
            return "snow"

    def ask(self, headers):
        return httpx.get(self.url + "/weather", headers=headers, timeout=SECONDS)


@pytest.fixture
def open_shop(facilitator, token, seller, agent, deployment):
    """Opens a shop with reservations, whose payments are settled after or before the application runs."""

    @contextmanager
    def make(reservations, around=None, **extra):
        shop = Shop(reservations)
        extension = Reputation8004ResourceServerExtension(SIGNING_KEY, reservations=reservations)
        server = resource_server(x402ResourceServer, facilitator, extension)
        routes = {"* /*": route(token.address, seller.address, declare_8004_reputation(agent, deployment), **extra)}
        shop.app.add_middleware(ReputationMiddleware, routes=routes, server=server)
        if around is not None:
            shop.app.add_middleware(around, shop=shop)
        with serving(shop.app) as shop.url:
            yield shop

    return make


@pytest.fixture(params=["memory", "database"])
def one_place(request, tmp_path):
    """Reservations with place for one payment in progress."""
    if request.param == "memory":
        yield Reservations(limit=1)
        return
    stored = StoredReservations(f"sqlite:///{tmp_path / 'reservations.sqlite'}", limit=1)
    yield stored
    stored.close()


def test_settled_payments_do_not_count_for_the_limit(open_shop, one_place, buyer):
    with open_shop(one_place) as shop:
        paid = [payment_for(shop.url + "/weather", buyer) for _ in range(4)]
        assert [shop.ask(headers).status_code for headers in paid] == [200] * 4
        assert [shop.ask(headers).status_code for headers in paid] == [402] * 4
        assert len(shop.runs) == 4


def test_payment_over_the_limit_is_refused_by_an_error_of_its_own_and_can_be_used_later(open_shop, one_place, buyer):
    with open_shop(one_place) as shop:
        first, second = (payment_for(shop.url + "/weather", buyer) for _ in range(2))
        shop.hold, answers = Event(), []
        busy = Thread(target=lambda: answers.append(shop.ask(first)))
        busy.start()
        assert shop.entered.wait(SECONDS)
        response = shop.ask(second)
        shop.hold.set()
        busy.join(SECONDS)
        assert (response.status_code, refusal(response)) == (402, "too_many_payments")
        assert [answer.status_code for answer in answers] == [200]
        assert shop.ask(second).status_code == 200


class Cancels:
    """Cancels the first request that reaches the application, as some servers do if the client hangs up."""

    def __init__(self, app, shop):
        self.app, self.shop, self.is_done = app, shop, False

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http" or self.is_done or b"payment-signature" not in dict(scope["headers"]):
            await self.app(scope, receive, send)
            return
        self.is_done = True
        running = asyncio.create_task(self.app(scope, receive, send))
        await asyncio.to_thread(self.shop.entered.wait, SECONDS)
        running.cancel()
        self.shop.hold.set()
        with suppress(asyncio.CancelledError):
            await running
        await send({"type": "http.response.start", "status": 499, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def test_cancelled_request_does_not_count_for_the_limit(open_shop, one_place, buyer):
    with open_shop(one_place, around=Cancels) as shop:
        first, second = (payment_for(shop.url + "/weather", buyer) for _ in range(2))
        shop.hold = Event()
        assert shop.ask(first).status_code == 499
        assert shop.ask(second).status_code == 200
        assert refusal(shop.ask(first)) == "payment_in_progress"


@pytest.mark.parametrize("extra", [{}, {"paymentFlow": "upfront"}], ids=["settled after", "settled before"])
def test_forgotten_settled_payment_buys_nothing_because_the_chain_has_its_nonce(open_shop, buyer, token, extra):
    with open_shop(Reservations(settled_limit=1), **extra) as shop:
        first, second = (payment_for(shop.url + "/weather", buyer) for _ in range(2))
        assert [shop.ask(headers).status_code for headers in (first, second)] == [200, 200]
        again = shop.ask(first)
        assert again.status_code == 402
        assert len(shop.runs) == 2
    assert token.functions.balanceOf(buyer.address).call() == 10**9 - 2 * PRICE
