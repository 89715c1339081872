"""Authorised feedback: its clients, its inputs and its event."""

from __future__ import annotations

import ape
import pytest

from bilateral.core.signatures import AgentWalletSet
from tests.authorized.helpers import Given, domain_of, sign, tag
from tests.helpers import logged

NO_TAG = bytes(32)
FULL_TAG = tag("a tag of thirty-two bytes, full!")


def test_feedback_logs_everything_that_was_given(registry, entry, client):
    receipt = registry.giveFeedback(*entry, sender=client)
    assert logged(receipt) == [entry.event(client)]


def test_feedback_adds_one_to_the_clients_index_and_to_the_agents_count(registry, give, agent_id, client):
    for expected in (1, 2, 3):
        give()
        assert registry.getLastIndex(agent_id, client) == expected
        assert registry.getFeedbackCount(agent_id) == expected


@pytest.mark.parametrize("score", [0, 1, 99, 100])
def test_scores_up_to_100_are_taken(registry, give, agent_id, score):
    give(score=score)
    assert registry.getFeedback(agent_id, 0).score == score
    assert registry.getSummary(agent_id) == (1, score)


@pytest.mark.parametrize("score", [101, 255])
def test_score_above_100_is_refused(registry, give, score):
    with ape.reverts(registry.ScoreTooHigh, score=score, maximum=100):
        give(score=score)


def test_highest_score_is_readable(registry):
    assert registry.MAX_SCORE() == 100


def test_unknown_agent_cannot_be_rated(registry, authorize, give):
    with ape.reverts(registry.ERC721NonexistentToken, tokenId=999):
        give(authorize(agent_id=999), agent_id=999)


def test_agent_0_which_means_none_cannot_be_rated(registry, authorize, give):
    with ape.reverts(registry.ERC721NonexistentToken, tokenId=0):
        give(authorize(agent_id=0), agent_id=0)


def test_refused_feedback_leaves_nothing_behind(registry, give, agent_id, client):
    give()
    with ape.reverts(registry.ScoreTooHigh, score=101, maximum=100):
        give(score=101)
    assert registry.getLastIndex(agent_id, client) == 1
    assert registry.getFeedbackCount(agent_id) == 1
    assert registry.getSummary(agent_id) == (1, 80)


def test_owner_may_not_rate_its_own_agent(registry, authorize, give, agent_id, owner):
    with ape.reverts(registry.SelfFeedbackNotAllowed, agentId=agent_id, clientAddress=owner.address):
        give(authorize(client=owner), sender=owner)


def test_operator_may_not_rate_the_agent(registry, identity, authorize, give, agent_id, owner, operator):
    identity.setApprovalForAll(operator, True, sender=owner)
    with ape.reverts(registry.SelfFeedbackNotAllowed, agentId=agent_id, clientAddress=operator.address):
        give(authorize(client=operator), sender=operator)


def test_former_operator_may_rate_the_agent(registry, identity, authorize, give, agent_id, owner, operator):
    identity.setApprovalForAll(operator, True, sender=owner)
    identity.setApprovalForAll(operator, False, sender=owner)
    give(authorize(client=operator), sender=operator)
    assert registry.getLastIndex(agent_id, operator) == 1


def test_address_approved_for_the_agent_may_not_rate_it(registry, identity, authorize, give, agent_id, owner, approved):
    identity.approve(approved, agent_id, sender=owner)
    with ape.reverts(registry.SelfFeedbackNotAllowed, agentId=agent_id, clientAddress=approved.address):
        give(authorize(client=approved), sender=approved)


def test_operator_of_another_owner_may_rate_the_agent(
    registry, identity, authorize, give, agent_id, other_owner, operator
):
    identity.setApprovalForAll(operator, True, sender=other_owner)
    give(authorize(client=operator), sender=operator)
    assert registry.getLastIndex(agent_id, operator) == 1


def test_new_owner_may_not_rate_what_it_bought_but_the_former_owner_may(
    registry, identity, authorize, give, agent_id, owner, other_owner
):
    identity.transferFrom(owner, other_owner, agent_id, sender=owner)
    with ape.reverts(registry.SelfFeedbackNotAllowed, agentId=agent_id, clientAddress=other_owner.address):
        give(authorize(signer=other_owner, client=other_owner), sender=other_owner)
    give(authorize(signer=other_owner, client=owner), sender=owner)
    assert registry.getLastIndex(agent_id, owner) == 1


