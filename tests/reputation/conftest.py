"""A reputation registry with one agent, and functions that give feedback directly, by signature and in bulk."""

from __future__ import annotations

import ape
import pytest

from bilateral.core.signatures import Domain, Feedback
from tests.reputation.model import Given

CROWD_SIZE = 6


@pytest.fixture(scope="session")
def identity(deployer, project):
    """An identity registry for this folder only, so that agent ids start at 1."""
    return deployer.deploy(project.IdentityRegistry)


@pytest.fixture(scope="session")
def reputation(deployer, project, identity):
    return deployer.deploy(project.ReputationRegistry, identity)


@pytest.fixture(scope="session")
def agent(identity, owner):
    """The agent under test."""
    identity.register(sender=owner)
    return identity.getAgentCount()


@pytest.fixture(scope="session")
def other_agent(agent, identity, other_owner):
    """Another agent."""
    identity.register(sender=other_owner)
    return identity.getAgentCount()


@pytest.fixture(scope="session")
def crowd(deployer, project):
    """Clients that send a whole history in one transaction."""
    crowd = deployer.deploy(project.MockFeedbackCrowd)
    crowd.gather(CROWD_SIZE, sender=deployer)
    return crowd


@pytest.fixture(scope="session")
def give(reputation, agent):
    """A function that gives feedback, by default 87 without decimals and tags."""

    def give(sender, agent_id=agent, **fields):
        return reputation.giveFeedback(agent_id, *Given(**fields).arguments, sender=sender)

    return give


@pytest.fixture(scope="session")
def domain(reputation):
    return Domain(ape.chain.chain_id, reputation.address)


@pytest.fixture
def deadline(chain):
    """An hour from now."""
    return chain.pending_timestamp + 3_600


@pytest.fixture
def signed(reputation, agent, domain, deadline):
    """A class of signed feedback: the message that a client signs, and the call that sends it."""

    class Signed:
        def __init__(self, client, index=1, entry=Given(), agent_id=agent, deadline=deadline):  # noqa: B008
            self.client, self.index, self.given, self.agent_id = client, index, entry, agent_id
            self.deadline = deadline

        @property
        def message(self):
            value, decimals, *rest = self.given.arguments
            return Feedback(self.agent_id, str(self.client), self.index, value, decimals, *rest, deadline=self.deadline)

        def signature(self, key, domain=domain):
            return key.sign_message(self.message.signable(domain)).encode_rsv()

        @property
        def params(self):
            return (self.agent_id, self.index, *self.given.arguments)

        def send(self, signature, sender):
            return reputation.giveFeedbackBySig(self.client, self.params, self.deadline, signature, sender=sender)

    return Signed
