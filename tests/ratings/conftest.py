"""The bidirectional registry with a server, a client and a validator that are agents."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def identity(deployer, project):
    """An identity registry for this folder only, so that agent ids are known."""
    return deployer.deploy(project.IdentityRegistry)


@pytest.fixture(scope="session")
def registry(deployer, project, identity):
    return deployer.deploy(project.BidirectionalReputationRegistry, identity)


@pytest.fixture(scope="session")
def register(identity):
    def register(account):
        identity.register(sender=account)
        return identity.getAgentCount()

    return register


@pytest.fixture(scope="session")
def server(owner):
    """The owner of the agent that rates."""
    return owner


@pytest.fixture(scope="session")
def server_id(register, server):
    return register(server)


@pytest.fixture(scope="session")
def client_id(register, client, server_id):
    return register(client)


@pytest.fixture(scope="session")
def validator_id(register, validator, client_id):
    return register(validator)


@pytest.fixture(scope="session")
def last_agent_id(identity, project, deployer, validator_id):
    """The highest agent id: agents 1 to 70 exist, more than two words of ratings."""
    others = deployer.deploy(project.MockFeedbackGiver)
    others.repeat(identity, identity.register.encode_input(), 70 - validator_id, sender=deployer)
    return identity.getAgentCount()
