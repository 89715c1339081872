"""The feedback file (best practices, "Off-Chain Feedback File"; x402 extension, "feedbackURI Fields")."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings

from bilateral.core.errors import MalformedDocumentError
from bilateral.core.identifiers import AccountId, GlobalAgentId
from bilateral.core.values import FeedbackValue
from bilateral.documents import DataUriStore, FeedbackFile, Loader, ProofOfPayment, prepare_feedback_file
from tests.sdk.strategies import EVM_ADDRESS
from tests.sdk.test_encoding import objects

AGENT = GlobalAgentId.parse(f"eip155:8453:{EVM_ADDRESS}#42")
CLIENT = AccountId.parse("eip155:8453:0x8004B663056A597Dffe9eCcC1965A193B7388713")
PAYMENT = {
    "fromAddress": CLIENT.address,
    "toAddress": EVM_ADDRESS,
    "chainId": "8453",
    "txHash": "0x" + "ab" * 32,
}
SPECIFIED = {
    "agentRegistry": str(AGENT.registry),
    "agentId": 42,
    "clientAddress": str(CLIENT),
    "createdAt": "2025-09-23T12:00:00Z",
    "value": 85,
    "valueDecimals": 0,
    "tag1": "starred",
    "tag2": "finance",
    "endpoint": "https://mcp.agent.example.com",
    "mcp": {"tool": "financial_analyzer"},
    "a2a": {"skills": ["trading_analysis"], "contextId": "ctx-123", "taskId": "task-456"},
    "oasf": {"skills": ["analytical_skills/mathematical_reasoning"], "domains": ["finance_and_business"]},
    "proofOfPayment": PAYMENT,
}
X402 = {
    "agentRegistry": "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp:satiRkxEiwZ51cv8PRu8UMzuaqeaNU9jABo6oAFMsLe",
    "agentId": "7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU",
    "createdAt": "2026-01-26T12:00:00Z",
    "value": 95,
    "valueDecimals": 0,
    "taskRef": "solana:5eykt4...:5A2CSREG...",
    "interactionHash": "0x123abc456def...",
    "agentSignature": "a1b2c3d4e5f6...",
    "clientSignature": "fedcba987654...",
    "tags": ["x402-resource-delivered", "proof-of-participation"],
    "comment": "Excellent service",
}


@pytest.mark.parametrize("specified", [SPECIFIED, X402])
def test_the_specified_files_are_read_and_written_back_whole(specified):
    file = FeedbackFile.of(specified)
    assert file.to_object() == specified
    assert FeedbackFile.from_bytes(file.to_bytes()) == file


@given(objects)
@settings(max_examples=40)
def test_unknown_fields_survive(extra):
    file = FeedbackFile.of({**extra, **SPECIFIED})
    assert json.loads(file.to_bytes()) == {**extra, **SPECIFIED}


def test_a_field_that_is_called_as_in_python_is_an_unknown_one():
    value = {"agent_id": 7, "agentId": 42, "a2A": "x"}
    file = FeedbackFile.of(value)
    assert (file.agent_id, file.to_object()) == (42, value)


def test_the_arguments_of_the_specification_are_mapped():
    file = prepare_feedback_file(
        text="Accurate market analysis with fast response times",
        capability="tools",
        name="financial_analyzer",
        skill="trading_analysis",
        task="analyze_portfolio",
        context={"sessionId": "abc", "duration": 1200},
        proof_of_payment=PAYMENT,
    )
    assert file.to_object() == {
        "text": "Accurate market analysis with fast response times",
        "mcp": {"tool": "financial_analyzer"},
        "a2a": {"skills": ["trading_analysis"], "taskId": "analyze_portfolio"},
        "context": {"sessionId": "abc", "duration": 1200},
        "proofOfPayment": PAYMENT,
    }


@pytest.mark.parametrize(("capability", "field"), [("tools", "tool"), ("prompts", "prompt"), ("resources", "resource")])
def test_each_capability_of_mcp_has_its_field(capability, field):
    assert prepare_feedback_file(capability=capability, name="n").to_object() == {"mcp": {field: "n"}}


def test_a_context_with_an_id_names_the_a2a_context():
    assert prepare_feedback_file(context="ctx-123").to_object() == {"a2a": {"contextId": "ctx-123"}}
    assert prepare_feedback_file(context={"contextId": "ctx-123", "n": 1}).to_object() == {
        "a2a": {"contextId": "ctx-123"},
        "context": {"contextId": "ctx-123", "n": 1},
    }


def test_several_skills_and_those_of_oasf_are_lists():
    file = prepare_feedback_file(skill=("a", "b"), oasf_skills=("x/y",), oasf_domains=("z",))
    assert file.to_object() == {"a2a": {"skills": ["a", "b"]}, "oasf": {"skills": ["x/y"], "domains": ["z"]}}


def test_no_arguments_give_an_empty_file():
    assert prepare_feedback_file().to_object() == {}


def test_fields_of_ones_own_are_kept():
    assert prepare_feedback_file(text="t", endpoint="https://e", mood="good").to_object() == {
        "mood": "good",
        "text": "t",
        "endpoint": "https://e",
    }


def test_a_payment_is_brought_into_canonical_form():
    careless = {
        "fromAddress": CLIENT.address.lower(),
        "toAddress": EVM_ADDRESS.lower(),
        "chainId": 8453,
        "txHash": "0x" + "AB" * 32,
        "note": "kept",
    }
    file = prepare_feedback_file(proof_of_payment=careless)
    assert file.proof_of_payment.to_object() == {**PAYMENT, "note": "kept"}
    assert prepare_feedback_file(proof_of_payment=ProofOfPayment.of(careless)) == file


def test_a_payment_may_be_on_solana():
    chain = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
    payer, payee = X402["agentId"], X402["agentRegistry"].rpartition(":")[2]
    payment = {"fromAddress": payer, "toAddress": payee, "chainId": chain, "txHash": "1" * 64}
    assert prepare_feedback_file(proof_of_payment=payment).proof_of_payment.to_object() == payment


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"capability": "tools"}, "capability and name must be passed together"),
        ({"name": "n"}, "capability and name must be passed together"),
        ({"capability": "toys", "name": "n"}, "capability must be one of tools, prompts, resources"),
        ({"text": 1}, "text: Input should be a valid string"),
        ({"skill": [1]}, "a2a.skills.0: "),
        ({"task": 1}, "a2a.taskId: "),
        ({"context": {"contextId": 1}}, "a2a.contextId: "),
        ({"text": "\ud800"}, "lone surrogate"),
        ({"context": {"at": datetime.now(UTC)}}, "cannot be written as JSON"),
        ({"proof_of_payment": {}}, "proofOfPayment lacks fromAddress, toAddress, chainId, txHash"),
        ({"proof_of_payment": {**PAYMENT, "txHash": ""}}, "proofOfPayment lacks txHash"),
        ({"proof_of_payment": {**PAYMENT, "txHash": "0x1"}}, "64 hexadecimal digits"),
        ({"proof_of_payment": {**PAYMENT, "chainId": "base"}}, "in decimal digits"),
        ({"proof_of_payment": {**PAYMENT, "toAddress": "0xAgent..."}}, "not an EVM address"),
        ({"proof_of_payment": {**PAYMENT, "fromAddress": X402["agentId"]}}, "not an EVM address"),
        ({"proof_of_payment": {**PAYMENT, "chainId": 1.5}}, "chainId"),
    ],
)
def test_an_empty_argument_is_refused_by_name(arguments, problem):
    with pytest.raises(MalformedDocumentError) as refusal:
        prepare_feedback_file(**arguments)
    assert problem in str(refusal.value)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"value": "85"}, "value"),
        ({"value": True}, "value"),
        ({"valueDecimals": "0"}, "valueDecimals: "),
        ({"mcp": "tool"}, "mcp: "),
        ({"a2a": {"skills": "trading"}}, "a2a.skills: "),
        ({"tags": "starred"}, "tags: "),
    ],
)
def test_a_field_of_the_wrong_type_is_named(fields, problem):
    with pytest.raises(MalformedDocumentError, match=problem):
        FeedbackFile.of({**SPECIFIED, **fields})


def test_a_file_is_completed_with_the_fields_on_chain():
    prepared = prepare_feedback_file(capability="tools", name="financial_analyzer")
    moment = datetime(2025, 9, 23, 14, 0, 0, 999999, timezone(timedelta(hours=2)))
    file = prepared.complete(AGENT, CLIENT, FeedbackValue(85), tag1="starred", tag2="finance", created_at=moment)
    assert file.to_object() == {
        "agentRegistry": str(AGENT.registry),
        "agentId": 42,
        "clientAddress": str(CLIENT),
        "createdAt": "2025-09-23T12:00:00Z",
        "value": 85,
        "valueDecimals": 0,
        "tag1": "starred",
        "tag2": "finance",
        "mcp": {"tool": "financial_analyzer"},
    }


def test_fields_on_chain_replace_those_of_the_file():
    lying = FeedbackFile.of({**SPECIFIED, "value": 100, "agentId": 7, "tag1": "uptime", "tag2": "high"})
    file = lying.complete(AGENT, CLIENT, FeedbackValue(-32, 1), endpoint="https://other")
    assert (file.value, file.value_decimals, file.agent_id, file.tag1, file.tag2) == (-32, 1, 42, None, None)
    assert file.endpoint == "https://other"
    assert file.mcp.tool == "financial_analyzer"


def test_the_files_own_endpoint_stays_where_the_call_names_none():
    assert FeedbackFile.of(SPECIFIED).complete(AGENT, CLIENT, FeedbackValue(1)).endpoint == SPECIFIED["endpoint"]


def test_an_agent_of_solana_keeps_its_mint_address():
    agent = GlobalAgentId.parse(f"{X402['agentRegistry']}#{X402['agentId']}")
    assert FeedbackFile.of({}).complete(agent, CLIENT, FeedbackValue(1)).agent_id == X402["agentId"]


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(MalformedDocumentError, match="created_at has no time zone"):
        FeedbackFile.of({}).complete(AGENT, CLIENT, FeedbackValue(1), created_at=datetime(2025, 9, 23))  # noqa: DTZ001


def test_a_file_completed_now_says_so():
    before = datetime.now(UTC).replace(microsecond=0)
    assert before <= FeedbackFile.of({}).complete(AGENT, CLIENT, FeedbackValue(1)).created <= datetime.now(UTC)


@pytest.mark.parametrize(
    ("text", "created"),
    [
        ("2025-09-23T12:00:00Z", datetime(2025, 9, 23, 12, tzinfo=UTC)),
        ("2025-09-23T14:00:00.5+02:00", datetime(2025, 9, 23, 12, 0, 0, 500000, tzinfo=UTC)),
        ("2025-09-23T12:00:00", None),
        ("yesterday", None),
        ("", None),
        ("0001-01-01T00:00:00+23:59", None),
    ],
)
def test_the_time_of_a_strangers_file_is_read_or_ignored(text, created):
    assert FeedbackFile.of({"createdAt": text}).created == created
    assert FeedbackFile.of({}).created is None


def test_the_bytes_that_are_hashed_are_the_bytes_that_are_stored():
    stored = DataUriStore().put(prepare_feedback_file(text="très bien").to_bytes())
    document = Loader().load(stored.uri, stored.hash)
    assert document.content == stored.content
    assert document.feedback().text == "très bien"


PYTHON_NAMES = [name for name, field in FeedbackFile.model_fields.items() if name != field.alias]


@pytest.mark.parametrize("name", PYTHON_NAMES)
def test_a_strangers_field_by_a_name_of_python_adds_nothing(name):
    assert FeedbackFile.of({name: "x"}).to_object() == {name: "x"}


@pytest.mark.parametrize("name", sorted(set(PYTHON_NAMES) - {"proof_of_payment"}))
def test_a_field_by_its_name_in_python_is_not_written(name):
    with pytest.raises(MalformedDocumentError, match=f"instead of {name}$"):
        prepare_feedback_file(**{name: "x"})


def test_the_payment_may_be_named_as_in_json():
    assert prepare_feedback_file(proofOfPayment=PAYMENT) == prepare_feedback_file(proof_of_payment=PAYMENT)


def test_the_used_service_may_be_named_as_in_json():
    file = prepare_feedback_file(mcp={"tool": "t"}, a2a={"skills": ["s"], "contextId": "c"}, oasf={"domains": ["d"]})
    assert file == prepare_feedback_file(capability="tools", name="t", skill="s", context="c", oasf_domains=["d"])


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"proofOfPayment": PAYMENT, "proof_of_payment": PAYMENT}, "proofOfPayment"),
        ({"mcp": {"tool": "t"}, "capability": "tools", "name": "n"}, "mcp"),
        ({"a2a": {"taskId": "t"}, "skill": "s"}, "a2a"),
        ({"oasf": {"skills": ["s"]}, "oasf_domains": ["d"]}, "oasf"),
    ],
)
def test_the_used_service_is_named_once(arguments, name):
    with pytest.raises(MalformedDocumentError, match=f"both as a whole and in parts: {name}$"):
        prepare_feedback_file(**arguments)


@pytest.mark.parametrize("wrong", [True, 1.5, 5, b"x", object()])
@pytest.mark.parametrize(
    "name",
    [
        *("text", "capability", "skill", "task", "context", "proof_of_payment", "oasf_skills", "oasf_domains"),
        *("endpoint", "proofOfPayment", "mcp", "a2a", "oasf"),
    ],
)
def test_an_argument_of_the_wrong_type_is_refused(name, wrong):
    with pytest.raises(MalformedDocumentError):
        prepare_feedback_file(**{name: wrong})


@pytest.mark.parametrize("name", ["oasf_skills", "oasf_domains", "proof_of_payment", "proofOfPayment", "mcp"])
def test_a_text_is_neither_a_list_nor_an_object(name):
    with pytest.raises(MalformedDocumentError):
        prepare_feedback_file(**{name: "abc"})
