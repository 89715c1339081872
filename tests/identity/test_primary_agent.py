"""`agentOf` and `setPrimaryAgent`: the primary agent of an account. No other account can choose it."""

from __future__ import annotations

import ape
import pytest
from ape.utils import ZERO_ADDRESS

from tests.helpers import logged
from tests.identity.conftest import UNKNOWN_AGENT
from tests.identity.events import primary_agent_set


@pytest.fixture
def agents(identity, owner):
    """Three agents of the owner. The first is the owner's primary agent."""
    for _ in range(3):
        identity.register(sender=owner)
    return [1, 2, 3]


# By registration


@pytest.mark.parametrize("count", [1, 2, 3])
def test_account_speaks_as_the_first_agent_that_it_registered(identity, owner, count):
    for _ in range(count):
        identity.register(sender=owner)
    assert identity.agentOf(owner) == 1
    assert identity.resolveByAddress(owner).agentId == 1


def test_account_without_agent_speaks_as_none(identity, agent, stranger):
    assert identity.agentOf(stranger) == 0
    assert identity.agentOf(ZERO_ADDRESS) == 0


def test_account_whose_primary_agent_is_gone_speaks_as_the_next_that_it_registers(identity, agents, owner, other_owner):
    identity.transferFrom(owner, other_owner, 1, sender=owner)
    identity.register(sender=owner)
    assert identity.agentOf(owner) == 4


# By choice


def test_owner_chooses_among_its_agents(identity, agents, owner):
    for choice in (3, 2, 1, 1):
        receipt = identity.setPrimaryAgent(choice, sender=owner)
        assert identity.agentOf(owner) == choice
        assert identity.resolveByAddress(owner).agentId == choice
        assert logged(receipt) == [primary_agent_set(owner, choice)]


def test_choice_survives_another_registration(identity, agents, owner):
    identity.setPrimaryAgent(2, sender=owner)
    identity.register(sender=owner)
    assert identity.agentOf(owner) == 2


def test_choice_leaves_the_balance_as_it_is(identity, agents, owner):
    identity.setPrimaryAgent(2, sender=owner)
    assert identity.balanceOf(owner) == 3


def test_wallet_chooses_an_agent_that_it_serves(identity, agents, owner, wallet_key, rotate):
    rotate(wallet_key, agent_id=1)
    rotate(wallet_key, agent_id=2)
    receipt = identity.setPrimaryAgent(2, sender=wallet_key)
    assert identity.agentOf(wallet_key) == 2
    assert logged(receipt) == [primary_agent_set(wallet_key, 2)]


def test_owner_chooses_an_agent_that_has_another_wallet(identity, agents, owner, wallet_key, rotate):
    rotate(wallet_key, agent_id=2)
    identity.setPrimaryAgent(2, sender=owner)
    assert identity.agentOf(owner) == identity.agentOf(wallet_key) == 2


@pytest.mark.parametrize("role", ["stranger", "operator", "approved"])
def test_nobody_but_owner_and_wallet_may_choose_an_agent(identity, agent, owner, request, role):
    account = request.getfixturevalue(role)
    if role == "operator":
        identity.setApprovalForAll(account, True, sender=owner)
    if role == "approved":
        identity.approve(account, agent, sender=owner)
    with ape.reverts(identity.NotOwnerOrWallet, account=account.address, agentId=agent):
        identity.setPrimaryAgent(agent, sender=account)
    assert identity.agentOf(account) == 0


def test_former_wallet_may_not_choose_the_agent(identity, agent, owner, wallet_key, stranger, rotate):
    rotate(wallet_key)
    rotate(stranger)
    with ape.reverts(identity.NotOwnerOrWallet, account=wallet_key.address, agentId=agent):
        identity.setPrimaryAgent(agent, sender=wallet_key)


def test_former_owner_may_not_choose_the_agent(identity, agent, owner, other_owner):
    identity.transferFrom(owner, other_owner, agent, sender=owner)
    with ape.reverts(identity.NotOwnerOrWallet, account=owner.address, agentId=agent):
        identity.setPrimaryAgent(agent, sender=owner)


