"""Feedback on a paid answer names its payment, carries both signatures, and is given once a payment."""

from __future__ import annotations

import asyncio

import pytest
from eth_utils.crypto import keccak

from bilateral.client import AsyncClient, Client
from bilateral.core.errors import InvalidArgumentError
from bilateral.core.identifiers import AccountId
from bilateral.documents import FeedbackFile
from bilateral.x402 import (
    PAYMENT_MISMATCH,
    RESOURCE_DELIVERED,
    RESOURCE_MISSING,
    RESPONSE_DELAYED,
    DuplicateFeedbackError,
    UnreadFeedbackError,
    give_paid_feedback,
    give_paid_feedback_async,
    is_signed_by_client,
    is_signed_by_client_async,
    paid_feedback,
    sign_paid_feedback,
)
from tests.sdk.client.helpers import deploy
from tests.sdk.servers import HttpServer
from tests.x402 import examples
from tests.x402.buying import buy, signed_anew

EXAMPLE = {
    "agentRegistry": f"{examples.SOLANA}:{examples.PROGRAM}",
    "agentId": examples.MINT,
    "clientAddress": f"{examples.SOLANA}:{examples.MINT}",
    "createdAt": "2026-01-26T12:00:00Z",
    "value": 95,
    "valueDecimals": 0,
    "taskRef": f"{examples.SOLANA}:{examples.SOLANA_TRANSACTION}",
    "interactionHash": "0x" + "12" * 32,
    "agentSignature": "a1" * 64,
    "clientSignature": "fe" * 64,
    "tags": ["x402-resource-delivered", "proof-of-participation"],
    "comment": "Excellent service",
}


class Prefixing:
    """A wallet that signs no bare hash."""

    def __init__(self, account):
        self.address, self.sign_transaction = account.address, account.sign_transaction
        self.sign_message = account.sign_message


@pytest.fixture
def verified(shop, verifier, buyer):
    return verifier.verify(buy(shop, buyer))


def test_feedback_file_of_the_specification_is_read_and_written_back():
    assert FeedbackFile.of(EXAMPLE).to_object() == EXAMPLE


@pytest.mark.parametrize("wallet", [lambda value: value, Prefixing], ids=["bare hash", "EIP-191"])
def test_feedback_goes_on_chain_with_its_payment_and_both_signatures(
    client, verified, buyer, agent, deployment, wallet
):
    handle = give_paid_feedback(client, verified, 95, wallet(buyer), comment="Excellent service").wait()
    entry = client.get_feedback(handle.id)
    assert (entry.value, entry.tag1, entry.tag2) == (95, *RESOURCE_DELIVERED)
    assert entry.file.to_object() == entry.file.to_object() | {
        "agentRegistry": str(deployment.agent_registry),
        "agentId": agent,
        "clientAddress": f"eip155:31337:{buyer.address}",
        "value": 95,
        "valueDecimals": 0,
        "taskRef": verified.interaction.task_ref,
        "interactionHash": "0x" + verified.interaction.interaction_hash.hex(),
        "agentSignature": verified.interaction.signature.hex(),
        "tags": list(RESOURCE_DELIVERED),
        "comment": "Excellent service",
    }
    assert entry.file.proof_of_payment.from_address == buyer.address
    assert entry.file.created is not None
    assert entry.event.hash == keccak(entry.file.to_bytes())
    assert is_signed_by_client(entry.file)


@pytest.mark.parametrize(
    ("tags", "texts"),
    [
        (RESOURCE_DELIVERED, ("x402-resource-delivered", "proof-of-participation")),
        (RESOURCE_MISSING, ("x402-resource-missing", "proof-of-participation")),
        (RESPONSE_DELAYED, ("x402-response-delayed", "proof-of-participation")),
        (PAYMENT_MISMATCH, ("x402-payment-amount", "mismatch")),
    ],
)
def test_tags_of_the_convention_go_on_chain(client, verified, buyer, tags, texts):
    entry = give_paid_feedback(client, verified, 10, buyer, tags).wait()
    assert (entry.tag1, entry.tag2) == texts


