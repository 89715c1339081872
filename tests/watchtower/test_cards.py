"""Cards of A2A and records of OASF: where they are found, what is wrong with them, and who signed them."""

from __future__ import annotations

import base64
import copy
import json
from pathlib import Path

import pytest

from bilateral.index.measurements.values import Outcome, Protocol
from bilateral.watchtower.outcomes import Code
from tests.watchtower.endpoints import Endpoints, at_usual_ports, card, html, http, json_, run_probe

HOST = "agent.example"
URL = f"http://{HOST}/card.json"
SIGNED = json.loads((Path(__file__).parent / "signed_cards.json").read_text(encoding="utf-8"))
"""Cards that a2a-sdk 1.3.0 signed, some changed afterwards, each with what its verifier says."""

VALID = SIGNED["cards"][0]["card"]


@pytest.fixture(scope="module")
def servers():
    with Endpoints() as running:
        yield running


def serve(servers, paths):
    """Let the host answer by path."""
    servers.requests.clear()
    servers.answers[HOST] = lambda request: paths.get(request.target, http(404))


def deep(servers, published, keys=SIGNED["keys"]):
    """Probe a card with its signature."""
    serve(servers, {"/card.json": json_(published), "/keys.json": json_({"keys": keys}), "/a2a": http(405)})
    return run_probe(servers, HOST, Protocol.A2A, path=URL, network=at_usual_ports(servers), is_deep=True)


@pytest.mark.parametrize("case", SIGNED["cards"], ids=lambda case: case["name"])
def test_signature_is_valid_if_the_sdk_of_a2a_says_so(servers, case):
    probe = deep(servers, case["card"])
    assert probe.facts["signature"] == case["signature"]
    is_valid = case["signature"] == "valid"
    assert probe.code is (Code.OK if is_valid else Code.SIGNATURE_INVALID)
    assert probe.outcome is (Outcome.UP if is_valid else Outcome.DEGRADED)


def test_keys_of_another_host_are_not_fetched_and_prove_nothing(servers):
    for place in ("http://keys.example/keys.json", "https://agent.example/keys.json", "http://127.0.0.1/keys.json", 7):
        published = copy.deepcopy(VALID)
        header = {"alg": "ES256", "kid": "ec", "jku": place}
        published["signatures"][0]["protected"] = _packed(header)
        probe = deep(servers, published)
        assert (probe.outcome, probe.facts["signature"]) == (Outcome.UP, "unverified")
        assert {host for host, _ in servers.requests} == {HOST}
        assert "/keys.json" not in [request.target for _, request in servers.requests]


