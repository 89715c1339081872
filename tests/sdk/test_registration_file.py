"""The registration file (ERC-8004; x402 extension, "Registration File Schema")."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilateral.core.errors import MalformedDocumentError
from bilateral.core.identifiers import GlobalAgentId
from bilateral.documents import RegistrationFile, Signer
from bilateral.documents.registration import REGISTRATION_TYPE, Service
from tests.sdk.strategies import EVM_ADDRESS
from tests.sdk.test_encoding import objects

ED25519 = "a1" * 32
COMPRESSED = "02" + "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
UNCOMPRESSED = "04" + "ab" * 64

SPECIFIED = {
    "type": REGISTRATION_TYPE,
    "name": "Agent Name",
    "description": "Agent description",
    "image": "https://agent.example/image.png",
    "x402Support": True,
    "supportedTrust": ["reputation"],
    "registrations": [
        {
            "agentId": "7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU",
            "agentRegistry": "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp:satiRkxEiwZ51cv8PRu8UMzuaqeaNU9jABo6oAFMsLe",
        },
        {"agentId": "42", "agentRegistry": f"eip155:8453:{EVM_ADDRESS}"},
    ],
    "signers": [
        {
            "publicKey": ED25519,
            "algorithm": "ed25519",
            "role": "owner",
            "validFrom": 1737763200,
            "validUntil": None,
            "comment": "Hot wallet for Solana signing",
        },
        {
            "publicKey": UNCOMPRESSED,
            "algorithm": "secp256k1",
            "role": "delegate",
            "validFrom": 1737763200,
            "validUntil": 1737849600,
        },
    ],
}


def test_the_specified_file_is_read_and_written_back_whole():
    file = RegistrationFile.of(SPECIFIED)
    assert file.problems() == []
    assert file.x402_support is True
    assert file.supported_trust == ["reputation"]
    assert file.to_object() == SPECIFIED
    assert RegistrationFile.from_bytes(file.to_bytes()) == file


@given(objects)
@settings(max_examples=40)
def test_unknown_fields_survive(extra):
    file = RegistrationFile.of({**extra, **SPECIFIED})
    assert json.loads(file.to_bytes()) == {**extra, **SPECIFIED}


def test_unknown_fields_of_parts_survive():
    services = [{"name": "OASF", "endpoint": "https://x", "version": "1", "skills": ["a/b"], "domains": [], "n": 1.5}]
    value = {"services": services, "signers": [{**SPECIFIED["signers"][0], "rotation": {"every": 30}}]}
    assert RegistrationFile.of(value).to_object() == value


def test_a_service_of_any_name_is_kept():
    file = RegistrationFile.of({"services": [{"name": "carrier-pigeon", "endpoint": "loft 9"}]})
    assert [(service.name, service.endpoint) for service in file.all_services] == [("carrier-pigeon", "loft 9")]


def test_a_file_that_calls_its_services_endpoints_is_read():
    file = RegistrationFile.of({"endpoints": [{"name": "MCP", "endpoint": "https://mcp", "version": "2025-06-18"}]})
    assert [service.version for service in file.all_services] == ["2025-06-18"]
    assert "services" not in file.to_object()


def test_absent_fields_stay_absent_and_empty_ones_empty():
    value = {"name": "", "description": None, "registrations": []}
    assert RegistrationFile.of(value).to_object() == value


def test_missing_fields_are_listed_when_a_file_is_read():
    file = RegistrationFile.of(
        {
            "services": [{"name": "MCP"}],
            "registrations": [{"agentId": 1, "agentRegistry": "eip155:1:0x1", "reputationRegistry": "x"}],
        }
    )
    assert file.problems() == [
        f"type is not {REGISTRATION_TYPE}",
        "name is missing",
        "description is missing",
        "image is missing",
        'service "MCP" has no endpoint',
        '"0x1" is not an EVM address: expected 0x and 40 hexadecimal digits',
        "a registration has fields other than agentId and agentRegistry",
    ]


def test_a_new_file_has_the_required_fields():
    file = RegistrationFile.new(
        "Agent", "It works", "https://a/i.png", services=[{"name": "web", "endpoint": "https://a"}], x402Support=True
    )
    assert file.to_object() == {
        "type": REGISTRATION_TYPE,
        "name": "Agent",
        "description": "It works",
        "image": "https://a/i.png",
        "services": [{"name": "web", "endpoint": "https://a"}],
        "x402Support": True,
    }


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"name": ""}, "name is missing"),
        ({"services": [{"name": "web"}]}, 'service "web" has no endpoint'),
        ({"services": [{"endpoint": "https://a"}]}, "services.0.name: Field required"),
        ({"registrations": [{"agentRegistry": "eip155:1"}]}, "expected namespace:reference:address"),
        ({"text": "\ud800"}, "lone surrogate"),
        ({"price": float("inf")}, "cannot be written as JSON"),
    ],
)
def test_a_file_with_problems_is_not_written(fields, problem):
    with pytest.raises(MalformedDocumentError, match=problem):
        RegistrationFile.new(**{"name": "Agent", "description": "d", "image": "i", **fields})


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"name": 1}, "name: Input should be a valid string"),
        ({"services": {}}, "services: Input should be a valid list"),
        ({"services": ["MCP"]}, "services.0: "),
        ({"services": [{"name": "MCP", "endpoint": {"url": "x"}}]}, "services.0.endpoint: "),
        ({"x402Support": "yes"}, "x402Support: "),
        ({"active": 1}, "active: "),
        ({"registrations": [{"agentId": True, "agentRegistry": "x"}]}, "registrations.0.agentId"),
        ({"registrations": [{"agentId": 1}]}, "registrations.0.agentRegistry: Field required"),
        ({"name": 1, "image": 2}, "; image: "),
    ],
)
def test_a_field_of_the_wrong_type_is_named(fields, problem):
    with pytest.raises(MalformedDocumentError) as refusal:
        RegistrationFile.of(fields)
    assert problem in str(refusal.value)


def test_a_file_of_endless_mistakes_has_a_short_message():
    with pytest.raises(MalformedDocumentError, match="; and 990 more") as refusal:
        RegistrationFile.of({"services": [{}] * 1000})
    assert len(str(refusal.value)) < 1000


def test_a_hostile_name_does_not_act_in_a_message():
    file = RegistrationFile.of({"services": [{"name": "\x1b[2J" + "x" * 10_000}]})
    assert all(problem.isprintable() and len(problem) < 300 for problem in file.problems())


SIGNER = SPECIFIED["signers"][0]


@pytest.mark.parametrize("key", [ED25519, ED25519.upper()])
def test_an_ed25519_key_has_32_bytes(key):
    assert Signer.of({**SIGNER, "publicKey": key}).key == bytes.fromhex(ED25519)


@pytest.mark.parametrize("key", [COMPRESSED, "03" + COMPRESSED[2:], UNCOMPRESSED])
def test_a_secp256k1_key_has_the_forms_of_sec_1(key):
    assert Signer.of({**SIGNER, "algorithm": "secp256k1", "publicKey": key}).key == bytes.fromhex(key)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"publicKey": "0x" + ED25519}, "without 0x"),
        ({"publicKey": ED25519[:-1]}, "in pairs"),
        ({"publicKey": ED25519[:-2] + "  "}, "hexadecimal digits"),
        ({"publicKey": ED25519[:-2] + "\u0661\u0661"}, "hexadecimal digits"),
        ({"publicKey": ""}, "32 bytes, not 0"),
        ({"publicKey": ED25519 + "00"}, "32 bytes, not 33"),
        ({"algorithm": "secp256k1"}, "33 bytes that begin with 02 or 03"),
        ({"algorithm": "secp256k1", "publicKey": "05" + COMPRESSED[2:]}, "33 bytes that begin with 02 or 03"),
        ({"algorithm": "secp256k1", "publicKey": "06" + UNCOMPRESSED[2:]}, "65 bytes that begin with 04"),
        ({"algorithm": "secp256k1", "publicKey": UNCOMPRESSED[2:]}, "65 bytes that begin with 04"),
        ({"algorithm": "rsa"}, "algorithm: "),
        ({"algorithm": "Ed25519"}, "algorithm: "),
        ({"role": "admin"}, "role: "),
        ({"validFrom": "1737763200"}, "validFrom: "),
        ({"validFrom": 1.5}, "validFrom: "),
        ({"validFrom": True}, "validFrom: "),
        ({"validFrom": -1}, "validFrom: "),
        ({"validFrom": None}, "validFrom: "),
        ({"validUntil": "never"}, "validUntil: "),
    ],
)
def test_a_malformed_signer_makes_the_file_unreadable_and_is_named(fields, problem):
    with pytest.raises(MalformedDocumentError) as refusal:
        RegistrationFile.of({**SPECIFIED, "signers": [SIGNER, {**SIGNER, **fields}]})
    assert "signers.1" in str(refusal.value)
    assert problem in str(refusal.value)


@pytest.mark.parametrize("field", ["publicKey", "algorithm", "validFrom", "validUntil"])
def test_a_signer_lacks_no_required_field(field):
    with pytest.raises(MalformedDocumentError, match=f"{field}: Field required"):
        Signer.of({name: value for name, value in SIGNER.items() if name != field})


def test_a_signer_without_a_role_is_read_as_a_problem_and_never_written():
    signer = {name: value for name, value in SIGNER.items() if name != "role"}
    file = RegistrationFile.of({**SPECIFIED, "signers": [SIGNER, signer]})
    assert file.problems() == [*RegistrationFile.of(SPECIFIED).problems(), "signer 1 has no role"]
    assert file.valid_signers(datetime.fromtimestamp(SIGNER["validFrom"], UTC))[1].role is None
    assert file.to_object()["signers"] == [SIGNER, signer]
    with pytest.raises(MalformedDocumentError, match="signer 0 has no role"):
        RegistrationFile.new("Weather", "It forecasts", "https://agent.example/i.png", signers=[signer])


@pytest.mark.parametrize(
    ("second", "counts"),
    [(1737763199, [False, False]), (1737763200, [True, True]), (1737849599, [True, True]), (1737849600, [True, False])],
)
def test_a_key_counts_from_its_first_second_and_before_its_last(second, counts):
    file = RegistrationFile.of(SPECIFIED)
    moment = datetime.fromtimestamp(second, UTC)
    assert [signer.counts_at(moment) for signer in file.signers] == counts
    assert file.valid_signers(moment) == [signer for signer, yes in zip(file.signers, counts, strict=True) if yes]


def test_a_file_without_signers_has_none_that_count():
    assert RegistrationFile.of({}).valid_signers() == []


@given(st.integers(0, 2**63))
def test_a_key_without_an_end_counts_now_if_it_has_begun(begin):
    file = RegistrationFile.of({"signers": [{**SIGNER, "validFrom": begin}]})
    assert bool(file.valid_signers()) == (begin <= datetime.now(UTC).timestamp())


def test_the_entry_of_an_agent_is_found_whatever_the_case_of_its_registry():
    agent = GlobalAgentId.parse(f"eip155:8453:{EVM_ADDRESS}#42")
    for registry, token in [
        (EVM_ADDRESS, "42"),
        (EVM_ADDRESS.lower(), 42),
        (EVM_ADDRESS.swapcase().replace("X", "x"), 42),
    ]:
        entry = {"agentId": token, "agentRegistry": f"eip155:8453:{registry}"}
        file = RegistrationFile.of({"registrations": [{"agentId": 1, "agentRegistry": "nonsense"}, entry]})
        assert file.registration_of(agent) == file.registrations[1]


@pytest.mark.parametrize(
    "entry",
    [
        {"agentId": "43", "agentRegistry": f"eip155:8453:{EVM_ADDRESS}"},
        {"agentId": "42", "agentRegistry": f"eip155:84532:{EVM_ADDRESS}"},
        {"agentId": "042", "agentRegistry": f"eip155:8453:{EVM_ADDRESS}"},
        {"agentId": None, "agentRegistry": f"eip155:8453:{EVM_ADDRESS}"},
        {"agentRegistry": f"eip155:8453:{EVM_ADDRESS}"},
    ],
)
def test_the_entry_of_another_agent_is_not_taken_for_it(entry):
    agent = GlobalAgentId.parse(f"eip155:8453:{EVM_ADDRESS}#42")
    assert RegistrationFile.of({"registrations": [entry]}).registration_of(agent) is None


@pytest.mark.parametrize(
    ("python", "json_name"),
    [("x402_support", "x402Support"), ("supported_trust", "supportedTrust")],
)
def test_a_field_by_its_name_in_python_is_not_written(python, json_name):
    with pytest.raises(MalformedDocumentError, match=f"use the JSON name {json_name} instead of {python}"):
        RegistrationFile.new("Agent", "d", "i", **{python: True})


@pytest.mark.parametrize("services", [5, "web", {"name": "web", "endpoint": "https://a"}, [None], ["web"]])
def test_services_are_a_list_of_objects(services):
    with pytest.raises(MalformedDocumentError, match="services"):
        RegistrationFile.new("Agent", "d", "i", services=services)


def test_services_may_be_parts_of_another_file():
    service = Service.of({"name": "web", "endpoint": "https://a"})
    assert RegistrationFile.new("Agent", "d", "i", services=(service,)).services == [service]


@pytest.mark.parametrize(
    "value",
    [
        {"x402_support": True},
        {"x402_support": True, "x402Support": None},
        {"registrations": [{"agentRegistry": "eip155:1:x", "agent_id": 7, "agent_registry": None}]},
    ],
)
def test_a_strangers_field_by_a_name_of_python_adds_nothing(value):
    assert json.loads(RegistrationFile.of(value).to_bytes()) == value
