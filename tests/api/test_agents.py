"""One agent over HTTP."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.api.world import ALICE, TREASURY

pytestmark = pytest.mark.one_engine


def test_an_agent_is_found_by_every_published_form_of_its_id(api, api_world):
    identity = api_world.deployment.identity
    forms = ("31337:1", "eip155:31337:1", f"eip155:31337:{identity}#1", f"eip155:31337:{identity.lower()}:1")
    responses = [api.get(f"/v1/agents/{quote(form, safe='')}") for form in forms]
    assert [response.status_code for response in responses] == [200] * 4
    assert len({response.content for response in responses}) == 1
    assert responses[0].json()["global_id"] == api_world.global_id(1)


def test_an_agent_shows_the_chain_and_its_file(api, api_world):
    answer = api.get("/v1/agents/31337:1").json()
    assert (answer["id"], answer["agent_id"], answer["owner"], answer["wallet"]) == (
        "31337:1",
        "1",
        ALICE.address,
        ALICE.address,
    )
    assert answer["metadata"] == [
        {"key": "category", "value": "0x" + b"weather".hex(), "size": 7},
        {"key": "raw", "value": "0xff00", "size": 2},
    ]
    file = answer["registration"]
    assert (file["state"], file["integrity"], file["name"]) == ("loaded", "inline", "Weather Oracle")
    assert (file["active"], file["x402_support"], file["is_confirmed"]) == (True, True, True)
    assert [service["name"] for service in file["services"]] == ["MCP", "web"]
    assert {"kind": "mcp_tool", "value": "forecast"} in file["capabilities"]


def test_summaries_equal_those_of_the_chain(api, api_world):
    ratings = {
        (rating["side"], rating["tag"], rating["registry"]): rating
        for rating in api.get("/v1/agents/31337:1").json()["ratings"]
    }
    open_feedback = ratings["server", "starred", api_world.deployment.reputation]
    assert (open_feedback["count"], open_feedback["counterparts"]) == (14, 3)
    assert ratings["server", "starred", api_world.deployment.authorized]["mean"] == 77
    assert ratings["client", "", api_world.deployment.reputation]["mean"] == 60


def test_a_wallet_and_a_failed_file_are_shown(api, api_world):
    assert api.get(f"/v1/agents/31337:{api_world.translator}").json()["wallet"] == TREASURY.address
    file = api.get(f"/v1/agents/31337:{api_world.lost}").json()["registration"]
    assert (file["state"], file["name"], file["services"]) == ("failed", None, [])


@pytest.mark.parametrize(
    ("name", "status", "code"),
    [
        ("31337:999", 404, "agent_not_found"),
        (f"31337:{2**256 - 1}", 404, "agent_not_found"),
        (f"31337:{2**256}", 400, "malformed_identifier"),
        ("5:1", 404, "chain_not_indexed"),
        ("eip155:5:1", 404, "chain_not_indexed"),
        ("eip155:5:0x8004B663056A597Dffe9eCcC1965A193B7388713%2342", 404, "chain_not_indexed"),
        (f"{2**80}:1", 400, "malformed_identifier"),
        ("42", 400, "malformed_identifier"),
        ("x", 400, "malformed_identifier"),
        ("eip155:31337:0x8004B663056A597Dffe9eCcC1965A193B7388713%2342", 404, "not_indexed"),
        ("solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp:0x", 400, "malformed_identifier"),
    ],
)
def test_a_wrong_id_is_a_problem(api, name, status, code):
    response = api.get(f"/v1/agents/{name}")
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert (response.status_code, problem["status"], problem["code"]) == (status, status, code)
    assert problem["type"] == f"urn:bilateral:problem:{code}"


def test_a_known_answer_is_not_sent_again(api):
    first = api.get("/v1/agents/31337:1")
    again = api.get("/v1/agents/31337:1", headers={"If-None-Match": f'"other", W/{first.headers["etag"]}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])


def test_head_has_the_headers_and_no_body(api):
    response = api.head("/v1/agents/31337:1")
    assert (response.status_code, response.content) == (200, b"")
    assert int(response.headers["content-length"]) > 100
