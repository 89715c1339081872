"""`newAgent`, `updateAgent` and the functions that look agents up (August 2025)."""

from __future__ import annotations

import ape
import pytest
from ape.utils import ZERO_ADDRESS

from tests.helpers import logged
from tests.identity.conftest import UNKNOWN_AGENT, URI
from tests.identity.events import agent_registered, agent_updated, handover, registration

DOMAIN = "agent.example"
OTHER_DOMAIN = "other.example"


@pytest.fixture
def named_agent(identity, owner):
    """The owner's only agent, registered by domain."""
    identity.newAgent(DOMAIN, owner, sender=owner)
    return 1


# newAgent


def test_new_agent_is_an_agent_like_any_other(identity, owner):
    assert identity.newAgent.call(DOMAIN, owner, sender=owner) == 1
    identity.newAgent(DOMAIN, owner, sender=owner)
    assert identity.ownerOf(1) == owner
    assert identity.tokenURI(1) == ""
    assert identity.getAgentWallet(1) == owner
    assert identity.agentOf(owner) == 1
    assert identity.getAgentCount() == 1


def test_new_agent_logs_a_registration_and_then_its_domain(identity, owner):
    receipt = identity.newAgent(DOMAIN, owner, sender=owner)
    assert logged(receipt) == [*registration(1, owner), agent_registered(1, DOMAIN, owner)]


def test_new_agent_and_register_share_one_sequence_of_ids(identity, owner, other_owner):
    identity.register(sender=other_owner)
    assert identity.newAgent.call(DOMAIN, owner, sender=owner) == 2


def test_new_agent_is_found_by_domain_and_by_address(identity, named_agent, owner):
    described = (named_agent, DOMAIN, owner.address)
    assert identity.getAgent(named_agent) == described
    assert identity.resolveByDomain(DOMAIN) == described
    assert identity.resolveByAddress(owner) == described


def test_nobody_registers_an_agent_for_somebody_else(identity, owner, stranger):
    with ape.reverts(identity.UnauthorizedRegistration):
        identity.newAgent(DOMAIN, owner, sender=stranger)


def test_new_agent_needs_a_domain(identity, owner):
    with ape.reverts(identity.InvalidDomain):
        identity.newAgent("", owner, sender=owner)


def test_new_agent_needs_a_free_domain(identity, named_agent, other_owner):
    with ape.reverts(identity.DomainAlreadyRegistered):
        identity.newAgent(DOMAIN, other_owner, sender=other_owner)


def test_owner_of_an_agent_needs_no_other(identity, named_agent, owner):
    with ape.reverts(identity.AddressAlreadyRegistered):
        identity.newAgent(OTHER_DOMAIN, owner, sender=owner)


def test_account_that_registered_by_uri_has_an_agent_already(identity, agent, owner):
    with ape.reverts(identity.AddressAlreadyRegistered):
        identity.newAgent(DOMAIN, owner, sender=owner)


def test_account_that_received_an_agent_has_one_already(identity, agent, owner, other_owner):
    identity.transferFrom(owner, other_owner, agent, sender=owner)
    assert identity.agentOf(other_owner) == 0
    with ape.reverts(identity.AddressAlreadyRegistered):
        identity.newAgent(DOMAIN, other_owner, sender=other_owner)


def test_wallet_that_speaks_as_an_agent_has_one_already(identity, agent, wallet_key, rotate):
    rotate(wallet_key)
    with ape.reverts(identity.AddressAlreadyRegistered):
        identity.newAgent(DOMAIN, wallet_key, sender=wallet_key)


def test_unwanted_agent_does_not_keep_an_account_from_its_domain(identity, agent, owner, stranger):
    """An attacker can transfer an agent to the account. `newAgent` then reverts; `register` and `updateAgent` work."""
    identity.transferFrom(owner, stranger, agent, sender=owner)
    identity.register(sender=stranger)
    identity.updateAgent(2, DOMAIN, ZERO_ADDRESS, sender=stranger)
    assert identity.resolveByDomain(DOMAIN) == identity.resolveByAddress(stranger) == (2, DOMAIN, stranger.address)


