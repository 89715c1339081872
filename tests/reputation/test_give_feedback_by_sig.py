"""Sponsored feedback: a client signs, and anybody sends exactly the signed feedback, once."""

from __future__ import annotations

from dataclasses import replace

import ape
import pytest
from ape.utils import ZERO_ADDRESS
from eth_utils import keccak

from bilateral.core.signatures import Domain
from tests.helpers import logged
from tests.reputation.model import Given

GIVEN = Given(9977, 2, "uptime", "week", "https://agent.example", "ipfs://QmFeedback", bytes(range(32)))

SECP256K1_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


@pytest.fixture
def feedback(signed, client):
    """The client's first feedback."""
    return signed(client, entry=GIVEN)


@pytest.fixture
def sponsor(stranger):
    """The account that pays the gas."""
    return stranger


@pytest.fixture
def refused(reputation):
    def refused(signer):
        return ape.reverts(reputation.InvalidSignature, signer=str(signer))

    return refused


def test_feedback_is_the_clients_not_the_sponsors(feedback, reputation, agent, client, sponsor):
    receipt = feedback.send(feedback.signature(client), sender=sponsor)
    assert logged(receipt) == [
        (
            "NewFeedback",
            {
                "agentId": agent,
                "clientAddress": client.address,
                "feedbackIndex": 1,
                "value": 9977,
                "valueDecimals": 2,
                "indexedTag1": keccak(text="uptime"),
                "tag1": "uptime",
                "tag2": "week",
                "endpoint": "https://agent.example",
                "feedbackURI": "ipfs://QmFeedback",
                "feedbackHash": bytes(range(32)),
            },
        )
    ]
    assert tuple(reputation.readFeedback(agent, client, 1)) == (9977, 2, "uptime", "week", False)
    assert reputation.getClients(agent) == [client]
    assert reputation.getLastIndex(agent, sponsor) == 0


def test_client_may_send_its_own_signature(feedback, reputation, agent, client):
    feedback.send(feedback.signature(client), sender=client)
    assert reputation.getLastIndex(agent, client) == 1


def test_contract_wallet_signs_by_erc_1271(signed, reputation, agent, contract_wallet, wallet_key, sponsor):
    feedback = signed(contract_wallet.address, entry=GIVEN)
    feedback.send(feedback.signature(wallet_key), sender=sponsor)
    assert reputation.getLastIndex(agent, contract_wallet) == 1


def test_contract_wallet_refuses_what_its_key_did_not_sign(signed, contract_wallet, client, sponsor, refused):
    feedback = signed(contract_wallet.address)
    with refused(contract_wallet.address):
        feedback.send(feedback.signature(client), sender=sponsor)


def test_key_of_a_contract_wallet_does_not_sign_for_itself_what_the_wallet_signed(
    signed, contract_wallet, wallet_key, sponsor, refused
):
    for_wallet = signed(contract_wallet.address).signature(wallet_key)
    with refused(wallet_key):
        signed(wallet_key).send(for_wallet, sender=sponsor)


def test_client_revokes_what_a_sponsor_sent(feedback, reputation, agent, client, sponsor):
    feedback.send(feedback.signature(client), sender=sponsor)
    reputation.revokeFeedback(agent, 1, sender=client)
    assert reputation.readFeedback(agent, client, 1).isRevoked


def test_sponsor_may_not_revoke_what_it_sent(feedback, reputation, agent, client, sponsor):
    feedback.send(feedback.signature(client), sender=sponsor)
    with ape.reverts("index out of bounds"):
        reputation.revokeFeedback(agent, 1, sender=sponsor)


def test_signature_counts_once(feedback, reputation, client, sponsor):
    signature = feedback.signature(client)
    feedback.send(signature, sender=sponsor)
    with ape.reverts(reputation.UnexpectedFeedbackIndex, given=1, expected=2):
        feedback.send(signature, sender=sponsor)


def test_replayed_signature_does_not_sign_the_next_index(signed, client, sponsor, refused):
    signature = signed(client, 1).signature(client)
    signed(client, 1).send(signature, sender=sponsor)
    with refused(client):
        signed(client, 2).send(signature, sender=sponsor)


def test_revoked_feedback_does_not_free_its_signature(feedback, reputation, agent, client, sponsor):
    signature = feedback.signature(client)
    feedback.send(signature, sender=sponsor)
    reputation.revokeFeedback(agent, 1, sender=client)
    with ape.reverts(reputation.UnexpectedFeedbackIndex, given=1, expected=2):
        feedback.send(signature, sender=sponsor)


