"""A registry for authorised feedback, an agent, and functions that authorise, give and simulate feedback."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bilateral.core.signatures import FeedbackAuth
from tests.authorized.helpers import MAX_UINT256, Given, authorization, domain_of, refusal


@pytest.fixture(scope="session")
def identity(deployer, project):
    """An identity registry for this folder only."""
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
    """An unsigned authorisation of the client for ten feedbacks on the agent."""
    return FeedbackAuth(agent_id, client.address, 10, MAX_UINT256, chain.chain_id)


@pytest.fixture(scope="session")
def authorize(registry, chain, owner, agent_id, client):
    """A function that returns a `feedbackAuth`, by default of the agent's owner for the client."""

    def authorize(limit=10, expiry=MAX_UINT256, *, signer=owner, agent_id=agent_id, client=client):
        return authorization(registry, chain, signer, agent_id, client, limit, expiry)

    return authorize


@pytest.fixture(scope="session")
def entry(agent_id, authorize):
    """A feedback that the registry accepts from the client."""
    return Given(agent_id, authorize())


@pytest.fixture(scope="session")
def give(registry, entry, client):
    """A function that gives feedback, by default with the arguments of `entry`."""

    def give(feedback_auth=entry.feedback_auth, *, sender=client, **changes):
        arguments = replace(entry, feedback_auth=feedback_auth, **changes)
        return registry.giveFeedback(*arguments, sender=sender)

    return give


@pytest.fixture(scope="session")
def refused(registry, entry, client):
    """A function that simulates feedback; it returns the error's name and arguments, or None if there is no error."""

    def refused(feedback_auth=entry.feedback_auth, *, sender=client, gas=None, **changes):
        return refusal(registry, sender, replace(entry, feedback_auth=feedback_auth, **changes), gas)

    return refused
