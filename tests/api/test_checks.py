"""Checks over HTTP, on the world that the SDK wrote."""

from __future__ import annotations

import json

import pytest

from bilateral.api.routes.checks import ClientQuery, ClientQuestion, ServerQuery, ServerQuestion
from bilateral.checks import Policy, Trust
from tests.api.world import ALICE, BOB, CHAIN_ID, ERIN, FORMULA_NAME, FRANK, GRACE, MALLORY, TREASURY

TRUSTED = [("trust_account", account.address) for account in (ERIN, GRACE)]


def codes(response):
    assert response.status_code == 200, response.text
    return {reason["code"]: reason["severity"] for reason in response.json()["reasons"]}


def test_well_rated_server_is_checked_with_its_figures(api):
    response = api.get(
        "/v1/checks/server",
        params=[("agent", f"{CHAIN_ID}:1"), ("pay_to", ALICE.address), ("minimum_raters", "2"), *TRUSTED],
    )
    assert codes(response) == {
        "uncertain_rating": "caution",
        "domain_unproven": "note",
    }
    answer = response.json()
    assert (answer["verdict"], answer["agent"], answer["account"]) == ("caution", f"{CHAIN_ID}:1", ALICE.address)
    # Grace rated in the open registry and in the authorised one, and counts once in each.
    assert answer["figures"]["rating"]["raters"] == 3
    assert answer["untrusted"]["name"] == "Weather Oracle"


def test_payment_to_the_owner_instead_of_the_wallet_is_declined(api, api_world):
    agent = f"{CHAIN_ID}:{api_world.translator}"
    declined = api.get("/v1/checks/server", params={"agent": agent, "pay_to": BOB.address})
    assert (declined.json()["verdict"], codes(declined)["pay_to_differs"]) == ("decline", "decline")
    (reason,) = [reason for reason in declined.json()["reasons"] if reason["code"] == "pay_to_differs"]
    assert reason["evidence"][0]["event"] == "MetadataSet"
    assert reason["evidence"][0]["transaction"].startswith("0x")
    accepted = api.get("/v1/checks/server", params={"agent": agent, "pay_to": TREASURY.address})
    assert "pay_to_differs" not in codes(accepted)


def test_words_of_a_hostile_agent_stand_under_untrusted_alone(api, api_world):
    response = api.get("/v1/checks/server", params={"agent": f"{CHAIN_ID}:{api_world.hostile}"})
    answer = response.json()
    assert answer["untrusted"]["name"] == FORMULA_NAME
    rest = json.dumps({name: value for name, value in answer.items() if name != "untrusted"})
    for word in ("HYPERLINK", "script", "Ignore all", "\\u202e", "=1+1", "javascript"):
        assert word not in rest


def test_missing_file_is_a_reason(api, api_world):
    reasons = codes(api.get("/v1/checks/server", params={"agent": f"{CHAIN_ID}:{api_world.lost}"}))
    assert reasons["file_unreachable"] == "caution"


def test_client_with_a_low_rating_by_the_server_is_declined(api, api_world):
    client = f"{CHAIN_ID}:{api_world.buyer}"
    by_bob = api.get("/v1/checks/client", params={"client": client, "server": f"{CHAIN_ID}:{api_world.translator}"})
    assert codes(by_bob)["low_rating_by_us"] == "decline"
    by_alice = api.get("/v1/checks/client", params={"client": ERIN.address, "server": ALICE.address})
    assert codes(by_alice)["rated_by_us"] == "note"
    assert by_alice.json()["figures"]["given"]["count"] == 15


def test_account_without_an_agent_has_an_answer(api):
    response = api.get("/v1/checks/client", params={"client": GRACE.address, "anonymous": "decline"})
    assert codes(response)["no_agent"] == "decline"


