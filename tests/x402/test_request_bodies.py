"""A client may send a body from a file or an iterator, to servers that ask for a payment and to others."""

from __future__ import annotations

import asyncio
import io

import httpx
import pytest
from x402 import x402Client, x402ClientSync

from bilateral.x402 import AsyncVerifier, protect_client
from bilateral.x402.clients.httpx import verification_of as verification_of_httpx
from bilateral.x402.clients.httpx import verifying_sync_transport, verifying_transport
from bilateral.x402.clients.requests import verification_of, verifying_session
from tests.sdk.servers import HttpServer, redirect, respond
from tests.x402.world import paying_client, payment_for

BODIES = {
    "file": lambda: io.BytesIO(b"snow in Oslo"),
    "file of text": lambda: io.StringIO("snow in Oslo"),
    "generator": lambda: (piece for piece in (b"snow ", b"in ", b"Oslo")),
    "iterator with text": lambda: iter(["snow ", b"in Oslo"]),
}
HTTPX_BODIES = ("file", "generator")


@pytest.fixture
def session(buyer, verifier):
    with verifying_session(protect_client(paying_client(buyer, x402ClientSync), verifier), verifier) as made:
        yield made


@pytest.fixture(scope="module")
def free():
    """A server that repeats requests for nothing."""

    def echo(handler):
        assert handler.headers["Transfer-Encoding"] is None
        respond(handler, handler.rfile.read(int(handler.headers["Content-Length"])))

    def moved(handler):
        handler.rfile.read(int(handler.headers["Content-Length"]))
        redirect("/echo", 307)(handler)

    with HttpServer() as server:
        server.routes |= {"/echo": echo, "/moved": moved}
        yield server


@pytest.mark.parametrize("kind", BODIES)
def test_body_in_pieces_is_paid_and_verified_by_requests(session, shop, kind):
    response = session.post(shop + "/echo", data=BODIES[kind]())
    assert (response.status_code, response.content) == (200, b"snow in Oslo")
    assert verification_of(response).is_verified, verification_of(response).problems


@pytest.mark.parametrize("path", ["/echo", "/moved"])
@pytest.mark.parametrize("kind", BODIES)
def test_body_in_pieces_is_sent_for_nothing_by_requests(session, free, kind, path):
    response = session.post(free.url + path, data=BODIES[kind]())
    assert (response.status_code, response.content, verification_of(response)) == (200, b"snow in Oslo", None)


@pytest.mark.parametrize("kind", HTTPX_BODIES)
def test_body_in_pieces_is_verified_by_httpx(buyer, verifier, shop, kind):
    client = protect_client(paying_client(buyer, x402ClientSync), verifier)
    with httpx.Client(transport=verifying_sync_transport(client, verifier)) as http:
        response = http.post(shop + "/echo", content=BODIES[kind]())
    assert (response.status_code, response.content) == (200, b"snow in Oslo")
    assert verification_of_httpx(response).is_verified


@pytest.mark.parametrize("is_paid_by_hand", [False, True], ids=["paid by the transport", "paid by the program"])
def test_body_in_pieces_is_verified_by_httpx_with_an_event_loop(rpc, deployment, buyer, shop, is_paid_by_hand):
    async def pieces():
        for piece in (b"snow ", b"in ", b"Oslo"):
            yield piece

    async def run(headers):
        async with AsyncVerifier({rpc: deployment}) as verifier:
            client = protect_client(paying_client(buyer, x402Client), verifier)
            async with httpx.AsyncClient(transport=verifying_transport(client, verifier)) as http:
                return await http.post(shop + "/echo", content=pieces(), headers=headers)

    headers = payment_for(shop + "/echo", buyer, method="POST") if is_paid_by_hand else {}
    response = asyncio.run(run(headers))
    assert (response.status_code, response.content) == (200, b"snow in Oslo")
    assert verification_of_httpx(response).is_verified, verification_of_httpx(response).problems