def test_second_feedback_for_a_payment_is_refused(client, verified, buyer):
    handle = give_paid_feedback(client, verified, 95, buyer).wait()
    client.revoke_feedback(handle.id).wait()
    with pytest.raises(DuplicateFeedbackError, match="a payment backs only one feedback entry") as refused:
        give_paid_feedback(client, verified, 10, buyer, RESOURCE_MISSING)
    assert (refused.value.feedback, refused.value.task_ref) == (str(handle.id), verified.interaction.task_ref)


@pytest.fixture
def unread(client, verifier, shop, buyer, agent):
    """Serves the file of the buyer's first feedback, and stops. Returns that payment, the feedback, and its server."""
    verification = verifier.verify(buy(shop, buyer))
    with HttpServer() as server:
        made = paid_feedback(verification, 95, buyer)
        complete = made["feedback_file"].complete(
            made["agent_id"], AccountId.parse(f"eip155:31337:{buyer.address}"), made["value"]
        )
        server.routes["/feedback.json"] = complete.to_bytes()
        uri = server.url + "/feedback.json"
        feedback = client.give_feedback(agent, 95, feedback_uri=uri, feedback_hash=keccak(complete.to_bytes())).wait()
        yield verification, feedback, server


def give(face, client, *arguments, rpc, deployment, loader, **options):
    """Give or sign feedback by one of the calls."""
    if face == "given":
        return give_paid_feedback(client, *arguments, **options).wait()
    if face == "signed":
        return sign_paid_feedback(client, *arguments, **options)

    async def run():
        async with AsyncClient(rpc, signer=arguments[2], deployment=deployment, loader=loader) as asynchronous:
            return await (await give_paid_feedback_async(asynchronous, *arguments, **options)).wait()

    return asyncio.run(run())


@pytest.mark.parametrize("face", ["given", "signed", "given without blocking"])
def test_second_feedback_is_refused_while_the_first_cannot_be_read(
    client, unread, buyer, rpc, deployment, loader, face
):
    verification, feedback, server = unread
    world = {"rpc": rpc, "deployment": deployment, "loader": loader}
    with pytest.raises(DuplicateFeedbackError):
        give(face, client, verification, 10, buyer, **world)
    server.routes.clear()
    with pytest.raises(UnreadFeedbackError, match=r"feedback\.json.* cannot be loaded") as refused:
        give(face, client, verification, 10, buyer, **world)
    assert (refused.value.feedback, refused.value.task_ref) == (str(feedback.id), verification.interaction.task_ref)
    assert refused.value.uri == server.url + "/feedback.json"
    assert give(face, client, verification, 10, buyer, accept_unread=True, **world) is not None


def test_feedback_from_before_the_payment_need_not_be_read(client, shop, verifier, buyer, agent):
    client.give_feedback(agent, 1, feedback_uri="https://127.0.0.1:9/gone.json", feedback_hash=b"\1" * 32).wait()
    verification = verifier.verify(buy(shop, buyer))
    assert give_paid_feedback(client, verification, 20, buyer).wait().value == 20


def test_feedback_without_a_file_names_no_payment(client, verified, buyer, agent):
    client.give_feedback(agent, 1).wait()
    assert give_paid_feedback(client, verified, 20, buyer).wait().value == 20


def test_each_payment_allows_a_feedback(client, shop, verifier, buyer):
    for value in (95, 20):
        verification = verifier.verify(buy(shop, buyer))
        assert give_paid_feedback(client, verification, value, buyer).wait().value == value


def test_feedback_is_given_without_blocking(rpc, deployment, verified, buyer):
    async def give():
        async with AsyncClient(rpc, signer=buyer, deployment=deployment, poll_interval=0.02) as client:
            return await (await give_paid_feedback_async(client, verified, 80, buyer)).wait()

    assert asyncio.run(give()).value == 80


def test_signed_feedback_is_sent_by_somebody_else(client, selling_client, rpc, deployment, verified, buyer, stranger):
    signed = sign_paid_feedback(client, verified, 70, buyer)
    with Client(rpc, signer=stranger, deployment=deployment, poll_interval=0.02) as sponsor:
        entry = sponsor.submit_signed_feedback(signed).wait()
    assert (entry.id.client, entry.value) == (buyer.address, 70)


