"""Files that strangers wrote to break their readers: each is stored with a reason, and hides no other."""

from __future__ import annotations

import json

import pytest

from bilateral.documents import document_hash
from bilateral.index.files import tables as schema
from bilateral.index.files.loading import host_of_file
from bilateral.index.files.reading import read_content, registration_uri, secure_host
from bilateral.index.files.tables import Kind
from tests.index.files.conftest import feedback_given, registered, registration

MALFORMED = {
    "deep": b'{"a":' + b"[" * 50_000,
    "deep and closed": b'{"a":' + b"[" * 100 + b"]" * 100 + b"}",
    "not UTF-8": b'{"name":"\xff\xfe"}',
    "half a surrogate pair": b'{"name":"\\ud800"}',
    "a list": b"[]",
    "empty": b"",
    "a page": b"<!doctype html><script>alert(1)</script>",
    "a name twice": b'{"name":"a","name":"b"}',
    "not a number": b'{"x402Support":NaN}',
    "a long number": b'{"active":' + b"9" * 5_000 + b"}",
    "cut": b'{"name":"a',
}

STRANGE = {
    "NUL": b'{"name":"a\\u0000b","services":[{"name":"MCP\\u0000","endpoint":"\\u0000"}]}',
    "long texts": json.dumps(dict.fromkeys(("name", "description", "image"), "x" * 40_000)).encode(),
    "long lists": registration(services=[{"name": "MCP", "mcpTools": ["t"] * 900}] * 12, supportedTrust=["a"] * 2_000),
    "wrong types": json.dumps(
        {
            "name": ["a"],
            "description": 7,
            "image": {},
            "active": "yes",
            "x402Support": 1,
            "services": {},
            "registrations": ["a", {"agentRegistry": 5, "agentId": "7a"}],
            "supportedTrust": [[], None, "reputation"],
        }
    ).encode(),
    "a wrong name": b'{"\\u202e\\u001b[31m":1,"services":[{"\\u202e":1}]}',
    "SQL": registration(name="'; DROP TABLE agent; --"),
    "a byte order mark": b"\xef\xbb\xbf" + registration(),
    "large numbers": b'{"registrations":[{"agentRegistry":"eip155:1:0x","agentId":' + b"9" * 4_000 + b"}]}",
}


def test_no_hostile_file_stops_the_queue_or_hides_another(story, server):
    contents = [*MALFORMED.values(), *STRANGE.values(), registration(name="Honest")]
    for number, content in enumerate(contents, 1):
        server.routes[f"/{number}"] = content
        story.block(*registered(f"{server.url}/{number}", agent_id=number))
    story.block(*(feedback_given(f"{server.url}/{at}", index=at) for at in range(1, len(contents) + 1)))
    story.settle()
    shown = story.query("SELECT agent_id, name, state, reason FROM agent_registration ORDER BY agent_id")
    assert [entry["state"] for entry in shown] == ["malformed"] * len(MALFORMED) + ["loaded"] * (len(STRANGE) + 1)
    assert {entry["reason"] for entry in shown} == {"malformed_document", None}
    assert shown[-1]["name"] == "Honest"
    assert {row["state"] for row in story.rows(schema.file)} == {"malformed", "loaded"}
    stored = {bytes(row["content_hash"]): row["content"] for row in story.rows(schema.file_content)}
    assert stored == {document_hash(content): content for content in contents}


def read(content, kind=Kind.REGISTRATION):
    return {table.name: rows for table, rows in read_content(kind, bytes(32), content).items()}


def test_a_file_that_breaks_its_reader_fails_and_hides_no_other(story, server, monkeypatch):
    def read(kind, content_hash, content, readers):
        if b"Cursed" in content:
            raise KeyError(kind)
        return read_content(kind, content_hash, content, readers)

    monkeypatch.setattr("bilateral.index.files.loading.read_content", read)
    server.routes["/cursed"], server.routes["/honest"] = registration(name="Cursed"), registration(name="Honest")
    inline = "data:application/json," + registration(name="Cursed").decode()
    for agent_id, uri in enumerate((f"{server.url}/cursed", inline, f"{server.url}/honest"), 1):
        story.block(*registered(uri, agent_id=agent_id))
    story.settle()
    told = [
        (entry["state"], entry["reason"]) for entry in story.query("SELECT * FROM agent_registration ORDER BY agent_id")
    ]
    assert told == [("failed", "unexpected_error")] * 2 + [("loaded", None)]
    assert story.file(f"{server.url}/cursed")["next_at"] is not None


