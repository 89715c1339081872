"""No server makes a client read without end: neither with its price nor with a paid answer, in any of the clients."""

from __future__ import annotations

import gzip
import time
from contextlib import suppress
from threading import Event

import httpx
import pytest
import requests

from bilateral.core.errors import InvalidArgumentError
from bilateral.x402 import AnswerLimits, LostAnswerError
from tests.sdk.servers import HttpServer, respond
from tests.x402.clients import CLIENTS
from tests.x402.test_lost_answers import HOP_BY_HOP
from tests.x402.world import PRICE

BYTES = 100_000
SECONDS = 2.0
MOST_SECONDS = 30
"""Far below the timeouts of the clients, which are 120 seconds, and far above the limit: machines are busy."""


@pytest.fixture(scope="module")
def cheat(shop):
    """A server before the honest one. It answers `misbehaves` requests, `price` or `paid`, by `mode`."""
    with HttpServer() as server, httpx.Client(timeout=120) as http:
        server.mode, server.misbehaves, server.status, server.end = None, "", 402, Event()

        def serve(handler):
            body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
            step = "paid" if handler.headers["PAYMENT-SIGNATURE"] else "price"
            handler.status = server.status
            if step == server.misbehaves:
                with suppress(OSError):
                    server.mode(handler, server.end)
                handler.close_connection = True
                return
            headers = {name: value for name, value in handler.headers.items() if name.lower() != "host"}
            answer = http.request(handler.command, shop + "/echo", headers=headers, content=body)
            kept = {name: value for name, value in answer.headers.items() if name not in HOP_BY_HOP}
            respond(handler, answer.content, answer.status_code, **kept)

        server.routes["/echo"] = serve
        yield server
        server.end.set()


@pytest.fixture(autouse=True)
def ended(cheat):
    cheat.end.clear()
    cheat.status = 402
    yield
    cheat.end.set()


def head(handler, *headers):
    """Send the head of an answer: with the status that the test set.

    It says that the server closes the connection, or a client might send its next request on a connection that ends.
    """
    lines = [f"HTTP/1.1 {handler.status} OK", "Connection: close", *headers, "", ""]
    handler.wfile.write("\r\n".join(lines).encode())


def large(handler, _end):
    head(handler, f"Content-Length: {BYTES + 1}")
    handler.wfile.write(bytes(BYTES + 1))


def compressed(handler, _end):
    body = gzip.compress(bytes(BYTES + 1))
    head(handler, f"Content-Length: {len(body)}", "Content-Encoding: gzip")
    handler.wfile.write(body)


def endless(handler, end):
    head(handler, "Transfer-Encoding: chunked")
    while not end.is_set():
        handler.wfile.write(b"2000\r\n" + bytes(0x2000) + b"\r\n")


def until_closed(handler, end):
    head(handler)
    while not end.is_set():
        handler.wfile.write(bytes(0x2000))


def silent(_handler, end):
    end.wait(MOST_SECONDS * 2)


def silent_after_the_head(handler, end):
    head(handler, "Content-Length: 10")
    end.wait(MOST_SECONDS * 2)


def dripping_body(handler, end):
    head(handler, "Content-Length: 50000")
    while not end.wait(0.05):
        handler.wfile.write(b"a")


def dripping_head(handler, end):
    handler.wfile.write(b"HTTP/1.1 402 OK\r\nX-Drip: ")
    while not end.wait(0.05):
        handler.wfile.write(b"a")


def dripping_trailers(handler, end):
    head(handler, "Transfer-Encoding: chunked")
    handler.wfile.write(b"1\r\na\r\n0\r\nX-Drip: ")
    while not end.wait(0.05):
        handler.wfile.write(b"a")


MODES = {
    mode.__name__: mode
    for mode in (
        large,
        compressed,
        endless,
        until_closed,
        silent,
        silent_after_the_head,
        dripping_body,
        dripping_head,
        dripping_trailers,
    )
}


@pytest.fixture(scope="module", params=CLIENTS)
def client(request, enrich, rpc, deployment):
    with CLIENTS[request.param](enrich(), {rpc: deployment}, limits=AnswerLimits(BYTES, SECONDS)) as made:
        yield made


@pytest.mark.sample(10)
@pytest.mark.parametrize("mode", MODES)
def test_paid_answer_without_end_is_a_lost_answer(cheat, client, mode):
    cheat.mode, cheat.misbehaves, start = MODES[mode], "paid", time.monotonic()
    with pytest.raises(LostAnswerError, match=r"the answer (exceeds 100000 bytes|took longer than 2\.0 s)"):
        client.post(cheat.url + "/echo", f"paid {mode}".encode())
    assert time.monotonic() - start < MOST_SECONDS


@pytest.mark.sample(10)
@pytest.mark.parametrize("mode", MODES)
def test_price_without_end_is_not_paid(cheat, client, mode):
    cheat.mode, cheat.misbehaves, start = MODES[mode], "price", time.monotonic()
    with pytest.raises((httpx.TransportError, requests.RequestException), match=r"the answer (exceeds|took longer)"):
        client.post(cheat.url + "/echo", f"price {mode}".encode())
    assert time.monotonic() - start < MOST_SECONDS


@pytest.mark.sample(5)
@pytest.mark.parametrize("mode", ["large", "compressed", "endless", "until_closed", "dripping_body"])
def test_free_answer_without_end_is_ended_too(cheat, client, mode):
    cheat.status = 200
    cheat.mode, cheat.misbehaves, start = MODES[mode], "price", time.monotonic()
    with pytest.raises((httpx.TransportError, requests.RequestException), match=r"the answer (exceeds|took longer)"):
        client.post(cheat.url + "/echo", f"free {mode}".encode())
    assert time.monotonic() - start < MOST_SECONDS


@pytest.mark.parametrize("face", CLIENTS)
def test_paid_answer_at_the_limit_is_read(shop, face, buyer, rpc, deployment, token):
    body = bytes(BYTES)
    with CLIENTS[face](buyer, {rpc: deployment}, limits=AnswerLimits(bytes=BYTES)) as client:
        response = client.post(shop + "/echo", body)
        assert (response.status_code, response.content) == (200, body)
        assert client.verification_of(response).is_verified
        with pytest.raises(LostAnswerError, match="exceeds 100000 bytes"):
            client.post(shop + "/echo", body + b"a")
    assert token.functions.balanceOf(buyer.address).call() == 10**9 - 2 * PRICE


@pytest.mark.parametrize("encoding", ["gzip", "zstd", "gzip, gzip"])
def test_damaged_paid_answer_is_returned_as_it_was_sent_and_not_verified(cheat, client, encoding):
    def damaged(handler, _end):
        head(handler, "Content-Length: 7", f"Content-Encoding: {encoding}")
        handler.wfile.write(b"no gzip")

    cheat.mode, cheat.misbehaves, cheat.status = damaged, "paid", 200
    response = client.post(cheat.url + "/echo", b"snow")
    assert response.content == b"no gzip"
    assert not client.verification_of(response).is_verified


@pytest.mark.parametrize(("size", "seconds"), [(0, 1.0), (1, 0.0), (-1, 1.0)])
def test_limits_are_above_zero(size, seconds):
    with pytest.raises(InvalidArgumentError, match="both must be above 0"):
        AnswerLimits(size, seconds)
