"""Web pages buy on paid routes: preflights are answered, and every answer may be read, but never more than that."""

from __future__ import annotations

import httpx
import pytest
from fastapi import FastAPI, HTTPException
from fastapi.responses import StreamingResponse
from flask import Flask, Response
from starlette.middleware.cors import CORSMiddleware
from x402 import x402ResourceServer, x402ResourceServerSync

from bilateral.dev.servers import serving
from bilateral.x402 import Reputation8004ResourceServerExtension, declare_8004_reputation
from bilateral.x402.server.asgi import ReputationMiddleware
from bilateral.x402.server.cors import CorsPolicy
from bilateral.x402.server.wsgi import protect_flask
from tests.x402.world import SIGNING_KEY, assert_proves, payment_for, resource_server, route, serving_wsgi

PAGE = "https://shop.example"
OTHER = "https://other.example"
PAID = ("weather", "chunks", "missing", "events")


def fastapi_shop(routes, facilitator, layers, **settings):
    app = FastAPI()

    @app.get("/weather")
    @app.get("/free")
    def weather(city: str = "Oslo"):
        return {"city": city}

    @app.get("/chunks")
    def chunks():
        return StreamingResponse(iter([b"one ", b"two"]), media_type="text/plain")

    @app.get("/events")
    def events():
        return StreamingResponse(iter([b"data: 1\n\n"]), media_type="text/event-stream")

    @app.get("/missing")
    def missing():
        raise HTTPException(404, "no such city")

    for layer in layers:
        app.add_middleware(CORSMiddleware, **layer)
    server = resource_server(x402ResourceServer, facilitator, Reputation8004ResourceServerExtension(SIGNING_KEY))
    app.add_middleware(ReputationMiddleware, routes=routes, server=server, **settings)
    return serving(app)


def flask_shop(routes, facilitator, _layers, **settings):
    app = Flask("shop")

    def weather():
        return {"city": "Oslo"}

    app.add_url_rule("/weather", "weather", weather)
    app.add_url_rule("/free", "free", weather)
    app.add_url_rule("/chunks", "chunks", lambda: Response(iter([b"one ", b"two"]), mimetype="text/plain"))
    app.add_url_rule("/events", "events", lambda: Response(iter([b"data: 1\n\n"]), mimetype="text/event-stream"))
    app.add_url_rule("/missing", "missing", lambda: ("no such city", 404))
    server = resource_server(x402ResourceServerSync, facilitator, Reputation8004ResourceServerExtension(SIGNING_KEY))
    protect_flask(app, routes, server, **settings)
    return serving_wsgi(app)


@pytest.fixture
def open_shop(facilitator, token, seller, agent, deployment):
    """Opens a shop with a policy for pages."""
    running = []

    def make(kind=fastapi_shop, layers=(), **settings):
        paid = route(token.address, seller.address, declare_8004_reputation(agent, deployment))
        context = kind({f"GET /{path}": paid for path in PAID}, facilitator, layers, **settings)
        running.append(context)
        return context.__enter__()

    yield make
    for context in running:
        context.__exit__(None, None, None)


@pytest.fixture(params=[fastapi_shop, flask_shop], ids=["FastAPI", "Flask"])
def kind(request):
    return request.param


def preflight(url, origin=PAGE, method="GET", headers="access-control-expose-headers,payment-signature"):
    asked = {"origin": origin, "access-control-request-method": method, "access-control-request-headers": headers}
    return httpx.options(url, headers=asked)


def access(response):
    """Return the headers that browsers read, and `Vary`."""
    return {
        name.removeprefix("access-control-"): value
        for name, value in response.headers.items()
        if name.startswith("access-control-") or name == "vary"
    }


READABLE = {"allow-origin": "*", "expose-headers": "payment-required, payment-response"}


def test_preflight_of_a_paid_request_allows_what_the_published_client_sends(open_shop, kind):
    response = preflight(open_shop(kind) + "/weather?city=Oslo")
    assert response.is_success
    assert access(response) == READABLE | {
        "allow-methods": "GET",
        "allow-headers": "access-control-expose-headers, content-type, payment-signature",
        "max-age": "600",
    }


def test_unpaid_and_refused_answers_may_be_read(open_shop, kind):
    url = open_shop(kind) + "/weather"
    unpaid = httpx.get(url, headers={"origin": PAGE})
    malformed = httpx.get(url, headers={"origin": PAGE, "payment-signature": "?"})
    assert (unpaid.status_code, malformed.status_code) == (402, 400)
    assert access(unpaid) == access(malformed) == READABLE


