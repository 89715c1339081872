"""Files as published SDKs and real agents write them: the SDK and the index read the same, and name what is odd.

The shapes are those of agent0 (Python and TypeScript), ChaosChain, 8004-solana, Clara and the registries' scanners.
"""

from __future__ import annotations

import json

import pytest

from bilateral.core.errors import MalformedDocumentError
from bilateral.core.identifiers import GlobalAgentId
from bilateral.documents import DataUriStore, FeedbackFile, Loader, RegistrationFile
from bilateral.index.files.reading import read_content
from bilateral.index.files.tables import Kind
from tests.sdk.test_registration_file import EVM_ADDRESS, SPECIFIED

REGISTRY = f"eip155:8453:{EVM_ADDRESS}"
AGENT = GlobalAgentId.parse(f"{REGISTRY}#42")
CLAIM = {"agentId": 42, "agentRegistry": REGISTRY}
SIGNERS = SPECIFIED["signers"]
TYPE = SPECIFIED["type"]

ODD_FIELDS = {
    "active": ("true", "active is not true or false"),
    "x402Support": (1, "x402Support is not true or false"),
    "supportedTrust": ("reputation", "supportedTrust is not a list"),
    "image": ({"url": "https://a.example/i.png"}, "image is not a text"),
    "description": (["It", "works"], "description is not a text"),
    "name": (404, "name is not a text"),
    "type": (None, None),
    "services": ({"MCP": "https://a.example/mcp"}, "services is not a list"),
    "endpoints": ("https://a.example", "endpoints is not a list"),
}


def both(value):
    """Read a registration file with the SDK and with the index."""
    content = json.dumps(value).encode()
    file = Loader().load(DataUriStore().put(content).uri).registration()
    rows = {table.name: rows for table, rows in read_content(Kind.REGISTRATION, bytes(32), content).items()}
    (stored,) = rows["registration_file"]
    assert stored["problems"] == json.dumps(list(file.faults), ensure_ascii=False)
    assert (stored["name"], stored["active"], stored["x402_support"]) == (file.name, file.active, file.x402_support)
    assert [(row["name"], row["endpoint"], row["version"]) for row in rows["registration_service"]] == [
        (service.name, service.endpoint, service.version) for service in file.all_services
    ]
    assert [row["agent_registry"] for row in rows["registration_claim"]] == [
        entry.agent_registry for entry in file.registrations or []
    ]
    return file


@pytest.mark.parametrize("field", ODD_FIELDS)
def test_one_odd_optional_field_is_dropped_and_named_and_costs_nothing_else(field):
    odd, fault = ODD_FIELDS[field]
    source = {**SPECIFIED, "registrations": [CLAIM], field: odd}
    file = both(source)
    assert file.registration_of(AGENT) is not None
    assert [signer.public_key for signer in file.signers] == [signer["publicKey"] for signer in SIGNERS]
    faults = [] if fault is None else [fault]
    assert (list(file.faults), [problem for problem in file.problems() if problem in faults]) == (faults, faults)
    assert getattr(file, {"x402Support": "x402_support", "supportedTrust": "supported_trust"}.get(field, field)) == (
        "404" if field == "name" else None
    )
    assert file.to_object() == source


def test_services_of_other_shapes_are_read_and_named():
    services = [
        {"type": "ENS", "endpoint": "brian.eth"},
        {"type": "mcp", "url": "https://a.example/mcp", "version": 1},
        {"protocol": "A2A", "uri": "https://a.example/card", "version": ["1"]},
        {"endpoint": "https://a.example"},
        "https://b.example",
        {"name": "web", "endpoint": {"url": "https://a.example"}},
        {"name": "OASF", "endpoint": "ipfs://x", "version": None},
    ]
    file = both({**SPECIFIED, "services": services})
    assert [(service.name, service.endpoint, service.version) for service in file.all_services] == [
        ("ENS", "brian.eth", None),
        ("mcp", "https://a.example/mcp", "1"),
        ("A2A", "https://a.example/card", None),
        ("", "https://a.example", None),
        ("web", None, None),
        ("OASF", "ipfs://x", None),
    ]
    assert file.faults == (
        "services.0.name is missing: type is read instead",
        "services.1.name is missing: type is read instead",
        "services.1.endpoint is missing: url is read instead",
        "services.2.name is missing: protocol is read instead",
        "services.2.endpoint is missing: uri is read instead",
        "services.3.name is missing",
        "services.1.version is not a text",
        "services.2.version is not a text",
        "services.4 is not an object",
        "services.5.endpoint is not a text",
    )


SDK_FILES = {
    "agent0-py": {
        "type": TYPE,
        "name": "A",
        "description": "",
        "image": None,
        "services": [{"name": "MCP", "endpoint": "https://a.example", "version": "2025-06-18", "mcpTools": ["t"]}],
        "registrations": [{"agentId": 42, "agentRegistry": "eip155:1:{identityRegistry}"}],
        "supportedTrust": ["reputation"],
        "active": False,
        "x402Support": False,
        "updatedAt": 1763000000,
    },
    "agent0-py of 2025": {
        "type": TYPE,
        "name": "A",
        "description": "d",
        "endpoints": [{"name": "agentWallet", "endpoint": f"eip155:8453:{EVM_ADDRESS}"}],
        "registrations": [],
        "supportedTrusts": [],
        "active": True,
        "x402support": True,
    },
    "agent0's subgraph": {"name": "A", "x402Support": {"enabled": True, "networks": ["base"]}},
    "ChaosChain": {
        "type": TYPE,
        "name": "A",
        "description": "d",
        "image": "https://chaoscha.in/agent-avatar.png",
        "endpoints": [{"name": "agentWallet", "endpoint": f"eip155:8453:{EVM_ADDRESS}"}],
        "registrations": [{"agentId": 0, "agentRegistry": REGISTRY}],
        "supportedTrust": ["reputation", "crypto-economic"],
    },
    "8004-solana": {
        "type": TYPE,
        "name": "A",
        "description": "d",
        "services": [{"name": "OASF", "endpoint": "https://o.example", "skills": ["a/b"], "domains": ["c"]}],
        "active": True,
        "x402Support": False,
    },
    "a route of a shop": {
        "name": "A",
        "services": [{"name": "send-data", "description": "d", "endpoint": "https://a", "paymentRequired": True}],
        "registrations": [{"agentId": "42", "agentRegistry": EVM_ADDRESS}],
    },
}


