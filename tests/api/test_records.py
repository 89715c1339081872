"""Records of agents and accounts over HTTP, compared with the chain."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from bilateral.index.agents import queries as accounts
from bilateral.index.ratings.queries import Direction, ratings_of
from bilateral.index.reading.registries import read_registries
from tests.api.world import ALICE, BOB, DAVE, ERIN, FORMULA_TAG, FRANK, GRACE, MALLORY, STARS, TREASURY


def items(api, path, **parameters):
    response = api.get(f"/v1/{path}", params=parameters)
    assert response.status_code == 200, response.text
    return response.json()["items"]


def test_feedback_equals_that_of_the_chain(api, api_world):
    all_feedback = items(api, "agents/31337:1/feedback", revoked=True, limit=100)
    with api_world.client() as client:
        expected = client.read_all_feedback(api_world.weather, include_revoked=True)
    assert {
        (entry["id"], entry["value"], entry["tag1"], entry["tag2"], entry["is_revoked"]) for entry in all_feedback
    } == {(str(entry.id), format(entry.value, "f"), entry.tag1, entry.tag2, entry.is_revoked) for entry in expected}


def test_feedback_is_listed_the_newest_first_without_revoked_ones(api):
    stars = items(api, "agents/31337:1/feedback", client=ERIN.address, tag1="starred", tag2="")
    assert [int(entry["value"]) for entry in stars] == [star for star in reversed(STARS) if star != STARS[3]]
    places = [(entry["block"], entry["log_index"]) for entry in stars]
    assert places == sorted(places, reverse=True)


def test_a_revoked_feedback_names_the_block_of_its_revocation(api):
    (revoked,) = [item for item in items(api, "agents/31337:1/feedback", revoked=True) if item["is_revoked"]]
    assert revoked["id"] == f"31337:1:{ERIN.address}:3"
    assert revoked["revoked_block"] > revoked["block"]


def test_pages_join_to_the_whole_list_without_gap_or_repetition(api):
    whole = items(api, "agents/31337:1/feedback", revoked=True, limit=100)
    joined, cursor = [], None
    while True:
        page = api.get(
            "/v1/agents/31337:1/feedback",
            params={"revoked": True, "limit": 4, "cursor": cursor or ""} if cursor else {"revoked": True, "limit": 4},
        ).json()
        joined += page["items"]
        cursor = page["next"]
        if cursor is None:
            break
        assert len(page["items"]) == 4
    assert joined == whole


def test_values_keep_all_of_their_digits(api, api_world):
    (uptime, _) = sorted(
        items(api, f"agents/31337:{api_world.translator}/feedback"), key=lambda item: item["tag1"], reverse=True
    )
    assert (uptime["tag1"], uptime["value"]) == ("uptime", "99.77")
    (loss,) = items(api, f"agents/31337:{api_world.painter}/feedback")
    assert (loss["value"], loss["tag2"]) == ("-3.2", "week")


def test_a_feedback_file_is_shown_beside_the_chain(api):
    (day,) = items(api, "agents/31337:1/feedback", tag2="day")
    file = day["file"]
    assert (file["state"], file["text"], file["mcp_tool"]) == ("loaded", "The forecast was right.", "forecast")
    assert (file["payment_from"], file["payment_transaction"]) == (ERIN.address, "0x" + "ab" * 32)
    assert day["hash"] is not None


def test_one_feedback_has_its_responses(api):
    answer = api.get(f"/v1/feedback/31337:1:{FRANK.address}:0").json()
    (feedback,) = answer["feedback"]
    assert (feedback["value"], feedback["feedback_index"]) == ("40", "1")
    assert [(response["responder"], response["hash"]) for response in answer["responses"]] == [
        (MALLORY.address, "0x" + "07" * 32),
        (ALICE.address, None),
    ]
    assert [item["responder"] for item in items(api, "agents/31337:1/responses", client=FRANK.address)] == [
        MALLORY.address,
        ALICE.address,
    ]


@pytest.mark.parametrize(
    ("name", "status", "code"),
    [
        (f"31337:1:{FRANK.address}:9", 404, "feedback_not_found"),
        (f"1:{FRANK.address}:0", 400, "malformed_identifier"),
        ("31337:1", 400, "malformed_identifier"),
        (f"31337:1:{FRANK.address}:{2**64}", 400, "malformed_identifier"),
    ],
)
def test_a_wrong_feedback_id_is_a_problem(api, name, status, code):
    response = api.get(f"/v1/feedback/{name}")
    assert (response.status_code, response.json()["code"]) == (status, code)


def test_authorized_feedback_has_its_score_and_tag(api):
    (authorized,) = items(api, "agents/31337:1/authorized-feedback")
    assert (authorized["client"], authorized["score"], authorized["tag1"], authorized["tag2"]) == (
        GRACE.address,
        77,
        "starred",
        "",
    )
    assert items(api, "agents/31337:1/authorized-feedback", client=FRANK.address) == []


def test_ratings_are_shown_in_both_directions(api):
    received = items(api, "agents/31337:5/ratings")
    assert [(entry["side"], entry["server"], entry["rating"]) for entry in received] == [
        ("client", "31337:2", 35),
        ("client", "31337:1", 85),
    ]
    ratings = items(api, "agents/31337:1/ratings", direction="given")
    assert [(entry["side"], entry["agent"], entry["rating"]) for entry in ratings] == [
        ("validator", "31337:4", 95),
        ("client", "31337:5", 85),
    ]
    assert [item["agent"] for item in items(api, "agents/31337:1/ratings", direction="given", side="client")] == [
        "31337:5"
    ]


def test_pages_of_ratings_of_both_sides_join_to_the_whole_list(api_reader):
    with api_reader.connect() as connection:
        key = read_registries(connection).key(31337, 1)
        whole = ratings_of(connection, key, Direction.GIVEN).items
        first = ratings_of(connection, key, Direction.GIVEN, limit=1)
        second = ratings_of(connection, key, Direction.GIVEN, limit=1, cursor=first.next)
    assert (*first.items, *second.items) == whole
    assert second.next is None


def test_validations_have_their_last_answer(api):
    waiting, answered = items(api, "agents/31337:1/validations")
    assert (waiting["request_hash"], waiting["response"], waiting["answered_block"]) == ("0x" + "02" * 32, None, None)
    assert (answered["response"], answered["tag"]) == (90, "hard")
    assert answered["response_uri"] == "https://dave.example/second.json"
    assert items(api, f"accounts/{DAVE.address}/validations", chain=31337) == [waiting, answered]
    page = api.get("/v1/agents/31337:1/validations", params={"limit": 1}).json()
    assert items(api, "agents/31337:1/validations", cursor=page["next"]) == [answered]


def test_a_neighbourhood_has_both_directions(api):
    answer = api.get("/v1/agents/31337:5/neighbourhood").json()
    assert (answer["agent"], answer["is_whole"]) == ("31337:5", True)
    edges = {(edge["direction"], edge["side"], edge["agent"], edge["tag"]): edge for edge in answer["edges"]}
    assert edges["received", "client", "31337:1", ""]["share"] == 0.85
    weather = edges["given", "server", "31337:1", "starred"]
    assert (weather["account"], weather["count"]) == (ERIN.address, 12)
    assert edges["given", "server", "31337:6", FORMULA_TAG]["count"] == 1


def test_a_neighbourhood_names_the_agents_as_which_clients_speak(api):
    edges = api.get("/v1/agents/31337:1/neighbourhood").json()["edges"]
    speakers = {edge["account"]: edge["agent"] for edge in edges if edge["direction"] == "received" and edge["account"]}
    assert speakers == {ERIN.address: "31337:5", FRANK.address: "31337:7", GRACE.address: None}
    (no_scale,) = [edge for edge in edges if edge["tag"] == "responseTime"]
    assert no_scale["share"] is None


def test_a_neighbourhood_says_that_it_is_cut(api):
    answer = api.get("/v1/agents/31337:1/neighbourhood", params={"limit": 1}).json()
    assert not answer["is_whole"]
    assert [edge["direction"] for edge in answer["edges"]] == ["received", "given"]


def test_an_account_has_the_agents_that_it_owns_is_paid_for_and_speaks_as(api):
    (agent,) = api.get(f"/v1/accounts/{BOB.address.lower()}").json()["agents"]
    assert (agent["id"], agent["is_owner"], agent["is_wallet"]) == ("31337:2", True, False)
    (agent,) = api.get(f"/v1/accounts/{TREASURY.address}").json()["agents"]
    assert (agent["id"], agent["is_owner"], agent["is_wallet"], agent["is_primary"]) == ("31337:2", False, True, True)
    assert api.get(f"/v1/accounts/{GRACE.address}").json()["agents"] == []


def test_an_account_has_the_feedback_that_it_gave(api):
    feedback = items(api, f"accounts/{FRANK.address}/feedback", chain=31337)
    assert [(entry["agent"], entry["tag1"]) for entry in feedback] == [
        ("31337:1", "responseTime"),
        ("31337:3", "tradingYield"),
        ("31337:1", "starred"),
    ]


def test_statistics_count_the_events_of_each_day(api, api_world):
    (today,) = items(api, "statistics", chain=31337, **{"from": _day_of(api)})
    assert {name: count for name, count in today.items() if name not in ("day", "chain_id")} == {
        "agents": 7,
        "feedback": 20,
        "revocations": 1,
        "responses": 2,
        "authorized_feedback": 1,
        "client_ratings": 3,
        "validator_ratings": 1,
        "validation_requests": 2,
        "validation_responses": 2,
    }
    assert items(api, "statistics", **{"from": "2001-01-01", "to": "2001-12-31"}) == []


def _day_of(api):
    """Return the day of the first registration: the world may be made at midnight."""
    moment = api.get("/v1/agents/31337:1").json()["registered_at"]
    return datetime.fromtimestamp(moment, UTC).date().isoformat()


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"from": "2026-01-02", "to": "2026-01-01"}, "invalid_argument"),
        ({"from": "2020-01-01", "to": "2026-01-01"}, "invalid_argument"),
        ({"from": "yesterday"}, "invalid_argument"),
        ({"chain": "5"}, "chain_not_indexed"),
    ],
)
def test_wrong_days_and_chains_are_problems(api, parameters, code):
    response = api.get("/v1/statistics", params=parameters)
    assert response.status_code in (400, 404)
    assert response.json()["code"] == code


def test_chains_come_as_other_lists_do(api):
    lines = api.get("/v1/chains", params={"format": "jsonl"}).text.splitlines()
    assert [json.loads(line) for line in lines] == api.get("/v1/chains").json()["items"]
    assert api.get("/v1/chains", params={"format": "csv"}).text.startswith("progress,registries\r\n")


@pytest.mark.parametrize(("most", "shown", "has_more"), [(1, 1, False), (0, 0, True)])
def test_account_with_more_agents_than_an_answer_holds_says_so(api, monkeypatch, most, shown, has_more):
    monkeypatch.setattr(accounts, "MAX_AGENTS", most)
    answer = api.get(f"/v1/accounts/{BOB.address}").json()
    assert (len(answer["agents"]), answer["has_more"]) == (shown, has_more)


def test_chains_name_their_registries_and_the_block_of_all_answers(api, api_world):
    (chain,) = api.get("/v1/chains").json()["items"]
    assert (chain["progress"]["chain_id"], chain["progress"]["lag"]) == (31337, 0)
    assert {registry["kind"]: registry["address"] for registry in chain["registries"]} == {
        "IdentityRegistry": api_world.deployment.identity,
        "BidirectionalReputationRegistry": api_world.deployment.reputation,
        "AuthorizedReputationRegistry": api_world.deployment.authorized,
        "ValidationRegistry": api_world.deployment.validation,
    }


def test_an_agent_comes_with_its_newest_feedback(api):
    answer = api.get("/v1/agents/31337:1", params={"newest": 20}).json()
    assert answer["newest"] == items(api, "agents/31337:1/feedback", revoked=True)


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("agents/31337:1/feedback", {"cursor": "x"}),
        ("agents/31337:1/feedback", {"cursor": "bnVsbA"}),
        ("agents/31337:1/feedback", {"limit": 0}),
        ("agents/31337:1/feedback", {"limit": 1001}),
        ("agents/31337:1/feedback", {"client": "0x12"}),
        ("agents/31337:1/feedback", {"tag1": "\0"}),
        ("agents/31337:1/feedback", {"format": "xml"}),
        ("agents/31337:1/ratings", {"direction": "sideways"}),
        ("accounts/0x12", {}),
        (f"accounts/{ERIN.address}/feedback", {"chain": 2**63}),
    ],
)
def test_a_wrong_parameter_is_a_problem(api, path, parameters):
    response = api.get(f"/v1/{path}", params=parameters)
    assert response.status_code == 400
    assert response.headers["content-type"] == "application/problem+json"


def test_a_cursor_of_another_list_is_refused(api):
    cursor = api.get("/v1/agents/31337:1/feedback", params={"limit": 1}).json()["next"]
    response = api.get("/v1/agents/31337:2/feedback", params={"cursor": cursor})
    assert (response.status_code, response.json()["code"]) == (400, "invalid_cursor")
