"""A contract that calls is the client or the responder, not the transaction's sender."""

from __future__ import annotations

from functools import partial

import ape
import pytest

from tests.helpers import logged
from tests.reputation.model import Given


@pytest.fixture
def call(reputation, call_as_contract):
    """A function that calls the registry as a contract wallet."""
    return partial(call_as_contract, reputation)


def test_contract_is_the_client(reputation, call, agent, contract_wallet):
    ((name, event),) = logged(call("giveFeedback", agent, *Given().arguments))
    assert (name, event["clientAddress"]) == ("NewFeedback", contract_wallet)
    assert reputation.getClients(agent) == [contract_wallet]


def test_contract_revokes_its_feedback(call, agent, contract_wallet):
    call("giveFeedback", agent, *Given().arguments)
    revocation = {"agentId": agent, "clientAddress": contract_wallet, "feedbackIndex": 1}
    assert logged(call("revokeFeedback", agent, 1)) == [("FeedbackRevoked", revocation)]


def test_contract_does_not_revoke_what_the_sender_of_the_transaction_gave(give, call, agent, wallet_key):
    give(wallet_key)
    with ape.reverts("index out of bounds"):
        call("revokeFeedback", agent, 1)


def test_contract_is_the_responder(reputation, give, call, agent, client, contract_wallet):
    give(client)
    ((name, event),) = logged(call("appendResponse", agent, client, 1, "ipfs://answer", bytes(32)))
    assert (name, event["responder"]) == ("ResponseAppended", contract_wallet)
    assert reputation.getResponseCount(agent, client, 1, [contract_wallet]) == 1


def test_contract_that_owns_an_agent_does_not_rate_it(identity, call, call_as_contract):
    call_as_contract(identity, "register")
    with ape.reverts("Self-feedback not allowed"):
        call("giveFeedback", identity.getAgentCount(), *Given().arguments)
