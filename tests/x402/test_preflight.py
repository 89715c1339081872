"""A server with wrong settings does not start, or says so; and anybody can check a server from outside."""

from __future__ import annotations

import logging
from contextlib import ExitStack, contextmanager
from threading import Thread

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from flask import Flask
from starlette.testclient import TestClient
from x402 import x402ResourceServer, x402ResourceServerSync

from bilateral.core.errors import InvalidArgumentError, UnreachableDocumentError
from bilateral.dev.servers import serving
from bilateral.x402 import (
    Preflight,
    PreflightError,
    Reputation8004ResourceServerExtension,
    Secp256k1Key,
    check_url,
    declare_8004_reputation,
)
from bilateral.x402.server.asgi import ReputationMiddleware
from bilateral.x402.server.wsgi import protect_flask
from tests.sdk.servers import HttpServer, redirect, respond
from tests.x402.world import SIGNING_KEY, resource_server, route, serving_wsgi, signer_entry

OTHER_KEY = Secp256k1Key(bytes(range(3, 35)))


@pytest.fixture(scope="module")
def expired(register, seller, publish):
    """An agent whose file lists the key until yesterday."""
    agent_id = register(seller)
    publish(agent_id, signer_entry(valid_until=1))
    return agent_id


@pytest.fixture(scope="module")
def unpublished(register, seller):
    """An agent without a registration file."""
    return register(seller)


@pytest.fixture(params=["honest", "unlisted key", "expired key", "no file", "other wallet", "no agent"])
def case(request, seller, stranger):
    """A server's key, its agent by a fixture or a number, its payTo, and the code of each finding."""
    agent, key, pay_to = "agent", SIGNING_KEY, seller.address
    codes = {
        "honest": ["", ""],
        "unlisted key": ["", "key_not_listed"],
        "expired key": ["", "no_valid_signers"],
        "no file": ["", "file_missing"],
        "other wallet": ["payment_address_mismatch", ""],
        "no agent": ["payment_address_mismatch", "agent_not_found"],
    }[request.param]
    if request.param == "unlisted key":
        key = OTHER_KEY
    if request.param == "other wallet":
        pay_to = stranger.address
    agent = {"expired key": "expired", "no file": "unpublished"}.get(request.param, agent)
    agent_id = 10**9 if request.param == "no agent" else request.getfixturevalue(agent)
    return key, agent_id, pay_to, codes


@pytest.fixture
def parts(case, facilitator, token, deployment):
    """Makes the SDK's server with the extension and the routes of a case."""
    key, agent_id, pay_to, _ = case

    def make(kind):
        server = resource_server(kind, facilitator, Reputation8004ResourceServerExtension(key))
        return {"GET /weather": route(token.address, pay_to, declare_8004_reputation(agent_id, deployment))}, server

    return make


def open_fastapi(parts, preflight):
    app = FastAPI()
    routes, server = parts(x402ResourceServer)
    app.add_middleware(ReputationMiddleware, routes=routes, server=server, preflight=preflight)
    stack = ExitStack()
    if preflight is not None and preflight.on_problem == "fail":
        stack.enter_context(TestClient(app))  # it raises what stops the start
        stack.close()
    return serving(app)


def open_flask(parts, preflight):
    app = Flask("shop")
    routes, server = parts(x402ResourceServerSync)
    protect_flask(app, routes, server, preflight=preflight)
    return serving_wsgi(app)


@pytest.fixture(params=[open_fastapi, open_flask], ids=["FastAPI", "Flask"])
def start(request, parts):
    return lambda preflight: request.param(parts, preflight)


def test_server_with_wrong_settings_does_not_start(start, case, verifier):
    codes = case[3]
    if not any(codes):
        with start(Preflight(verifier)) as url:
            assert httpx.get(url + "/weather").status_code == 402
        return
    with pytest.raises(PreflightError, match="GET /weather") as failure:
        start(Preflight(verifier))
    assert len(failure.value.problems) == sum(map(bool, codes))


