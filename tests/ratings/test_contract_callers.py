"""A contract rates as its own agent, not as the agent of the transaction's sender."""

from __future__ import annotations

from functools import partial

import ape
import pytest


@pytest.fixture
def call(registry, call_as_contract):
    """A function that calls the registry as a contract wallet."""
    return partial(call_as_contract, registry)


@pytest.fixture
def its_agent(identity, validator_id, call_as_contract):
    """The contract's agent."""
    call_as_contract(identity, "register")
    return identity.getAgentCount()


@pytest.fixture
def key_agent(register, validator_id, wallet_key):
    """The agent of the transaction's sender."""
    return register(wallet_key)


def test_contract_rates_as_its_agent(registry, call, its_agent, client_id, validator_id):
    call("rateClient", client_id, 90)
    call("rateClients", [validator_id], [80])
    assert registry.getClientRating(client_id, its_agent) == (True, 90)
    assert registry.getClientRating(validator_id, its_agent) == (True, 80)


def test_contract_does_not_rate_as_the_agent_of_the_sender_of_the_transaction(
    registry, call, key_agent, client_id, contract_wallet
):
    with ape.reverts(registry.RaterNotRegistered, account=contract_wallet):
        call("rateClient", client_id, 90)
    with ape.reverts(registry.RaterNotRegistered, account=contract_wallet):
        call("rateClients", [client_id], [90])


def test_contract_accepts_feedback_for_its_agent(registry, call, its_agent, client_id):
    call("acceptFeedback", client_id, its_agent)
    assert registry.isFeedbackAuthorized(client_id, its_agent)[0]


def test_contract_does_not_accept_feedback_for_the_sender_of_the_transaction(registry, call, key_agent, client_id):
    with ape.reverts(registry.UnauthorizedFeedback):
        call("acceptFeedback", client_id, key_agent)
