"""Form and content of `feedbackAuth` without its signature, and the order of the checks."""

from __future__ import annotations

from dataclasses import replace

import ape
import pytest
from eth_utils import to_checksum_address

from bilateral.core.signatures import FeedbackAuth, encode_feedback_auth
from tests.authorized.helpers import FIELDS_LENGTH, MAX_UINT256, Given, refusal, sign

CLIENT_WORD = 1
INDEX_LIMIT_WORD = 2


def with_word(feedback_auth, index, word):
    return feedback_auth[: 32 * index] + word.to_bytes(32) + feedback_auth[32 * (index + 1) :]


@pytest.mark.parametrize("length", [0, 1, 32, 65, 159])
def test_feedback_auth_shorter_than_its_fields_is_refused(registry, give, entry, length):
    with ape.reverts(registry.FeedbackAuthTooShort, length=length, minimum=FIELDS_LENGTH):
        give(entry.feedback_auth[:length])


def test_every_truncation_is_refused_by_name(refused, entry):
    whole = entry.feedback_auth
    names = [refused(whole[:length])[0] for length in range(len(whole))]
    assert names == ["FeedbackAuthTooShort"] * FIELDS_LENGTH + ["SignatureLengthInvalid"] * 65


@pytest.mark.parametrize("bit", [160, 161, 200, 255])
def test_client_address_with_dirty_upper_bits_is_refused(registry, give, entry, client, bit):
    word = int(client.address, 16) | 1 << bit
    with ape.reverts(registry.ClientAddressOutOfRange, word=word):
        give(with_word(entry.feedback_auth, CLIENT_WORD, word))


def test_highest_client_address_is_in_range_and_somebody_elses(registry, give, entry, client):
    highest = 2**160 - 1
    with ape.reverts(
        registry.ClientNotAuthorized, caller=client.address, authorizedClient=to_checksum_address(f"{highest:#x}")
    ):
        give(with_word(entry.feedback_auth, CLIENT_WORD, highest))


@pytest.mark.parametrize("bit", [64, 65, 128, 255])
def test_index_limit_with_dirty_upper_bits_is_refused(registry, give, entry, bit):
    word = 10 | 1 << bit
    with ape.reverts(registry.IndexLimitOutOfRange, word=word):
        give(with_word(entry.feedback_auth, INDEX_LIMIT_WORD, word))


def test_dirty_bits_are_refused_even_when_the_owner_signed_for_the_clean_value(registry, give, auth, owner, domain):
    signature = sign(owner, auth, domain)
    dirty = with_word(encode_feedback_auth(auth, signature), INDEX_LIMIT_WORD, 1 << 64 | auth.index_limit)
    with ape.reverts(registry.IndexLimitOutOfRange, word=1 << 64 | auth.index_limit):
        give(dirty)


def test_authorisation_for_another_agent_is_refused(registry, give, authorize, agent_id, other_agent_id):
    with ape.reverts(registry.AgentNotAuthorized, agentId=agent_id, authorizedAgentId=other_agent_id):
        give(authorize(agent_id=other_agent_id))


def test_owner_of_one_agent_cannot_authorise_feedback_for_another(
    registry, authorize, give, agent_id, other_agent_id, owner, other_owner
):
    with ape.reverts(registry.AgentNotAuthorized, agentId=agent_id, authorizedAgentId=other_agent_id):
        give(authorize(agent_id=other_agent_id, signer=other_owner))
    with ape.reverts(registry.SignerNotOwner, signer=other_owner.address, owner=owner.address):
        give(authorize(signer=other_owner))


def test_authorisation_for_another_client_is_refused(registry, give, authorize, client, other_client):
    with ape.reverts(registry.ClientNotAuthorized, caller=client.address, authorizedClient=other_client.address):
        give(authorize(client=other_client))


def test_authorisation_that_somebody_else_hands_in_is_refused(registry, give, authorize, client, stranger):
    with ape.reverts(registry.ClientNotAuthorized, caller=stranger.address, authorizedClient=client.address):
        give(authorize(), sender=stranger)


@pytest.mark.parametrize("chain_id", [0, 1, 84_532, MAX_UINT256])
def test_authorisation_for_another_chain_is_refused(registry, chain, give, auth, owner, domain, chain_id):
    other = replace(auth, chain_id=chain_id)
    with ape.reverts(registry.ChainNotAuthorized, chainId=chain.chain_id, authorizedChainId=chain_id):
        give(encode_feedback_auth(other, sign(owner, other, domain)))


def test_checks_come_in_the_documented_order(
    registry, identity, chain, owner, operator, other_owner, client, agent_id, other_agent_id, domain
):
    """Everything is invalid at first; each step corrects the reported error."""
    identity.setApprovalForAll(operator, True, sender=owner)
    now = chain.blocks.head.timestamp
    unknown = 999
    wrong = FeedbackAuth(other_agent_id, client.address, 0, 1, 1)
    sender, rated, score, fields, signature = operator, unknown, 101, encode_feedback_auth(wrong, b"")[:-1], b""

    def error():
        return refusal(registry, sender, Given(rated, fields + signature, score=score))

    assert error() == ("ScoreTooHigh", {"score": 101, "maximum": 100})
    score = 100
    assert error() == ("FeedbackAuthTooShort", {"length": FIELDS_LENGTH - 1, "minimum": FIELDS_LENGTH})
    fields = with_word(with_word(encode_feedback_auth(wrong, b""), CLIENT_WORD, 1 << 160), INDEX_LIMIT_WORD, 1 << 64)
    assert error() == ("ClientAddressOutOfRange", {"word": 1 << 160})
    fields = with_word(encode_feedback_auth(wrong, b""), INDEX_LIMIT_WORD, 1 << 64)
    assert error() == ("IndexLimitOutOfRange", {"word": 1 << 64})
    fields = encode_feedback_auth(wrong, b"")
    assert error() == ("AgentNotAuthorized", {"agentId": unknown, "authorizedAgentId": other_agent_id})
    wrong = replace(wrong, agent_id=unknown)
    fields = encode_feedback_auth(wrong, b"")
    assert error() == ("ClientNotAuthorized", {"caller": operator.address, "authorizedClient": client.address})
    wrong = replace(wrong, client_address=operator.address)
    fields = encode_feedback_auth(wrong, b"")
    assert error() == ("ChainNotAuthorized", {"chainId": chain.chain_id, "authorizedChainId": 1})
    wrong = replace(wrong, chain_id=chain.chain_id)
    fields = encode_feedback_auth(wrong, b"")
    assert error() == ("FeedbackAuthExpired", {"expiry": 1, "timestamp": now})
    wrong = replace(wrong, expiry=MAX_UINT256)
    fields = encode_feedback_auth(wrong, b"")
    assert error() == ("IndexLimitReached", {"lastIndex": 0, "indexLimit": 0})
    wrong = replace(wrong, index_limit=1)
    fields = encode_feedback_auth(wrong, b"")
    assert error() == ("ERC721NonexistentToken", {"tokenId": unknown})
    rated, wrong = agent_id, replace(wrong, agent_id=agent_id)
    fields = encode_feedback_auth(wrong, b"")
    assert error() == ("SelfFeedbackNotAllowed", {"agentId": agent_id, "clientAddress": operator.address})
    identity.setApprovalForAll(operator, False, sender=owner)
    assert error() == ("SignatureLengthInvalid", {"length": 0, "expected": 65})
    signature = sign(other_owner, wrong, domain)
    assert error() == ("SignerNotOwner", {"signer": other_owner.address, "owner": owner.address})
    signature = sign(owner, wrong, domain)
    assert error() is None
