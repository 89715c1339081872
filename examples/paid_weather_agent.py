"""A weather agent that is paid by x402 and signs each answer.

AGENT_KEY=… RPC_URL=… AGENT_ID=… PAY_TO=… FACILITATOR_URL=… uvicorn --factory examples.paid_weather_agent:make_app
The registration file of the agent must list the public key of `AGENT_KEY`.
"""

import os
from typing import Any

from fastapi import FastAPI
from x402 import x402ResourceServer
from x402.http import FacilitatorConfig, HTTPFacilitatorClient
from x402.http.types import PaymentOption, RouteConfig
from x402.mechanisms.evm.exact import register_exact_evm_server

from bilateral.client import Client
from bilateral.contracts import Deployment
from bilateral.x402 import Reputation8004ResourceServerExtension, declare_8004_reputation, key_from_environment
from bilateral.x402.asgi import ReputationMiddleware


def make_app(deployment: Deployment | None = None, price: Any = "$0.01") -> FastAPI:
    """Make the application from environment variables."""
    with Client(os.environ["RPC_URL"], deployment=deployment) as client:
        deployment = client.get_deployment()
    network = f"eip155:{deployment.chain_id}"
    server = x402ResourceServer(HTTPFacilitatorClient(FacilitatorConfig(url=os.environ["FACILITATOR_URL"])))
    register_exact_evm_server(server, network)
    server.register_extension(Reputation8004ResourceServerExtension(key_from_environment("AGENT_KEY")))
    option = PaymentOption(scheme="exact", network=network, pay_to=os.environ["PAY_TO"], price=price)
    declared = declare_8004_reputation(os.environ["AGENT_ID"], deployment)
    app = FastAPI()

    @app.get("/weather")
    def weather(city: str) -> dict[str, str]:
        return {"city": city, "weather": "snow"}

    routes = {"GET /weather": RouteConfig(option, extensions=declared)}
    app.add_middleware(ReputationMiddleware, routes=routes, server=server)
    return app
