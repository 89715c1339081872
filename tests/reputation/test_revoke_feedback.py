"""Revocation: by the client, once; revoked feedback no longer counts."""

from __future__ import annotations

import ape
import pytest

from tests.helpers import logged


def test_revocation_is_emitted_whole(give, reputation, agent, client):
    give(client)
    assert logged(reputation.revokeFeedback(agent, 1, sender=client)) == [
        ("FeedbackRevoked", {"agentId": agent, "clientAddress": client.address, "feedbackIndex": 1})
    ]


def test_revoked_feedback_stays_readable_as_revoked(give, reputation, agent, client):
    give(client, value=-32, decimals=1, tag1="tradingYield", tag2="week")
    reputation.revokeFeedback(agent, 1, sender=client)
    assert tuple(reputation.readFeedback(agent, client, 1)) == (-32, 1, "tradingYield", "week", True)


def test_only_the_feedback_that_is_named_is_revoked(give, reputation, agent, client):
    for _ in range(3):
        give(client)
    reputation.revokeFeedback(agent, 2, sender=client)
    assert [reputation.readFeedback(agent, client, index).isRevoked for index in (1, 2, 3)] == [False, True, False]


def test_revoked_index_is_not_given_again(give, reputation, agent, client):
    give(client)
    reputation.revokeFeedback(agent, 1, sender=client)
    assert logged(give(client))[0][1]["feedbackIndex"] == 2


def test_index_zero_is_refused(give, reputation, agent, client):
    give(client)
    with ape.reverts("index must be > 0"):
        reputation.revokeFeedback(agent, 0, sender=client)


@pytest.mark.parametrize("index", [2, 2**32 - 1, 2**32, 2**32 + 1, 2**64 - 1])
def test_index_past_the_last_is_refused(give, reputation, agent, client, index):
    give(client)
    with ape.reverts("index out of bounds"):
        reputation.revokeFeedback(agent, index, sender=client)


def test_second_revocation_is_refused(give, reputation, agent, client):
    give(client)
    reputation.revokeFeedback(agent, 1, sender=client)
    with ape.reverts("Already revoked"):
        reputation.revokeFeedback(agent, 1, sender=client)


@pytest.fixture
def other_accounts(identity, agent, owner, operator, approved, other_client, stranger):
    """All accounts except the client: the agent's side, another client of the agent, and a stranger."""
    identity.setApprovalForAll(operator, True, sender=owner)
    identity.approve(approved, agent, sender=owner)
    return {"owner": owner, "operator": operator, "approved": approved, "client": other_client, "stranger": stranger}


@pytest.mark.parametrize("who", ["owner", "operator", "approved", "client", "stranger"])
def test_others_may_not_revoke(give, reputation, agent, client, other_client, other_accounts, who):
    give(client)
    give(other_client, value=13)
    give(client)
    with ape.reverts("index out of bounds"):
        reputation.revokeFeedback(agent, 2, sender=other_accounts[who])
    assert not reputation.readFeedback(agent, client, 2).isRevoked
    assert reputation.getSummary(agent, [client], "", "").count == 2


def test_client_that_names_anothers_index_revokes_its_own_feedback(give, reputation, agent, client, other_client):
    give(client)
    give(other_client, value=13)
    reputation.revokeFeedback(agent, 1, sender=other_client)
    assert [reputation.readFeedback(agent, entry, 1).isRevoked for entry in (client, other_client)] == [False, True]


def test_client_may_revoke_after_it_became_the_agents_owner(give, identity, reputation, agent, owner, client):
    give(client)
    identity.transferFrom(owner, client, agent, sender=owner)
    reputation.revokeFeedback(agent, 1, sender=client)
    assert reputation.readFeedback(agent, client, 1).isRevoked