def test_tampered_answer_can_be_complained_about(client, shop, verifier, buyer):
    """The agent signed, and delivered other bytes. The proof of the payment and the signature suffice."""
    paid = buy(shop, buyer)
    verification = verifier.verify(signed_anew(paid))
    assert verification.is_verified
    assert give_paid_feedback(client, verification, 0, buyer, RESOURCE_MISSING).wait().value == 0


@pytest.mark.parametrize(("value", "decimals"), [(0, 0), (100, 0), (255, 1), (255, 2), (1, 18)])
def test_values_within_the_range_are_taken(verified, buyer, value, decimals):
    assert paid_feedback(verified, value, buyer, decimals=decimals)["value"].value == value


@pytest.mark.parametrize(
    ("value", "decimals", "problem"),
    [(101, 0, "out of range 0..100"), (-1, 0, "out of range 0..100"), (256, 1, "out of range 0..255")],
)
def test_values_out_of_range_are_refused(verified, buyer, value, decimals, problem):
    with pytest.raises(InvalidArgumentError, match=problem):
        paid_feedback(verified, value, buyer, decimals=decimals)


def test_feedback_is_for_the_payer_alone(verified, stranger):
    with pytest.raises(InvalidArgumentError, match="cannot give feedback about it"):
        paid_feedback(verified, 95, stranger)


def test_unverified_answer_gets_no_feedback(shop, verifier, buyer):
    paid = buy(shop, buyer)
    paid.settlement.pop("extensions")
    with pytest.raises(InvalidArgumentError, match="failed checks: agent, task_ref, payment, signature"):
        paid_feedback(verifier.verify(paid), 95, buyer)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("value", 96),
        ("value", 95.0),
        ("value", 256),
        ("taskRef", f"eip155:31337:0x{'12' * 32}"),
        ("agentId", 999),
        ("agentRegistry", f"eip155:31337:{examples.IDENTITY}"),
        ("clientAddress", f"eip155:31337:0x{'12' * 20}"),
        ("clientAddress", None),
        ("clientSignature", "fe" * 65),
        ("clientSignature", "zz"),
        ("clientSignature", None),
    ],
)
def test_changed_feedback_file_is_not_signed(client, verified, buyer, field, value):
    file = client.get_feedback(give_paid_feedback(client, verified, 95, buyer).wait().id).file
    assert is_signed_by_client(file)
    assert not is_signed_by_client(FeedbackFile.of(examples.changed(file.to_object(), [field], value)))


@pytest.fixture(scope="module")
def signing_wallet(web3, project):
    """Deploys a contract wallet that accepts the signatures of an account."""
    return lambda account: deploy(web3, project.MockWallet, account.address)


@pytest.mark.parametrize("wallet", [lambda value: value, Prefixing], ids=["bare hash", "EIP-191"])
def test_contract_wallet_signs_as_a_client(client, rpc, deployment, verified, buyer, stranger, signing_wallet, wallet):
    made = paid_feedback(verified, 95, wallet(buyer))["feedback_file"]
    file = {
        **client.get_feedback(
            client.give_feedback(verified.registration.agent, 1, feedback_file=made).wait().id
        ).file.to_object(),
        "value": 95,
    }

    def by(account, **changes):
        return FeedbackFile.of(file | {"clientAddress": f"eip155:31337:{account}"} | changes)

    signed, strangers = by(signing_wallet(buyer)), by(signing_wallet(stranger))
    assert is_signed_by_client(signed, client)
    assert not is_signed_by_client(signed), "without a node, only keys sign"
    assert not is_signed_by_client(strangers, client)
    assert not is_signed_by_client(by(buyer.address, value=96), client), "an account without code accepts nothing"
    elsewhere = FeedbackFile.of(signed.to_object() | {"clientAddress": signed.client_address.replace("31337", "1")})
    assert not is_signed_by_client(elsewhere, client), "the wallet of another chain is not asked here"

    async def ask(*files):
        async with AsyncClient(rpc, deployment=deployment) as asking:
            return [await is_signed_by_client_async(file, asking) for file in files]

    assert asyncio.run(ask(signed, strangers, elsewhere, by(buyer.address))) == [True, False, False, True]
