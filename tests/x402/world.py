"""A world for paid requests: a chain with registries and a token, the SDK's facilitator as a service, real servers."""

from __future__ import annotations

import base64
import json
import threading
from contextlib import contextmanager
from wsgiref.simple_server import WSGIRequestHandler, make_server

import httpx
import uvicorn
from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from x402 import x402ClientSync, x402FacilitatorSync
from x402.http import (
    FacilitatorConfig,
    HTTPFacilitatorClient,
    HTTPFacilitatorClientSync,
    decode_payment_required_header,
    encode_payment_signature_header,
)
from x402.http.types import PaymentOption, RouteConfig
from x402.mechanisms.evm.exact import (
    register_exact_evm_client,
    register_exact_evm_facilitator,
    register_exact_evm_server,
)
from x402.mechanisms.evm.signers import EthAccountSigner, FacilitatorWeb3Signer
from x402.schemas import PaymentPayload, PaymentRequirements

from bilateral.x402 import InteractionData, Secp256k1Key, SettlementReceipt, interaction_hash
from bilateral.x402.keys import is_signature_of

NETWORK = "eip155:31337"
PRICE = 1000
SIGNING_KEY = Secp256k1Key(bytes(range(1, 33)))


@contextmanager
def serving(app):
    """Run an ASGI application on a free port, and yield its URL."""
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", lifespan="on")
    server = uvicorn.Server(config)
    socket = config.bind_socket()
    thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]}, daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            thread.join(0.005)
        assert server.started, "the application did not start"
        yield f"http://127.0.0.1:{socket.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def serving_wsgi(app):
    """Run a WSGI application on a free port, and yield its URL."""

    class Silent(WSGIRequestHandler):
        def log_message(self, *_):
            pass

    server = make_server("127.0.0.1", 0, app, handler_class=Silent)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def facilitator_app(rpc, secret):
    """The SDK's facilitator behind its HTTP interface."""
    facilitator = x402FacilitatorSync()
    register_exact_evm_facilitator(facilitator, FacilitatorWeb3Signer(secret, rpc), NETWORK)
    app, lock = FastAPI(), threading.Lock()

    def perform(action, message):
        payload = PaymentPayload.model_validate(message["paymentPayload"])
        requirements = PaymentRequirements.model_validate(message["paymentRequirements"])
        with lock:
            return getattr(facilitator, action)(payload, requirements)

    @app.get("/supported")
    def supported():
        return facilitator.get_supported().model_dump(by_alias=True, exclude_none=True)

    @app.post("/{action}")
    async def act(action: str, request: Request):
        found = await run_in_threadpool(perform, action, await request.json())
        return found.model_dump(by_alias=True, exclude_none=True)

    return app


def resource_server(kind, url, extension):
    """Make the SDK's resource server, asynchronous or synchronous, with our extension."""
    client = HTTPFacilitatorClientSync if kind.__name__.endswith("Sync") else HTTPFacilitatorClient
    server = kind(client(FacilitatorConfig(url=url)))
    register_exact_evm_server(server, NETWORK)
    return server.register_extension(extension)


def route(token, pay_to, extensions, *, price=PRICE, **extra):
    """Describe a paid route."""
    return RouteConfig(
        accepts=PaymentOption(
            scheme="exact",
            network=NETWORK,
            pay_to=pay_to,
            price={"asset": token, "amount": str(price), "extra": {"name": "Test Dollar", "version": "2", **extra}},
            max_timeout_seconds=600,
        ),
        extensions=extensions,
    )


def paying_client(account, kind=x402ClientSync):
    """Make the SDK's client for an account, without a limit on what it spends."""
    return register_exact_evm_client(kind().set_spend_controls(False), EthAccountSigner(account))


def payment_for(url, account, *, method="GET", identifier=None, change=lambda payload: payload, **request):
    """Ask for the price, and return the headers of a request that pays it."""
    refused = httpx.request(method, url, **request)
    assert refused.status_code == 402, (refused.status_code, refused.text)
    required = decode_payment_required_header(refused.headers["payment-required"])
    payload = paying_client(account).create_payment_payload(required)
    if identifier:
        payload.extensions["payment-identifier"] = {"info": {"id": identifier}}
    return {"PAYMENT-SIGNATURE": encode_payment_signature_header(change(payload))}


def settled(response):
    """Return `PAYMENT-RESPONSE` of a response."""
    return json.loads(base64.b64decode(response.headers["payment-response"]))


def refusal(response):
    """Return the reason with which a server refuses a payment."""
    return decode_payment_required_header(response.headers["payment-required"]).error


def proof(response):
    """Return the signed statement of a paid response."""
    return InteractionData.of(SettlementReceipt.of(settled(response)).interaction)


def assert_proves(response, body, request=b"", key=SIGNING_KEY):
    """Check a proof by hand: that its hash is of these bodies, and its signature of the key."""
    found = proof(response)
    assert found.task_ref == f"{NETWORK}:{settled(response)['transaction']}"
    assert found.interaction_hash == interaction_hash(found.task_ref, request, body)
    assert is_signature_of(found.interaction_hash, found.signature, key.public_key, key.algorithm)
    return found
