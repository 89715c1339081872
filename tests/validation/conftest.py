"""Fixtures of the validation registry's tests: the registry, an agent, its validators, and shorter calls."""

from __future__ import annotations

import pytest
from eth_utils import keccak

REQUEST_URI = "ipfs://request"
RESPONSE_URI = "ipfs://evidence"
RESPONSE_HASH = keccak(text="evidence")
UNKNOWN_AGENT = 99


@pytest.fixture(scope="session")
def identity(deployer, project):
    """An identity registry that only the tests of this folder use."""
    return deployer.deploy(project.IdentityRegistry)


@pytest.fixture(scope="session")
def validation(deployer, project, identity):
    return deployer.deploy(project.ValidationRegistry, identity)


@pytest.fixture(scope="session")
def other_validator(accounts):
    """A second validator of the agent under test."""
    return accounts[10]


@pytest.fixture(scope="session")
def agent_id(identity, owner):
    """The agent under test."""
    identity.register(sender=owner)
    return identity.getAgentCount()


@pytest.fixture(scope="session")
def other_agent_id(identity, other_owner, agent_id):
    """An agent of another owner."""
    identity.register(sender=other_owner)
    assert identity.getAgentCount() != agent_id
    return identity.getAgentCount()


@pytest.fixture(scope="session")
def ask(validation, owner, validator, agent_id):
    """Requests a validation, and returns its hash."""

    def ask(name, *, of=validator, agent=agent_id, sender=owner):
        request_hash = keccak(text=name)
        validation.validationRequest(of, agent, REQUEST_URI, request_hash, sender=sender)
        return request_hash

    return ask


@pytest.fixture(scope="session")
def answer(validation, validator):
    """Answers a request, and returns the receipt."""

    def answer(request_hash, response, *, tag="", sender=validator):
        return validation.validationResponse(request_hash, response, RESPONSE_URI, RESPONSE_HASH, tag, sender=sender)

    return answer


@pytest.fixture(scope="session")
def summary(validation, agent_id):
    """Returns the count and the average of an agent's answers, by validators and tag."""

    def summary(*, validators=(), tag="", agent=agent_id):
        return tuple(validation.getSummary(agent, list(validators), tag))

    return summary


@pytest.fixture(scope="session")
def status(validation):
    """Returns the status of a request, by the names of the interface."""

    def status(request_hash):
        return dict(validation.getValidationStatus(request_hash).items())

    return status