def test_server_with_wrong_settings_starts_with_a_warning_if_it_shall(start, case, verifier, caplog):
    codes = case[3]
    with caplog.at_level(logging.ERROR, "bilateral.x402"), start(Preflight(verifier, "warn")) as url:
        assert httpx.get(url + "/weather").status_code == 402
    assert sum("GET /weather" in record.getMessage() for record in caplog.records) == sum(map(bool, codes))


def streams():
    yield "snow"


@pytest.fixture(params=["a key that is not listed", "a route that streams", "no extension", "payments by erc7710"])
def misconfigured(request, facilitator, token, seller, agent, deployment, verifier):
    """A FastAPI application that must not sell, with a free route; and the reason."""
    app, kind = FastAPI(), request.param
    app.get("/free")(lambda: "snow")
    app.get("/weather")(streams if kind == "a route that streams" else lambda: "snow")
    key = OTHER_KEY if kind == "a key that is not listed" else SIGNING_KEY
    server = resource_server(x402ResourceServer, facilitator, Reputation8004ResourceServerExtension(key))
    extra = {"assetTransferMethod": "erc7710"} if kind == "payments by erc7710" else {}
    routes = {"GET /weather": route(token.address, seller.address, declare_8004_reputation(agent, deployment), **extra)}
    if kind == "no extension":
        server._extensions.clear()
    app.add_middleware(ReputationMiddleware, routes=routes, server=server, preflight=Preflight(verifier))
    return app, {
        "a key that is not listed": ("preflight", "does not list"),
        "a route that streams": ("streaming_route", "streams its responses"),
        "no extension": ("invalid_argument", "register the extension"),
        "payments by erc7710": ("invalid_argument", "erc7710_not_supported"),
    }[kind]


@contextmanager
def uvicorn_server(app, **options):
    """Run plain uvicorn until it listens or ends, and yield it with its port."""
    config = uvicorn.Config(app, host="127.0.0.1", port=0, **options)
    server, socket = uvicorn.Server(config), config.bind_socket()
    thread = Thread(target=server.run, kwargs={"sockets": [socket]}, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        thread.join(0.01)
    try:
        yield server, socket.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnhandledThreadExceptionWarning"
)  # uvicorn ends its thread by SystemExit
def test_plain_uvicorn_does_not_start_a_server_with_wrong_settings(misconfigured, caplog):
    app, (_, reason) = misconfigured
    logger = logging.getLogger("uvicorn.error")
    logger.addHandler(caplog.handler)
    caplog.set_level(logging.INFO, logger.name)
    with uvicorn_server(app, log_config=None) as (server, port):
        assert not server.started
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"http://127.0.0.1:{port}/free")
    logger.removeHandler(caplog.handler)
    lines = [record.getMessage() for record in caplog.records if record.name == logger.name]
    assert "Application startup failed. Exiting." in lines
    assert any(reason in line for line in lines)
    assert not any("protocol appears unsupported" in line for line in lines)


def test_server_without_a_lifespan_refuses_paid_requests_alone_and_checks_once(misconfigured, caplog):
    app, (code, reason) = misconfigured
    with (
        uvicorn_server(app, log_config=None, lifespan="off") as (_, port),
        httpx.Client(base_url=f"http://127.0.0.1:{port}") as http,
    ):
        for _ in range(3):
            assert (http.get("/free").status_code, http.get("/free").text) == (200, '"snow"')
            refused = http.get("/weather")
            assert (refused.status_code, refused.json()) == (503, {"error": code})
    refusals = [record for record in caplog.records if "requests to paid routes are rejected" in record.getMessage()]
    assert [reason in record.getMessage() for record in refusals] == [True]


def test_server_without_a_preflight_says_that_nothing_is_checked(start, caplog):
    with caplog.at_level(logging.WARNING, "bilateral.x402"), start(None) as url:
        assert httpx.get(url + "/weather").status_code == 402
    assert any("agent, payTo and signing key are not checked" in record.getMessage() for record in caplog.records)


def test_server_is_checked_from_outside(start, case, verifier):
    """Which key signs is not known outside, so an unlisted one is not noticed."""
    with start(None) as url:
        findings = check_url(verifier, url + "/weather")
    assert [finding.check for finding in findings] == ["wallet", "keys"]
    expected = ["" if code == "key_not_listed" else code for code in case[3]]
    assert [finding.code for finding in findings] == expected