def _packed(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


@pytest.mark.parametrize(
    "signature", [None, 7, {}, {"protected": 7, "signature": 7}, {"protected": "e30", "signature": None}, "x", ["y"]]
)
def test_malformed_signature_is_invalid(servers, signature):
    assert deep(servers, {**VALID, "signatures": [signature]}).facts["signature"] == "invalid"


def test_card_without_a_signature_has_none(servers):
    published = {name: value for name, value in VALID.items() if name != "signatures"}
    assert deep(servers, published).facts["signature"] == "none"


@pytest.mark.parametrize("keys", [[], [{"kid": "ec"}], [{"kid": "ec", "kty": "EC", "crv": "P-256"}], ["x"]])
def test_signature_whose_key_is_not_published_is_invalid(servers, keys):
    assert deep(servers, VALID, keys).facts["signature"] == "invalid"


def test_invalid_signature_counts_until_the_next_deep_probe(servers):
    facts = deep(servers, {**VALID, "name": "Other"}).facts
    serve(servers, {"/card.json": json_(VALID)})
    probe = run_probe(servers, HOST, Protocol.A2A, path=URL, network=at_usual_ports(servers), previous=facts)
    assert (probe.outcome, probe.code) == (Outcome.DEGRADED, Code.SIGNATURE_INVALID)
    facts = {**facts, **deep(servers, VALID).facts}
    serve(servers, {"/card.json": json_(VALID)})
    probe = run_probe(servers, HOST, Protocol.A2A, path=URL, network=at_usual_ports(servers), previous=facts)
    assert (probe.outcome, probe.code) == (Outcome.UP, Code.OK)


def test_interface_is_reached_but_gets_no_message(servers):
    assert deep(servers, VALID).outcome is Outcome.UP
    assert servers.asked(HOST) == ["GET", "GET", "OPTIONS"]
    assert all(request.body == b"" for _, request in servers.requests)


def test_interface_that_nobody_serves_degrades(servers):
    published = card("http://127.0.0.1:1/")
    serve(servers, {"/card.json": json_(published)})
    probe = run_probe(
        servers, "127.0.0.1", Protocol.A2A, path=f"http://127.0.0.1:{servers.port}/card.json", is_deep=True
    )
    assert probe.outcome is Outcome.DOWN  # nobody serves this host
    servers.answers["127.0.0.1"] = json_(published)
    probe = run_probe(
        servers, "127.0.0.1", Protocol.A2A, path=f"http://127.0.0.1:{servers.port}/card.json", is_deep=True
    )
    assert (probe.outcome, probe.code) == (Outcome.DEGRADED, Code.CONNECTION_REFUSED)


def test_card_is_looked_for_at_both_well_known_places_and_then_where_it_was(servers):
    answers = {"/.well-known/agent.json": json_(card(f"http://{HOST}/"))}
    for missing in (http(404), html()):
        serve(servers, {"/.well-known/agent-card.json": missing, **answers})
        probe = run_probe(servers, HOST, Protocol.A2A, path="/a2a/v1")
        assert probe.outcome is Outcome.UP
        assert [request.target for _, request in servers.requests] == list(
            {"/.well-known/agent-card.json": 0, **answers}
        )
    servers.requests.clear()
    assert run_probe(servers, HOST, Protocol.A2A, path="/a2a/v1", previous=probe.facts).outcome is Outcome.UP
    assert [request.target for _, request in servers.requests] == list(answers)


def test_card_that_did_not_change_is_not_sent_again(servers):
    content = json.dumps(card(f"http://{HOST}/")).encode()

    def answer(request):
        is_same = request.headers.get("if-none-match") == '"v1"'
        return http(304, ETag='"v1"') if is_same else http(200, content, ETag='"v1"')

    serve(servers, {})
    servers.answers[HOST] = answer
    first = run_probe(servers, HOST, Protocol.A2A, path="/card.json")
    second = run_probe(servers, HOST, Protocol.A2A, path="/card.json", previous=first.facts)
    assert (first.status, second.status, second.outcome) == (200, 304, Outcome.UP)
    assert run_probe(servers, HOST, Protocol.A2A, path="/card.json", previous=first.facts, is_deep=True).status == 200


def test_card_with_a_fault_is_read_each_time(servers):
    serve(servers, {"/card.json": json_(card(f"http://{HOST}/", "0.3"), ETag='"v1"')})
    facts = run_probe(servers, HOST, Protocol.A2A, path="/card.json").facts
    assert facts["etag"] is None
    assert run_probe(servers, HOST, Protocol.A2A, path="/card.json", previous=facts).code is Code.OLD_VERSION


def test_interface_of_grpc_needs_no_url(servers):
    interface = {"url": "agent.example:50051", "protocolBinding": "GRPC", "protocolVersion": "1.0"}
    published = {**card(f"http://{HOST}/"), "supportedInterfaces": [interface]}
    serve(servers, {"/card.json": json_(published)})
    assert run_probe(servers, HOST, Protocol.A2A, path="/card.json", is_deep=True).outcome is Outcome.UP


def test_record_of_oasf_is_that_of_the_url_or_of_the_host(servers):
    record = json_({"schema_version": "0.7.0", "skills": []})
    for path, place in (("/", "/.well-known/oasf-record.json"), ("/records/1", "/records/1")):
        serve(servers, {place: record})
        assert run_probe(servers, HOST, Protocol.OASF, path=path).outcome is Outcome.UP


def test_change_of_a_card_changes_its_hash_and_a_signature_does_not(servers):
    hashes = [deep(servers, published).facts["card"] for published in (VALID, {**VALID, "name": "Other"})]
    unsigned = {name: value for name, value in VALID.items() if name != "signatures"}
    assert hashes[0] != hashes[1]
    assert deep(servers, unsigned).facts["card"] == hashes[0]