@pytest.mark.parametrize("side", ["server", "client"])
def test_answer_is_given_again_at_its_block(api, side):
    params = {"agent" if side == "server" else "client": f"{CHAIN_ID}:1"}
    first = api.get(f"/v1/checks/{side}", params=params)
    answer = first.json()
    again = api.get(f"/v1/checks/{side}", params=params | {"at_block": answer["block"], "history": answer["history"]})
    assert again.json() == answer
    unchanged = api.get(f"/v1/checks/{side}", params=params, headers={"If-None-Match": first.headers["etag"]})
    assert unchanged.status_code == 304


def test_earlier_block_knows_less(api):
    params = {"agent": f"{CHAIN_ID}:1"}
    registered = api.get("/v1/checks/server", params=params).json()["figures"]["registered"]["block"]
    answer = api.get("/v1/checks/server", params=params | {"at_block": registered}).json()
    assert answer["figures"]["rating"]["count"] == 0
    assert answer["figures"]["owner"] == ALICE.address


@pytest.mark.parametrize(
    ("path", "params", "status", "code"),
    [
        ("server", {"agent": "31337:99"}, 404, "unknown_agent"),
        ("server", {"agent": "5:1"}, 404, "chain_not_indexed"),
        ("server", {"agent": "31337:1", "at_block": str(2**62)}, 404, "block_not_held"),
        ("server", {"agent": "31337:1", "history": "0x" + "00" * 32}, 409, "other_history"),
        ("server", {"agent": "x"}, 400, "malformed_identifier"),
        ("server", {}, 400, "invalid_argument"),
        ("server", {"agent": "31337:1", "pay_to": "0x12"}, 400, "malformed_identifier"),
        ("server", {"agent": "31337:1", "payment_chain": "1"}, 400, "invalid_argument"),
        ("server", {"agent": "31337:1", "unknown": "1"}, 400, "invalid_argument"),
        ("server", {"agent": "31337:1", "minimum_rating": "101"}, 400, "invalid_argument"),
        ("server", {"agent": "31337:1", "minimum_rating": "NaN"}, 400, "invalid_argument"),
        ("server", {"agent": "31337:1", "tag": "responseTime"}, 400, "invalid_argument"),
        ("server", {"agent": "31337:1", "tag": "a\0b"}, 400, "invalid_argument"),
        ("server", {"agent": "31337:1", "newcomers": "maybe"}, 400, "invalid_argument"),
        ("server", {"agent": "31337:1", "severity": "inactive"}, 400, "invalid_argument"),
        ("server", {"agent": "31337:1", "severity": "inactive:fatal"}, 400, "invalid_argument"),
        ("server", {"agent": "31337:1", "trust_account": "0x12"}, 400, "invalid_argument"),
        ("server", {"agent": "31337:1", "trust_agent": "-1"}, 400, "invalid_argument"),
        ("client", {"client": "0x12"}, 400, "malformed_identifier"),
        ("client", {"client": "31337:1", "server": "31337:99"}, 404, "unknown_agent"),
        ("client", {"client": "0x" + "11" * 20, "chain": "5"}, 404, "chain_not_indexed"),
    ],
)
def test_wrong_question_is_a_problem(api, path, params, status, code):
    response = api.get(f"/v1/checks/{path}", params=params)
    assert (response.status_code, response.json()["code"]) == (status, code), response.text


def test_message_of_an_invalid_policy_is_the_same_by_both_methods(api):
    message = 'the tag "responseTime" has no scale from 0 to 100: choose a tag that has one, such as starred'
    asked = {"agent": f"{CHAIN_ID}:1", "tag": "responseTime"}
    assert api.get("/v1/checks/server", params=asked).json()["detail"] == f"policy: tag: {message}"
    asked = {"agent": f"{CHAIN_ID}:1", "policy": {"tag": "responseTime"}}
    assert api.post("/v1/checks/server", json=asked).json()["detail"] == f"body.policy.tag: {message}"