def test_agent_without_wallet_cannot_be_chosen_by_the_zero_address(identity, agent, owner):
    """A simulated call can use the zero address as sender, and "no wallet" reads as zero."""
    identity.unsetAgentWallet(agent, sender=owner)
    with ape.reverts(identity.NotOwnerOrWallet, account=ZERO_ADDRESS, agentId=agent):
        identity.setPrimaryAgent.call(agent, sender=ZERO_ADDRESS)


@pytest.mark.parametrize("unknown", [0, UNKNOWN_AGENT])
def test_unknown_agent_cannot_be_chosen(identity, agent, owner, unknown):
    with ape.reverts(identity.ERC721NonexistentToken, tokenId=unknown):
        identity.setPrimaryAgent(unknown, sender=owner)
    assert identity.agentOf(owner) == agent


# By transfer


def test_transfer_ends_the_senders_speaking_for_the_agent(identity, agent, owner, other_owner):
    identity.transferFrom(owner, other_owner, agent, sender=owner)
    assert identity.agentOf(owner) == 0
    with ape.reverts(identity.AgentNotFound):
        identity.resolveByAddress(owner)


def test_transfer_of_another_agent_leaves_the_primary_one(identity, agents, owner, other_owner):
    identity.transferFrom(owner, other_owner, 2, sender=owner)
    assert identity.agentOf(owner) == 1


def test_account_whose_primary_agent_is_gone_speaks_as_none_until_it_chooses(identity, agents, owner, other_owner):
    identity.transferFrom(owner, other_owner, 1, sender=owner)
    assert identity.agentOf(owner) == 0
    assert identity.balanceOf(owner) == 2
    identity.setPrimaryAgent(3, sender=owner)
    assert identity.agentOf(owner) == 3


def test_nobody_speaks_as_an_agent_because_it_was_given_to_him(identity, agent, owner, stranger):
    identity.transferFrom(owner, stranger, agent, sender=owner)
    assert identity.agentOf(stranger) == 0
    identity.setPrimaryAgent(agent, sender=stranger)
    assert identity.agentOf(stranger) == agent


def test_receiver_goes_on_speaking_as_before(identity, agent, owner, other_owner):
    identity.register(sender=other_owner)
    identity.transferFrom(owner, other_owner, agent, sender=owner)
    assert identity.agentOf(other_owner) == 2


def test_transfer_ends_the_wallets_speaking_for_the_agent(identity, agent, owner, other_owner, wallet_key, rotate):
    rotate(wallet_key)
    assert identity.agentOf(wallet_key) == agent
    identity.transferFrom(owner, other_owner, agent, sender=owner)
    assert identity.agentOf(wallet_key) == 0


def test_wallet_that_receives_the_agent_goes_on_speaking_for_it(identity, agent, owner, wallet_key, rotate):
    rotate(wallet_key)
    identity.transferFrom(owner, wallet_key, agent, sender=owner)
    assert identity.agentOf(wallet_key) == agent
    assert identity.agentOf(owner) == 0


def test_owner_that_proved_itself_as_wallet_ceases_to_speak_by_a_transfer(identity, agent, owner, other_owner, rotate):
    rotate(owner)
    identity.transferFrom(owner, other_owner, agent, sender=owner)
    assert identity.agentOf(owner) == 0


def test_owner_that_proved_itself_as_wallet_speaks_on_after_a_transfer_to_itself(identity, agent, owner, rotate):
    rotate(owner)
    identity.transferFrom(owner, owner, agent, sender=owner)
    assert identity.agentOf(owner) == agent


def test_wallet_ceases_to_speak_by_a_transfer_of_the_agent_to_its_owner(identity, agent, owner, wallet_key, rotate):
    rotate(wallet_key)
    identity.transferFrom(owner, owner, agent, sender=owner)
    assert identity.agentOf(wallet_key) == 0
    assert identity.agentOf(owner) == agent


