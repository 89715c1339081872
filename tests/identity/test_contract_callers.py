"""A contract that calls the identity registry acts for itself, not for the sender of the transaction."""

from __future__ import annotations

from functools import partial

import ape
import pytest
from ape.utils import ZERO_ADDRESS

from tests.helpers import logged
from tests.identity.conftest import URI
from tests.identity.events import registration, uri_updated


@pytest.fixture
def call(identity, call_as_contract):
    """Calls the registry as a contract wallet."""
    return partial(call_as_contract, identity)


@pytest.fixture
def its_agent(identity, call):
    """The contract's only agent."""
    call("register")
    return identity.getAgentCount()


@pytest.fixture
def key_agent(identity, wallet_key):
    """The only agent of the account that sends the transaction."""
    identity.register(sender=wallet_key)
    return identity.getAgentCount()


def test_registration_is_logged_as_the_contracts(call, contract_wallet):
    assert logged(call("register", URI))[:3] == registration(1, contract_wallet, URI)


def test_uri_is_logged_as_set_by_the_contract(call, contract_wallet, its_agent):
    assert logged(call("setAgentURI", its_agent, URI)) == uri_updated(its_agent, URI, contract_wallet)


def test_contract_registers_a_domain_for_itself(identity, call, contract_wallet):
    call("newAgent", "agent.example", contract_wallet)
    assert identity.resolveByDomain("agent.example").agentAddress == contract_wallet


def test_contract_registers_no_domain_for_the_sender_of_the_transaction(identity, call, wallet_key):
    with ape.reverts(identity.UnauthorizedRegistration):
        call("newAgent", "agent.example", wallet_key)


def test_contract_updates_its_agent(identity, call, its_agent):
    call("updateAgent", its_agent, "agent.example", ZERO_ADDRESS)
    assert identity.resolveByDomain("agent.example").agentId == its_agent


def test_contract_chooses_as_whom_it_speaks(identity, call, contract_wallet, its_agent):
    call("register")
    choice = {"account": contract_wallet, "agentId": its_agent + 1}
    assert logged(call("setPrimaryAgent", its_agent + 1)) == [("PrimaryAgentSet", choice)]
    assert identity.agentOf(contract_wallet) == its_agent + 1


def test_contract_approves_and_transfers_its_agent(identity, call, contract_wallet, its_agent, stranger):
    call("approve", stranger, its_agent)
    assert identity.getApproved(its_agent) == stranger
    call("transferFrom", contract_wallet, stranger, its_agent)
    assert identity.ownerOf(its_agent) == stranger


def test_contract_does_not_act_for_the_sender_of_the_transaction(
    identity, call, contract_wallet, key_agent, wallet_key
):
    with ape.reverts("Not authorized"):
        call("setAgentURI", key_agent, URI)
    with ape.reverts(identity.UnauthorizedUpdate):
        call("updateAgent", key_agent, "agent.example", ZERO_ADDRESS)
    with ape.reverts(identity.NotOwnerOrWallet, account=contract_wallet, agentId=key_agent):
        call("setPrimaryAgent", key_agent)
    with ape.reverts(identity.ERC721InvalidApprover, approver=contract_wallet):
        call("approve", contract_wallet, key_agent)
    with ape.reverts(identity.ERC721InsufficientApproval, operator=contract_wallet, tokenId=key_agent):
        call("transferFrom", wallet_key, contract_wallet, key_agent)
