"""Accounts that can act for an agent cannot rate it, directly or by signature; former ones can."""

from __future__ import annotations

import ape
import pytest
from ape.utils import ZERO_ADDRESS

from bilateral.core.signatures import AgentWalletSet, Domain
from tests.helpers import logged


@pytest.fixture(params=["owner", "operator", "approved"])
def role(request):
    """The reason why an account can act for the agent."""
    return request.param


@pytest.fixture
def insider(request, role, identity, agent, owner):
    """An account that can act for the agent."""
    account = request.getfixturevalue(role)
    if role == "operator":
        identity.setApprovalForAll(account, True, sender=owner)
    elif role == "approved":
        identity.approve(account, agent, sender=owner)
    return account


@pytest.fixture
def former_insider(insider, role, identity, agent, owner, receiver):
    """An account that could act for the agent, and no longer can."""
    if role == "owner":
        identity.transferFrom(owner, receiver, agent, sender=owner)
    elif role == "operator":
        identity.setApprovalForAll(insider, False, sender=owner)
    else:
        identity.approve(ZERO_ADDRESS, agent, sender=owner)
    return insider


@pytest.fixture(scope="session")
def receiver(accounts):
    """The receiver of the agent, in tests that transfer it."""
    return accounts[10]


def test_insider_may_not_rate_the_agent(give, insider):
    with ape.reverts("Self-feedback not allowed"):
        give(insider)


def test_insider_may_not_rate_the_agent_by_signature(signed, insider, stranger):
    feedback = signed(insider)
    with ape.reverts("Self-feedback not allowed"):
        feedback.send(feedback.signature(insider), sender=stranger)


def test_insider_may_send_what_a_client_signed(signed, insider, client):
    feedback = signed(client)
    receipt = feedback.send(feedback.signature(client), sender=insider)
    assert logged(receipt)[0][1]["clientAddress"] == client.address


def test_former_insider_may_rate_the_agent(give, former_insider, reputation, agent):
    give(former_insider)
    assert reputation.getLastIndex(agent, former_insider) == 1


def test_former_insider_may_rate_the_agent_by_signature(signed, former_insider, stranger, reputation, agent):
    feedback = signed(former_insider)
    feedback.send(feedback.signature(former_insider), sender=stranger)
    assert reputation.getLastIndex(agent, former_insider) == 1


def test_new_owner_may_not_rate_the_agent(give, identity, owner, receiver, agent):
    identity.transferFrom(owner, receiver, agent, sender=owner)
    with ape.reverts("Self-feedback not allowed"):
        give(receiver)


def test_owner_of_another_agent_may_rate_the_agent(give, other_agent, other_owner, reputation, agent):
    give(other_owner)
    assert reputation.getLastIndex(agent, other_owner) == 1


def test_wallet_that_is_not_the_owner_may_rate_the_agent(give, identity, reputation, agent, owner, wallet_key, chain):
    deadline = chain.pending_timestamp + 60
    consent = AgentWalletSet(agent, wallet_key.address, owner.address, deadline)
    signature = wallet_key.sign_message(consent.signable(Domain(chain.chain_id, identity.address))).encode_rsv()
    identity.setAgentWallet(agent, wallet_key, deadline, signature, sender=owner)
    give(wallet_key)
    assert reputation.getLastIndex(agent, wallet_key) == 1


def test_feedback_from_before_an_account_became_owner_stays(give, identity, reputation, agent, owner, receiver):
    give(receiver, value=100)
    identity.transferFrom(owner, receiver, agent, sender=owner)
    assert tuple(reputation.getSummary(agent, [receiver], "", "")) == (1, 100, 0)