def test_fields_of_wrong_types_are_named_and_the_others_are_read():
    rows = read(STRANGE["wrong types"])
    (file,) = rows["registration_file"]
    assert (file["name"], file["description"], file["active"], file["x402_support"]) == (None, "7", None, None)
    assert json.loads(file["problems"]) == [
        *("name is not a text", "description is not a text", "image is not a text", "services is not a list"),
        *("x402Support is not true or false", "active is not true or false", "registrations.0 is not an object"),
        *("registrations.1.agentRegistry is not a text", "supportedTrust.0 is not a text"),
        "supportedTrust.1 is not a text",
    ]
    assert [(entry["kind"], entry["value"]) for entry in rows["registration_capability"]] == [("trust", "reputation")]
    assert rows["registration_claim"] == []


def test_texts_and_lists_are_cut_at_their_limits():
    (file,) = read(STRANGE["long texts"])["registration_file"]
    assert [len(file[name]) for name in ("name", "description", "image")] == [200, 10_000, 2_000]
    rows = read(registration(supportedTrust=[str(number) for number in range(501)]))
    assert len(rows["registration_capability"]) == 500


@pytest.mark.parametrize("spelling", ["services", "endpoints"])
def test_all_that_search_needs_is_read(spelling):
    services = [
        {"name": "MCP", "endpoint": "https://a.example/mcp", "version": "2025-06-18", "mcpTools": ["price", "buy"]},
        {"name": "mcp", "endpoint": "https://b.example/mcp", "mcpPrompts": [{"name": "greet"}], "mcpResources": ["r"]},
        {"name": "A2A", "endpoint": "https://a.example/card", "a2aSkills": ["translate"]},
        {"name": "OASF", "endpoint": "ipfs://x", "skills": ["nlp/summary"], "domains": ["finance"]},
        {"name": "ENS", "endpoint": "agent.eth"},
    ]
    claims = [{"agentId": 7, "agentRegistry": "eip155:1:0x" + "aB" * 20}]
    content = registration(
        **{spelling: services, "supportedTrust": ["reputation"], "registrations": claims, "image": "https://i.example"}
    )
    rows = read(content)
    assert [(entry["name"], entry["endpoint"]) for entry in rows["registration_service"]] == [
        (service["name"], service["endpoint"]) for service in services
    ]
    assert sorted((entry["kind"], entry["value"]) for entry in rows["registration_capability"]) == [
        *(("a2a_skill", "translate"), ("mcp_prompt", "greet"), ("mcp_resource", "r"), ("mcp_tool", "buy")),
        *(("mcp_tool", "price"), ("oasf_domain", "finance"), ("oasf_skill", "nlp/summary"), ("trust", "reputation")),
    ]
    assert rows["registration_claim"][0]["agent_id"] == 7
    assert rows["registration_claim"][0]["agent_registry"].lower() == claims[0]["agentRegistry"].lower()


@pytest.mark.parametrize(
    "endpoint",
    ["javascript:alert(1)", " JavaScript:alert(1)", "java\tscript:alert(1)", "data:text/html,x", "file:///etc/passwd"],
)
def test_service_with_the_address_of_a_script_is_left_out(endpoint):
    services = [{"name": "A2A", "endpoint": endpoint, "a2aSkills": ["weather"]}, {"name": "MCP", "endpoint": "a:1/x"}]
    rows = read(registration(services=services))
    assert [row["name"] for row in rows["registration_service"]] == ["MCP"]
    assert (rows["registration_capability"], rows["registration_card"][0]["a2a_endpoint"]) == ([], None)
    problems = json.loads(rows["registration_file"][0]["problems"])
    assert problems == ["services.0.endpoint is not the address of a service"]


