"""Searches over HTTP: agents by words, capabilities and ratings; feedback; leaders; the SDKs' keyword search."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode

import httpx
import pytest

from tests.api.world import CHAIN_ID, ERIN, STARS


def search(api, **query):
    answer = api.get("/v1/search/agents", params=query)
    assert answer.status_code == 200, answer.text
    return [item["id"] for item in answer.json()["items"]]


@pytest.fixture
def weather(api_world):
    return api_world.id(api_world.weather)


def test_an_agent_is_found_by_words_and_by_the_beginning_of_a_word(api, weather):
    assert weather in search(api, q="weather")
    assert weather in search(api, q="weath")
    assert weather in search(api, q="waether")


def test_an_agent_is_found_by_its_ratings(api, weather, api_world):
    assert weather in search(api, tag="starred", minimum="60", count=len(STARS) - 1, reviewer=ERIN.address)
    assert search(api, tag="starred", count=10_000) == []
    assert api_world.id(api_world.buyer) in search(api, tag="", side="client")


def test_several_gates_must_all_be_passed(api, weather, api_world):
    starred = {"tag": "starred", "minimum": "60"}
    assert weather in search(api, **starred, gate=f"tag=starred,reviewer={ERIN.address},count={len(STARS) - 1}")
    assert search(api, **starred, gate=["count=1", "tag=starred,count=10000"]) == []
    both = search(api, gate=["side=client,tag=,minimum=1", "side=server"])
    assert both == [entry for entry in search(api, side="client", tag="") if entry in search(api, gate="side=server")]
    assert api_world.id(api_world.buyer) in search(api, gate="side=client")


def test_services_and_capabilities_filter(api, weather):
    assert weather in search(api, service="mcp")
    assert weather not in search(api, service="a2a")
    assert search(api, capability="mcp_tool:nothing") == []


def test_search_of_the_buyer_protocol_filters_by_x402(api, api_world):
    everything, payable = (
        {
            entry["globalId"]: entry["x402"]
            for entry in api.get("/api/search", params={"x402Only": only}).json()["results"]
        }
        for only in ("false", "true")
    )
    assert payable == {name: says for name, says in everything.items() if says}
    assert [name.rpartition("#")[2] for name in payable] == [str(api_world.weather)]
    assert len(everything) > 1


def test_metadata_on_chain_filters(api):
    assert (first := search(api, metadata="category")) and search(api, metadata="category=weather") == first
    assert search(api, metadata=["category", "raw=hex:ff00"]) == first
    assert search(api, metadata=["category", "raw=hex:ff"]) == search(api, metadata="category=x") == []
    refused = api.get("/v1/search/agents", params={"metadata": "raw=hex:f"})
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_argument")


def test_feedback_is_found_by_the_tool_of_its_file(api):
    everything = api.get("/v1/search/feedback", params={"chain": CHAIN_ID}).json()["items"]
    tools = {(entry["file"] or {}).get("mcp_tool") for entry in everything} - {None}
    assert tools
    for tool in [*tools, "nothing"]:
        answer = api.get("/v1/search/feedback", params={"chain": CHAIN_ID, "tool": tool}).json()["items"]
        assert answer == [entry for entry in everything if entry["file"] and entry["file"].get("mcp_tool") == tool]


def test_pages_follow_each_other(api):
    everything = search(api, limit=1_000)
    first = api.get("/v1/search/agents", params={"limit": 3})
    assert first.links["next"]["url"].startswith("/v1/search/agents?limit=3&cursor=")
    pages = [item["id"] for item in first.json()["items"]]
    cursor = first.json()["next"]
    while cursor:
        page = api.get("/v1/search/agents", params={"limit": 3, "cursor": cursor}).json()
        pages += [item["id"] for item in page["items"]]
        cursor = page["next"]
    assert pages == everything
    assert len(pages) == 7


def test_feedback_is_found_by_reviewer_and_value(api, weather):
    query = {"chain": CHAIN_ID, "agent": weather, "reviewer": ERIN.address, "tag1": "starred", "tag2": "", "limit": 100}
    everything = api.get("/v1/search/feedback", params={**query, "revoked": True}).json()["items"]
    assert sorted(int(entry["value"]) for entry in everything) == sorted(STARS)
    good = api.get("/v1/search/feedback", params={**query, "minimum": "90"}).json()["items"]
    assert sorted(int(entry["value"]) for entry in good) == sorted(star for star in STARS if star >= 90)


def test_leaders_are_in_the_order_of_their_standings(api, weather):
    items = api.get("/v1/leaders", params={"tag": "starred"}).json()["items"]
    standings = [item["standing"] for item in items]
    assert weather in [item["id"] for item in items]
    assert standings == sorted(standings, reverse=True)


def test_board_of_lower_bounds_is_in_their_order(api, weather):
    items = api.get("/v1/leaders", params={"tag": "starred", "board": "lower_bound"}).json()["items"]
    bounds = [item["lower_bound"] for item in items]
    assert weather in [item["id"] for item in items]
    assert bounds == sorted(bounds, reverse=True)


def test_keyword_search_answers_as_published_sdks_expect(api, weather):
    results = api.post("/api/v1/search", json={"query": "weather", "minScore": 0.5, "limit": 5_000}).json()["results"]
    assert {entry["agentId"] for entry in results} == set(search(api, q="weather"))
    assert all(set(entry) == {"chainId", "agentId", "score"} and 0.5 <= entry["score"] <= 1 for entry in results)
    assert weather in [entry["agentId"] for entry in results]
    assert api.post("/api/v1/search", json={"query": " "}).json() == {"results": []}


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("agents", {"order": "mean"}),
        ("agents", {"order": "relevance"}),
        ("agents", {"q": "…"}),
        ("agents", {"owner": "0x12"}),
        ("agents", {"capability": "tool"}),
        ("agents", {"minimum": "NaN"}),
        ("agents", {"cursor": "x"}),
        ("feedback", {"chain": CHAIN_ID, "reviewer": "x"}),
        ("feedback", {"chain": CHAIN_ID, "agent": "x"}),
        ("feedback", {}),
    ],
    ids=["mean", "relevance", "text", "owner", "capability", "number", "cursor", "reviewer", "agent", "chain"],
)
def test_an_invalid_filter_is_a_problem(api, path, query):
    answer = api.get(f"/v1/search/{path}", params=query)
    assert answer.status_code in (400, 422)
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/v1/search/agents", "chain=5"),
        ("/v1/search/agents", f"chain={CHAIN_ID}&chain=5&q=nothing-like-it"),
        ("/v1/search/feedback", "chain=5"),
        ("/v1/leaders", "tag=starred&chain=5"),
        ("/api/search", "chain=5"),
    ],
)
def test_chain_that_is_not_indexed_is_a_problem(api, path, query):
    answer = api.get(f"{path}?{query}")
    assert (answer.status_code, answer.json()["code"]) == (404, "chain_not_indexed")
    assert answer.json()["detail"] == "chain 5 is not indexed: choose one of the indexed chains (31337)"


def test_no_path_takes_a_parameter_that_it_does_not_have(api):
    described = api.get("/openapi.json").json()["paths"]
    filled = {"agent": f"{CHAIN_ID}:1", "address": "0x" + "11" * 20, "number": "1"}
    paths = [text for text, operations in described.items() if text.startswith("/v1/") and "get" in operations]
    assert len(paths) > 20
    for path in paths:
        names = [
            parameter["name"]
            for parameter in described[path]["get"].get("parameters", [])
            if parameter["in"] == "query"
        ]
        url = re.sub("{([^}]+)}", lambda name: filled.get(name[1], "x"), path)
        options = {"tag": "starred", "chain": CHAIN_ID, "agent": filled["agent"], "client": filled["agent"]}
        needed = {name: value for name, value in options.items() if name in names}
        answer = api.get(url, params=needed | {"minimun": "90"})
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_argument"), path
        assert "minimun" in answer.json()["detail"]
    refused = api.get("/v1/search/agents", params={"reviewers": "0x" + "11" * 20}).json()["detail"]
    assert refused.startswith('the path has no parameter "reviewers": use q, chain, owner, ')


def forgeries(cursor):
    """Return a cursor with each of its values replaced by the largest and the smallest of each kind."""
    kind, *key = json.loads(urlsafe_b64decode(cursor + "=="))
    numbers = (10**400, 2**256, 2**63, 2**63 - 1, 2**31, 1e308, 0.5)
    for place in range(len(key)):
        for value in (*numbers, *(-number for number in numbers), "", "0x" + "f" * 64, "x" * 400):
            changed = [*key[:place], value, *key[place + 1 :]]
            yield urlsafe_b64encode(json.dumps([kind, *changed]).encode()).decode().rstrip("=")


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    "path",
    [
        "/v1/search/agents",
        "/v1/search/agents?order=registered",
        "/v1/search/agents?tag=starred",
        "/v1/search/agents?tag=starred&order=mean",
        "/v1/leaders?tag=starred",
        "/v1/search/feedback?chain=31337",
        "/v1/agents/31337:1/feedback",
        "/v1/agents/31337:1/ratings?direction=given",
        "/v1/agents/31337:1/validations",
        "/v1/agents/31337:1/responses",
    ],
)
def test_the_service_answers_a_forged_cursor(api, path):
    cursor = api.get(path, params=dict(httpx.URL(path).params) | {"limit": 1}).json()["next"]
    for forged in forgeries(cursor):
        response = api.get(path, params=dict(httpx.URL(path).params) | {"limit": 1, "cursor": forged})
        assert response.status_code in (200, 400), (response.text, forged)


@pytest.mark.parametrize(
    ("name", "value", "missing"),
    [
        ("metadata", "category", "category=none"),
        ("capability", "mcp_tool:forecast", "mcp_tool:none"),
        ("service", "MCP", "none"),
    ],
)
def test_the_last_of_the_longest_list_of_conditions_counts(api, weather, name, value, missing):
    """The first ones become joins, of which PostgreSQL plans only a few in time."""
    search = api.get("/v1/search/agents", params={name: [value] * 200})
    assert weather in [item["id"] for item in search.json()["items"]]
    assert api.get("/v1/search/agents", params={name: [value] * 199 + [missing]}).json()["items"] == []


QUESTION = "I need somebody who tells me if it will rain tomorrow"


def test_search_without_a_match_of_words_finds_the_closest_in_meaning_page_by_page_and_says_so(api, api_world):
    assert api.get("/v1/search/agents", params={"q": "weather"}).json()["is_closest"] is False
    whole = api.get("/v1/search/agents", params={"q": QUESTION}).raise_for_status().json()
    assert whole["is_closest"] is True
    assert whole["items"][0]["id"] == api_world.id(api_world.weather)
    wide = {"q": "somebody for weather forecasts, translation into German, or pictures", "limit": 1}
    first = api.get("/v1/search/agents", params=wide).json()
    second = api.get("/v1/search/agents", params={**wide, "cursor": first["next"]}).json()
    assert first["items"] != second["items"] != []
    assert (first["is_closest"], second["is_closest"]) == (True, True)
    refused = api.get("/v1/search/agents", params={"q": "weather", "cursor": first["next"]})
    assert refused.json()["code"] == "invalid_cursor"


@pytest.mark.parametrize("order", ["standing", "relevance", "registered"])
def test_search_with_an_order_never_falls_back_to_meaning(api, order):
    answer = api.get("/v1/search/agents", params={"q": QUESTION, "order": order}).json()
    assert (answer["items"], answer["is_closest"]) == ([], False)


@pytest.mark.one_engine
def test_search_without_the_model_finds_nothing_by_meaning(api, monkeypatch):
    monkeypatch.setattr("bilateral.index.search.queries.has_model", lambda: False)
    answer = api.get("/v1/search/agents", params={"q": QUESTION}).json()
    assert (answer["items"], answer["is_closest"]) == ([], False)
