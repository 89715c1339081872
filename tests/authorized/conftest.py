"""A registry for authorised feedback, an agent that it knows, and ways to authorise, give and be refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bilateral.signatures import FeedbackAuth
from tests.authorized.helpers import MAX_UINT256, Given, authorization, domain_of, refusal


@pytest.fixture(scope="session")
def identity(deployer, project):
    """An identity registry of this folder's own, so that its agents are nobody else's."""
    return deployer.deploy(project.IdentityRegistry)


@pytest.fixture(scope="session")
def registry(deployer, project, identity):
    return deployer.deploy(project.AuthorizedReputationRegistry, identity)


@pytest.fixture(scope="session")
def agent_id(identity, owner):
    return identity.register(sender=owner).return_value


@pytest.fixture(scope="session")
def other_agent_id(identity, other_owner):
    return identity.register(sender=other_owner).return_value


@pytest.fixture(scope="session")
def domain(registry, chain):
    return domain_of(registry, chain)


@pytest.fixture(scope="session")
def auth(agent_id, client, chain):
    """Lets the client rate the agent ten times; nobody has signed it yet."""
    return FeedbackAuth(agent_id, client.address, 10, MAX_UINT256, chain.chain_id)


@pytest.fixture(scope="session")
def authorize(registry, chain, owner, agent_id, client):
    """Makes a `feedbackAuth`, signed by the agent's owner for the client unless said otherwise."""

    def authorize(limit=10, expiry=MAX_UINT256, *, signer=owner, agent_id=agent_id, client=client):
        return authorization(registry, chain, signer, agent_id, client, limit, expiry)

    return authorize


@pytest.fixture(scope="session")
def given(agent_id, authorize):
    """A feedback that the registry takes from the client."""
    return Given(agent_id, authorize())


@pytest.fixture(scope="session")
def give(registry, given, client):
    """Gives feedback; what is not said is as in `given`."""

    def give(feedback_auth=given.feedback_auth, *, sender=client, **changes):
        arguments = replace(given, feedback_auth=feedback_auth, **changes)
        return registry.giveFeedback(*arguments, sender=sender)

    return give


@pytest.fixture(scope="session")
def refused(registry, given, client):
    """Simulates feedback, and returns the error's name and arguments, or None if it would be taken."""

    def refused(feedback_auth=given.feedback_auth, *, sender=client, gas=None, **changes):
        return refusal(registry, sender, replace(given, feedback_auth=feedback_auth, **changes), gas)

    return refused