@pytest.mark.parametrize("tag1", [NO_TAG, tag("x"), FULL_TAG], ids=["no first", "short first", "full first"])
@pytest.mark.parametrize("tag2", [NO_TAG, tag("y"), FULL_TAG], ids=["no second", "short second", "full second"])
def test_tags_of_0_1_and_32_bytes_are_kept_as_given(registry, give, agent_id, tag1, tag2):
    receipt = give(tag1=tag1, tag2=tag2)
    assert logged(receipt)[0][1]["tag1"] == tag1
    assert logged(receipt)[0][1]["tag2"] == tag2
    feedback = registry.getFeedback(agent_id, 0)
    assert (feedback.tag1, feedback.tag2) == (tag1, tag2)


def test_tags_need_not_be_text(registry, give, agent_id):
    odd = bytes(range(224, 256))
    give(tag1=odd, tag2=bytes(31) + b"\1")
    feedback = registry.getFeedback(agent_id, 0)
    assert (feedback.tag1, feedback.tag2) == (odd, bytes(31) + b"\1")


def test_the_same_pair_of_tags_again_reads_the_same_and_costs_no_new_word(registry, give, agent_id):
    pairs = [(tag("a"), tag("b")), (tag("b"), tag("a")), (tag("a"), tag("b")), (tag("b"), tag("a"))]
    gas = [give(tag1=first, tag2=second).gas_used for first, second in pairs]
    assert [(entry.tag1, entry.tag2) for entry in registry.getFeedbackPage(agent_id, 0, 9)] == pairs
    new_words_of_a_pair = 3 * 20_000
    assert min(gas[:2]) > max(gas[2:]) + new_words_of_a_pair


def test_pairs_that_share_a_tag_are_different_pairs(registry, give, agent_id):
    pairs = [(tag("a"), NO_TAG), (NO_TAG, tag("a")), (tag("a"), tag("a")), (NO_TAG, NO_TAG)]
    for first, second in pairs:
        give(tag1=first, tag2=second)
    assert [(entry.tag1, entry.tag2) for entry in registry.getFeedbackPage(agent_id, 0, 9)] == pairs


def test_a_pair_of_tags_is_shared_between_agents_and_clients(
    registry, authorize, give, agent_id, other_agent_id, other_owner, other_client
):
    give(tag1=tag("shared"), tag2=NO_TAG)
    other = authorize(signer=other_owner, agent_id=other_agent_id, client=other_client)
    give(other, agent_id=other_agent_id, sender=other_client, tag1=tag("shared"), tag2=NO_TAG)
    for agent in (agent_id, other_agent_id):
        assert registry.getFeedback(agent, 0).tag1 == tag("shared")


@pytest.mark.parametrize("fileuri", ["", "x", "ipfs://" + "é" * 1_000, "u" * 2_048], ids=len)
def test_file_uri_of_any_length_is_logged_whole(entry, give, agent_id, client, fileuri):
    receipt = give(fileuri=fileuri)
    assert logged(receipt) == [Given(agent_id, entry.feedback_auth, fileuri=fileuri).event(client)]


def test_file_hash_may_be_zero(entry, give, agent_id, client):
    receipt = give(filehash=bytes(32))
    assert logged(receipt) == [Given(agent_id, entry.feedback_auth, filehash=bytes(32)).event(client)]


def test_agents_wallet_may_rate_it_like_any_client(
    registry, identity, chain, authorize, give, agent_id, owner, wallet_key
):
    deadline = chain.pending_timestamp + 60
    consent = AgentWalletSet(agent_id, wallet_key.address, owner.address, deadline)
    signature = sign(wallet_key, consent, domain_of(identity, chain))
    identity.setAgentWallet(agent_id, wallet_key, deadline, signature, sender=owner)
    give(authorize(client=wallet_key), sender=wallet_key)
    assert registry.getLastIndex(agent_id, wallet_key) == 1


def test_a_contract_may_be_a_client(registry, authorize, agent_id, contract_wallet, wallet_key):
    arguments = Given(agent_id, authorize(client=contract_wallet))
    contract_wallet.execute(registry, registry.giveFeedback.encode_input(*arguments), sender=wallet_key)
    assert registry.getFeedback(agent_id, 0).clientAddress == contract_wallet.address


def test_nothing_takes_ether(registry):
    assert [method.name for method in registry.contract_type.methods if method.is_payable] == []
    assert registry.contract_type.fallback is None
    assert registry.contract_type.receive is None
