"""Shops behind FastAPI and Flask that are paid by every kind, count their runs, and charge what a request says."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx
from fastapi import FastAPI, Response
from flask import Flask, request
from x402 import x402ResourceServer, x402ResourceServerSync
from x402.extensions.payment_identifier import declare_payment_identifier_extension
from x402.http.constants import SETTLEMENT_OVERRIDES_HEADER
from x402.http.types import PaymentOption, RouteConfig
from x402.mechanisms.evm.upto import UptoEvmServerScheme

from bilateral.dev.servers import serving
from bilateral.x402 import Reputation8004ResourceServerExtension
from bilateral.x402.server.asgi import ReputationMiddleware
from bilateral.x402.server.wsgi import protect_flask
from tests.x402.metered import CEILING, PRICE, pay_headers
from tests.x402.world import NETWORK, SIGNING_KEY, refusal, resource_server, serving_wsgi, settled

IDENTIFIER = "a-secret-of-16-or-more"
FRAMEWORKS = ("FastAPI", "Flask")


@dataclass
class Shop:
    """A shop: `/eip3009` and `/exact` have a price, `/metered` a ceiling. The query `charge` overrides the amount.

    Attributes:
        url: Its URL.
        extension: Our extension of its server.
        runs: The paths that its application has answered.
        on_run: Called while the application runs.
    """

    url: str = ""
    extension: Reputation8004ResourceServerExtension | None = None
    runs: list[str] = field(default_factory=list)
    on_run: object = lambda: None

    def answer(self, path, charge):
        self.runs.append(path)
        self.on_run()
        headers = {} if charge is None else {SETTLEMENT_OVERRIDES_HEADER: json.dumps({"amount": charge})}
        return json.dumps({"charge": charge}), headers

    def pay(self, path, payer, change=lambda payload: payload, identifier=None):
        """Ask for a price, and return the headers of a request that pays it."""

        def changed(payload):
            if identifier:
                payload.extensions.setdefault("payment-identifier", {"info": {}})["info"]["id"] = identifier
            return change(payload)

        return pay_headers(self.url + path, payer, changed)

    def get(self, path, headers):
        return httpx.get(self.url + path, headers=headers, timeout=60)

    def buy(self, path, payer, **payment):
        """Pay for a request, and return the response."""
        return self.get(path, self.pay(path, payer, **payment))


def problem_of(response):
    """Return the code of a refusal: before the application ran, or instead of its settlement."""
    assert response.status_code == 402, (response.status_code, response.text)
    if "payment-response" in response.headers:
        return settled(response)["errorReason"].removeprefix("Payment aborted: ")  # the SDK's words
    return refusal(response)


def options(token, pay_to, *, ceiling=CEILING, **tokens):
    """Describe what the routes of a shop cost. Further paths are priced as `/exact`, in other tokens."""

    def option(scheme, amount, asset=token, **extra):
        price = {"asset": asset, "amount": str(amount), "extra": {"name": "Test Dollar", "version": "2", **extra}}
        return PaymentOption(scheme=scheme, network=NETWORK, pay_to=pay_to, price=price, max_timeout_seconds=600)

    by_permit2 = {"assetTransferMethod": "permit2"}
    return {
        "GET /eip3009": option("exact", PRICE),
        "GET /exact": option("exact", PRICE, **by_permit2),
        "GET /metered": option("upto", ceiling),
        **{f"GET /{name}": option("exact", PRICE, asset, **by_permit2) for name, asset in tokens.items()},
    }


@contextmanager
def permit2_shop(framework, facilitator_url, priced, extensions, *, kind=None, others=(), settings=None, **extension):
    """Run a shop.

    Args:
        framework: One of `FRAMEWORKS`.
        facilitator_url: The URL of the facilitator.
        priced: The `options`.
        extensions: What its routes declare.
        kind: The class of the extension.
        others: Further extensions of its server.
        settings: Further settings of the middleware.
        **extension: Settings of the extension.
    """
    shop = Shop(extension=(kind or Reputation8004ResourceServerExtension)(SIGNING_KEY, **extension))
    declared = {**extensions, "payment-identifier": declare_payment_identifier_extension()}
    routes = {path: RouteConfig(accepts=option, extensions=declared) for path, option in priced.items()}
    is_flask = framework == "Flask"
    server = resource_server(
        x402ResourceServerSync if is_flask else x402ResourceServer, facilitator_url, shop.extension
    ).register(NETWORK, UptoEvmServerScheme())
    for other in others:
        server.register_extension(other)
    app = _flask_app(shop, routes) if is_flask else _fastapi_app(shop, routes)
    if is_flask:
        protect_flask(app, routes, server, **(settings or {}))
    else:
        app.add_middleware(ReputationMiddleware, routes=routes, server=server, **(settings or {}))
    with (serving_wsgi if is_flask else serving)(app) as shop.url:
        yield shop


def _fastapi_app(shop, routes):
    app = FastAPI()
    for path in (route.removeprefix("GET ") for route in routes):

        def serve(charge: str | None = None, path=path):
            body, headers = shop.answer(path, charge)
            return Response(body, headers=headers, media_type="application/json")

        app.add_api_route(path, lambda charge=None, serve=serve: serve(charge), name=path)
    return app


def _flask_app(shop, routes):
    app = Flask("shop")
    for path in (route.removeprefix("GET ") for route in routes):

        def serve(path=path):
            body, headers = shop.answer(path, request.args.get("charge"))
            return body, {**headers, "content-type": "application/json"}

        app.add_url_rule(path, endpoint=path, view_func=serve)
    return app
