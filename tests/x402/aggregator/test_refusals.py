"""Each refusal has its code, and costs the sponsor no gas."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct

from bilateral.client import Client
from bilateral.core.identifiers import GlobalAgentId
from bilateral.documents import DataUriStore, RegistrationFile
from bilateral.x402 import Ed25519Key, Secp256k1Key, add_signer, client_message_hash, retire_signer
from bilateral.x402.aggregator import evidence
from bilateral.x402.aggregator.messages import Bodies
from bilateral.x402.aggregator.refusals import Code, FeedbackRefusedError
from bilateral.x402.aggregator.service import Aggregator
from tests.sdk.client.helpers import deploy, send
from tests.x402.aggregator.world import REQUEST, Review
from tests.x402.conftest import signer_entry
from tests.x402.world import SIGNING_KEY, publish_odd

OTHER_KEY = Secp256k1Key(bytes(range(2, 34)))


@pytest.fixture
def refused(idle, counted, web3, sponsor):
    """Submit what must be refused, and return the refusal."""

    def submit(review, code):
        with pytest.raises(FeedbackRefusedError) as refusal:
            idle.submit(review if isinstance(review, bytes) else review.content)
        assert refusal.value.code is code, str(refusal.value)
        assert counted == {f"refused {code}": 1}
        assert web3.eth.get_transaction_count(sponsor.address, "pending") == 0
        return refusal.value

    return submit


@pytest.fixture
def own_agent(register, publish, seller):
    """An agent whose file a test changes."""

    def make(*signers):
        agent_id = register(seller)
        publish(agent_id, *signers)
        return agent_id

    return make


def test_agent_that_did_not_sign(refused, review):
    refusal = refused(review(key=OTHER_KEY), Code.INVALID_AGENT_SIGNATURE)
    assert (refusal.status, refusal.retry_seconds) == (422, None)


def test_bodies_of_another_request(refused, review):
    asked = review()
    refusal = refused(asked.but(bodies=Bodies(REQUEST, b"sun")), Code.INVALID_AGENT_SIGNATURE)
    assert refusal.details == {"field": "interactionData.interactionHash"}


def test_proof_of_an_earlier_payment(idle, review):
    """Without bodies nothing else ties a signature to a payment, but each signed hash is used for one payment."""
    first = review()
    idle.submit(first.content)
    second = review().object
    second["interactionData"] |= {
        name: first.object["interactionData"][name] for name in ("interactionHash", "agentSignature")
    }
    with pytest.raises(FeedbackRefusedError, match="the proof belongs to a different payment") as refusal:
        idle.submit(json_of(second))
    assert refusal.value.code is Code.INVALID_AGENT_SIGNATURE


@pytest.mark.parametrize("field", ["value", "tags", "hash", "deadline", "index"])
def test_feedback_that_was_changed_on_the_way(refused, review, field):
    asked = review()
    changed = {"value": 1, "tags": ("x402-resource-missing", ""), "hash": b"\1" * 32, "deadline": 2**40, "index": 2}
    message = asked.but(**{field: changed[field]}).object
    message["sponsored"]["signature"] = asked.object["sponsored"]["signature"]
    assert refused(json_of(message), Code.INVALID_REVIEWER_SIGNATURE).details == {"field": "sponsored.signature"}


def test_review_that_the_reviewer_did_not_sign(refused, review):
    message = review().object | {"reviewerSignature": "0x" + "11" * 65}
    assert refused(json_of(message), Code.INVALID_REVIEWER_SIGNATURE).details == {"field": "reviewerSignature"}


def test_prefixed_signature_of_a_wallet_is_taken(idle, review):
    asked = review()
    digest = client_message_hash(asked.agent, asked.task_ref, asked.value)
    signed = asked.reviewer.sign_message(encode_defunct(digest)).signature
    assert idle.submit(json_of(asked.object | {"reviewerSignature": signed.hex()}))[1]


@pytest.mark.parametrize("v", [0, 27])
def test_signature_with_v_in_either_form_is_taken(idle, review, v):
    asked = review()
    signature = asked.message.signature
    changed = signature[:64] + bytes([signature[64] - 27 + v])
    message = asked.object
    message["sponsored"]["signature"] = changed.hex()
    assert idle.submit(json_of(message))[1]


def test_agent_that_does_not_exist(refused, review, deployment):
    asked = review()
    refused(asked.but(agent=GlobalAgentId(deployment.agent_registry, "999999")), Code.UNKNOWN_AGENT)


def test_registry_that_is_not_served(refused, review, token):
    asked = review()
    registry = asked.agent.registry
    strange = GlobalAgentId(type(registry)(registry.chain, token.address), asked.agent.agent)
    refused(asked.but(agent=strange), Code.UNKNOWN_AGENT)


def test_network_that_is_not_served(refused, review):
    text = review().content.replace(b"eip155:31337", b"eip155:8453")
    refused(text, Code.UNSUPPORTED_NETWORK)


def test_network_without_evm(refused, review):
    message = review().object
    message["interactionData"]["agentRegistry"] = (
        "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp:satiRkxEiwZ51cv8PRu8UMzuaqeaNU9jABo6oAFMsLe"
    )
    refused(json_of(message), Code.UNSUPPORTED_NETWORK)


def test_payment_that_is_in_no_block(refused, review):
    asked = review()
    refusal = refused(asked.but(task_ref=f"eip155:31337:0x{'12' * 32}"), Code.PAYMENT_NOT_FOUND)
    assert refusal.retry_seconds == 5


def test_payment_that_failed(refused, review, web3, token, enrich, seller):
    payer = enrich()
    transaction = {
        "to": token.address,
        "data": token.encode_abi("transfer", [seller.address, 10**30]),
        "gas": 10**6,
        "maxFeePerGas": 10**10,
        "maxPriorityFeePerGas": 10**9,
        "chainId": 31337,
        "nonce": 0,
    }
    sent = web3.eth.send_raw_transaction(payer.sign_transaction(transaction).raw_transaction)
    assert web3.eth.wait_for_transaction_receipt(sent, poll_latency=0.02)["status"] == 0
    refused(review(payer).but(task_ref=f"eip155:31337:0x{sent.hex()}"), Code.PAYMENT_NOT_FOUND)


@pytest.mark.parametrize(("amount", "is_enough"), [(1000, True), (999, False)])
def test_smallest_payment_that_counts(idle, review, amount, is_enough):
    asked = review(amount=amount)
    if is_enough:
        assert idle.submit(asked.content)[1]
        return
    with pytest.raises(FeedbackRefusedError, match="at least 1000") as refusal:
        idle.submit(asked.content)
    assert refusal.value.code is Code.PAYMENT_MISMATCH


def test_payment_to_somebody_else(refused, review, stranger):
    refused(review(pay_to=stranger.address), Code.PAYMENT_MISMATCH)


def test_payment_by_somebody_else(refused, review, enrich):
    paid, reviewer = review(), enrich()
    refused(paid.but(reviewer=reviewer), Code.PAYMENT_MISMATCH)


def test_payment_in_a_token_that_anybody_made(refused, web3, project, enrich, seller, agent, deployment, token):
    worthless = web3.eth.contract(address=deploy(web3, project.MockPaymentToken), abi=token.abi)
    reviewer = enrich()
    send(web3, reviewer, worthless.address, worthless.encode_abi("mint", [reviewer.address, 10**9]))
    asked = Review.paid(web3, worthless, reviewer, seller.address, 10**6, deployment, agent, number=0)
    refused(asked, Code.PAYMENT_MISMATCH)


def test_payment_with_too_few_confirmations(engine, settings_with, review, web3):
    asked = review()
    aggregator = Aggregator(engine, settings_with(confirmations=3))
    with pytest.raises(FeedbackRefusedError, match="1 of 3 confirmations") as refusal:
        aggregator.submit(asked.content)
    assert (refusal.value.code, refusal.value.retry_seconds) == (Code.PAYMENT_UNCONFIRMED, 5)
    web3.provider.make_request("anvil_mine", ["0x2"])
    assert aggregator.submit(asked.content)[1]
    aggregator.close()


def test_feedback_of_the_agents_owner(refused, web3, register, publish, enrich, deployment, review):
    owner = enrich()
    agent_id = register(owner)
    with Client(web3.provider.endpoint_uri, signer=owner, deployment=deployment) as client:
        file = RegistrationFile.new(
            "Weather",
            "It forecasts",
            "https://agent.example/i.png",
            signers=[signer_entry()],
            registrations=[{"agentId": agent_id, "agentRegistry": str(deployment.agent_registry)}],
        )
        client.set_agent_uri(agent_id, DataUriStore().put(file.to_bytes()).uri).wait()
    asked = review(owner, pay_to=owner.address, agent_id=agent_id)
    refused(asked, Code.SELF_FEEDBACK)


def test_unbound_proof_is_refused_where_the_terms_say_so(engine, settings_with, review):
    aggregator = Aggregator(engine, settings_with(requires_bound_proof=True))
    asked = review()
    with pytest.raises(FeedbackRefusedError) as refusal:
        aggregator.submit(asked.content)
    assert refusal.value.code is Code.UNBOUND_PROOF
    assert aggregator.submit(asked.bound().content)[1]
    aggregator.close()


def test_feedback_without_a_published_file_is_refused_where_the_terms_say_so(engine, settings_with, review):
    aggregator = Aggregator(engine, settings_with(requires_checked_file=True))
    asked = review()
    unloadable = asked.but(uri="https://127.0.0.1:9/feedback.json", hash=bytes(31) + b"\1")
    for unpublished in (asked, unloadable):
        with pytest.raises(FeedbackRefusedError, match="publish it first") as refusal:
            aggregator.submit(unpublished.content)
        assert (refusal.value.code, refusal.value.status) == (Code.UNCHECKED_FILE, 422)
    taken, is_new = aggregator.submit(asked.with_file().content)
    assert (taken.file, is_new) == ("checked", True)
    aggregator.close()


def test_index_that_is_taken_names_the_next_one(refused, review):
    refusal = refused(review(index=5), Code.INVALID_REVIEWER_SIGNATURE)
    assert refusal.details == {"registryError": "UnexpectedFeedbackIndex", "expectedIndex": "1"}


@pytest.mark.parametrize(("left", "is_taken"), [(120, True), (0, False), (-1, False)])
def test_signature_that_expires_soon(idle, review, web3, left, is_taken):
    now = max(web3.eth.get_block("latest")["timestamp"], int(time.time()))
    asked = review(deadline=now + left)
    if is_taken:
        assert idle.submit(asked.content)[1]
        return
    with pytest.raises(FeedbackRefusedError, match=r"sponsored\.deadline") as refusal:
        idle.submit(asked.content)
    assert refusal.value.code is Code.INVALID_PAYLOAD


def test_feedback_file_with_another_hash(refused, review):
    asked = review().with_file()
    assert refused(asked.but(hash=b"\1" * 32), Code.INVALID_PAYLOAD).details["field"] == "sponsored.feedbackHash"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("value", 1),
        ("valueDecimals", "0"),
        ("taskRef", f"eip155:31337:0x{'12' * 32}"),
        ("agentId", 7),
        ("interactionHash", "0x" + "12" * 32),
        ("agentSignature", "12" * 65),
        ("clientSignature", "12" * 65),
    ],
)
def test_feedback_file_of_another_feedback(refused, review, field, value):
    refusal = refused(review().with_file(**{field: value}), Code.INVALID_PAYLOAD)
    assert refusal.details["field"] == "sponsored.feedbackURI"
    assert field in str(refusal)


@pytest.mark.parametrize("field", ["agentSignature", "clientSignature", "interactionHash"])
def test_feedback_file_without_a_signature_or_hash(refused, review, field):
    refusal = refused(review().with_file(**{field: None}), Code.INVALID_PAYLOAD)
    assert f"{field} in the feedback file is missing" in str(refusal)


def test_signature_of_a_key_in_a_feedback_file_has_no_tail(refused, review):
    asked = review()
    assert "clientSignature" in str(
        refused(asked.with_file(clientSignature=asked.client_signature.hex() + "00"), Code.INVALID_PAYLOAD)
    )


def test_last_byte_counts_in_signatures_of_contracts_only():
    key, contract = "12" * 64, "12" * 200
    assert len({evidence._comparable(key + end, bytes.fromhex(key + "1b")) for end in ("", "00", "1b", "1c")}) == 1
    for there, here in ((contract + "00", contract + "01"), (key + "1b00", key + "1b"), (key, key + "1b00")):
        assert evidence._comparable(there, bytes.fromhex(here)) == (there, here)


def test_odd_optional_fields_of_the_agents_file_cost_no_reviewer_a_review(idle, review, own_agent, selling_client):
    agent_id = own_agent()
    publish_odd(selling_client, agent_id)
    assert idle.submit(review(agent_id=agent_id).with_file(text={"en": "Good"}).content)[1]


def test_key_that_was_retired_since_the_payment_still_proves_it(idle, review, own_agent, selling_client):
    agent_id = own_agent()
    asked = review(agent_id=agent_id)
    add_signer(selling_client, agent_id, OTHER_KEY).wait()
    retire_signer(selling_client, agent_id, SIGNING_KEY.public_key, overlap=timedelta(0)).wait()
    assert idle.submit(asked.content)[1]


def test_key_that_was_added_after_the_payment_is_the_agents_now(idle, review, own_agent, selling_client):
    agent_id = own_agent()
    asked = review(agent_id=agent_id, key=OTHER_KEY)
    add_signer(selling_client, agent_id, OTHER_KEY).wait()
    assert idle.submit(asked.content)[1]


def test_key_that_was_not_valid_at_any_of_both_times(refused, review, own_agent):
    past = int((datetime.now(UTC) - timedelta(days=9)).timestamp())
    agent_id = own_agent(signer_entry(valid_until=past), signer_entry(OTHER_KEY))
    refused(review(agent_id=agent_id), Code.INVALID_AGENT_SIGNATURE)


def test_key_of_solana_signs_too(idle, review, own_agent):
    key = Ed25519Key(bytes(range(32)))
    assert idle.submit(review(agent_id=own_agent(signer_entry(key)), key=key).content)[1]


def test_node_that_fails_refuses_for_now(engine, settings_with, review):
    asked = review()
    aggregator = Aggregator(engine, settings_with(rpc_url="http://127.0.0.1:9"))
    with pytest.raises(FeedbackRefusedError) as refusal:
        aggregator.submit(asked.content)
    assert (refusal.value.code, refusal.value.status, refusal.value.retry_seconds) == (Code.UNAVAILABLE, 503, 5)
    assert "127.0.0.1" not in str(refusal.value)
    aggregator.close()


def test_sponsor_without_ether_refuses_for_now(engine, settings_with, review):
    aggregator = Aggregator(engine, settings_with(signer=Account.create()))
    with pytest.raises(FeedbackRefusedError, match="cannot pay") as refusal:
        aggregator.submit(review().content)
    assert refusal.value.code is Code.UNAVAILABLE
    aggregator.close()


def json_of(message):
    return json.dumps(message).encode()