@pytest.fixture
def priced(token, web3, project, deployment):
    """Terms whose token does not take the payments, each with the code of the finding and its reason."""
    other = web3.to_checksum_address("0x" + "12" * 20)
    return {
        "a wrong name": (
            {"name": "USD Coin"},
            {},
            "token_domain_mismatch",
            'reports name "Test Dollar" and version "2"',
        ),
        "a wrong version": (
            {"version": "1"},
            {},
            "token_domain_mismatch",
            'reports name "Test Dollar" and version "2"',
        ),
        "no contract": ({}, {"asset": other}, "token_not_found", f"eip155:31337 has no contract at {other}"),
        "no token": (
            {},
            {"asset": deployment.identity},
            "token_without_eip3009",
            "has no transfers with authorization",
        ),
    }


PRICED = ["a wrong name", "a wrong version", "no contract", "no token"]


@pytest.fixture
def mispriced(facilitator, seller, token, agent, deployment, priced):
    """Makes an application that asks for payments which its token does not take."""

    def make(kind, preflight=None):
        extra, terms, *_ = priced[kind]
        paid = route(token.address, seller.address, declare_8004_reputation(agent, deployment))
        paid.accepts.price |= terms
        paid.accepts.price["extra"] |= extra
        server = resource_server(x402ResourceServer, facilitator, Reputation8004ResourceServerExtension(SIGNING_KEY))
        app = FastAPI()
        app.add_middleware(ReputationMiddleware, routes={"GET /weather": paid}, server=server, preflight=preflight)
        return app

    return make


@pytest.mark.parametrize("kind", PRICED)
def test_server_whose_token_takes_no_such_payment_does_not_start(mispriced, priced, verifier, kind):
    with pytest.raises(PreflightError) as failure, TestClient(mispriced(kind, Preflight(verifier))):
        pass
    (problem,) = failure.value.problems
    assert problem.startswith("GET /weather (8004-reputation, eip155:31337): token: ")
    assert priced[kind][3] in problem


@pytest.mark.parametrize("kind", PRICED)
def test_price_whose_token_takes_no_such_payment_is_found_from_outside(mispriced, priced, verifier, kind):
    with serving(mispriced(kind)) as url:
        findings = check_url(verifier, url + "/weather")
    assert [(finding.check, finding.code) for finding in findings] == [
        ("wallet", ""),
        ("keys", ""),
        ("token", priced[kind][2]),
    ]
    assert priced[kind][3] in findings[2].problem


def test_wallet_that_is_computed_for_each_request_is_not_checked(verifier, token, agent, deployment):
    routes = {"GET /": route(token.address, lambda _: "0x", declare_8004_reputation(agent, deployment))}
    findings = Preflight(verifier).run(routes, {"8004-reputation": SIGNING_KEY.public_key})
    assert [(finding.check, finding.code) for finding in findings] == [("keys", "")]


def test_setting_is_known(verifier):
    with pytest.raises(InvalidArgumentError, match="on_problem must be 'fail' or 'warn', not 'ignore'"):
        Preflight(verifier, "ignore")


def test_url_that_asks_for_no_payment_is_named(verifier):
    with HttpServer() as server:
        server.routes |= {"/free": b"snow", "/moved": redirect("/free")}
        server.routes["/bare"] = lambda handler: respond(handler, b"{}", 402)
        server.routes["/other"] = lambda handler: respond(handler, b"{}", 402, **{"PAYMENT-REQUIRED": "e30="})
        for path, status in (("/free", 200), ("/moved", 302)):
            with pytest.raises(InvalidArgumentError, match=f"returned status {status}, not 402"):
                check_url(verifier, server.url + path)
        assert [finding.code for finding in check_url(verifier, server.url + "/bare")] == ["invalid_declaration"]
        assert [finding.code for finding in check_url(verifier, server.url + "/other")] == ["not_declared"]
    with pytest.raises(UnreachableDocumentError, match="did not respond on port 9"):
        check_url(verifier, "http://127.0.0.1:9/")
