"""Fixtures of the identity registry's tests: an agent, accounts that may act for it, and consenting wallets."""

from __future__ import annotations

import pytest

from bilateral.core.signatures import AgentWalletSet, Domain

URI = "https://agent.example.com/.well-known/agent-card.json"
"""A URI of 53 characters: two words in storage."""

UNKNOWN_AGENT = 999
"""An id that no test registers."""


@pytest.fixture
def agent(identity, owner):
    """The owner's only agent. Its wallet is still its owner."""
    identity.register(URI, sender=owner)
    return 1


@pytest.fixture
def deadline(chain):
    """A deadline that the registry accepts now."""
    return chain.blocks.head.timestamp + 120


@pytest.fixture
def consent(identity, chain, agent, owner, deadline):
    """Signs a wallet's consent. The fields are valid unless a test changes them."""
    intended = {"agent_id": agent, "owner": owner.address, "deadline": deadline}

    def sign(signer, *, new_wallet=None, registry=identity, chain_id=chain.chain_id, **changed):
        message = AgentWalletSet(**{"new_wallet": str(new_wallet or signer), **intended, **changed})
        return signer.sign_message(message.signable(Domain(chain_id, registry.address))).encode_rsv()

    return sign


@pytest.fixture
def rotate(identity, agent, owner, deadline, consent):
    """Sets a plain account as the agent's wallet, with its consent."""

    def set_wallet(new_wallet, agent_id=agent):
        signature = consent(new_wallet, agent_id=agent_id)
        return identity.setAgentWallet(agent_id, new_wallet, deadline, signature, sender=owner)

    return set_wallet


@pytest.fixture(params=["owner", "operator", "approved"])
def authorised(request, identity, agent, owner):
    """Each account that may act for the agent: its owner, an operator, the approved address."""
    account = request.getfixturevalue(request.param)
    if request.param == "operator":
        identity.setApprovalForAll(account, True, sender=owner)
    if request.param == "approved":
        identity.approve(account, agent, sender=owner)
    return account


@pytest.fixture(params=["stranger", "wallet", "former operator", "approved for another agent"])
def unauthorised(request, identity, agent, owner, stranger, wallet_key, rotate):
    """Accounts that may not act for the agent."""
    if request.param == "wallet":
        rotate(wallet_key)
        return wallet_key
    if request.param == "former operator":
        identity.setApprovalForAll(stranger, True, sender=owner)
        identity.setApprovalForAll(stranger, False, sender=owner)
    if request.param == "approved for another agent":
        identity.register(sender=owner)
        identity.approve(stranger, 2, sender=owner)
    return stranger
