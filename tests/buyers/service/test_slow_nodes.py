"""A slow node holds nobody but those who ask it."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import httpx
import pytest

from bilateral.buyers.requests import FeedbackBody
from tests.api.world import served
from tests.buyers.service.world import ALICE, CHAIN, SAMPLE, SELLER, SELLER_ID, feedback, payments_of, signed
from tests.sdk.servers import HttpServer, respond

pytestmark = pytest.mark.one_engine

CONNECTIONS = 60


@pytest.fixture
def slow(buyers_settings):
    """A service whose node does not answer before `go_on` is set."""
    asked, go_on = threading.Semaphore(0), threading.Event()

    def stall(handler):
        asked.release()
        go_on.wait(120)
        respond(handler, b"{}")

    with HttpServer() as node:
        node.routes["/"] = stall
        buyers = replace(buyers_settings.buyers, key_variable="", nodes={str(CHAIN): node.url})
        try:
            with served(replace(buyers_settings, connections=2, buyers=buyers)) as url:
                yield url, asked, go_on
        finally:
            go_on.set()


def contract_signed(transaction):
    """Return feedback that only a contract could have signed."""
    return {**feedback(transaction), "signature": "0x" + "11" * 65}


def test_messages_that_wait_for_a_node_hold_neither_readers_nor_signed_messages(slow, buyers_database):
    url, asked, go_on = slow
    (transaction, _), *_ = payments_of(buyers_database, ALICE)
    (own, _), *_ = payments_of(buyers_database, SAMPLE)
    with ThreadPoolExecutor(CONNECTIONS) as pool, httpx.Client(base_url=url, timeout=60) as client:
        waiting = [
            pool.submit(httpx.post, f"{url}/api/buyer/feedback", json=contract_signed(transaction), timeout=60)
            for _ in range(12)
        ]
        assert asked.acquire(timeout=30)
        for path in (f"/api/buyer/{SAMPLE.address}?chainId={CHAIN}", "/api/search?q=agent"):
            began = time.monotonic()
            response = client.get(path)
            assert (response.status_code, go_on.is_set()) == (200, False)
            assert time.monotonic() - began < 4  # the node would hold it for five seconds
        body = signed(FeedbackBody, feedback(own, buyer=SAMPLE), SELLER_ID, SELLER)
        assert client.post("/api/buyer/feedback", json=body).json()["counted"]
        assert not go_on.is_set()
        go_on.set()
        answers = {entry.result().status_code for entry in waiting}
    assert answers <= {401, 503}


def test_more_questions_than_the_limit_are_refused_with_a_time(slow, buyers_database):
    url, asked, go_on = slow
    (transaction, _), *_ = payments_of(buyers_database, ALICE)
    path = f"{url}/api/buyer/{ALICE.address}"
    consent = {"X-Buyer-Until": str(int(time.time()) + 300), "X-Buyer-Signature": "0x00"}
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        posts = [
            pool.submit(httpx.post, f"{url}/api/buyer/feedback", json=contract_signed(transaction), timeout=60)
            for _ in range(CONNECTIONS // 2)
        ]
        gets = [
            pool.submit(httpx.get, path, params={"expand": "messages"}, headers=consent, timeout=60)
            for _ in range(CONNECTIONS // 2)
        ]
        assert asked.acquire(timeout=30)
        refused = 0
        deadline = time.monotonic() + 30
        while not refused and time.monotonic() < deadline:
            refused = sum(request.done() for request in (*posts, *gets))
        go_on.set()
        answers = [request.result() for request in (*posts, *gets)]
    busy = [answer for answer in answers if answer.status_code == 503]
    assert busy
    assert {(entry.json()["code"], entry.headers["retry-after"]) for entry in busy} == {("nodes_busy", "5")}
    assert {answer.status_code for answer in answers} == {401, 503}
