"""A weather agent that is paid by x402 and signs each answer.

    pip install '.[x402]' fastapi uvicorn
    export BILATERAL_RPC_URL=… BILATERAL_X402_KEY=… AGENT_ID=… PAY_TO=… FACILITATOR_URL=…
    uvicorn --factory paid_weather_agent:make_app

The agent's registration file lists the public key of `BILATERAL_X402_KEY`. `BILATERAL_DEPLOYMENT` names a deployment
record, and `PRICE` another price: `$0.02`, or `{"asset": "0x…", "amount": "1000", "extra": {"name": …, "version": …}}`
with the token's EIP-712 domain.
"""

import json
import os
from pathlib import Path

from fastapi import FastAPI
from x402 import x402ResourceServer
from x402.extensions.payment_identifier import declare_payment_identifier_extension as identifier
from x402.http import FacilitatorConfig, HTTPFacilitatorClient, PaymentOption, RouteConfig
from x402.mechanisms.evm.exact import register_exact_evm_server

from bilateral import Client, Deployment
from bilateral.x402 import Preflight, Verifier, declare_8004_reputation, key_from_environment
from bilateral.x402.server.asgi import ReputationMiddleware
from bilateral.x402.server.server import Reputation8004ResourceServerExtension


def make_app() -> FastAPI:
    """Make the application from environment variables."""
    price, record = os.environ.get("PRICE", "$0.01"), os.environ.get("BILATERAL_DEPLOYMENT")
    named = Deployment.from_record(Path(record).read_bytes()) if record else None
    with Client(os.environ["BILATERAL_RPC_URL"], deployment=named) as client:
        deployment = client.get_deployment()
    network = f"eip155:{deployment.chain_id}"
    server = x402ResourceServer(HTTPFacilitatorClient(FacilitatorConfig(url=os.environ["FACILITATOR_URL"])))
    register_exact_evm_server(server, network)
    server.register_extension(Reputation8004ResourceServerExtension(key_from_environment("BILATERAL_X402_KEY")))
    price = json.loads(price) if price.startswith("{") else price
    option = PaymentOption(scheme="exact", network=network, pay_to=os.environ["PAY_TO"], price=price)
    declared = {"payment-identifier": identifier(), **declare_8004_reputation(os.environ["AGENT_ID"], deployment)}
    app = FastAPI()

    @app.get("/weather")
    def weather(city: str) -> dict[str, str]:
        return {"city": city, "weather": "snow"}

    routes = {"GET /weather": RouteConfig(option, extensions=declared)}
    preflight = Preflight(Verifier({os.environ["BILATERAL_RPC_URL"]: deployment}))
    app.add_middleware(ReputationMiddleware, routes=routes, server=server, preflight=preflight)
    return app