def test_account_that_gave_its_agent_away_may_register_anew(identity, named_agent, owner, other_owner):
    identity.transferFrom(owner, other_owner, named_agent, sender=owner)
    identity.newAgent(OTHER_DOMAIN, owner, sender=owner)
    assert identity.resolveByAddress(owner) == (2, OTHER_DOMAIN, owner.address)


def test_caller_is_checked_first(identity, named_agent, owner, stranger):
    with ape.reverts(identity.UnauthorizedRegistration):
        identity.newAgent("", ZERO_ADDRESS, sender=stranger)
    with ape.reverts(identity.UnauthorizedRegistration):
        identity.newAgent(DOMAIN, owner, sender=stranger)


def test_empty_domain_is_checked_before_the_zero_address(identity):
    with ape.reverts(identity.InvalidDomain):
        identity.newAgent.call("", ZERO_ADDRESS, sender=ZERO_ADDRESS)


def test_zero_address_is_checked_before_the_taken_domain(identity, named_agent):
    """The zero address sends no transaction, but a simulated call can use it."""
    with ape.reverts(identity.InvalidAddress):
        identity.newAgent.call(DOMAIN, ZERO_ADDRESS, sender=ZERO_ADDRESS)


def test_taken_domain_is_checked_before_the_taken_address(identity, named_agent, owner):
    with ape.reverts(identity.DomainAlreadyRegistered):
        identity.newAgent(DOMAIN, owner, sender=owner)


# updateAgent


def test_update_with_nothing_changes_nothing(identity, named_agent, owner):
    assert identity.updateAgent.call(named_agent, "", ZERO_ADDRESS, sender=owner) is True
    receipt = identity.updateAgent(named_agent, "", ZERO_ADDRESS, sender=owner)
    assert identity.getAgent(named_agent) == (named_agent, DOMAIN, owner.address)
    assert logged(receipt) == [agent_updated(named_agent, DOMAIN, owner)]


def test_update_with_a_domain_changes_the_domain(identity, named_agent, owner):
    receipt = identity.updateAgent(named_agent, OTHER_DOMAIN, ZERO_ADDRESS, sender=owner)
    described = (named_agent, OTHER_DOMAIN, owner.address)
    assert identity.getAgent(named_agent) == described
    assert identity.resolveByDomain(OTHER_DOMAIN) == described
    assert identity.getAgentWallet(named_agent) == owner
    assert logged(receipt) == [agent_updated(named_agent, OTHER_DOMAIN, owner)]


def test_update_with_an_address_hands_the_agent_over(identity, named_agent, owner, other_owner):
    receipt = identity.updateAgent(named_agent, "", other_owner, sender=owner)
    assert identity.ownerOf(named_agent) == other_owner
    assert identity.getAgentWallet(named_agent) == ZERO_ADDRESS
    assert identity.getAgent(named_agent) == (named_agent, DOMAIN, other_owner.address)
    assert (identity.balanceOf(owner), identity.balanceOf(other_owner)) == (0, 1)
    assert logged(receipt) == [
        *handover(named_agent, owner, other_owner),
        agent_updated(named_agent, DOMAIN, other_owner),
    ]


def test_update_with_both_changes_both(identity, named_agent, owner, other_owner):
    receipt = identity.updateAgent(named_agent, OTHER_DOMAIN, other_owner, sender=owner)
    assert identity.ownerOf(named_agent) == other_owner
    assert identity.getAgent(named_agent) == (named_agent, OTHER_DOMAIN, other_owner.address)
    assert logged(receipt) == [
        *handover(named_agent, owner, other_owner),
        agent_updated(named_agent, OTHER_DOMAIN, other_owner),
    ]


def test_update_to_an_address_ends_wallet_and_approval(
    identity, agent, owner, other_owner, approved, wallet_key, rotate
):
    rotate(wallet_key)
    identity.approve(approved, agent, sender=owner)
    identity.updateAgent(agent, "", other_owner, sender=owner)
    assert identity.getAgentWallet(agent) == ZERO_ADDRESS
    assert identity.getApproved(agent) == ZERO_ADDRESS
    assert identity.agentOf(wallet_key) == 0


