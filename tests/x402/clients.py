"""The clients of paid requests, each behind the same three functions: `httpx` with and without a loop, `requests`."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import NamedTuple

import httpx
from x402 import x402Client, x402ClientSync

from bilateral.x402 import AsyncVerifier, Verifier, protect_client
from bilateral.x402.clients.httpx import (
    fetch_lost_answer,
    fetch_lost_answer_sync,
    verification_of,
    verifying_sync_transport,
    verifying_transport,
)
from bilateral.x402.clients.requests import fetch_lost_answer as fetch_by_requests
from bilateral.x402.clients.requests import verification_of as verification_of_requests
from bilateral.x402.clients.requests import verifying_session
from tests.x402.world import paying_client

SECONDS = 120


class Buyer(NamedTuple):
    """A client that pays and verifies: posts a body to a URL, fetches a lost answer, returns a verification."""

    post: object
    fetch: object
    verification_of: object


@contextmanager
def by_httpx(account, trusted, required=True, limits=None, **checks):
    with Verifier(trusted, **checks) as verifier:
        client = protect_client(paying_client(account, x402ClientSync), verifier, required=required)
        transport = verifying_sync_transport(client, verifier, limits=limits)
        with httpx.Client(transport=transport, timeout=SECONDS, follow_redirects=True) as http:
            yield Buyer(
                lambda url, body: http.post(url, content=body),
                lambda lost: fetch_lost_answer_sync(http, lost),
                verification_of,
            )


@contextmanager
def by_httpx_with_a_loop(account, trusted, required=True, limits=None, **checks):
    with asyncio.Runner() as runner:
        verifier = AsyncVerifier(trusted, **checks)
        client = protect_client(paying_client(account, x402Client), verifier, required=required)
        transport = verifying_transport(client, verifier, limits=limits)
        http = httpx.AsyncClient(transport=transport, timeout=SECONDS, follow_redirects=True)
        try:
            yield Buyer(
                lambda url, body: runner.run(http.post(url, content=body)),
                lambda lost: runner.run(fetch_lost_answer(http, lost)),
                verification_of,
            )
        finally:
            runner.run(http.aclose())
            runner.run(verifier.close())


@contextmanager
def by_requests(account, trusted, required=True, limits=None, **checks):
    with Verifier(trusted, **checks) as verifier:
        client = protect_client(paying_client(account, x402ClientSync), verifier, required=required)
        with verifying_session(client, verifier, limits=limits) as session:
            yield Buyer(
                lambda url, body: session.post(url, data=body, timeout=SECONDS),
                lambda lost: fetch_by_requests(session, lost),
                verification_of_requests,
            )


CLIENTS = {"httpx": by_httpx, "httpx with an event loop": by_httpx_with_a_loop, "requests": by_requests}
