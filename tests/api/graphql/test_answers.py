"""Answers have the values, forms and words that published SDKs expect."""

from __future__ import annotations

import pytest
from graphql import GraphQLError

from tests.api.world import ALICE, BOB, CHAIN_ID, DAVE, ERIN, FRANK, STARS, TREASURY


def test_agent_has_what_the_chain_says(query, api_world):
    agent = query('{ agent(id: "31337:2") { id chainId agentId owner agentWallet operators agentURIType } }')["agent"]
    assert agent == {
        "id": "31337:2",
        "chainId": "31337",
        "agentId": "2",
        "owner": BOB.address.lower(),
        "agentWallet": TREASURY.address.lower(),
        "operators": [],
        "agentURIType": "http",
    }


def test_file_from_a_web_server_is_shown(query):
    file = query('{ agent(id: "31337:2") { registrationFile { name a2aEndpoint a2aVersion a2aSkills hasOASF } } }')
    assert file["agent"]["registrationFile"] == {
        "name": "Translator",
        "a2aEndpoint": "https://translate.example/.well-known/agent-card.json",
        "a2aVersion": "0.3.0",
        "a2aSkills": ["translate", "summarize"],
        "hasOASF": False,
    }


def test_fields_that_sdks_add_are_served(query):
    file = "registrationFile { x402support agentWallet agentWalletChainId }"
    agent = query(f'{{ agent(id: "31337:1") {{ {file} feedback {{ responses {{ responseUri responseURI }} }} }} }}')[
        "agent"
    ]
    assert agent["registrationFile"] == {
        "x402support": True,
        "agentWallet": ALICE.address.lower(),
        "agentWalletChainId": str(CHAIN_ID),
    }
    (answered,) = [entry["responses"] for entry in agent["feedback"] if entry["responses"]]
    assert all(entry["responseUri"] == entry["responseURI"] for entry in answered)


def test_feedback_is_counted_revoked_and_normalised(query):
    answer = query('{ agent(id: "31337:1") { totalFeedback feedback { id value isRevoked revokedAt feedbackIndex } } }')
    by_id = {entry["id"]: entry for entry in answer["agent"]["feedback"]}
    assert (
        int(answer["agent"]["totalFeedback"])
        == sum(not entry["isRevoked"] for entry in by_id.values())
        == len(STARS) + 3
    )
    (revoked,) = [entry for entry in by_id.values() if entry["isRevoked"]]
    assert revoked["id"] == f"31337:1:{ERIN.address.lower()}:4"
    assert revoked["revokedAt"] is not None
    values = query("{ feedbacks(orderBy: value, first: 1000) { value } }")["feedbacks"]
    assert [value["value"] for value in values][:2] == ["-3.2", "1"]
    assert "99.77" in {value["value"] for value in values}


def test_addresses_are_compared_in_any_case(query):
    for address in (FRANK.address, FRANK.address.lower(), FRANK.address.upper().replace("X", "x")):
        feedbacks = query(f'{{ feedbacks(where: {{clientAddress_in: ["{address}"]}}) {{ id }} }}')["feedbacks"]
        assert len(feedbacks) == 3


def test_validations_have_their_status(query):
    validations = query("{ validations(orderBy: status) { id status response validatorAddress } }")["validations"]
    assert [
        (validation["status"], validation["response"], validation["validatorAddress"]) for validation in validations
    ] == [
        ("COMPLETED", 90, DAVE.address.lower()),
        ("PENDING", None, DAVE.address.lower()),
    ]


def test_string_variable_stands_for_an_id(query):
    answer = query("query ($agentId: String!) { agent(id: $agentId) { id } }", {"agentId": "31337:3"})
    assert answer == {"agent": {"id": "31337:3"}}


@pytest.mark.parametrize("operand", ["80.5", '"80.5"', "80.50"])
def test_decimals_are_numbers_or_texts(query, operand):
    feedbacks = query(f"{{ feedbacks(where: {{value_gte: {operand}, value_lt: 85.5}}) {{ value }} }}")["feedbacks"]
    assert [feedback["value"] for feedback in feedbacks] == ["85"]


def test_variables_take_the_numbers_of_json(query):
    text = "query ($w: Agent_filter) { agents(where: $w) { id } }"
    assert query(text, {"w": {"createdAt_gte": 1, "totalFeedback_gt": "0", "updatedAt_lte": 99999999999}})["agents"]


def test_agents_are_sorted_by_the_name_in_their_file(query):
    answer = query(
        "{ agents(orderBy: name, orderDirection: asc, where: {registrationFile_not: null}) "
        "{ registrationFile { name } } }"
    )
    names = [agent["registrationFile"]["name"] for agent in answer["agents"]]
    assert names == sorted(names)
    assert len(names) == 4


def test_missing_filter_lets_everything_pass(query):
    everyone = query("{ agents { id } }")
    for where in ("null", "{and: [null]}", "{or: [null]}", '{or: [{id: "x"}, null]}', "{and: null, or: null}"):
        assert query(f"{{ agents(where: {where}) {{ id }} }}") == everyone


