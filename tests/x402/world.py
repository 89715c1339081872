"""A world for paid requests: a chain with registries and a token, the SDK's facilitator as a service, real servers."""

from __future__ import annotations

import base64
import json
from wsgiref.simple_server import WSGIRequestHandler, make_server

import httpx
from x402 import x402ClientSync
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
    register_exact_evm_server,
)
from x402.mechanisms.evm.signers import EthAccountSigner

from bilateral.documents import DataUriStore
from bilateral.x402 import InteractionData, Secp256k1Key, SettlementReceipt, interaction_hash
from bilateral.x402.proof.keys import is_signature_of
from simulation.serving import serve_in_thread

NETWORK = "eip155:31337"
PRICE = 1000
SIGNING_KEY = Secp256k1Key(bytes(range(1, 33)))


def encoded(content):
    """Return bytes in base 64, as headers hold them."""
    return base64.b64encode(content).decode()


MALFORMED_HEADERS = {
    "no base 64": ["?"],
    "no JSON": [encoded(b"payment")],
    "no object": [encoded(b"[]")],
    "a name twice": [encoded(b'{"x402Version":2,"x402Version":2}')],
    "a name twice inside": [encoded(b'{"x402Version":2,"payload":{"signature":"0x","signature":"0x"}}')],
    "too deep": [encoded(b'{"payload":' + b"[" * 64 + b"]" * 64 + b"}")],
    "two headers": [encoded(b'{"x402Version":2}')] * 2,
}
"""Headers of a message that readers could read differently, or not at all."""


def signer_entry(key=SIGNING_KEY, valid_from=0, valid_until=None):
    """Return the entry of a key in a registration file."""
    return {
        "publicKey": key.public_key,
        "algorithm": key.algorithm,
        "role": "delegate",
        "validFrom": valid_from,
        "validUntil": valid_until,
    }


def publish_odd(client, agent_id):
    """Publish an agent's file anew, with optional fields of other types than ERC-8004's, as real agents write them."""
    file = client.load_agent(agent_id).file.to_object() | {
        "active": "true",
        "image": {"url": "https://agent.example/i.png"},
        "supportedTrust": "reputation",
        "services": [{"endpoint": "https://agent.example"}, {"type": "mcp", "url": "https://a.example", "version": 1}],
    }
    client.set_agent_uri(agent_id, DataUriStore().put(json.dumps(file).encode()).uri).wait()


def serving_wsgi(app):
    """Return a context that runs a WSGI application on a free port, and yields its URL."""

    class Silent(WSGIRequestHandler):
        def log_message(self, *_):
            pass

    return serve_in_thread(make_server("127.0.0.1", 0, app, handler_class=Silent))


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


def ask_price(url, method="GET", **request):
    """Ask for the price, and return the response."""
    refused = httpx.request(method, url, **request)
    assert refused.status_code == 402, (refused.status_code, refused.text)
    return refused


def payment_for(url, account, *, method="GET", identifier=None, change=lambda payload: payload, **request):
    """Ask for the price, and return the headers of a request that pays it."""
    refused = ask_price(url, method, **request)
    required = decode_payment_required_header(refused.headers["payment-required"])
    payload = paying_client(account).create_payment_payload(required)
    if identifier:
        declared = payload.extensions.setdefault("payment-identifier", {"info": {}})
        declared["info"]["id"] = identifier
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
    receipt = proof(response)
    assert receipt.task_ref == f"{NETWORK}:{settled(response)['transaction']}"
    assert receipt.interaction_hash == interaction_hash(receipt.task_ref, request, body)
    assert is_signature_of(receipt.interaction_hash, receipt.signature, key.public_key, key.algorithm)
    return receipt