def test_an_agent_is_confirmed_by_a_file_that_names_it(story, server):
    identity = registered("")[0].address
    for number, named in enumerate((1, 1, "3"), 1):
        entry = {"agentId": named, "agentRegistry": f"eip155:31337:{identity.lower()}"}
        server.routes[f"/{number}"] = registration(registrations=[entry])
        story.block(*registered(f"{server.url}/{number}", agent_id=number))
    story.settle()
    shown = story.query("SELECT agent_id, is_confirmed FROM agent_registration ORDER BY agent_id")
    assert [bool(entry["is_confirmed"]) for entry in shown] == [True, False, True]


def test_proof_of_interaction_of_the_upstream_draft_is_read():
    proof = {"taskRef": "eip155:8453:0x3", "agentSignature": "0xcd", "reviewerSignature": "0xef", "dataHash": "0xab"}
    content = json.dumps({"value": 95, "tag2": "x402", "proofOfInteraction": proof, "reasoning": "Ok."}).encode()
    (row,) = read(content, Kind.FEEDBACK)["feedback_file"]
    names = ("task_ref", "agent_signature", "client_signature", "comment", "interaction_hash")
    assert [row[name] for name in names] == ["eip155:8453:0x3", "0xcd", "0xef", "Ok.", None]


def test_all_fields_of_a_feedback_file_are_read():
    content = json.dumps(
        {
            "agentRegistry": "eip155:1:0x1",
            "agentId": 7,
            "clientAddress": "eip155:1:0x2",
            "value": 9977,
            "valueDecimals": 2,
            "tag1": "uptime",
            "text": "Good.",
            "mcp": {"tool": "price"},
            "a2a": {"skills": ["s"], "contextId": "c", "taskId": "t"},
            "oasf": {"skills": ["x"], "domains": ["y"]},
            "proofOfPayment": {"fromAddress": "0x1", "toAddress": "0x2", "chainId": 8453, "txHash": "0x3"},
            "taskRef": "eip155:8453:0x3",
            "interactionHash": "ab",
            "agentSignature": "cd",
            "comment": "Ok.",
        }
    ).encode()
    (row,) = read(content, Kind.FEEDBACK)["feedback_file"]
    values = {name: value for name, value in row.items() if value not in (None, "[]") and name != "content_hash"}
    assert values == {
        "agent_registry": "eip155:1:0x1",
        "agent_id": "7",
        "client_address": "eip155:1:0x2",
        "value": "9977",
        "value_decimals": "2",
        "tag1": "uptime",
        "text": "Good.",
        "comment": "Ok.",
        "mcp_tool": "price",
        "a2a_skills": '["s"]',
        "a2a_context_id": "c",
        "a2a_task_id": "t",
        "oasf_skills": '["x"]',
        "oasf_domains": '["y"]',
        "payment_from": "0x1",
        "payment_to": "0x2",
        "payment_chain_id": "8453",
        "payment_transaction": "0x3",
        "task_ref": "eip155:8453:0x3",
        "interaction_hash": "ab",
        "agent_signature": "cd",
    }


@pytest.mark.parametrize(
    ("endpoint", "host"),
    [
        ("https://a.example/mcp", "a.example"),
        ("HTTPS://A.example:443/mcp", "a.example"),
        ("https://a.example:8443", "a.example:8443"),
        ("https://user:secret@a.example/", "a.example"),
        ("https://[::1]/", "[::1]"),
        ("https://[::1]:8443/", "[::1]:8443"),
        ("https://bücher.example/", "xn--bcher-kva.example"),
        ("http://a.example", None),
        ("https://", None),
        ("https://a b/", None),
        ("https://a.example:99999/", None),
        ("https://" + "a" * 300, None),
        ("https://[::1", None),
        ("javascript:alert(1)", None),
        ("", None),
    ],
)
def test_host_of_a_service_is_one_that_can_be_fetched_or_none(endpoint, host):
    assert secure_host(endpoint) == host
    if host is not None:
        assert host_of_file(registration_uri(host)) is not None