def test_policy_changes_the_verdict(api):
    params = {"agent": f"{CHAIN_ID}:1", "minimum_rating": "0", "trust_account": FRANK.address, "minimum_raters": "1"}
    assert api.get("/v1/checks/server", params=params).json()["verdict"] == "accept"
    assert codes(api.get("/v1/checks/server", params=params | {"minimum_rating": "41"}))["low_rating"] == "decline"
    lenient = params | {"minimum_rating": "41", "severity": "low_rating:note"}
    assert api.get("/v1/checks/server", params=lenient).json()["verdict"] == "accept"
    strict = params | {"require_domain": "true", "validator": MALLORY.address, "minimum_validations": "1"}
    reasons = codes(api.get("/v1/checks/server", params=strict))
    assert (reasons["domain_unproven"], reasons["too_few_validations"]) == ("decline", "decline")


def test_every_field_of_a_policy_is_a_parameter_of_a_question():
    renamed = {"severities": "severity", "name": "policy"}
    of_trust = {"accounts": "trust_account", "agents": "trust_agent"}
    wanted = {renamed.get(model_field, model_field) for model_field in Policy.model_fields if model_field != "trust"}
    wanted |= {of_trust.get(model_field, model_field) for model_field in Trust.model_fields}
    assert wanted <= ServerQuery.model_fields.keys() | ClientQuery.model_fields.keys()
    assert all("policy" in question.model_fields for question in (ServerQuestion, ClientQuestion))


def test_proof_of_payment_is_asked_for(api):
    params = [("agent", f"{CHAIN_ID}:1"), ("require_payment_proof", "true"), *TRUSTED]
    figures = api.get("/v1/checks/server", params=params).json()["figures"]["rating"]
    assert (figures["count"], figures["raters"]) == (1, 1)


def test_a_policy_in_a_body_counts_as_one_in_a_url(api):
    query = {"agent": f"{CHAIN_ID}:1", "minimum_rating": "41", "trust_account": FRANK.address, "minimum_raters": "1"}
    policy = {"minimum_rating": "41", "minimum_raters": 1, "trust": {"accounts": [FRANK.address]}}
    asked = {"agent": f"{CHAIN_ID}:1", "policy": policy}
    answered = api.post("/v1/checks/server", json=asked, headers={"Origin": "https://page.example"})
    assert codes(answered)["low_rating"] == "decline"
    assert answered.headers["access-control-allow-origin"] == "*"
    assert answered.json() == api.get("/v1/checks/server", params=query).json()
    again = asked | {name: answered.json()[name] for name in ("history", "files")}
    again["at_block"] = answered.json()["block"]
    assert api.post("/v1/checks/server", json=again).json() == answered.json()
    client = {"client": GRACE.address, "server": ALICE.address}
    declined = api.post("/v1/checks/client", json=client | {"policy": {"anonymous": "decline"}})
    assert codes(declined)["no_agent"] == "decline"
    assert declined.json() == api.get("/v1/checks/client", params=client | {"anonymous": "decline"}).json()


@pytest.mark.parametrize(
    ("path", "question"),
    [
        ("server", {}),
        ("server", {"agent": "31337:1", "unknown": 1}),
        ("server", {"agent": "31337:1", "payment_chain": 1}),
        ("server", {"agent": "31337:1", "policy": {"unknown": 1}}),
        ("server", {"agent": "31337:1", "policy": {"minimum_rating": 101}}),
        ("server", {"agent": "31337:1", "policy": {"tag": "responseTime"}}),
        ("server", {"agent": "31337:1", "policy": {"tag": "a\0b"}}),
        ("server", {"agent": "31337:1", "policy": {"trust": {"accounts": ["0x12"]}}}),
        ("client", {"client": "0x12"}),
    ],
    ids=["nothing", "field", "payment", "policy field", "rating", "scale", "NUL", "account", "client"],
)
def test_a_wrong_body_is_a_problem(api, path, question):
    response = api.post(f"/v1/checks/{path}", json=question)
    assert response.status_code == 400, response.text
    assert response.headers["content-type"] == "application/problem+json"
