"""Servers on this machine: applications in threads, and the x402 SDK's facilitator behind HTTP."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import uvicorn
from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from x402 import x402FacilitatorSync, x402ResourceServer
from x402.extensions.payment_identifier import declare_payment_identifier_extension
from x402.http import FacilitatorConfig, HTTPFacilitatorClient
from x402.http.types import PaymentOption, RouteConfig
from x402.mechanisms.evm.exact import register_exact_evm_facilitator, register_exact_evm_server
from x402.mechanisms.evm.signers import FacilitatorWeb3Signer
from x402.schemas import PaymentPayload, PaymentRequirements

from bilateral.core.contracts import Deployment
from bilateral.dev.contracts import TOKEN_DOMAIN
from bilateral.x402 import Reputation8004ResourceServerExtension, Secp256k1Key, declare_8004_reputation
from bilateral.x402.server.asgi import ReputationMiddleware
from bilateral.x402.server.settling import SettlingSigner

POLL_SECONDS = 0.005  # tests start many servers
RECEIPT_POLL_SECONDS = 0.01  # the local node mines at once
KEEP_ALIVE_SECONDS = 600
"""Seconds until an idle connection is closed, long enough that no request arrives just as it closes."""


@contextmanager
def serving(app: FastAPI, port: int = 0) -> Iterator[str]:
    """Run an ASGI application in a thread, and yield its URL."""
    config = uvicorn.Config(
        app, host="127.0.0.1", port=port, log_level="critical", lifespan="on", timeout_keep_alive=KEEP_ALIVE_SECONDS
    )
    server = uvicorn.Server(config)
    socket = config.bind_socket()
    thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]}, daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            thread.join(POLL_SECONDS)
        if not server.started:
            raise RuntimeError("the application did not start")
        yield f"http://127.0.0.1:{socket.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


class _LocalSigner(FacilitatorWeb3Signer):
    """The SDK's signer for a local node. It polls for receipts every 10 ms instead of every 100 ms."""

    def __init__(self, secret: str, rpc: str, **options: Any) -> None:
        super().__init__(secret, rpc, **options)
        eth = self._w3.eth
        eth.wait_for_transaction_receipt = partial(  # type: ignore[method-assign]
            eth.wait_for_transaction_receipt, poll_latency=RECEIPT_POLL_SECONDS
        )


class _LocalSettlingSigner(_LocalSigner, SettlingSigner):
    """A signer that settles through the buyer registry, and polls as often as `_LocalSigner`."""


def facilitator_app(rpc: str, secret: str, network: str, registry: str | None = None) -> FastAPI:
    """Create the SDK's facilitator with its HTTP interface."""
    facilitator = x402FacilitatorSync()
    signer = _LocalSigner(secret, rpc) if registry is None else _LocalSettlingSigner(secret, rpc, registry=registry)
    register_exact_evm_facilitator(facilitator, signer, network)
    return facilitator_app_of(facilitator)


def facilitator_app_of(facilitator: x402FacilitatorSync) -> FastAPI:
    """Create the HTTP interface for an SDK facilitator."""
    app = FastAPI()

    def perform(action: str, message: dict[str, Any]) -> dict[str, Any]:
        payload = PaymentPayload.model_validate(message["paymentPayload"])
        requirements = PaymentRequirements.model_validate(message["paymentRequirements"])
        result = getattr(facilitator, action)(payload, requirements)
        done: dict[str, Any] = result.model_dump(by_alias=True, exclude_none=True)
        return done

    @app.get("/supported")
    def supported() -> dict[str, Any]:
        return facilitator.get_supported().model_dump(by_alias=True, exclude_none=True)

    @app.post("/{action}")
    async def act(action: str, request: Request) -> dict[str, Any]:
        return await run_in_threadpool(perform, action, await request.json())

    return app


PATH: Final = "/weather"

PRICE: Final = 10_000
"""The price of an answer, in the token's smallest unit: one cent."""


def shop_app(deployment: Deployment, agent_id: int, key: Secp256k1Key, pay_to: str, token: str, url: str) -> FastAPI:  # noqa: PLR0913, PLR0917  # the terms of a trade
    """Create the seller's application with its paid route."""
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
    declared["payment-identifier"] = declare_payment_identifier_extension()  # lets clients fetch a lost answer again
    routes = {f"GET {PATH}": RouteConfig(option, extensions=declared)}
    app.add_middleware(ReputationMiddleware, routes=routes, server=server)
    return app
