"""A contract rates as the agent that it is itself, whoever's transaction it is."""

from __future__ import annotations

import ape
import pytest


@pytest.fixture
def call(registry, contract_wallet, wallet_key):
    """Calls the registry as a contract wallet. The transaction is that of the wallet's key."""

    def call(method, *arguments):
        data = getattr(registry, method).encode_input(*arguments)
        return contract_wallet.execute(registry, data, sender=wallet_key)

    return call


@pytest.fixture
def its_agent(identity, validator_id, contract_wallet, wallet_key):
    """The contract's agent."""
    contract_wallet.execute(identity, identity.register.encode_input(), sender=wallet_key)
    return identity.getAgentCount()


@pytest.fixture
def key_agent(register, validator_id, wallet_key):
    """The agent of the account whose transaction it is."""
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
