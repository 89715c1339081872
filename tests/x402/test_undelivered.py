"""A client tells "paid and not answered" from "refused", and makes one payment a call, wherever it is sent."""

from __future__ import annotations

import re
from contextlib import contextmanager

import httpx
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from bilateral.dev.servers import serving
from bilateral.x402 import LostAnswerError, PaidNotAnsweredError, RedirectedPaymentError, declare_8004_reputation
from tests.sdk.servers import HttpServer, respond
from tests.x402.clients import CLIENTS
from tests.x402.test_asgi import shops
from tests.x402.test_lost_answers import HOP_BY_HOP
from tests.x402.world import PRICE, encoded

SECONDS = 120
WHOLE = 10**9


@pytest.fixture(scope="module")
def cheat(shop):
    """A server before the honest one, which does `trick` with paid requests. It counts the payments.

    A trick gets the handler of a request, and a function that passes the request on and returns the honest answer.
    """
    with HttpServer() as server, httpx.Client(timeout=SECONDS) as http:
        server.trick, server.payments = None, []

        def pass_on(handler, body):
            headers = {name: value for name, value in handler.headers.items() if name.lower() != "host"}
            return http.request(handler.command, shop + "/echo", headers=headers, content=body)

        def serve(handler):
            body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
            if handler.headers["PAYMENT-SIGNATURE"]:
                server.payments.append(handler.headers["PAYMENT-SIGNATURE"])
                server.trick(handler, lambda: pass_on(handler, body))
            else:
                repeat(handler, pass_on(handler, body))

        server.price = httpx.post(shop + "/echo").headers["payment-required"]
        server.routes |= {"/echo": serve, "/next": serve}
        yield server
        server.trick = None


@pytest.fixture(params=CLIENTS)
def client(request, cheat, buyer, rpc, deployment):
    cheat.payments.clear()
    with CLIENTS[request.param](buyer, {rpc: deployment}) as made:
        yield made


@pytest.fixture
def balance(token, buyer):
    return lambda: token.functions.balanceOf(buyer.address).call()


def repeat(handler, answer):
    kept = {name: value for name, value in answer.headers.items() if name not in HOP_BY_HOP}
    respond(handler, answer.content, answer.status_code, **kept)


TAKES = {
    "refuses it": (402, lambda price: {"PAYMENT-REQUIRED": price}),
    "says that settlement failed": (
        402,
        lambda _: {
            "PAYMENT-RESPONSE": encoded(
                b'{"success":false,"errorReason":"timeout","transaction":"","network":"eip155:31337"}'
            )
        },
    ),
    "says nothing": (402, lambda _: {}),
    "claims a settlement and refuses": (
        402,
        lambda _: {"PAYMENT-RESPONSE": encoded(b'{"success":true,"transaction":"0x","network":"eip155:31337"}')},
    ),
    "fails": (500, lambda _: {}),
    "is unavailable": (503, lambda _: {}),
}


@pytest.mark.parametrize("way", TAKES)
def test_server_that_takes_a_payment_and_does_not_answer_is_named_with_the_transaction(
    cheat, client, balance, web3, way
):
    status, headers = TAKES[way]

    def take(handler, pass_on):
        assert pass_on().status_code == 200
        respond(handler, b"{}", status, **headers(cheat.price))

    cheat.trick = take
    with pytest.raises(PaidNotAnsweredError, match=f"the server answered {status}, and the payment was taken") as lost:
        client.post(cheat.url + "/echo", b"snow")
    assert lost.value.status == status
    assert web3.eth.get_transaction_receipt(lost.value.transaction)["status"] == 1
    assert (len(cheat.payments), balance()) == (1, WHOLE - PRICE)


def test_answer_that_comes_at_last_is_fetched_by_the_same_payment(cheat, client, balance):
    kept = []

    def take_then_answer(handler, pass_on):
        if not kept:
            kept.append(pass_on())
            respond(handler, b"{}", 402, **{"PAYMENT-REQUIRED": cheat.price})
        else:
            repeat(handler, kept[0])

    cheat.trick = take_then_answer
    with pytest.raises(PaidNotAnsweredError) as lost:
        client.post(cheat.url + "/echo", b"snow")
    response = client.fetch(lost.value)
    assert (response.content, client.verification_of(response).is_verified) == (b"snow", True)
    assert (len(set(cheat.payments)), balance()) == (1, WHOLE - PRICE)


