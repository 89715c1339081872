"""An account speaks as the agent that it chose, for as long as it is that agent's owner or wallet."""

from __future__ import annotations

import ape
import pytest
from ape.utils import ZERO_ADDRESS

from tests.companion.conftest import UNKNOWN_AGENT
from tests.helpers import logged
from tests.identity.events import primary_agent_set


def test_account_that_chose_no_agent_speaks_as_none(companion, agent, owner):
    assert companion.agentOf(owner) == companion.agentOf(ZERO_ADDRESS) == 0


def test_owner_chooses_among_its_agents(companion, agent, second_agent, owner):
    for choice in (agent, second_agent, second_agent):
        receipt = companion.setPrimaryAgent(choice, sender=owner)
        assert companion.agentOf(owner) == choice
        assert logged(receipt) == [primary_agent_set(owner, choice)]


def test_wallet_chooses_the_agent_that_it_serves(companion, agent, wallet_key, set_wallet):
    set_wallet(wallet_key)
    companion.setPrimaryAgent(agent, sender=wallet_key)
    assert companion.agentOf(wallet_key) == agent


def test_owner_of_an_agent_with_another_wallet_speaks_as_it(companion, speaking, owner, wallet_key, set_wallet):
    set_wallet(wallet_key)
    assert companion.agentOf(owner) == speaking


def test_contract_chooses_its_agent(companion, identity, call_as_contract, contract_wallet, second_agent):
    call_as_contract(identity, "register")
    call_as_contract(companion, "setPrimaryAgent", second_agent + 1)
    assert companion.agentOf(contract_wallet) == second_agent + 1


@pytest.mark.parametrize("role", ["stranger", "operator", "approved", "client"])
def test_nobody_but_owner_and_wallet_may_choose_an_agent(
    companion, identity, agent, client_agent, owner, request, role
):
    account = request.getfixturevalue(role)
    if role == "operator":
        identity.setApprovalForAll(account, True, sender=owner)
    if role == "approved":
        identity.approve(account, agent, sender=owner)
    with ape.reverts(companion.NotOwnerOrWallet, account=account.address, agentId=agent):
        companion.setPrimaryAgent(agent, sender=account)
    assert companion.agentOf(account) == 0


def test_agent_without_wallet_cannot_be_chosen_by_the_zero_address(companion, identity, agent, owner):
    """A simulated call can use the zero address as sender, and "no wallet" reads as zero."""
    identity.unsetAgentWallet(agent, sender=owner)
    with ape.reverts(companion.NotOwnerOrWallet, account=ZERO_ADDRESS, agentId=agent):
        companion.setPrimaryAgent.call(agent, sender=ZERO_ADDRESS)


def test_unknown_agent_cannot_be_chosen(companion, agent, owner):
    with ape.reverts(companion.ERC721NonexistentToken, tokenId=UNKNOWN_AGENT):
        companion.setPrimaryAgent(UNKNOWN_AGENT, sender=owner)


def test_nobody_speaks_as_agent_zero_not_even_its_owner(companion, agent_zero, deployer, stranger):
    for account in (deployer, stranger):
        with ape.reverts(companion.NobodySpeaksAsAgentZero, account=account.address):
            companion.setPrimaryAgent(agent_zero, sender=account)
    assert companion.agentOf(deployer) == 0


def test_refusals_name_the_contract_that_calls_and_not_the_sender_of_the_transaction(
    project, deployer, companion, agent, agent_zero, stranger
):
    wallet = deployer.deploy(project.MockWallet, stranger)
    for chosen, error in ((agent_zero, "NobodySpeaksAsAgentZero"), (agent, "NotOwnerOrWallet")):
        arguments = {"account": wallet.address} | ({"agentId": agent} if chosen else {})
        with ape.reverts(getattr(companion, error), **arguments):
            wallet.execute(companion, companion.setPrimaryAgent.encode_input(chosen), sender=stranger)


def test_transfer_ends_the_senders_speaking(companion, identity, speaking, owner, other_owner):
    identity.transferFrom(owner, other_owner, speaking, sender=owner)
    assert companion.agentOf(owner) == 0


def test_nobody_speaks_as_an_agent_because_it_was_given_to_him(companion, identity, agent, owner, other_owner):
    identity.transferFrom(owner, other_owner, agent, sender=owner)
    assert companion.agentOf(other_owner) == 0
    companion.setPrimaryAgent(agent, sender=other_owner)
    assert companion.agentOf(other_owner) == agent


def test_receiver_goes_on_speaking_as_before(companion, identity, client_agent, agent, owner, client):
    companion.setPrimaryAgent(client_agent, sender=client)
    identity.transferFrom(owner, client, agent, sender=owner)
    assert companion.agentOf(client) == client_agent


def test_account_that_gets_its_agent_back_speaks_as_it_again(companion, identity, speaking, owner, other_owner):
    identity.transferFrom(owner, other_owner, speaking, sender=owner)
    identity.transferFrom(other_owner, owner, speaking, sender=other_owner)
    assert companion.agentOf(owner) == speaking


def test_former_owner_that_became_the_wallet_speaks_on(companion, identity, speaking, owner, other_owner, set_wallet):
    identity.transferFrom(owner, other_owner, speaking, sender=owner)
    set_wallet(owner, owner=other_owner)
    assert companion.agentOf(owner) == speaking


@pytest.mark.parametrize("by", ["rotation", "removal", "transfer"])
def test_former_wallet_ceases_to_speak(
    companion, identity, agent, owner, other_owner, wallet_key, stranger, set_wallet, by
):
    set_wallet(wallet_key)
    companion.setPrimaryAgent(agent, sender=wallet_key)
    if by == "rotation":
        set_wallet(stranger)
    if by == "removal":
        identity.unsetAgentWallet(agent, sender=owner)
    if by == "transfer":
        identity.transferFrom(owner, other_owner, agent, sender=owner)
    assert companion.agentOf(wallet_key) == 0


def test_rating_is_resolved_to_the_raters_agent_and_the_subjects_existence(
    companion, speaking, agent_zero, second_agent, owner, stranger
):
    assert companion.resolveRating(owner, second_agent) == (speaking, True)
    assert companion.resolveRating(owner, agent_zero) == (speaking, True)
    assert companion.resolveRating(owner, UNKNOWN_AGENT) == (speaking, False)
    assert companion.resolveRating(stranger, second_agent) == (0, True)
