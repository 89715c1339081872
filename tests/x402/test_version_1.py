"""A payment of version 1 goes in `X-PAYMENT`: it counts as paid in each transport, and nothing proves its answer."""

from __future__ import annotations

import json
import socket

import pytest

from bilateral.x402 import LostAnswerError
from tests.sdk.servers import HttpServer, respond
from tests.x402.clients import CLIENTS
from tests.x402.world import encoded

PRICE = {
    "x402Version": 1,
    "accepts": [
        {
            "scheme": "exact",
            "network": "base-sepolia",
            "maxAmountRequired": "1000",
            "resource": "https://agent.example/weather",
            "payTo": "0x" + "11" * 20,
            "maxTimeoutSeconds": 60,
            "asset": "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
            "extra": {"name": "USDC", "version": "2"},
        }
    ],
}
SETTLED = {"success": True, "transaction": "0x" + "ab" * 32, "network": "base-sepolia", "payer": "0x" + "22" * 20}


@pytest.fixture(scope="module")
def old_shop():
    """A server of version 1 that loses as many paid answers as `losses` says, and refuses payments if it `refuses`."""
    with HttpServer() as server:
        server.payments, server.losses, server.refuses = [], 0, False

        def sell(handler):
            handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
            payment = handler.headers["X-PAYMENT"]
            if payment:
                server.payments.append(payment)
            if payment and server.losses:
                server.losses -= 1
                handler.connection.shutdown(socket.SHUT_RDWR)
            elif payment and not server.refuses:
                respond(handler, b"snow", 200, **{"X-PAYMENT-RESPONSE": encoded(json.dumps(SETTLED).encode())})
            else:
                respond(handler, json.dumps(PRICE).encode(), 402, **{"Content-Type": "application/json"})

        server.routes["/weather"] = sell
        yield server


@pytest.fixture(params=CLIENTS)
def old_buyer(request, old_shop, buyer, rpc, deployment):
    old_shop.payments.clear()
    old_shop.losses, old_shop.refuses = 0, False
    with CLIENTS[request.param](buyer, {rpc: deployment}, required=False) as client:
        yield client


def test_answer_is_paid_and_not_verified(old_shop, old_buyer):
    response = old_buyer.post(old_shop.url + "/weather", b"Oslo")
    verification = old_buyer.verification_of(response)
    assert (response.content, len(old_shop.payments)) == (b"snow", 1)
    assert verification.paid.payment["x402Version"] == 1
    assert verification.paid.settlement == SETTLED
    assert not verification.is_verified


def test_lost_answer_is_fetched_by_the_same_payment(old_shop, old_buyer):
    old_shop.losses = 1
    with pytest.raises(LostAnswerError) as lost:
        old_buyer.post(old_shop.url + "/weather", b"Oslo")
    response = old_buyer.fetch(lost.value)
    assert (response.content, old_buyer.verification_of(response).is_verified) == (b"snow", False)
    assert (len(old_shop.payments), len(set(old_shop.payments))) == (2, 1)


def test_refused_payment_cannot_be_looked_up_and_is_not_signed_again(old_shop, old_buyer):
    old_shop.refuses = True
    for _ in range(2):
        with pytest.raises(LostAnswerError, match="the payment cannot be looked up") as lost:
            old_buyer.post(old_shop.url + "/weather", b"Oslo")
        assert (lost.value.outcome, lost.value.status) == ("unknown", 402)
    assert len(set(old_shop.payments)) == 1
