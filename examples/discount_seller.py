"""A seller whose price depends on the reputation of the buyer.

    pip install '.[x402]' fastapi uvicorn
    export PROVIDER=https://…/api/buyer SELLER=eip155:…#1 PAY_TO=… FACILITATOR_URL=… PRICE=…
    uvicorn --factory discount_seller:make_app

A buyer names itself by `?buyerAddress=0x…`, and pays with that account. `PRICE` is the full price, as
`{"asset": "0x…", "amount": "1000", "extra": {"name": …, "version": …}}` with the token's EIP-712 domain.
"""

import json
import os

from fastapi import FastAPI
from x402 import x402ResourceServer
from x402.http import FacilitatorConfig, HTTPFacilitatorClient
from x402.http.middleware.fastapi import PaymentMiddlewareASGI
from x402.http.types import PaymentOption, RouteConfig
from x402.mechanisms.evm.exact import register_exact_evm_server

from bilateral.x402.server.discounts import BuyerPricing, service_lookup


def make_app() -> FastAPI:
    """Make the application from environment variables."""
    seller, full = os.environ["SELLER"], json.loads(os.environ["PRICE"])
    network = ":".join(seller.split(":")[:2])
    lookup = service_lookup(os.environ["PROVIDER"], seller)
    pricing = BuyerPricing(lookup, full["asset"], int(full["amount"]), full["extra"])
    server = x402ResourceServer(HTTPFacilitatorClient(FacilitatorConfig(url=os.environ["FACILITATOR_URL"])))
    register_exact_evm_server(server, network)
    server.on_before_verify(pricing.check_payer)
    option = PaymentOption(scheme="exact", network=network, pay_to=os.environ["PAY_TO"], price=pricing.price)
    app = FastAPI()

    @app.get("/audit")
    def audit() -> dict[str, str]:
        return {"audit": "no findings"}

    app.add_middleware(PaymentMiddlewareASGI, routes={"GET /audit": RouteConfig(option)}, server=server)
    return app