def test_agent_registered_by_uri_gets_a_domain_by_update(identity, agent, owner):
    assert identity.getAgent(agent) == (agent, "", owner.address)
    identity.updateAgent(agent, DOMAIN, ZERO_ADDRESS, sender=owner)
    assert identity.resolveByDomain(DOMAIN) == (agent, DOMAIN, owner.address)
    assert identity.tokenURI(agent) == URI


def test_update_tells_the_wallet_where_there_is_one(identity, agent, owner, wallet_key, rotate):
    rotate(wallet_key)
    receipt = identity.updateAgent(agent, DOMAIN, ZERO_ADDRESS, sender=owner)
    assert logged(receipt) == [agent_updated(agent, DOMAIN, wallet_key)]


@pytest.mark.parametrize("role", ["stranger", "operator", "approved", "wallet_key"])
def test_only_the_owner_updates(identity, agent, owner, request, role, rotate):
    account = request.getfixturevalue(role)
    if role == "operator":
        identity.setApprovalForAll(account, True, sender=owner)
    if role == "approved":
        identity.approve(account, agent, sender=owner)
    if role == "wallet_key":
        rotate(account)
    with ape.reverts(identity.UnauthorizedUpdate):
        identity.updateAgent(agent, DOMAIN, ZERO_ADDRESS, sender=account)


def test_update_needs_a_free_domain(identity, named_agent, other_owner):
    identity.register(sender=other_owner)
    with ape.reverts(identity.DomainAlreadyRegistered):
        identity.updateAgent(2, DOMAIN, ZERO_ADDRESS, sender=other_owner)


@pytest.mark.parametrize("receiver", ["other_owner", "owner"])
def test_update_hands_over_only_to_an_address_without_agent(identity, agent, owner, other_owner, request, receiver):
    identity.register(sender=other_owner)
    with ape.reverts(identity.AddressAlreadyRegistered):
        identity.updateAgent(agent, "", request.getfixturevalue(receiver), sender=owner)
    assert identity.ownerOf(agent) == owner


def test_update_does_not_hand_over_to_an_account_that_received_an_agent(identity, owner, other_owner):
    identity.register(sender=owner)
    identity.register(sender=owner)
    identity.transferFrom(owner, other_owner, 1, sender=owner)
    with ape.reverts(identity.AddressAlreadyRegistered):
        identity.updateAgent(2, "", other_owner, sender=owner)


def test_update_transfers_an_agent_to_its_own_wallet(identity, agent, owner, wallet_key, rotate):
    rotate(wallet_key)
    receipt = identity.updateAgent(agent, DOMAIN, wallet_key, sender=owner)
    assert identity.ownerOf(agent) == wallet_key
    assert identity.getAgentWallet(agent) == ZERO_ADDRESS
    assert (identity.agentOf(owner), identity.agentOf(wallet_key)) == (0, agent)
    assert identity.resolveByAddress(wallet_key) == (agent, DOMAIN, wallet_key.address)
    assert logged(receipt) == [*handover(agent, owner, wallet_key), agent_updated(agent, DOMAIN, wallet_key)]


def test_update_does_not_transfer_to_a_wallet_that_speaks_as_another_agent(identity, agent, owner, wallet_key, rotate):
    identity.register(sender=owner)
    rotate(wallet_key, 2)
    rotate(wallet_key, agent)
    assert identity.agentOf(wallet_key) == 2
    with ape.reverts(identity.AddressAlreadyRegistered):
        identity.updateAgent(agent, "", wallet_key, sender=owner)


def test_update_does_not_transfer_to_a_wallet_that_owns_another_agent(identity, agent, owner, wallet_key, rotate):
    rotate(wallet_key, agent)
    identity.register(sender=owner)
    identity.transferFrom(owner, wallet_key, 2, sender=owner)
    assert identity.agentOf(wallet_key) == agent
    with ape.reverts(identity.AddressAlreadyRegistered):
        identity.updateAgent(agent, "", wallet_key, sender=owner)


