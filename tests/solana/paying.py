"""Payments on Solana by the SDK's own clients."""

from __future__ import annotations

from contextlib import contextmanager

import httpx
from solders.keypair import Keypair
from x402 import x402ClientSync
from x402.http import decode_payment_required_header, encode_payment_signature_header
from x402.mechanisms.svm import KeypairSigner
from x402.mechanisms.svm.exact import register_exact_svm_client

from bilateral.x402.clients.transports import paid_request
from simulation.solana import instructions as ix
from simulation.solana.world import TOKEN_KEY
from tests.x402.world import ask_price

BODY = b"snow in Oslo"


def paying_client(buyer, rpc, kind=x402ClientSync):
    """Make the SDK's client for an account, without a limit on what it spends."""
    return register_exact_svm_client(kind().set_spend_controls(False), KeypairSigner(buyer), rpc_url=rpc)


def payment_for(url, buyer, rpc, change=lambda payload: payload):
    """Ask for the price, and return the payment that a client signs for it."""
    refused = ask_price(url, "POST", content=BODY)
    required = decode_payment_required_header(refused.headers["payment-required"])
    return change(paying_client(buyer, rpc).create_payment_payload(required))


def send(url, payload, content=BODY):
    """Send a request with a payment."""
    headers = {"PAYMENT-SIGNATURE": encode_payment_signature_header(payload)}
    return httpx.post(url, headers=headers, content=content, timeout=60)


def buy(url, buyer, rpc, change=lambda payload: payload):
    """Pay for a request, and return it as the client saw it."""
    payload = payment_for(url, buyer, rpc, change)
    response = send(url, payload)
    assert response.status_code == 200, (response.text, response.headers)
    header = encode_payment_signature_header(payload)
    return paid_request(header, f"POST {url}", {}, BODY, dict(response.headers), response.content)


@contextmanager
def emptying(node, world, asset, buyer):
    """Empty the buyer's account after the facilitator's last simulation, which is the second, before it settles."""
    simulations = []

    def empty(answer):
        simulations.append(answer)
        if len(simulations) == 2:
            target = world.give(asset, Keypair().pubkey())
            source = ix.associated(buyer.pubkey(), asset, TOKEN_KEY)
            world.run([ix.transfer(source, target, buyer.pubkey(), 10**6, TOKEN_KEY)], buyer)
        return answer

    node.instead["simulateTransaction"] = empty
    yield
    node.instead.pop("simulateTransaction")
    assert len(simulations) == 2
