"""A registry without requests, and accounts without requests: each view answers or reverts as specified."""

from __future__ import annotations

import ape
import pytest

from tests.validation.conftest import RESPONSE_HASH, RESPONSE_URI

ZERO_ADDRESS = "0x" + "00" * 20
HASHES = [bytes(32), b"\xff" * 32]
AGENT_IDS = [0, 1, 2**64, 2**256 - 1]
"""Unknown ids among them: "no agent", and ids that a request could not have."""


@pytest.fixture
def empty(project, deployer, identity):
    """A validation registry without requests."""
    return deployer.deploy(project.ValidationRegistry, identity)


@pytest.mark.parametrize("agent_id", AGENT_IDS)
@pytest.mark.parametrize("tag", ["", "hard-finality"])
def test_empty_registry_summarises_nothing(empty, validator, agent_id, tag):
    for validators in ([], [validator], [ZERO_ADDRESS]):
        assert empty.getSummary(agent_id, validators, tag) == (0, 0)


@pytest.mark.parametrize("agent_id", AGENT_IDS)
def test_empty_registry_lists_no_validations(empty, agent_id):
    assert empty.getAgentValidations(agent_id) == []


@pytest.mark.parametrize("account", [ZERO_ADDRESS, "0x" + "11" * 20])
def test_empty_registry_lists_no_requests_of_a_validator(empty, account):
    assert empty.getValidatorRequests(account) == []


@pytest.mark.parametrize("request_hash", HASHES)
def test_empty_registry_knows_no_hash(empty, request_hash):
    with ape.reverts("unknown"):
        empty.getValidationStatus(request_hash)


@pytest.mark.parametrize("request_hash", HASHES)
def test_account_that_nobody_asked_cannot_respond(empty, stranger, request_hash):
    with ape.reverts("unknown"):
        empty.validationResponse(request_hash, 100, RESPONSE_URI, RESPONSE_HASH, "tag", sender=stranger)
    assert empty.getValidatorRequests(stranger) == []


def test_zero_address_cannot_respond_to_an_unused_hash(empty):
    """An unused request has the zero address as validator. Nobody can send from it; a simulated call can."""
    with ape.reverts("unknown"):
        empty.validationResponse.call(bytes(32), 0, "", bytes(32), "", sender=ZERO_ADDRESS)


def test_account_without_agents_cannot_request(empty, identity, stranger, validator, agent_id):
    assert identity.agentOf(stranger) == 0
    with ape.reverts("Not authorized"):
        empty.validationRequest(validator, agent_id, "", bytes(32), sender=stranger)
    assert empty.getAgentValidations(agent_id) == empty.getValidatorRequests(validator) == []