def test_new_owner_is_found_by_address_once_it_has_chosen_the_agent(identity, named_agent, owner, other_owner):
    """Only the account itself chooses the agent that `resolveByAddress` finds for it."""
    identity.updateAgent(named_agent, "", other_owner, sender=owner)
    with ape.reverts(identity.AgentNotFound):
        identity.resolveByAddress(other_owner)
    with ape.reverts(identity.AddressAlreadyRegistered):
        identity.newAgent(OTHER_DOMAIN, other_owner, sender=other_owner)
    identity.setPrimaryAgent(named_agent, sender=other_owner)
    assert identity.resolveByAddress(other_owner) == (named_agent, DOMAIN, other_owner.address)


def test_refused_address_leaves_the_domain_as_it_was(identity, named_agent, owner):
    with ape.reverts(identity.AddressAlreadyRegistered):
        identity.updateAgent(named_agent, OTHER_DOMAIN, owner, sender=owner)
    assert identity.resolveByDomain(DOMAIN) == (named_agent, DOMAIN, owner.address)
    with ape.reverts(identity.AgentNotFound):
        identity.resolveByDomain(OTHER_DOMAIN)


def test_existence_is_checked_first_in_an_update(identity, stranger):
    with ape.reverts(identity.AgentNotFound):
        identity.updateAgent(UNKNOWN_AGENT, "", ZERO_ADDRESS, sender=stranger)


def test_existence_is_checked_even_for_the_zero_address(identity):
    """The owner of an unknown agent reads as zero. The zero address must not count as its owner."""
    with ape.reverts(identity.AgentNotFound):
        identity.updateAgent.call(UNKNOWN_AGENT, "", ZERO_ADDRESS, sender=ZERO_ADDRESS)


def test_owner_is_checked_before_domain_and_address_in_an_update(identity, named_agent, owner, other_owner):
    identity.register(sender=other_owner)
    with ape.reverts(identity.UnauthorizedUpdate):
        identity.updateAgent(2, DOMAIN, other_owner, sender=owner)


def test_domain_is_checked_before_the_address_in_an_update(identity, named_agent, other_owner):
    identity.register(sender=other_owner)
    with ape.reverts(identity.DomainAlreadyRegistered):
        identity.updateAgent(2, DOMAIN, other_owner, sender=other_owner)


# Looking agents up


def test_described_address_is_the_wallet_if_set_else_the_owner(identity, agent, owner, other_owner, wallet_key, rotate):
    assert identity.getAgent(agent).agentAddress == owner
    rotate(wallet_key)
    assert identity.getAgent(agent).agentAddress == wallet_key
    identity.unsetAgentWallet(agent, sender=owner)
    assert identity.getAgent(agent).agentAddress == owner
    identity.transferFrom(owner, other_owner, agent, sender=owner)
    assert identity.getAgent(agent).agentAddress == other_owner


def test_agent_is_found_by_owner_and_by_wallet(identity, agent, owner, wallet_key, rotate):
    rotate(wallet_key)
    described = (agent, "", wallet_key.address)
    assert identity.resolveByAddress(owner) == described
    assert identity.resolveByAddress(wallet_key) == described


def test_unknown_agent_is_not_described(identity, agent):
    for unknown in (0, agent + 1, UNKNOWN_AGENT):
        with ape.reverts(identity.AgentNotFound):
            identity.getAgent(unknown)


@pytest.mark.parametrize("domain", [OTHER_DOMAIN, "", "gent.example", f"{DOMAIN}.", f" {DOMAIN}"])
def test_domain_that_no_agent_holds_is_not_found(identity, named_agent, domain):
    with ape.reverts(identity.AgentNotFound):
        identity.resolveByDomain(domain)


def test_address_that_speaks_as_no_agent_is_not_found(identity, agent, stranger):
    for account in (stranger.address, identity.address, ZERO_ADDRESS):
        with ape.reverts(identity.AgentNotFound):
            identity.resolveByAddress(account)
