"""Requests that attack the service are the fault of their senders, and cost no more than others."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.one_engine

MANY = 20_000


def code(response):
    assert response.headers["content-type"] == "application/problem+json"
    return response.status_code, response.json()["code"]


@pytest.mark.parametrize(
    "path",
    ["/31337/{}", "/31337/{}.png", "/31337/{}/ratings", "/31337/{}/network.json", "/31337/ratings/1-{}"],
)
def test_number_of_thousands_of_digits_in_a_path_is_nothing(api, path):
    assert code(api.get(path.format("9" * 5_000))) == (404, "not_found")


@pytest.mark.parametrize("path", ["/v1/findings/a%00?chain=31337", "/31337/findings/a%00.json"])
def test_id_that_no_record_can_have_is_refused(api, path):
    assert code(api.get(path)) == (400, "invalid_argument")


def test_no_redirect_leads_to_the_host_that_a_request_names(api):
    response = api.get("/v1/chains/", headers={"Host": "evil.example"})
    assert code(response) == (404, "not_found")


@pytest.mark.parametrize(
    "more",
    [
        {str(number): 1 for number in range(MANY)},
        {"policy": {str(number): 1 for number in range(MANY)}},
        {"policy": {"severities": {str(number): "decline" for number in range(MANY)}}},
        {"policy": {"trust": {str(number): 1 for number in range(MANY)}}},
        {"policy": {"trust": {"accounts": ["x"] * MANY}}},
        {"policy": {"trust": {"agents": ["x"] * MANY}}},
        {"policy": {"validators": ["x"] * MANY}},
    ],
    ids=["fields", "fields of a policy", "severities", "fields of trust", "accounts", "agents", "validators"],
)
def test_refusal_is_short_however_much_is_wrong(api, more):
    response = api.post("/v1/checks/server", json={"agent": "31337:1", **more})
    assert code(response) == (400, "invalid_argument")
    assert len(response.content) < 10_000


def test_models_get_short_refusals_too(api):
    policy = {"severities": {str(number): "decline" for number in range(MANY)}}
    arguments = {"agent": "31337:1", "policy": policy}
    asked = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "check_server", "arguments": arguments},
    }
    response = api.post("/mcp", json=asked, headers={"Accept": "application/json, text/event-stream"})
    assert response.json()["result"]["isError"]
    assert len(response.content) < 10_000


@pytest.mark.parametrize(
    "text",
    [
        '{"agent": ' + "9" * 5_000 + "}",
        "[" * 19_000,
        "[" * 500_000,
        '{"query": ' + '{"a":' * 15_000,
        '["", ""]' * 60_000,
        '{"\\ud800": 1}',
        "NaN",
        "",
    ],
    ids=["number", "depth", "brackets", "objects", "quotes", "surrogate", "not a number", "nothing"],
)
@pytest.mark.parametrize("path", ["/v1/checks/server", "/v1/checks/client", "/api/v1/search", "/graphql"])
def test_json_that_cannot_be_read_is_refused(api, path, text):
    response = api.post(path, content=text, headers={"Content-Type": "application/json"})
    assert response.status_code == 400


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_json_of_other_encodings_is_refused(api, encoding):
    content = json.dumps({"agent": "31337:1"}).encode(encoding)
    response = api.post("/v1/checks/server", content=content, headers={"Content-Type": "application/json"})
    assert code(response) == (400, "malformed_body")


def test_last_of_two_equal_keys_counts(api):
    twice = '{"query": "nothing", "query": ' + json.dumps("{ _meta { deployment } }") + "}"
    response = api.post("/graphql", content=twice, headers={"Content-Type": "application/json"})
    assert response.json()["data"]
