"""A Flask application signs what it was paid for, as a FastAPI application does."""

from __future__ import annotations

import gzip
import itertools
from functools import partial
from threading import Event

import httpx
import pytest
from flask import Flask, Response, request
from x402 import x402ResourceServerSync

from bilateral.x402 import Reputation8004ResourceServerExtension, declare_8004_reputation
from bilateral.x402.server.adapters import MAX_PAYMENT_HEADER
from bilateral.x402.server.wsgi import protect_flask
from tests.x402.world import (
    MALFORMED_HEADERS,
    PRICE,
    SIGNING_KEY,
    assert_proves,
    payment_for,
    proof,
    resource_server,
    route,
    serving_wsgi,
)

LIMIT = 100_000


def close_later(app):
    """Answer a request, and leave work for the time after the answer."""
    answer = Response("snow")
    answer.call_on_close(app.close)
    return answer


@pytest.fixture
def open_shop(facilitator, token, seller, agent, deployment):
    """Opens a paid Flask application with settings of its price."""
    running = []

    def make(**extra):
        app = Flask("shop")
        app.runs = []

        @app.post("/echo")
        def echo():
            app.runs.append(request.get_data())
            return Response(app.runs[-1], mimetype="application/octet-stream")

        @app.get("/events")
        def events():
            return Response(iter([b"data: 1\n\n"]), mimetype="text/event-stream")

        @app.get("/endless")
        def endless():
            return Response((b"{}\n" for _ in itertools.count()), mimetype="application/jsonl")

        @app.get("/large")
        def large():
            return Response(iter([b"a" * 1000] * 101), mimetype="text/plain")

        @app.get("/chunks")
        def chunks():
            return Response(iter([b"one ", b"two"]), mimetype="text/plain")

        app.add_url_rule("/working", "working", partial(close_later, app))

        @app.get("/missing")
        def missing():
            return "no such city", 404

        @app.get("/crash")
        def crash():
            raise RuntimeError("no weather today")

        extension = app.extension = Reputation8004ResourceServerExtension(SIGNING_KEY)
        server = resource_server(x402ResourceServerSync, facilitator, extension)
        declared = declare_8004_reputation(agent, deployment)
        protect_flask(app, {"* /*": route(token.address, seller.address, declared, **extra)}, server, limit=LIMIT)
        context = serving_wsgi(app)
        app.url = context.__enter__()
        running.append(context)
        return app

    yield make
    for context in running:
        context.__exit__(None, None, None)


@pytest.fixture
def shop(open_shop):
    return open_shop()


def pay(shop, path, buyer, method="GET", **options):
    headers = payment_for(shop.url + path, buyer, method=method)
    return httpx.request(method, shop.url + path, headers=headers | options.pop("headers", {}), **options)


@pytest.mark.parametrize(
    "body", [b"", b"{}", bytes(range(256)), b"\xff" * LIMIT], ids=["none", "text", "binary", "limit"]
)
def test_request_and_response_of_any_bytes_are_signed(shop, buyer, body):
    response = pay(shop, "/echo", buyer, "POST", content=body)
    assert (response.status_code, response.content, shop.runs[-1]) == (200, body, body)
    assert_proves(response, body, body)


def test_answer_in_pieces_is_signed_as_a_whole(shop, buyer):
    assert_proves(pay(shop, "/chunks", buyer), b"one two")


def test_compressed_request_is_signed_as_the_application_sees_it(shop, buyer):
    body = b'{"city":"Oslo"}'
    response = pay(shop, "/echo", buyer, "POST", content=gzip.compress(body), headers={"content-encoding": "gzip"})
    assert_proves(response, body, body)


@pytest.mark.parametrize(
    ("path", "reason"),
    [("/events", "streaming_response"), ("/endless", "streaming_response"), ("/large", "response_too_large")],
)
def test_answer_that_cannot_be_signed_is_not_paid_for(shop, buyer, token, path, reason):
    response = pay(shop, path, buyer)
    assert (response.status_code, response.json()) == (500, {"error": reason})
    assert token.functions.balanceOf(buyer.address).call() == 10**9


def test_work_after_the_answer_does_not_delay_the_settlement(shop, buyer, token):
    answered, done = Event(), Event()
    shop.close = lambda: done.set() if answered.wait(120) else None
    response = pay(shop, "/working", buyer)
    assert not done.is_set()
    assert_proves(response, b"snow")
    assert token.functions.balanceOf(buyer.address).call() == 10**9 - PRICE
    answered.set()
    assert done.wait(120)


def test_error_is_not_paid_for(shop, buyer, token):
    assert pay(shop, "/missing", buyer).status_code == 404
    assert token.functions.balanceOf(buyer.address).call() == 10**9


@pytest.mark.parametrize(
    ("headers", "content", "status"),
    [({"content-encoding": "zstd"}, b"body", 415), ({}, b"a" * (LIMIT + 1), 413)],
    ids=["unknown encoding", "too large"],
)
def test_request_that_cannot_be_read_is_refused_before_payment(shop, buyer, headers, content, status):
    headers = headers | payment_for(shop.url + "/echo", buyer, method="POST")
    assert httpx.post(shop.url + "/echo", headers=headers, content=content).status_code == status
    assert shop.runs == []


def test_lost_answer_is_fetched_again_by_the_same_payment(shop, buyer):
    headers = payment_for(shop.url + "/echo", buyer, method="POST", identifier="a-secret-of-16-or-more")
    first, again = (httpx.post(shop.url + "/echo", headers=headers, content=b"snow") for _ in range(2))
    assert (again.status_code, again.content, proof(again)) == (200, first.content, proof(first))
    assert shop.runs == [b"snow"]
    assert httpx.post(shop.url + "/echo", headers=headers, content=b"rain").status_code == 409


def test_answers_settled_before_the_application_runs_are_signed(open_shop, buyer):
    shop = open_shop(paymentFlow="upfront")
    response = pay(shop, "/echo", buyer, "POST", content=b"snow")
    assert_proves(response, b"snow", b"snow")
    missing = pay(shop, "/missing", buyer)
    assert missing.status_code == 404
    assert_proves(missing, missing.content)


def test_unpaid_request_gets_the_price(shop):
    response = httpx.get(shop.url + "/chunks")
    assert response.status_code == 402
    assert "payment-response" not in response.headers


@pytest.mark.parametrize(("length", "status"), [(MAX_PAYMENT_HEADER, 400), (MAX_PAYMENT_HEADER + 1, 431)])
def test_payment_header_over_the_limit_is_refused(shop, length, status):
    response = httpx.get(shop.url + "/chunks", headers={"PAYMENT-SIGNATURE": "a" * length})
    reason = "payment_header_malformed" if status == 400 else "payment_header_too_long"
    assert (response.status_code, response.json()) == (status, {"error": reason})


@pytest.mark.parametrize("header", MALFORMED_HEADERS)
def test_payment_header_that_cannot_be_read_strictly_is_refused(shop, header):
    response = httpx.get(
        shop.url + "/chunks", headers=[("PAYMENT-SIGNATURE", entry) for entry in MALFORMED_HEADERS[header]]
    )
    assert (response.status_code, response.json()) == (400, {"error": "payment_header_malformed"})


def test_exception_after_a_settlement_is_signed_too(open_shop, buyer):
    shop = open_shop(paymentFlow="upfront")
    shop.config["PROPAGATE_EXCEPTIONS"] = True
    response = pay(shop, "/crash", buyer)
    assert response.status_code == 500
    assert_proves(response, response.content)
