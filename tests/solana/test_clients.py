"""The three clients pay and verify on Solana, and refuse an agent that was sold; the SDK does the rest."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager

import httpx
import pytest
from solders.pubkey import Pubkey
from x402 import x402Client, x402ClientSync
from x402.http.clients.httpx import PaymentError
from x402.http.clients.requests import PaymentError as PaymentErrorOfRequests

from bilateral.solana.addresses import MAINNET
from bilateral.x402 import AsyncVerifier, Verifier, protect_client
from bilateral.x402.clients.httpx import verification_of, verifying_sync_transport, verifying_transport
from bilateral.x402.clients.requests import verification_of as verification_of_requests
from bilateral.x402.clients.requests import verifying_session
from bilateral.x402.proof.solana import SatiReader
from tests.solana.paying import BODY, paying_client


@contextmanager
def by_httpx(buyer, rpc):
    with Verifier({}, readers=[SatiReader(rpc, MAINNET)]) as verifier:
        client = protect_client(paying_client(buyer, rpc, x402ClientSync), verifier)
        with httpx.Client(transport=verifying_sync_transport(client, verifier), timeout=60) as http:
            yield lambda url: http.post(url, content=BODY), verification_of


@contextmanager
def by_httpx_with_a_loop(buyer, rpc):
    with asyncio.Runner() as runner:
        verifier = AsyncVerifier({}, readers=[SatiReader(rpc, MAINNET)])
        client = protect_client(paying_client(buyer, rpc, x402Client), verifier)
        http = httpx.AsyncClient(transport=verifying_transport(client, verifier), timeout=60)
        try:
            yield lambda url: runner.run(http.post(url, content=BODY)), verification_of
        finally:
            runner.run(http.aclose())
            runner.run(verifier.close())


@contextmanager
def by_requests(buyer, rpc):
    with Verifier({}, readers=[SatiReader(rpc, MAINNET)]) as verifier:
        client = protect_client(paying_client(buyer, rpc, x402ClientSync), verifier)
        with verifying_session(client, verifier) as session:
            yield lambda url: session.post(url, data=BODY, timeout=60), verification_of_requests


REFUSALS = (PaymentError, PaymentErrorOfRequests)
CLIENTS = {"httpx": by_httpx, "httpx with an event loop": by_httpx_with_a_loop, "requests": by_requests}


@pytest.fixture(params=CLIENTS)
def client(request, buyer, rpc):
    """Posts to a URL, and returns the verification of an answer."""
    with CLIENTS[request.param](buyer, rpc) as made:
        yield made


def test_s43_client_pays_and_verifies(client, shop):
    post, verification = client
    response = post(shop[0])
    assert response.content == BODY
    assert verification(response).is_verified, verification(response).problems


def test_s11_client_pays_nothing_to_an_agent_that_was_sold(client, sell, agent, owner, stranger, world, node):
    post, _ = client
    world.transfer_agent(Pubkey.from_string(agent), owner, stranger)
    before = len(node.history)
    with sell(agent, str(owner.pubkey())) as (url, runs), pytest.raises(REFUSALS, match="former owner"):
        post(url)
    assert (len(node.history), runs) == (before, [])


def test_x24_client_pays_nothing_to_an_account_that_is_not_the_wallet(client, sell, agent, stranger, node):
    post, _ = client
    before = len(node.history)
    with sell(agent, str(stranger.pubkey())) as (url, _), pytest.raises(REFUSALS, match="mismatch"):
        post(url)
    assert len(node.history) == before