@pytest.mark.parametrize(("path", "status"), [("weather", 200), ("chunks", 200), ("missing", 404), ("events", 500)])
def test_answers_to_a_payment_may_be_read(open_shop, kind, buyer, path, status):
    url = f"{open_shop(kind)}/{path}"
    headers = payment_for(url, buyer, identifier="pay_0123456789abcdef") | {"origin": PAGE}
    response = httpx.get(url, headers=headers)
    assert response.status_code == status
    assert access(response) == READABLE
    if status == 200:
        assert_proves(response, response.content)
        again = httpx.get(url, headers=headers)
        assert (again.status_code, access(again)) == (200, READABLE)


def test_policy_allows_its_origins_alone(open_shop, kind):
    url = open_shop(kind, cors=CorsPolicy([PAGE], request_headers=["authorization"])) + "/weather"
    allowed = preflight(url)
    assert access(allowed)["allow-origin"] == PAGE
    assert access(allowed)["allow-headers"].endswith("payment-signature, authorization")
    assert access(httpx.get(url, headers={"origin": PAGE})) == READABLE | {"allow-origin": PAGE, "vary": "origin"}
    assert "allow-origin" not in access(preflight(url, OTHER))
    for headers in ({"origin": OTHER}, {"origin": f"{PAGE}.evil.example"}, {"origin": "null"}, {}):
        assert access(httpx.get(url, headers=headers)) == {"vary": "origin"}


def test_nothing_is_allowed_beside_paid_routes(open_shop, kind):
    url = open_shop(kind)
    refused = [preflight(url + "/free"), preflight(url + "/weather", method="DELETE"), httpx.options(url + "/weather")]
    refused.append(httpx.get(url + "/free", headers={"origin": PAGE}))
    assert [access(response) for response in refused] == [{}] * 4


def test_empty_policy_allows_no_page(open_shop, kind):
    url = open_shop(kind, cors=CorsPolicy(())) + "/weather"
    assert "allow-origin" not in access(preflight(url))
    assert access(httpx.get(url, headers={"origin": PAGE})) == {"vary": "origin"}


def test_origin_that_the_application_allows_itself_is_named_once(open_shop, buyer):
    own = {"allow_origins": [PAGE], "allow_credentials": True}
    url = open_shop(layers=[own]) + "/weather"
    response = httpx.get(url, headers=payment_for(url, buyer) | {"origin": PAGE})
    assert response.status_code == 200
    assert response.headers.get_list("access-control-allow-origin") == [PAGE]
    assert "payment-response" in response.headers["access-control-expose-headers"]


def test_crash_may_be_read_if_the_whole_application_is_wrapped(facilitator, token, seller, agent, deployment, buyer):
    app = FastAPI()

    @app.get("/crash")
    def crash():
        raise RuntimeError("no weather today")

    server = resource_server(x402ResourceServer, facilitator, Reputation8004ResourceServerExtension(SIGNING_KEY))
    routes = {"GET /crash": route(token.address, seller.address, declare_8004_reputation(agent, deployment))}
    with serving(ReputationMiddleware(app, routes=routes, server=server)) as url:
        response = httpx.get(url + "/crash", headers=payment_for(url + "/crash", buyer) | {"origin": PAGE})
    assert (response.status_code, access(response)) == (500, READABLE)


def test_cors_middleware_outside_decides_for_its_own_origins(facilitator, token, seller, agent, deployment):
    app = FastAPI()
    app.get("/weather")(lambda: "snow")
    server = resource_server(x402ResourceServer, facilitator, Reputation8004ResourceServerExtension(SIGNING_KEY))
    routes = {"GET /weather": route(token.address, seller.address, declare_8004_reputation(agent, deployment))}
    app.add_middleware(ReputationMiddleware, routes=routes, server=server)
    app.add_middleware(CORSMiddleware, allow_origins=[PAGE], allow_headers=["payment-signature"])
    with serving(app) as url:
        assert preflight(url + "/weather", headers="payment-signature").headers["access-control-allow-origin"] == PAGE
        response = httpx.get(url + "/weather", headers={"origin": PAGE})
    assert response.headers.get_list("access-control-allow-origin") == [PAGE]
    assert response.headers["access-control-expose-headers"] == READABLE["expose-headers"]
