"""Searches above the limit are rejected early, and short reads do not wait for them."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from bilateral.api import load
from bilateral.api.routes import search as search_routes
from tests.api.world import CHAIN_ID

pytestmark = pytest.mark.one_engine

SEARCH = "/v1/search/agents?q=weather"
AT_ONCE = 2
MOST = AT_ONCE * (1 + load.WAITING)


@pytest.fixture
def gate(monkeypatch):
    """Keep searches running until the returned event is set."""
    opened, search = threading.Event(), search_routes.search_indexed

    def slow_search(*arguments, **options):
        assert opened.wait(30)
        return search(*arguments, **options)

    monkeypatch.setattr(search_routes, "search_indexed", slow_search)
    yield opened
    opened.set()


@pytest.fixture
def client(api_with, gate):
    """Return a client of a service that runs two searches at a time."""
    with (
        api_with(connections=2 * AT_ONCE) as described,
        httpx.Client(base_url=described.base_url, timeout=60) as client,
    ):
        yield client
        gate.set()


def _started(pool, client, count):
    """Start searches, and wait until the service has read their requests."""
    searches = [pool.submit(client.get, SEARCH) for _ in range(count)]
    time.sleep(1.0)
    return searches


def test_the_last_search_that_fits_is_answered_and_the_next_one_is_told_when_to_return(client, gate, monkeypatch):
    monkeypatch.setattr(load, "_WAIT_SECONDS", 30.0)
    with ThreadPoolExecutor(MOST + 1) as pool:
        searches = _started(pool, client, MOST)
        for path in (SEARCH, "/v1/leaders?tag=starred"):
            began = time.monotonic()
            refused = client.get(path)
            assert time.monotonic() - began < 1
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert refused.json()["code"] == "busy"
        assert client.post("/graphql", json={"query": "{ __typename }"}).status_code == 503
        assert not any(search.done() for search in searches)
        gate.set()
        assert [search.result().status_code for search in searches] == [200] * MOST
        assert client.get(SEARCH).status_code == 200


@pytest.mark.parametrize(
    "path", [f"/v1/agents/{CHAIN_ID}:1", f"/v1/agents/{CHAIN_ID}:1/feedback", "/v1/chains", "/healthz"]
)
def test_short_reads_are_answered_while_all_turns_are_taken(client, gate, monkeypatch, path):
    monkeypatch.setattr(load, "_WAIT_SECONDS", 30.0)
    with ThreadPoolExecutor(MOST) as pool:
        searches = _started(pool, client, MOST)
        assert client.get(path).status_code == 200
        assert not any(search.done() for search in searches)
        gate.set()


def test_a_search_that_waits_too_long_is_rejected_and_gives_its_place_back(client, gate):
    with ThreadPoolExecutor(MOST) as pool:
        running = _started(pool, client, AT_ONCE)
        waiting = [pool.submit(client.get, SEARCH) for _ in range(MOST - AT_ONCE)]
        assert [search.result().status_code for search in waiting] == [503] * len(waiting)
        waiting = [pool.submit(client.get, SEARCH) for _ in range(MOST - AT_ONCE)]
        gate.set()
        assert [search.result().status_code for search in (*running, *waiting)] == [200] * MOST


def test_a_client_that_reads_its_answer_slowly_keeps_no_turn():
    async def answer(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    async def run():
        queue, scope, is_read = (
            load.SearchQueue(answer, at_once=1),
            {"type": "http", "path": "/graphql"},
            asyncio.Event(),
        )

        async def send_slowly(_message):
            await is_read.wait()

        messages = []

        async def send(message):
            messages.append(message)

        slow = [asyncio.create_task(queue(scope, None, send_slowly)) for _ in range(3)]
        await asyncio.sleep(0)
        await queue(scope, None, send)
        assert messages[0]["status"] == 200
        assert not any(task.done() for task in slow)
        is_read.set()
        await asyncio.gather(*slow)

    asyncio.run(run())
