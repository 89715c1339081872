"""A message for an aggregator is read strictly, and each invalid field is named."""

from __future__ import annotations

import copy
import json

import pytest
from eth_account import Account

from bilateral.core.contracts import Deployment
from bilateral.core.identifiers import GlobalAgentId
from bilateral.core.values import FeedbackValue
from bilateral.x402 import draft_data_hash, draft_interaction_hash, draft_reviewer_hash
from bilateral.x402.aggregator.messages import MAX_FEEDBACK_URI, MAX_SIGNATURE, MAX_TAG, Bodies, Submission
from bilateral.x402.aggregator.refusals import Code, FeedbackRefusedError
from tests.x402.aggregator.world import REQUEST, RESPONSE, Review
from tests.x402.world import SIGNING_KEY

IDENTITY, REPUTATION = "0x" + "11" * 20, "0x" + "22" * 20
TASK_REF = f"eip155:31337:0x{'ab' * 32}"


def read(value):
    return Submission.from_bytes(json.dumps(value).encode())


@pytest.fixture(scope="module")
def signed():
    deployment = Deployment(31337, IDENTITY, REPUTATION)
    reviewer = Account.from_key(bytes(range(3, 35)))
    return Review(reviewer, deployment, GlobalAgentId(deployment.agent_registry, "7"), TASK_REF, deadline=2**40)


def changed(value, path, new):
    """Return a message with another value at a path; without it for ..."""
    altered = copy.deepcopy(value)
    place = altered
    *way, last = path.split(".")
    for name in way:
        place = place[name]
    if new is ...:
        del place[last]
    else:
        place[last] = new
    return altered


def test_message_is_written_and_read_back(signed):
    message = signed.bound().message
    assert Submission.from_bytes(json.dumps(message.to_object()).encode()) == message


def test_unknown_fields_and_other_forms_are_read(signed):
    written = signed.object
    written["reviewerSignatureAlgorithm"] = "secp256k1"
    written["interactionData"] |= {"timestamp": 1, "interactionHash": signed.interaction_hash.hex()}
    written["sponsored"]["feedbackIndex"] = 1
    del written["interactionData"]["networkId"]
    assert read(written) == signed.message


def test_message_with_a_name_twice_is_refused(signed):
    content = signed.content.replace(b'"taskRef"', b'"taskRef": "", "taskRef"', 1)
    with pytest.raises(FeedbackRefusedError, match="twice") as refused:
        Submission.from_bytes(content)
    assert refused.value.code is Code.INVALID_PAYLOAD


def test_same_message_with_or_without_bodies_is_the_same(signed):
    assert signed.message.content_hash == signed.bound().message.content_hash
    assert signed.message.content_hash != signed.but(value=1).message.content_hash


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        ("interactionData", ..., "missing"),
        ("interactionData", [], "wrong_type"),
        ("interactionData.agentRegistry", ..., "missing"),
        ("interactionData.agentRegistry", "eip155:31337:0x12", "malformed"),
        ("interactionData.agentId", "x", "malformed"),
        ("interactionData.agentId", str(2**256), "malformed"),
        ("interactionData.agentId", 7, "wrong_type"),
        ("interactionData.taskRef", ..., "missing"),
        ("interactionData.taskRef", "eip155:31337", "malformed"),
        ("interactionData.taskRef", f"eip155:1:0x{'ab' * 32}", "wrong_chain"),
        ("interactionData.networkId", "eip155:1", "wrong_chain"),
        ("interactionData.interactionHash", "0x12", "malformed"),
        ("interactionData.agentSignature", "12" * 63, "malformed"),
        ("interactionData.agentSignature", "x" * 300, "too_long"),
        ("interactionData.dataHash", "12", "malformed"),
        ("review", None, "missing"),
        ("review.value", ..., "missing"),
        ("review.value", 95.0, "wrong_type"),
        ("review.value", True, "wrong_type"),
        ("review.value", "ninety", "wrong_type"),
        ("review.value", -1, "malformed"),
        ("review.value", 256, "malformed"),
        ("review.value", 101, "malformed"),
        ("review.valueDecimals", 19, "malformed"),
        ("review.tag1", "t" * (MAX_TAG + 1), "too_long"),
        ("review.tag2", "\0", "malformed"),
        ("review.tag2", 5, "wrong_type"),
        ("review.endpoint", "e" * 2049, "too_long"),
        ("reviewerAddress", ..., "missing"),
        ("reviewerAddress", "eip155:1:0x" + "11" * 20, "wrong_chain"),
        ("reviewerAddress", "eip155:31337:0x8004b663056A597Dffe9eCcC1965A193B7388713", "wrong_case"),
        ("reviewerSignature", ..., "missing"),
        ("reviewerSignature", "zz", "malformed"),
        ("reviewerSignature", "0x", "malformed"),
        ("reviewerSignature", "11 11", "malformed"),
        ("reviewerSignature", "11" * (MAX_SIGNATURE + 2), "too_long"),
        ("sponsored", ..., "missing"),
        ("sponsored.feedbackURI", "u" * (MAX_FEEDBACK_URI + 1), "too_long"),
        ("sponsored.feedbackHash", "0x12", "malformed"),
        ("sponsored.feedbackIndex", ..., "missing"),
        ("sponsored.feedbackIndex", 2**64, "malformed"),
        ("sponsored.feedbackIndex", "1" * 79, "wrong_type"),
        ("sponsored.deadline", 2**256, "malformed"),
        ("sponsored.signature", None, "missing"),
        ("bodies", [], "wrong_type"),
        ("bodies.request", 5, "wrong_type"),
        ("bodies.response", "not base64!", "malformed"),
    ],
)
def test_invalid_field_is_named(signed, path, value, fault):
    with pytest.raises(FeedbackRefusedError) as refusal:
        read(changed(signed.bound().object, path, value))
    assert refusal.value.code is Code.INVALID_PAYLOAD
    assert refusal.value.details == {"field": path, "fault": fault}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("review.value", 0),
        ("review.value", 100),
        ("review.tag1", "t" * MAX_TAG),
        ("review.tag1", ""),
        ("review.endpoint", "e" * 2048),
        ("sponsored.feedbackURI", "u" * MAX_FEEDBACK_URI),
        ("sponsored.feedbackIndex", str(2**64 - 1)),
        ("sponsored.deadline", str(2**256 - 1)),
        ("reviewerSignature", "11" * MAX_SIGNATURE),
    ],
    ids=range(9),
)
def test_largest_values_are_read(signed, path, value):
    assert read(changed(signed.object, path, value))


