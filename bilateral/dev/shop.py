"""A paid route of an agent: it answers with the weather, and signs each answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fastapi import FastAPI
from x402 import x402ResourceServer
from x402.extensions.payment_identifier import declare_payment_identifier_extension
from x402.http import FacilitatorConfig, HTTPFacilitatorClient
from x402.http.types import PaymentOption, RouteConfig
from x402.mechanisms.evm.exact import register_exact_evm_server

from bilateral.dev.contracts import TOKEN_DOMAIN
from bilateral.x402 import Reputation8004ResourceServerExtension, declare_8004_reputation
from bilateral.x402.server.asgi import ReputationMiddleware

if TYPE_CHECKING:
    from bilateral.core.contracts import Deployment
    from bilateral.x402.proof.keys import Secp256k1Key

PATH: Final = "/weather"

PRICE: Final = 10_000
"""The price of an answer, in the token's smallest unit: one cent."""


def shop_app(deployment: Deployment, agent_id: int, key: Secp256k1Key, pay_to: str, token: str, url: str) -> FastAPI:  # noqa: PLR0913, PLR0917  # the terms of a trade
    """Make the application.

    Args:
        deployment: The registries.
        agent_id: The agent that sells.
        key: The key that signs its answers. Its registration file lists the public key.
        pay_to: The account that is paid, the agent's wallet.
        token: The token to pay in.
        url: The URL of the facilitator.

    Returns:
        The application. It sells `/weather?city=…`.
    """
    network = f"eip155:{deployment.chain_id}"
    app = FastAPI(title="Weather agent")

    @app.get(PATH)
    async def weather(city: str = "Oslo") -> dict[str, str]:
        return {"city": city, "weather": "snow"}

    server = x402ResourceServer(HTTPFacilitatorClient(FacilitatorConfig(url=url)))
    register_exact_evm_server(server, network)
    server.register_extension(Reputation8004ResourceServerExtension(key))
    price: Any = {"asset": token, "amount": str(PRICE), "extra": TOKEN_DOMAIN}
    option = PaymentOption(scheme="exact", network=network, pay_to=pay_to, price=price)
    declared = declare_8004_reputation(agent_id, deployment)
    declared["payment-identifier"] = declare_payment_identifier_extension()  # fetches a lost answer again
    app.add_middleware(
        ReputationMiddleware, routes={f"GET {PATH}": RouteConfig(option, extensions=declared)}, server=server
    )
    return app
