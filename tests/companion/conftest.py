"""A companion of a stand-in for the deployed identity registry, whose agents have ids from 0."""

from __future__ import annotations

import pytest

from bilateral.core.signatures import AgentWalletSet, Domain
from tests.deployed import deploy_behind_proxy

UNKNOWN_AGENT = 999
"""An id that no test registers."""


@pytest.fixture(scope="session")
def identity(project, deployer):
    """The stand-in behind its proxy."""
    return deploy_behind_proxy(project, deployer, "MockDeployedIdentityRegistry")


@pytest.fixture(scope="session")
def companion(project, deployer, identity):
    return deployer.deploy(project.CompanionDirectory, identity)


@pytest.fixture(scope="session")
def agent_zero(identity, deployer):
    """The first agent. The deployer owns it."""
    identity.register(sender=deployer)
    return 0


@pytest.fixture(scope="session")
def agent(identity, owner, agent_zero):
    identity.register(sender=owner)
    return 1


@pytest.fixture(scope="session")
def client_agent(identity, client, agent):
    identity.register(sender=client)
    return 2


@pytest.fixture(scope="session")
def second_agent(identity, owner, client_agent):
    """The owner's second agent."""
    identity.register(sender=owner)
    return 3


@pytest.fixture
def speaking(companion, agent, owner):
    """The agent that the owner has chosen."""
    companion.setPrimaryAgent(agent, sender=owner)
    return agent


@pytest.fixture
def set_wallet(identity, chain, agent, owner):
    """A function that makes a consenting account the wallet of the agent."""

    def set_wallet(wallet, owner=owner):
        deadline = chain.blocks.head.timestamp + 120
        consent = AgentWalletSet(agent, wallet.address, owner.address, deadline)
        signature = wallet.sign_message(consent.signable(Domain(chain.chain_id, identity.address))).encode_rsv()
        identity.setAgentWallet(agent, wallet, deadline, signature, sender=owner)

    return set_wallet


@pytest.fixture
def ratings(project, deployer, companion):
    return deployer.deploy(project.BidirectionalReputationRegistry, companion)