def test_value_may_be_larger_with_decimals(signed):
    assert read(signed.but(value=255, decimals=1).object).feedback.value == 255


def drafted(review, task_ref, response=RESPONSE):
    """Return a review in the profile `reputation`, whose agent signed the hash of the draft."""
    data = draft_data_hash(REQUEST, response)
    digest = draft_interaction_hash(task_ref, data)
    message = review.object
    value = FeedbackValue(review.value, review.decimals)
    signed = draft_reviewer_hash(review.agent, review.task_ref, data, value, *review.tags)
    message["reviewerSignature"] = "0x" + bytes(review.reviewer.unsafe_sign_hash(signed).signature).hex()
    message["interactionData"] |= {
        "dataHash": "0x" + data.hex(),
        "interactionHash": "0x" + digest.hex(),
        "agentSignature": SIGNING_KEY.sign(digest).hex(),
    }
    return message


def test_profile_of_the_draft_is_bound_without_bodies(idle, review):
    asked = review()
    taken, _ = idle.submit(json.dumps(drafted(asked, asked.task_ref)).encode())
    assert taken.proof == "bound"


def test_draft_refuses_the_clients_signature_of_the_specification(idle, review):
    asked = review()
    message = drafted(asked, asked.task_ref) | {"reviewerSignature": asked.object["reviewerSignature"]}
    with pytest.raises(FeedbackRefusedError) as refusal:
        idle.submit(json.dumps(message).encode())
    assert (refusal.value.code, refusal.value.details) == (
        Code.INVALID_REVIEWER_SIGNATURE,
        {"field": "reviewerSignature"},
    )


def test_draft_signature_of_another_payment_is_refused(idle, review):
    other, asked = review(), review()
    with pytest.raises(FeedbackRefusedError) as refusal:
        idle.submit(json.dumps(drafted(asked, other.task_ref)).encode())
    assert (refusal.value.code, refusal.value.details) == (
        Code.INVALID_AGENT_SIGNATURE,
        {"field": "interactionData.interactionHash"},
    )


def test_draft_hash_of_other_bodies_is_refused(idle, review):
    asked = review().but(bodies=Bodies(REQUEST, b"sun"))
    with pytest.raises(FeedbackRefusedError) as refusal:
        idle.submit(json.dumps(drafted(asked, asked.task_ref)).encode())
    assert refusal.value.details == {"field": "interactionData.dataHash"}


@pytest.mark.parametrize(
    ("wallet", "is_taken"), [("WalletAcceptsEverything", True), ("WalletRefuses", False), ("WalletReverts", False)]
)
def test_contract_wallet_checks_its_own_signatures(idle, review, web3, project, wallet, is_taken):
    """The account paid by its key, and has code now, as EIP-7702 allows."""
    asked = review()
    code = getattr(project, wallet).contract_type.runtime_bytecode.bytecode
    message = asked.object | {"reviewerSignature": "0x" + "77" * 200}
    message["sponsored"]["signature"] = "0x" + "77" * 300
    web3.provider.make_request("anvil_setCode", [asked.reviewer.address, code])
    if is_taken:
        assert idle.submit(json.dumps(message).encode())[1]
        return
    with pytest.raises(FeedbackRefusedError) as refusal:
        idle.submit(json.dumps(message).encode())
    assert refusal.value.code is Code.INVALID_REVIEWER_SIGNATURE
