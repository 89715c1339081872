"""The examples of docs/x402.md run, and so do those of docs/for-sellers.md for metered routes and web pages."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

import httpx
import pytest
from eth_account import Account
from fastapi import FastAPI, Response
from x402 import x402ResourceServer
from x402.http import FacilitatorConfig, HTTPFacilitatorClient
from x402.http.middleware.fastapi import set_settlement_overrides
from x402.http.types import PaymentOption, RouteConfig
from x402.mechanisms.evm.upto import UptoEvmServerScheme

from bilateral.core.payments import PaymentKind
from bilateral.dev.servers import serving
from bilateral.x402 import Reputation8004ResourceServerExtension, declare_8004_reputation
from bilateral.x402.clients.transports import paid_request
from bilateral.x402.server.asgi import ReputationMiddleware
from bilateral.x402.server.failures import FailedSettlement
from scripts._build import ROOT
from tests.sdk.servers import HttpServer, respond
from tests.x402.metered import CEILING, pay_headers
from tests.x402.world import NETWORK, SIGNING_KEY

BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs/x402.md").read_text(encoding="utf-8"), re.DOTALL)

PAGES = ["https://shop.example", "https://other.example"]


@pytest.fixture(scope="module")
def names():
    """The names that the page's examples define, one after the other."""
    defined = {}
    for block in BLOCKS:
        exec(compile(block, "docs/x402.md", "exec"), defined)  # noqa: S102  # our own page
    return defined


def test_examples_of_the_page_run(names):
    assert all(callable(names[name]) for name in ("make_app", "buy", "add_gated_route"))


def test_example_of_a_seller_undoes_the_order_of_a_failed_payment(names, verifier):
    canceled = []
    _, failures = names["counting_extension"](SIGNING_KEY, verifier, canceled.append)
    failures._on_failure(FailedSettlement(b"k" * 32, NETWORK, "0x", 0.0, "made_up", {}, 1, target="/orders/7"))
    assert canceled == ["/orders/7"]


@pytest.mark.parametrize("status", [200, 500])
def test_example_of_a_buyer_says_that_nothing_was_paid(names, rpc, deployment, status):
    with HttpServer() as server:
        server.routes["/"] = lambda handler: respond(handler, b"{}", status)
        with pytest.raises(RuntimeError, match=f"the server responded with {status}, and took no payment"):
            asyncio.run(names["buy"](server.url + "/", rpc, deployment, Account.create()))


@pytest.fixture(scope="module")
def sellers_lines():
    """The lines of the page for sellers that make a route metered, and those with a policy for web pages."""
    return re.findall(r"```py\n(.*?)```", (ROOT / "docs/for-sellers.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def metered_page_url(sellers_lines, payment_chain, every_facilitator_url, agent, seller, deployment):
    """The URL of a shop with those lines."""
    server = x402ResourceServer(HTTPFacilitatorClient(FacilitatorConfig(url=every_facilitator_url)))
    server.register_extension(Reputation8004ResourceServerExtension(SIGNING_KEY))
    price = {"asset": payment_chain.token, "amount": str(CEILING), "extra": {"name": "Test Dollar", "version": "2"}}
    option = PaymentOption(scheme="exact", network=NETWORK, pay_to=seller.address, price=price)
    app, routes = FastAPI(), {}
    names = {
        "app": app,
        "server": server,
        "network": NETWORK,
        "option": option,
        "routes": routes,
        "declared": declare_8004_reputation(agent, deployment),
        "ReputationMiddleware": ReputationMiddleware,
        "Response": Response,
        "RouteConfig": RouteConfig,
        "UptoEvmServerScheme": UptoEvmServerScheme,
        "replace": replace,
        "set_settlement_overrides": set_settlement_overrides,
    }
    for lines in sellers_lines:
        exec(compile(lines, "docs/for-sellers.md", "exec"), names)  # noqa: S102  # our own page
    with serving(app) as url:
        yield url


def test_five_lines_make_a_route_metered(sellers_lines, metered_page_url, payment_chain, verifier):
    *lines, answer = filter(None, sellers_lines[0].splitlines())
    assert (len(lines), answer.strip()) == (5, 'return {"pages": pages}')
    url, buyer = metered_page_url + "/report?pages=12", payment_chain.buyer()
    headers = pay_headers(url, buyer)
    response = httpx.get(url, headers=headers)
    assert (response.status_code, response.text) == (200, '{"pages":12}')
    paid = paid_request(headers["PAYMENT-SIGNATURE"], f"GET {url}", {}, b"", response.headers, response.content)
    verification = verifier.verify(paid)
    assert verification.is_verified, verification.problems
    payment = verification.payment
    assert (payment.kind, payment.amount, payment.ceiling) == (PaymentKind.PERMIT2_UPTO, 1200, CEILING)


def test_policy_of_the_page_lets_its_web_page_buy(metered_page_url):
    refusals = {origin: httpx.get(metered_page_url + "/report?pages=1", headers={"origin": origin}) for origin in PAGES}
    assert [answer.headers.get("access-control-allow-origin") for answer in refusals.values()] == [PAGES[0], None]