def test_signatures_are_taken_in_the_order_of_their_indexes(signed, reputation, agent, client, sponsor):
    first, second = signed(client, 1), signed(client, 2, Given(13))
    with ape.reverts(reputation.UnexpectedFeedbackIndex, given=2, expected=1):
        second.send(second.signature(client), sender=sponsor)
    for feedback in (first, second):
        feedback.send(feedback.signature(client), sender=sponsor)
    assert [reputation.readFeedback(agent, client, index).value for index in (1, 2)] == [87, 13]


def test_index_that_was_used_directly_voids_the_signature(feedback, give, reputation, client, sponsor):
    signature = feedback.signature(client)
    give(client)
    with ape.reverts(reputation.UnexpectedFeedbackIndex, given=1, expected=2):
        feedback.send(signature, sender=sponsor)


@pytest.mark.parametrize("index", [0, 2, 2**32 + 1, 2**64 - 1])
def test_index_other_than_the_next_is_refused(signed, reputation, client, sponsor, index):
    feedback = signed(client, index)
    with ape.reverts(reputation.UnexpectedFeedbackIndex, given=index, expected=1):
        feedback.send(feedback.signature(client), sender=sponsor)


@pytest.mark.parametrize(
    "altered",
    [
        {"value": 9978},
        {"value": -9977},
        {"decimals": 1},
        {"tag1": "uptimE"},
        {"tag1": ""},
        {"tag2": "year"},
        {"tag1": "uptimew", "tag2": "eek"},
        {"tag1": "week", "tag2": "uptime"},
        {"endpoint": "https://agent.example/"},
        {"uri": "ipfs://QmFeedbacK"},
        {"hash": bytes(32)},
    ],
    ids=str,
)
def test_altered_feedback_is_refused(feedback, client, sponsor, refused, altered):
    signature = feedback.signature(client)
    feedback.given = replace(GIVEN, **altered)
    with refused(client):
        feedback.send(signature, sender=sponsor)


def test_feedback_for_another_agent_is_refused(feedback, other_agent, client, sponsor, refused):
    signature = feedback.signature(client)
    feedback.agent_id = other_agent
    with refused(client):
        feedback.send(signature, sender=sponsor)


def test_feedback_of_another_client_is_refused(feedback, client, other_client, sponsor, refused):
    signature = feedback.signature(client)
    feedback.client = other_client
    with refused(other_client):
        feedback.send(signature, sender=sponsor)


def test_later_deadline_is_refused(feedback, client, sponsor, refused):
    signature = feedback.signature(client)
    feedback.deadline += 1
    with refused(client):
        feedback.send(signature, sender=sponsor)


def test_signature_for_another_chain_is_refused(feedback, domain, client, sponsor, refused):
    signature = feedback.signature(client, Domain(domain.chain_id + 1, domain.verifying_contract))
    with refused(client):
        feedback.send(signature, sender=sponsor)


def test_signature_for_another_registry_is_refused(
    feedback, domain, deployer, project, identity, client, sponsor, refused
):
    other = deployer.deploy(project.ReputationRegistry, identity)
    signature = feedback.signature(client, Domain(domain.chain_id, other.address))
    with refused(client):
        feedback.send(signature, sender=sponsor)


def test_signature_is_taken_in_the_second_of_its_deadline(feedback, reputation, agent, chain, client, sponsor):
    signature = feedback.signature(client)
    chain.pending_timestamp = feedback.deadline
    assert feedback.send(signature, sender=sponsor).timestamp == feedback.deadline
    assert reputation.getLastIndex(agent, client) == 1


def test_signature_is_refused_one_second_later(feedback, reputation, chain, client, sponsor):
    signature = feedback.signature(client)
    chain.pending_timestamp = feedback.deadline + 1
    with ape.reverts(reputation.SignatureExpired, deadline=feedback.deadline, time=feedback.deadline + 1):
        feedback.send(signature, sender=sponsor)


def test_deadline_may_lie_at_the_end_of_time(signed, reputation, agent, client, sponsor):
    feedback = signed(client, deadline=2**256 - 1)
    feedback.send(feedback.signature(client), sender=sponsor)
    assert reputation.getLastIndex(agent, client) == 1


