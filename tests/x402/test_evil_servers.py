"""No evil server makes a client pay twice, wait, believe or fail in an unknown way. `make prove` asks all of them."""

from __future__ import annotations

import os
import time

import httpx
import pytest
import requests
from x402 import PaymentError as AnyPaymentError
from x402.http.clients import httpx as of_httpx
from x402.http.clients import requests as of_requests

from bilateral.x402 import AnswerLimits, LostAnswerError
from tests.sdk.servers import HttpServer
from tests.x402.clients import CLIENTS
from tests.x402.evil import payment_modes, price_modes

ALL = os.environ.get("BILATERAL_EVIL") == "all"
"""True to send all kinds to each client. Otherwise each kind meets one client: it takes some processor time."""

KINDS = 121
SECONDS = 5.0
MOST_SECONDS = 30

KNOWN = (
    *(LostAnswerError, AnyPaymentError, of_httpx.PaymentError, of_requests.PaymentError),
    *(httpx.TransportError, requests.RequestException),
)
"""The errors that the documentation names, and those of the HTTP clients."""


@pytest.fixture(scope="module")
def evil(shop):
    """A server that answers by `modes`: with bytes to a request for the price, or to a payment."""
    with HttpServer() as server:
        server.price, server.answers, server.payments = httpx.post(shop + "/echo").headers["payment-required"], {}, []

        def serve(handler):
            handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
            step = "price"
            if handler.headers["PAYMENT-SIGNATURE"]:
                server.payments.append(handler.headers["PAYMENT-SIGNATURE"])
                step = "paid"
            handler.wfile.write(server.answers[step])
            handler.close_connection = True

        server.routes["/echo"] = serve
        yield server


def problem_with(evil, client, mode):
    """Ask once with a body of its own, and return what the client did that it must not do; nothing if it did right."""
    evil.payments.clear()
    start, outcome, step = time.monotonic(), None, mode.partition(":")[0]
    try:
        response = client.post(evil.url + "/echo", mode.encode())
        verification = client.verification_of(response)
        if verification is not None and verification.is_verified:
            outcome = "believed it"
    except KNOWN:
        pass
    except Exception as error:  # noqa: BLE001  # any other error is what the test looks for
        outcome = f"failed by {type(error).__module__}.{type(error).__qualname__}: {str(error)[:200]}"
    if len(evil.payments) != (step == "paid"):
        outcome = f"made {len(evil.payments)} payments"
    return outcome or ("waited too long" if time.monotonic() - start > MOST_SECONDS else None)


@pytest.mark.parametrize("face", CLIENTS)
def test_no_evil_server_is_paid_twice_waited_for_believed_or_fatal(evil, face, buyer, rpc, deployment, token):
    modes = price_modes(evil.price) | payment_modes(evil.price)
    assert len(modes) >= KINDS
    chosen = list(modes) if ALL else list(modes)[list(CLIENTS).index(face) :: len(CLIENTS)]
    headers = f"Connection: close\r\nContent-Length: 0\r\nPAYMENT-REQUIRED: {evil.price}\r\n\r\n"
    honest = f"HTTP/1.1 402 Status\r\n{headers}".encode()
    problems = {}
    options = {"limits": AnswerLimits(seconds=SECONDS), "receipt_seconds": 0.1}
    with CLIENTS[face](buyer, {rpc: deployment}, **options) as client:
        for mode in chosen:
            evil.answers = {"price": honest, mode.partition(":")[0]: modes[mode]}
            if problem := problem_with(evil, client, mode):
                problems[mode] = problem
    assert problems == {}
    assert token.functions.balanceOf(buyer.address).call() == 10**9