def test_fragments_aliases_and_directives_are_followed(query):
    text = """
        query ($more: Boolean!) {
          first: agents(first: 1) {
            ...Core
            ... on Agent { owner @skip(if: $more) wallet: agentWallet @include(if: $more) }
          }
          second: agents(first: 1, skip: 1) { __typename ...Core }
        }
        fragment Core on Agent { id }
    """
    assert query(text, {"more": True}) == {
        "first": [{"id": "31337:1", "wallet": ALICE.address.lower()}],
        "second": [{"__typename": "Agent", "id": "31337:2"}],
    }


def test_same_field_twice_is_merged(query):
    agents = query("{ agents(first: 1) { registrationFile { name } registrationFile { active } } }")["agents"]
    assert agents == [{"registrationFile": {"name": "Weather Oracle", "active": True}}]


def test_many_fields_under_names_of_their_own_fit_into_one_object(query):
    names = " ".join(f"a{number}: name" for number in range(28))
    file = query(f"{{ agentRegistrationFiles(first: 1) {{ {names} {ALL_FIELDS} }} }}")["agentRegistrationFiles"][0]
    assert {file[f"a{number}"] for number in range(28)} == {file["name"]}
    assert len(file) == 28 + len(ALL_FIELDS.split())


ALL_FIELDS = (
    "id cid agentId name description image active x402Support supportedTrusts endpointsRawJson mcpEndpoint mcpVersion "
    "a2aEndpoint a2aVersion webEndpoint oasfEndpoint oasfVersion oasfSkills oasfDomains hasOASF emailEndpoint ens did"
)


def test_progress_of_the_index_is_shown(query):
    meta = query("{ _meta { block { number hash timestamp parentHash } deployment hasIndexingErrors } }")["_meta"]
    number = meta["block"]["number"]
    assert meta["deployment"] == "bilateral-31337"
    assert not meta["hasIndexingErrors"]
    assert query(f"{{ agents(block: {{number_gte: {number}}}, first: 1) {{ id }} }}")["agents"]
    assert query(f'{{ agents(block: {{hash: "{meta["block"]["hash"]}"}}, first: 1) {{ id }} }}')["agents"]
    with pytest.raises(GraphQLError, match=f"block {number + 1} is not available yet"):
        query(f"{{ agents(block: {{number_gte: {number + 1}}}) {{ id }} }}")
    with pytest.raises(GraphQLError, match="only the last indexed block can be queried"):
        query(f"{{ agents(block: {{number: {number - 1}}}) {{ id }} }}")


def test_changes_since_a_block_are_found(query):
    blocks = query("{ _meta { block { number } } }")["_meta"]["block"]["number"]
    assert query(f"{{ agents(where: {{_change_block: {{number_gte: {blocks + 1}}}}}) {{ id }} }}")["agents"] == []
    assert len(query("{ feedbacks(where: {_change_block: {number_gte: 0}}) { id } }")["feedbacks"]) == 20


def test_chain_that_is_not_in_an_id_finds_nothing(query):
    assert query('{ agent(id: "1:1") { id } agents(where: {id_in: ["1:1", "31337:2", "x"]}) { id } }') == {
        "agent": None,
        "agents": [{"id": "31337:2"}],
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{ agents { hasName } }", "Type `Agent` has no field `hasName`"),
        ('{ agents(where: {owner: "0xf"}) { id } }', "Bytes cannot represent .*pairs of hexadecimal digits"),
        ('{ agents(where: {createdAt_gt: "now"}) { id } }', "BigInt cannot represent"),
        ("{ agents(orderBy: nothing) { id } }", "nothing"),
        ("{ agents { registrationFile } }", "must have a selection"),
        ("mutation { agents { id } }", "mutation"),
        ("query A { agents { id } } query B { agents { id } }", "several operations"),
        ("query ($a: BigInt!) { agents(where: {agentId: $a}) { id } }", "agentId|a"),
        ("{ agents", "Syntax Error"),
        ("", "Syntax Error"),
    ],
)
def test_invalid_query_says_what_is_wrong(query, text, words):
    with pytest.raises(GraphQLError, match=words):
        query(text)


def test_service_answers_over_http(api):
    answer = api.post("/graphql/31337", json={"query": "query Q { agents(first: 1) { id } }", "operationName": "Q"})
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == {"data": {"agents": [{"id": "31337:1"}]}}
    everywhere = api.post("/graphql", json={"query": "{ agents(first: 1) { id } }", "variables": None})
    assert everywhere.json() == answer.json()


def test_service_says_what_is_wrong_over_http(api):
    wrong = api.post("/graphql/31337", json={"query": "{ agents { nothing } }"})
    assert wrong.json()["errors"][0]["message"] == "Type `Agent` has no field `nothing`"
    missing = api.post("/graphql/1", json={"query": "{ agents { id } }"})
    assert (missing.status_code, missing.json()["code"]) == (404, "chain_not_indexed")
    for body in (b"[]", b"{", b'{"query": 1}', b"\xff", b'{"query": ' + b"[" * 5000):
        refused = api.post("/graphql/31337", content=body)
        assert (refused.status_code, refused.json()["code"]) == (400, "malformed_body")