@pytest.mark.parametrize("writer", SDK_FILES)
def test_files_of_published_sdks_have_no_faults(writer):
    value = SDK_FILES[writer]
    file = both(value)
    assert file.faults == ()
    assert (file.name, len(file.all_services)) == ("A", len(value.get("services") or value.get("endpoints") or []))
    payments = {"agent0-py": False, "agent0-py of 2025": True, "agent0's subgraph": True, "8004-solana": False}
    assert file.x402_support is payments.get(writer)
    assert file.to_object() == value


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"signers": [*SIGNERS, {**SIGNERS[0], "publicKey": "00"}]}, "signers.2"),
        ({"signers": {}}, "signers is not a list"),
        ({"registrations": CLAIM}, "registrations is not a list"),
        ({"registrations": [CLAIM, REGISTRY]}, "registrations.1 is not an object"),
        ({"registrations": [{**CLAIM, "agentId": 4.5}]}, "registrations.0.agentId is not a whole number or a text"),
        ({"registrations": [{**CLAIM, "agentRegistry": 8453}]}, "registrations.0.agentRegistry is not a text"),
    ],
)
def test_a_fault_of_signers_or_registrations_makes_the_file_unreadable_and_claims_nothing(fields, problem):
    content = json.dumps({**SPECIFIED, "registrations": [CLAIM], **fields, "active": "yes"}).encode()
    with pytest.raises(MalformedDocumentError, match=problem) as refusal:
        RegistrationFile.from_bytes(content)
    assert "active" not in str(refusal.value)
    rows = {table.name: rows for table, rows in read_content(Kind.REGISTRATION, bytes(32), content).items()}
    assert rows["registration_file"][0]["name"] == SPECIFIED["name"]
    assert problem in rows["registration_file"][0]["problems"]
    assert len(rows["registration_claim"]) == ("registrations" not in fields)


def test_a_strangers_faults_are_not_published_again():
    file = RegistrationFile.from_bytes(json.dumps({**SPECIFIED, "active": "true"}).encode())
    with pytest.raises(MalformedDocumentError, match="active"):
        RegistrationFile.written(file.to_object())


def test_a_hostile_file_of_endless_faults_is_read_in_a_bounded_time():
    file = RegistrationFile.from_bytes(json.dumps({"services": [1] * 300_000, "supportedTrust": [[]] * 9}).encode())
    assert (len(file.faults), file.services, file.supported_trust) == (10, [], [])


FEEDBACK = {
    "agentRegistry": REGISTRY,
    "agentId": 42,
    "clientAddress": f"eip155:8453:{EVM_ADDRESS}",
    "createdAt": "2025-09-23T12:00:00Z",
    "value": 475,
    "valueDecimals": 2,
}


def feedback(fields):
    """Read a feedback file with the SDK and with the index."""
    content = json.dumps({**FEEDBACK, **fields}).encode()
    (row,) = next(iter(read_content(Kind.FEEDBACK, bytes(32), content).values()))
    file = FeedbackFile.from_bytes(content)
    assert row["problems"] == json.dumps(list(file.faults))
    assert row["client_address"] == file.client_address == FEEDBACK["clientAddress"]
    return file, row


@pytest.mark.parametrize(
    ("field", "odd", "fault"),
    [
        ("value", "4.75", "value is not a whole number or a number"),
        ("valueDecimals", "2", "valueDecimals is not a whole number"),
        ("text", {"en": "Good"}, "text is not a text"),
        ("mcp", "tool", "mcp is not an object"),
        ("tags", "starred", "tags is not a list"),
        ("proofOfPayment", "0x12", "proofOfPayment is not an object"),
    ],
)
def test_an_odd_field_of_a_feedback_file_is_dropped_and_named(field, odd, fault):
    file, row = feedback({field: odd})
    assert (list(file.faults), file.malformed_fields) == ([fault], {field})
    assert file.value == row["value"] if field == "value" else row["value"] == "475"


def test_feedback_files_of_published_sdks_are_read_whole():
    file, row = feedback(
        {"mcpTool": "price", "a2aSkills": ["s"], "a2aContextId": "c", "a2aTaskId": "t", "oasfSkills": ["x/y"]}
    )
    assert (file.mcp.tool, file.a2a.skills, file.a2a.task_id, file.oasf.skills) == ("price", ["s"], "t", ["x/y"])
    assert (row["mcp_tool"], row["a2a_skills"], row["a2a_context_id"]) == ("price", '["s"]', "c")
    file, row = feedback({"proof_of_payment": {"txHash": "0x12", "chainId": 8453}, "score": 70, "rating": 5})
    assert (file.proof_of_payment.tx_hash, row["payment_transaction"], file.faults) == ("0x12", "0x12", ())
    file, row = feedback({"value": None, "score": 70, "skill": "s", "context": "c", "capability": "tools", "name": "n"})
    assert (row["value"], file.value, file.faults) == ("70", None, ())
