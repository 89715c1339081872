"""A contract that gives feedback is the client, not the transaction's sender."""

from __future__ import annotations

import ape
import pytest

from tests.authorized.helpers import Given
from tests.helpers import logged


@pytest.fixture
def call(registry, call_as_contract):
    """A function that gives feedback as a contract wallet."""
    return lambda entry: call_as_contract(registry, "giveFeedback", *entry)


def test_feedback_is_logged_and_counted_as_the_contracts(registry, authorize, call, agent_id, contract_wallet):
    ((name, event),) = logged(call(Given(agent_id, authorize(client=contract_wallet))))
    assert (name, event["clientAddress"]) == ("NewFeedback", contract_wallet)
    assert registry.getLastIndex(agent_id, contract_wallet) == 1


def test_contract_does_not_use_what_the_sender_of_the_transaction_was_authorised_for(
    registry, authorize, call, agent_id, contract_wallet, wallet_key
):
    with ape.reverts(registry.ClientNotAuthorized, caller=contract_wallet, authorizedClient=wallet_key):
        call(Given(agent_id, authorize(client=wallet_key)))


def test_contract_that_may_act_for_an_agent_does_not_rate_it(
    identity, registry, authorize, call, agent_id, owner, contract_wallet
):
    identity.setApprovalForAll(contract_wallet, True, sender=owner)
    with ape.reverts(registry.SelfFeedbackNotAllowed, agentId=agent_id, clientAddress=contract_wallet):
        call(Given(agent_id, authorize(client=contract_wallet)))
