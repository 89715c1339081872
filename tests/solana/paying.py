"""Payments on Solana by the SDK's own clients."""

from __future__ import annotations

import httpx
from x402 import x402ClientSync
from x402.http import decode_payment_required_header, encode_payment_signature_header
from x402.mechanisms.svm import KeypairSigner
from x402.mechanisms.svm.exact import register_exact_svm_client

from bilateral.x402.transports import paid_request
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
