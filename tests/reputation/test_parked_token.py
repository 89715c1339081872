"""An owner can transfer its token away for one transaction, and rate its own agent in it."""

from __future__ import annotations

import ape
import pytest

from tests.helpers import logged
from tests.reputation.model import Given

GIVEN = Given(100, 0, "starred")


@pytest.fixture
def contract_owner(project, deployer):
    """A contract that owns the agent."""
    return deployer.deploy(project.MockBatcher)


@pytest.fixture
def accomplice(project, deployer):
    """A contract that holds the token during the transaction."""
    return deployer.deploy(project.MockBatcher)


@pytest.fixture
def parked_agent(identity, contract_owner, stranger):
    """The agent of the contract."""
    contract_owner.executeAll(identity, [identity.register.encode_input()], sender=stranger)
    return identity.getAgentCount()


def rate(reputation, agent_id):
    return reputation.giveFeedback.encode_input(agent_id, *GIVEN.arguments)


def test_owner_that_keeps_its_token_cannot_rate_its_agent(reputation, contract_owner, parked_agent, stranger):
    with ape.reverts("Self-feedback not allowed"):
        contract_owner.executeAll(reputation, [rate(reputation, parked_agent)], sender=stranger)


def test_owner_that_parks_its_token_for_one_transaction_rates_its_own_agent(
    identity, reputation, project, deployer, contract_owner, accomplice, parked_agent, stranger
):
    park = identity.transferFrom.encode_input(contract_owner, accomplice, parked_agent)
    take_back = identity.transferFrom.encode_input(accomplice, contract_owner, parked_agent)
    steps = [
        contract_owner.executeAll.encode_input(identity, [park]),
        contract_owner.executeAll.encode_input(reputation, [rate(reputation, parked_agent)]),
        contract_owner.executeAll.encode_input(accomplice, [accomplice.executeAll.encode_input(identity, [take_back])]),
    ]
    receipt = deployer.deploy(project.MockBatcher).executeAll(contract_owner, steps, sender=stranger)
    assert identity.ownerOf(parked_agent) == contract_owner
    assert reputation.getLastIndex(parked_agent, contract_owner) == 1
    transfers = [fields for name, fields in logged(receipt) if name == "Transfer"]
    assert [(transfer["from"], transfer["to"]) for transfer in transfers] == [
        (contract_owner.address, accomplice.address),
        (accomplice.address, contract_owner.address),
    ]