def test_signature_with_high_s_is_refused(feedback, client, sponsor, refused):
    signature = feedback.signature(client)
    s = SECP256K1_ORDER - int.from_bytes(signature[32:64])
    with refused(client):
        feedback.send(signature[:32] + s.to_bytes(32) + bytes([55 - signature[64]]), sender=sponsor)


@pytest.mark.parametrize("length", [0, 64])
def test_shorter_signature_is_refused(feedback, client, sponsor, refused, length):
    with refused(client):
        feedback.send(feedback.signature(client)[:length], sender=sponsor)


def test_longer_signature_is_refused(feedback, client, sponsor, refused):
    with refused(client):
        feedback.send(feedback.signature(client) + b"\0", sender=sponsor)


def test_compact_signature_is_refused(feedback, client, sponsor, refused):
    signature = feedback.signature(client)
    r, s, v = signature[:32], signature[32:64], signature[64]
    parity_and_s = ((v - 27) << 255 | int.from_bytes(s)).to_bytes(32)
    with refused(client):
        feedback.send(r + parity_and_s, sender=sponsor)


@pytest.mark.parametrize("v", [0, 1, 29])
def test_signature_with_another_v_is_refused(feedback, client, sponsor, refused, v):
    with refused(client):
        feedback.send(feedback.signature(client)[:64] + bytes([v]), sender=sponsor)


@pytest.mark.parametrize("signature", [b"", bytes(65), b"\x01" * 65], ids=["empty", "zero", "ones"])
def test_nobody_signs_for_the_zero_address(signed, sponsor, refused, signature):
    with refused(ZERO_ADDRESS):
        signed(ZERO_ADDRESS).send(signature, sender=sponsor)


@pytest.fixture
def delegated_client(deployer, project, client, other_client, chain):
    """The client, delegated (EIP-7702) to a wallet contract that follows another key."""
    wallet = deployer.deploy(project.MockWallet, other_client)
    chain.provider.set_code(client.address, bytes.fromhex("ef0100" + wallet.address[2:]))
    return client


def test_delegated_client_signs_with_its_own_key(signed, reputation, agent, delegated_client, sponsor):
    feedback = signed(delegated_client)
    feedback.send(feedback.signature(delegated_client), sender=sponsor)
    assert reputation.getLastIndex(agent, delegated_client) == 1


def test_delegated_client_signs_by_the_code_that_it_delegates_to(
    signed, reputation, agent, delegated_client, other_client, sponsor
):
    feedback = signed(delegated_client)
    feedback.send(feedback.signature(other_client), sender=sponsor)
    assert reputation.getLastIndex(agent, delegated_client) == 1


def test_delegated_client_refuses_what_neither_it_nor_its_code_signed(signed, delegated_client, sponsor, refused):
    feedback = signed(delegated_client)
    with refused(delegated_client):
        feedback.send(feedback.signature(sponsor), sender=sponsor)


@pytest.mark.parametrize("precompile", [1, 2, 4])
def test_nobody_signs_for_a_precompile(signed, sponsor, refused, precompile):
    address = f"0x{precompile:040x}"
    with refused(address):
        signed(address).send(b"\x01" * 65, sender=sponsor)


def test_contract_without_erc_1271_signs_nothing(signed, identity, client, sponsor, refused):
    feedback = signed(identity.address)
    with refused(identity.address):
        feedback.send(feedback.signature(client), sender=sponsor)


def test_signed_feedback_is_held_to_the_same_limits(signed, client, sponsor):
    too_precise, too_large = signed(client, entry=Given(1, 19)), signed(client, entry=Given(10**38 + 1))
    with ape.reverts("too many decimals"):
        too_precise.send(too_precise.signature(client), sender=sponsor)
    with ape.reverts("value too large"):
        too_large.send(too_large.signature(client), sender=sponsor)


def test_signed_feedback_for_an_unknown_agent_is_refused(signed, identity, client, sponsor):
    feedback = signed(client, agent_id=404)
    with ape.reverts(identity.ERC721NonexistentToken, tokenId=404):
        feedback.send(feedback.signature(client), sender=sponsor)


def test_signed_type_is_the_documented_one(feedback):
    documented = (
        "Feedback(uint256 agentId,address clientAddress,uint64 feedbackIndex,int128 value,uint8 valueDecimals,"
        "string tag1,string tag2,string endpoint,string feedbackURI,bytes32 feedbackHash,uint256 deadline)"
    )
    types = feedback.message.solidity_types
    assert f"Feedback({','.join(f'{kind} {name}' for name, kind in types.items())})" == documented
