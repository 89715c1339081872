"""Frequent requests that do not pass the router: their answers are those of their routes."""

from __future__ import annotations

import asyncio
import threading

import pytest

from bilateral.api.service import Service
from bilateral.index.errors import DatabaseUnavailableError, QueryTimeoutError

pytestmark = pytest.mark.one_engine

AS_ROUTE = "&"
"""An end of a query that no shortcut knows, and that routes leave out."""

KEPT = ("content-type", "etag", "cache-control", "x-content-type-options", "content-length")


def answered(response):
    return response.status_code, {name: response.headers.get(name) for name in KEPT}, response.content


@pytest.mark.parametrize("query", ["", "newest=0", "newest=3", "newest=03", "newest=100"])
@pytest.mark.parametrize("agent", ["31337:1", "31337:6", "eip155:31337:7", "31337:999", "5:1", "x", "a" * 201])
def test_an_agent_is_the_same_with_and_without_the_router(api, agent, query):
    short = api.get(f"/v1/agents/{agent}?{query}")
    assert answered(short) == answered(api.get(f"/v1/agents/{agent}?{query}{AS_ROUTE}"))


@pytest.mark.parametrize("query", ["newest=101", "newest=-1", "newest=", "newest=x"])
def test_a_query_that_is_not_plain_is_checked_by_the_route(api, query):
    short = api.get(f"/v1/agents/31337:1?{query}")
    assert answered(short) == answered(api.get(f"/v1/agents/31337:1?{query}{AS_ROUTE}"))
    assert short.json()["code"] == "invalid_argument"


def test_pages_of_other_origins_may_read_a_shortcut(api):
    response = api.get("/v1/agents/31337:1", headers={"Origin": "https://else.example"})
    assert response.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize(
    "failure", [QueryTimeoutError(0.1), DatabaseUnavailableError("locked")], ids=["late", "locked"]
)
def test_a_read_that_is_not_short_goes_on_in_a_thread(api_settings, failure):
    loop = threading.current_thread()

    def read(_):
        if threading.current_thread() is loop:
            raise failure
        return "read"

    service = Service(api_settings)
    try:
        assert asyncio.run(service.read_briefly(read)) == "read"
    finally:
        service.close()
