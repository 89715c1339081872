"""ERC-721, ERC-6093 and `isAuthorizedOrOwner`, except transfers."""

from __future__ import annotations

import ape
import pytest
from ape.utils import ZERO_ADDRESS

from tests.helpers import logged
from tests.identity.conftest import UNKNOWN_AGENT


@pytest.fixture
def refuse_ether(identity, owner):
    """Sends a call with one wei, and expects a revert."""

    def send(method, *arguments):
        with ape.reverts(identity.EtherNotAccepted, value=1):
            method(*arguments, value=1, sender=owner)
        assert identity.balance == 0

    return send


def test_token_has_the_deployed_registries_name_and_symbol(identity):
    assert identity.name() == "AgentIdentity"
    assert identity.symbol() == "AGENT"


# Owners and balances


def test_unknown_token_has_no_owner(identity, agent):
    for unknown in (0, agent + 1, UNKNOWN_AGENT, 2**256 - 1):
        with ape.reverts(identity.ERC721NonexistentToken, tokenId=unknown):
            identity.ownerOf(unknown)


def test_balance_counts_an_accounts_agents(identity, owner, other_owner):
    for balance in range(3):
        assert identity.balanceOf(owner) == balance
        identity.register(sender=owner)
    assert identity.balanceOf(other_owner) == 0


def test_zero_address_has_no_balance(identity):
    with ape.reverts(identity.ERC721InvalidOwner, owner=ZERO_ADDRESS):
        identity.balanceOf(ZERO_ADDRESS)


# Approval for one token


def test_owner_may_approve(identity, agent, owner, approved):
    receipt = identity.approve(approved, agent, sender=owner)
    assert identity.getApproved(agent) == approved
    assert logged(receipt) == [("Approval", {"owner": owner.address, "account": approved.address, "id": agent})]


def test_operator_may_approve(identity, agent, owner, operator, approved):
    identity.setApprovalForAll(operator, True, sender=owner)
    receipt = identity.approve(approved, agent, sender=operator)
    assert identity.getApproved(agent) == approved
    assert logged(receipt) == [("Approval", {"owner": owner.address, "account": approved.address, "id": agent})]


def test_approved_account_may_not_approve(identity, agent, owner, approved, stranger):
    identity.approve(approved, agent, sender=owner)
    with ape.reverts(identity.ERC721InvalidApprover, approver=approved.address):
        identity.approve(stranger, agent, sender=approved)


def test_stranger_may_not_approve(identity, agent, stranger):
    with ape.reverts(identity.ERC721InvalidApprover, approver=stranger.address):
        identity.approve(stranger, agent, sender=stranger)


def test_wallet_may_not_approve(identity, agent, wallet_key, rotate):
    rotate(wallet_key)
    with ape.reverts(identity.ERC721InvalidApprover, approver=wallet_key.address):
        identity.approve(wallet_key, agent, sender=wallet_key)


def test_approval_may_be_withdrawn(identity, agent, owner, approved):
    identity.approve(approved, agent, sender=owner)
    receipt = identity.approve(ZERO_ADDRESS, agent, sender=owner)
    assert identity.getApproved(agent) == ZERO_ADDRESS
    assert not identity.isAuthorizedOrOwner(approved, agent)
    assert logged(receipt) == [("Approval", {"owner": owner.address, "account": ZERO_ADDRESS, "id": agent})]


def test_token_has_no_approved_account_at_first(identity, agent):
    assert identity.getApproved(agent) == ZERO_ADDRESS


def test_unknown_token_cannot_be_approved(identity, owner, approved):
    with ape.reverts(identity.ERC721NonexistentToken, tokenId=UNKNOWN_AGENT):
        identity.approve(approved, UNKNOWN_AGENT, sender=owner)


def test_unknown_token_has_no_approved_account(identity):
    with ape.reverts(identity.ERC721NonexistentToken, tokenId=UNKNOWN_AGENT):
        identity.getApproved(UNKNOWN_AGENT)


# Approval for all tokens


def test_owner_may_appoint_an_operator(identity, owner, operator):
    receipt = identity.setApprovalForAll(operator, True, sender=owner)
    assert identity.isApprovedForAll(owner, operator)
    assert not identity.isApprovedForAll(operator, owner)
    assert logged(receipt) == [
        ("ApprovalForAll", {"owner": owner.address, "operator": operator.address, "isApproved": True})
    ]


def test_operator_may_be_dismissed(identity, owner, operator):
    identity.setApprovalForAll(operator, True, sender=owner)
    receipt = identity.setApprovalForAll(operator, False, sender=owner)
    assert not identity.isApprovedForAll(owner, operator)
    assert logged(receipt) == [
        ("ApprovalForAll", {"owner": owner.address, "operator": operator.address, "isApproved": False})
    ]


def test_operator_may_act_for_agents_that_come_later(identity, owner, operator):
    identity.setApprovalForAll(operator, True, sender=owner)
    identity.register(sender=owner)
    assert identity.isAuthorizedOrOwner(operator, 1)


def test_zero_address_cannot_be_operator(identity, owner):
    with ape.reverts(identity.ERC721InvalidOperator, operator=ZERO_ADDRESS):
        identity.setApprovalForAll(ZERO_ADDRESS, True, sender=owner)


# isAuthorizedOrOwner


def test_authorised_account_is_authorised(identity, agent, authorised):
    assert identity.isAuthorizedOrOwner(authorised, agent)


def test_nobody_else_is_authorised(identity, agent, unauthorised):
    assert not identity.isAuthorizedOrOwner(unauthorised, agent)


def test_zero_address_appoints_no_operator(identity, operator):
    """The zero address sends no transaction, but a simulated call can use it."""
    with ape.reverts(identity.ERC721InvalidApprover, approver=ZERO_ADDRESS):
        identity.setApprovalForAll.call(operator, True, sender=ZERO_ADDRESS)


def test_zero_address_is_not_authorised_although_nobody_is_approved(identity, agent):
    assert identity.getApproved(agent) == ZERO_ADDRESS
    assert not identity.isAuthorizedOrOwner(ZERO_ADDRESS, agent)


def test_nobody_is_authorised_for_an_unknown_agent(identity, owner):
    with ape.reverts(identity.ERC721NonexistentToken, tokenId=UNKNOWN_AGENT):
        identity.isAuthorizedOrOwner(owner, UNKNOWN_AGENT)


# Ether: ERC-721 allows these functions to accept it, but the registry could never return it


def test_transfer_takes_no_ether(identity, agent, owner, other_owner, refuse_ether):
    refuse_ether(identity.transferFrom, owner, other_owner, agent)


def test_safe_transfer_takes_no_ether(identity, agent, owner, other_owner, refuse_ether):
    refuse_ether(identity.safeTransferFrom, owner, other_owner, agent)
    refuse_ether(identity.safeTransferFrom, owner, other_owner, agent, b"data")


def test_approval_takes_no_ether(identity, agent, approved, refuse_ether):
    refuse_ether(identity.approve, approved, agent)