@pytest.mark.parametrize("way", ["refuses it", "says nothing"])
def test_payment_that_was_not_taken_is_told_apart(cheat, client, balance, way):
    status, headers = TAKES[way]
    cheat.trick = lambda handler, _: respond(handler, b"{}", status, **headers(cheat.price))
    response = client.post(cheat.url + "/echo", b"snow")
    verification = client.verification_of(response)
    assert response.status_code == status
    assert verification is None or not verification.is_verified
    assert (len(cheat.payments), balance()) == (1, WHOLE)


@contextmanager
def failing_after_settlement(url):
    """Open a facilitator that settles, and then fails."""
    app = FastAPI()

    @app.api_route("/{action}", methods=["GET", "POST"])
    async def act(action: str, request: Request):
        async with httpx.AsyncClient(timeout=SECONDS) as http:
            answer = await http.request(request.method, f"{url}/{action}", content=await request.body())
        return JSONResponse({}, 500) if action == "settle" else JSONResponse(answer.json(), answer.status_code)

    with serving(app) as proxy:
        yield proxy


@pytest.mark.parametrize("face", CLIENTS)
def test_facilitator_that_fails_after_settling_leaves_a_paid_request_that_is_named(
    face, facilitator, token, seller, agent, deployment, buyer, rpc, balance
):
    with (
        failing_after_settlement(facilitator) as proxy,
        shops(proxy, token, seller, declare_8004_reputation(agent, deployment)) as open_shop,
        CLIENTS[face](buyer, {rpc: deployment}) as client,
    ):
        shop = open_shop()
        with pytest.raises(PaidNotAnsweredError, match="the server answered 402") as lost:
            client.post(shop.url + "/echo", b"snow")
    assert re.fullmatch("0x[0-9a-f]{64}", lost.value.transaction)
    assert balance() == WHOLE - PRICE


@pytest.mark.sample(10)
@pytest.mark.parametrize("target", ["/next", "/echo"], ids=["elsewhere", "to itself"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect_after_a_payment_is_an_error_that_names_both_addresses(cheat, client, balance, web3, target, status):
    location = cheat.url + target

    def take_and_redirect(handler, pass_on):
        answer = pass_on()
        respond(handler, b"", status, Location=location, **{"PAYMENT-RESPONSE": answer.headers["payment-response"]})

    cheat.trick = take_and_redirect
    with pytest.raises(RedirectedPaymentError, match="which is not followed; the payment was taken") as lost:
        client.post(cheat.url + "/echo", b"snow")
    assert f'"{cheat.url}/echo"' in str(lost.value)
    assert f'"{location}"' in str(lost.value)
    assert (lost.value.url, lost.value.location, lost.value.is_paid) == (cheat.url + "/echo", location, True)
    assert web3.eth.get_transaction_receipt(lost.value.transaction)["status"] == 1
    assert (len(cheat.payments), balance()) == (1, WHOLE - PRICE)


def test_redirect_instead_of_a_settlement_takes_no_money(cheat, client, balance):
    cheat.trick = lambda handler, _: respond(handler, b"", 307, Location="/next")
    with pytest.raises(RedirectedPaymentError, match="the payment was not taken yet") as lost:
        client.post(cheat.url + "/echo", b"snow")
    assert (lost.value.is_paid, lost.value.transaction, balance()) == (False, None, WHOLE)
    assert len(cheat.payments) == 1


def test_redirect_before_the_payment_is_followed_and_paid_once(cheat, client, balance):
    cheat.routes["/moved"] = lambda handler: respond(handler, b"", 307, Location=cheat.url + "/next")
    cheat.trick = lambda handler, pass_on: repeat(handler, pass_on())
    response = client.post(cheat.url + "/moved", b"snow")
    assert (response.status_code, response.content) == (200, b"snow")
    assert (len(cheat.payments), balance()) == (1, WHOLE - PRICE)


@pytest.mark.parametrize("face", CLIENTS)
def test_refusal_does_not_count_while_the_node_fails(cheat, face, buyer, rpc, deployment):
    """The check before the payment passes, and the node fails after it."""
    with HttpServer() as node, httpx.Client(timeout=SECONDS) as http:

        def answer(handler):
            body = handler.rfile.read(int(handler.headers["Content-Length"]))
            if cheat.payments:
                handler.send_error(500)
                return
            respond(handler, http.post(rpc, content=body, headers={"content-type": "application/json"}).content)

        node.routes["/"] = answer
        cheat.payments.clear()
        cheat.trick = lambda handler, _: respond(handler, b"{}", 402, **{"PAYMENT-REQUIRED": cheat.price})
        with (
            CLIENTS[face](buyer, {node.url: deployment}) as client,
            pytest.raises(LostAnswerError, match="the payment cannot be looked up") as lost,
        ):
            client.post(cheat.url + "/echo", b"snow")
        assert type(lost.value) is LostAnswerError