def test_update_to_an_address_ends_the_owners_speaking(identity, agent, owner, other_owner):
    identity.updateAgent(agent, "", other_owner, sender=owner)
    assert (identity.agentOf(owner), identity.agentOf(other_owner)) == (0, 0)


def test_agent_that_comes_back_is_not_primary_by_itself(identity, agent, owner, other_owner):
    identity.transferFrom(owner, other_owner, agent, sender=owner)
    identity.transferFrom(other_owner, owner, agent, sender=other_owner)
    assert identity.agentOf(owner) == 0


# By wallet


def test_proven_wallet_speaks_as_the_agent(identity, agent, wallet_key, rotate):
    rotate(wallet_key)
    assert identity.agentOf(wallet_key) == agent


def test_proven_wallet_that_speaks_as_another_agent_goes_on_doing_so(identity, agents, wallet_key, rotate):
    rotate(wallet_key, agent_id=2)
    rotate(wallet_key, agent_id=1)
    assert identity.agentOf(wallet_key) == 2


def test_proven_wallet_that_owns_an_agent_goes_on_speaking_as_that(identity, agent, other_owner, rotate):
    identity.register(sender=other_owner)
    rotate(other_owner)
    assert identity.agentOf(other_owner) == 2


def test_owner_that_received_an_agent_speaks_as_it_by_proving_itself_as_wallet(
    identity, agent, owner, other_owner, consent, deadline
):
    identity.transferFrom(owner, other_owner, agent, sender=owner)
    signature = consent(other_owner, owner=other_owner.address)
    identity.setAgentWallet(agent, other_owner, deadline, signature, sender=other_owner)
    assert identity.agentOf(other_owner) == agent


def test_rotated_wallet_ceases_to_speak(identity, agent, wallet_key, stranger, rotate):
    rotate(wallet_key)
    rotate(stranger)
    assert (identity.agentOf(wallet_key), identity.agentOf(stranger)) == (0, agent)


def test_unset_wallet_ceases_to_speak(identity, agent, owner, wallet_key, rotate):
    rotate(wallet_key)
    identity.unsetAgentWallet(agent, sender=owner)
    assert identity.agentOf(wallet_key) == 0


def test_wallet_that_is_set_again_goes_on_speaking(identity, agent, wallet_key, rotate):
    rotate(wallet_key)
    rotate(wallet_key)
    assert identity.agentOf(wallet_key) == agent


def test_rotated_wallet_that_speaks_as_another_agent_goes_on_doing_so(identity, agents, owner, wallet_key, rotate):
    rotate(wallet_key, agent_id=1)
    rotate(wallet_key, agent_id=2)
    identity.unsetAgentWallet(2, sender=owner)
    assert identity.agentOf(wallet_key) == 1


@pytest.mark.parametrize("proven", [False, True], ids=["implied wallet", "proven wallet"])
def test_owner_speaks_on_when_it_is_no_longer_the_wallet(identity, agent, owner, wallet_key, rotate, proven):
    if proven:
        rotate(owner)
    rotate(wallet_key)
    assert identity.agentOf(owner) == agent
    identity.unsetAgentWallet(agent, sender=owner)
    assert identity.agentOf(owner) == agent


def test_nobody_speaks_as_an_agent_by_a_consent_that_was_not_used(identity, agent, wallet_key, consent):
    consent(wallet_key)
    assert identity.agentOf(wallet_key) == 0


# resolveRating


def test_rating_is_resolved_to_the_raters_agent_and_the_subjects_existence(identity, agents, owner, stranger):
    identity.setPrimaryAgent(2, sender=owner)
    assert identity.resolveRating(owner, 3) == (2, True)
    assert identity.resolveRating(owner, 4) == (2, False)
    assert identity.resolveRating(stranger, 3) == (0, True)
    assert identity.resolveRating(stranger, 0) == (0, False)


def test_rating_by_a_wallet_is_resolved_to_its_agent(identity, agents, wallet_key, rotate):
    rotate(wallet_key, agent_id=3)
    assert identity.resolveRating(wallet_key, 1) == (3, True)
