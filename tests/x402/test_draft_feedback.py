"""Feedback in the upstream draft: a file with `proofOfInteraction` in canonical JSON, which the reviewer signed."""

from __future__ import annotations

import pytest
import rfc8785
from eth_utils.crypto import keccak

from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import AccountId, ChainId
from bilateral.documents import FeedbackFile
from bilateral.x402 import (
    QUALITY,
    REACHABLE,
    RESOURCE_DELIVERED,
    DuplicateFeedbackError,
    ReputationDraftResourceServerExtension,
    declare_reputation_draft,
    give_paid_feedback,
    is_signed_by_client,
    paid_feedback,
)
from bilateral.x402.clients.feedback import Tags, client_signature_of
from tests.x402 import examples
from tests.x402.buying import buy
from tests.x402.examples import changed
from tests.x402.world import NETWORK, SIGNING_KEY

NETWORK_ID = ChainId.parse(NETWORK)

EXAMPLE = {
    "agentRegistry": f"{examples.SOLANA}:{examples.PROGRAM}",
    "agentId": examples.MINT,
    "clientAddress": f"{examples.SOLANA}:{examples.MINT}",
    "endpoint": "https://agent.example/weather",
    "createdAt": "2026-01-26T12:00:00Z",
    "value": 95,
    "valueDecimals": 0,
    "proofOfInteraction": {
        "taskRef": f"{examples.SOLANA}:{examples.SOLANA_TRANSACTION}",
        "dataHash": "0x" + "9f" * 32,
        "agentSignerPublicKey": "0x" + "a1" * 32,
        "agentSignature": "0x" + "a1" * 64,
        "agentSignatureAlgorithm": "ed25519",
        "reviewerAddress": f"{examples.SOLANA}:{examples.MINT}",
        "reviewerSignature": "0x" + "fe" * 64,
        "reviewerSignatureAlgorithm": "ed25519",
    },
    "tag1": "starred",
    "tag2": "x402",
    "reasoning": "Excellent service",
}


@pytest.fixture(scope="module")
def draft_shop(sell, agent, deployment):
    with sell(declare_reputation_draft(agent, deployment), kind=ReputationDraftResourceServerExtension) as url:
        yield url


@pytest.fixture
def verified(draft_shop, verifier, buyer):
    return verifier.verify(buy(draft_shop, buyer))


def test_feedback_file_of_the_draft_is_read_and_written_back():
    assert FeedbackFile.of(EXAMPLE).to_object() == EXAMPLE


@pytest.mark.parametrize(
    "more", [{}, {"context": {"b": [{"z": 1, "a": 1.5}], "a": None}, "\U0001f600": 1, "\ufb33": 2, "é\n": "\u2028"}]
)
def test_file_of_the_draft_is_canonical(more):
    assert FeedbackFile.of(EXAMPLE | more).to_bytes() == rfc8785.dumps(EXAMPLE | more)


def test_feedback_goes_on_chain_with_proof_of_the_interaction(client, verified, agent, deployment, buyer):
    feedback = give_paid_feedback(client, verified, 95, buyer, comment="Excellent service").wait()
    entry = client.get_feedback(feedback.id)
    assert (entry.value, entry.tag1, entry.tag2) == (95, "starred", "x402")
    file, interaction = entry.file.to_object(), verified.interaction
    reviewer_signature = file["proofOfInteraction"].pop("reviewerSignature")
    assert file == file | {
        "agentRegistry": str(deployment.agent_registry),
        "agentId": agent,
        "clientAddress": f"eip155:31337:{buyer.address}",
        "value": 95,
        "valueDecimals": 0,
        "proofOfInteraction": {
            "taskRef": interaction.task_ref,
            "dataHash": "0x" + interaction.data_hash.hex(),
            "agentSignerPublicKey": "0x" + SIGNING_KEY.public_key,
            "agentSignature": "0x" + interaction.signature.hex(),
            "agentSignatureAlgorithm": "secp256k1",
            "reviewerAddress": f"eip155:31337:{buyer.address}",
            "reviewerSignatureAlgorithm": "secp256k1",
        },
        "tag1": "starred",
        "tag2": "x402",
        "reasoning": "Excellent service",
    }
    assert not {"interactionHash", "taskRef", "clientSignature", "tags", "comment"} & file.keys()
    assert bytes.fromhex(reviewer_signature[2:])[64] in {0, 1}
    assert entry.event.hash == keccak(rfc8785.dumps(entry.file.to_object()))
    assert is_signed_by_client(entry.file)


def test_second_feedback_for_a_payment_is_refused(client, verified, buyer):
    give_paid_feedback(client, verified, 1, buyer, REACHABLE).wait()
    with pytest.raises(DuplicateFeedbackError):
        give_paid_feedback(client, verified, 95, buyer)


@pytest.mark.parametrize("tags", [RESOURCE_DELIVERED, Tags("starred", "")])
def test_second_tag_is_that_of_the_draft(verified, buyer, tags):
    with pytest.raises(InvalidArgumentError, match="in the reputation profile, tag2 must be 'x402'"):
        paid_feedback(verified, 95, buyer, tags)


@pytest.mark.parametrize(("value", "decimals"), [(0, 0), (100, 0), (9999, 2)])
def test_values_within_the_range_are_taken(verified, buyer, value, decimals):
    assert paid_feedback(verified, value, buyer, decimals=decimals)["value"].value == value


@pytest.mark.parametrize(("value", "decimals"), [(101, 0), (-1, 0), (10001, 2)])
def test_values_out_of_range_are_refused(verified, buyer, value, decimals):
    with pytest.raises(InvalidArgumentError, match=r"out of range 0\.\.100"):
        paid_feedback(verified, value, buyer, QUALITY, decimals=decimals)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["value"], 96),
        (["value"], 95.0),
        (["value"], 10**40),
        (["valueDecimals"], 1),
        (["tag1"], "reachable"),
        (["tag2"], "x403"),
        (["tag2"], "x\0402"),
        (["agentId"], 999),
        (["agentRegistry"], f"eip155:31337:{examples.IDENTITY}"),
        (["proofOfInteraction", "taskRef"], f"eip155:31337:0x{'12' * 32}"),
        (["proofOfInteraction", "dataHash"], "0x" + "12" * 32),
        (["proofOfInteraction", "dataHash"], "0x12"),
        (["proofOfInteraction", "dataHash"], None),
        (["proofOfInteraction", "reviewerAddress"], f"eip155:31337:0x{'12' * 20}"),
        (["proofOfInteraction", "reviewerAddress"], None),
        (["proofOfInteraction", "reviewerSignature"], "0x" + "fe" * 65),
        (["proofOfInteraction", "reviewerSignature"], "zz"),
        (["proofOfInteraction", "reviewerSignature"], None),
        (["proofOfInteraction"], None),
    ],
    ids=range(19),
)
def test_changed_file_is_not_signed(verified, buyer, path, value):
    arguments = paid_feedback(verified, 95, buyer)
    file = arguments["feedback_file"].complete(
        arguments["agent_id"], AccountId(NETWORK_ID, buyer.address), arguments["value"], tag1="starred", tag2="x402"
    )
    assert is_signed_by_client(file)
    assert client_signature_of(file)
    assert not is_signed_by_client(FeedbackFile.of(changed(file.to_object(), path, value)))
