"""A stranger makes no server hold a body in memory: it is read once the payment is verified."""

from __future__ import annotations

import base64
import gzip
import json
import socket
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import Response
from flask import Flask
from flask import request as flask_request
from x402 import x402ResourceServer, x402ResourceServerSync

from bilateral.dev.servers import serving
from bilateral.x402 import Reputation8004ResourceServerExtension, declare_8004_reputation
from bilateral.x402.server.asgi import ReputationMiddleware
from bilateral.x402.server.wsgi import protect_flask
from tests.x402.world import (
    PRICE,
    SIGNING_KEY,
    assert_proves,
    encoded,
    payment_for,
    resource_server,
    route,
    serving_wsgi,
)

LIMIT = 32 * 1024 * 1024
SECONDS = 60


@contextmanager
def fastapi_shop(facilitator, routes):
    app = FastAPI()

    @app.post("/echo")
    async def echo(request: Request):
        return Response(await request.body(), media_type="application/octet-stream")

    extension = Reputation8004ResourceServerExtension(SIGNING_KEY)
    server = resource_server(x402ResourceServer, facilitator, extension)
    app.add_middleware(ReputationMiddleware, routes=routes, server=server)
    with serving(app) as url:
        yield url


@contextmanager
def flask_shop(facilitator, routes):
    app = Flask("shop")

    @app.post("/echo")
    def echo():
        return flask_request.get_data()

    extension = Reputation8004ResourceServerExtension(SIGNING_KEY)
    protect_flask(app, routes, resource_server(x402ResourceServerSync, facilitator, extension))
    with serving_wsgi(app) as url:
        yield url


@pytest.fixture(scope="module", params=[fastapi_shop, flask_shop], ids=["FastAPI", "Flask"])
def open_shop(request, facilitator, token, seller, agent, deployment):
    """Opens a shop whose payments are settled after or before the application runs."""

    def make(**extra):
        declared = declare_8004_reputation(agent, deployment)
        return request.param(facilitator, {"* /*": route(token.address, seller.address, declared, **extra)})

    return make


@pytest.fixture(scope="module", params=[{}, {"paymentFlow": "upfront"}], ids=["settled after", "settled before"])
def shop(request, open_shop):
    with open_shop(**request.param) as url:
        yield url


def status_before_body(url, *headers):
    """Send the head of a request that announces a body, and return the status that comes without the body."""
    parts = urlsplit(url)
    lines = ["POST /echo HTTP/1.1", f"Host: {parts.netloc}", *headers, "", ""]
    with socket.create_connection((parts.hostname, parts.port), timeout=SECONDS) as connection:
        connection.sendall("\r\n".join(lines).encode())
        return int(connection.makefile("rb").readline().split()[1])


def forged(header):
    """Return a payment with a signature of nobody."""
    message = json.loads(base64.b64decode(header))
    message["payload"]["signature"] = "0x" + "11" * 65
    return encoded(json.dumps(message).encode())


ILL_SHAPED = {
    "empty object": b"{}",
    "no accepted terms": b'{"x402Version":2,"payload":{}}',
    "no payload": b'{"x402Version":2,"accepted":{"scheme":"exact","network":"eip155:1"}}',
    "payload is a list": b'{"x402Version":2,"payload":[],"accepted":{}}',
}


@pytest.mark.parametrize("shape", ILL_SHAPED)
def test_payment_without_the_shape_of_one_is_refused_before_the_body(shop, shape):
    header = f"PAYMENT-SIGNATURE: {encoded(ILL_SHAPED[shape])}"
    assert status_before_body(shop, header, f"Content-Length: {LIMIT}") == 400


@pytest.mark.parametrize("framing", [f"Content-Length: {LIMIT}", "Transfer-Encoding: chunked"])
def test_payment_that_nobody_signed_is_refused_before_the_body(shop, buyer, framing):
    header = payment_for(shop + "/echo", buyer, method="POST")["PAYMENT-SIGNATURE"]
    assert status_before_body(shop, f"PAYMENT-SIGNATURE: {forged(header)}", framing) == 402


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([f"Content-Length: {LIMIT + 1}"], 413),
        (["Content-Length: 9999999999999999"], 413),
        (["Content-Length: 9", "Content-Encoding: zstd"], 415),
    ],
    ids=["too large", "too many digits", "unknown encoding"],
)
def test_body_whose_headers_are_refused_is_not_read_and_not_paid_for(shop, buyer, token, headers, status):
    header = payment_for(shop + "/echo", buyer, method="POST")["PAYMENT-SIGNATURE"]
    assert status_before_body(shop, f"PAYMENT-SIGNATURE: {header}", *headers) == status
    assert token.functions.balanceOf(buyer.address).call() == 10**9


def test_body_of_a_verified_payment_is_read_and_signed(shop, buyer, token):
    headers = payment_for(shop + "/echo", buyer, method="POST")
    response = httpx.post(shop + "/echo", headers=headers, content=b"snow in Oslo", timeout=SECONDS)
    assert_proves(response, b"snow in Oslo", b"snow in Oslo")
    assert token.functions.balanceOf(buyer.address).call() == 10**9 - PRICE


def test_body_that_turns_out_unreadable_takes_no_money_and_frees_the_payment(open_shop, buyer, token):
    with open_shop() as url:
        headers = payment_for(url + "/echo", buyer, method="POST")
        bad = headers | {"content-encoding": "gzip"}
        for content, status in ((b"no gzip", 415), (gzip.compress(bytes(LIMIT + 1)), 413)):
            assert httpx.post(url + "/echo", headers=bad, content=content, timeout=SECONDS).status_code == status
        assert token.functions.balanceOf(buyer.address).call() == 10**9
        assert httpx.post(url + "/echo", headers=headers, content=b"snow", timeout=SECONDS).status_code == 200
