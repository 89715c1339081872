"""A companion of a token that tells no more than owners, approvals and wallets."""

from __future__ import annotations

import ape
import pytest
from ape.utils import ZERO_ADDRESS

AGENT = 2**255 + 7
"""Ids of such a token need not be small or consecutive."""

UNKNOWN = 8


@pytest.fixture(scope="module")
def token(project, deployer):
    return deployer.deploy(project.MockWalletToken)


@pytest.fixture(scope="module")
def companion(project, deployer, token):
    return deployer.deploy(project.CompanionDirectory, token)


@pytest.fixture
def agent(token, owner):
    token.mint(AGENT, sender=owner)
    return AGENT


@pytest.mark.parametrize(
    ("role", "may_act"), [("owner", True), ("operator", True), ("approved", True), ("wallet_key", False)]
)
def test_owner_operator_and_approved_address_may_act(
    companion, token, agent, owner, operator, approved, wallet_key, request, role, may_act
):
    token.setApprovalForAll(operator, True, sender=owner)
    token.approve(approved, agent, sender=owner)
    token.setAgentWallet(agent, wallet_key, sender=owner)
    assert companion.isAuthorizedOrOwner(request.getfixturevalue(role), agent) == may_act


def test_nobody_may_act_by_an_approval_that_is_not_there(companion, agent):
    assert not companion.isAuthorizedOrOwner(ZERO_ADDRESS, agent)


def test_unknown_agent_is_refused_by_its_own_error(companion, agent, owner):
    for question in (companion.ownerOf, companion.getAgentWallet):
        with ape.reverts(companion.ERC721NonexistentToken, tokenId=UNKNOWN):
            question(UNKNOWN)
    with ape.reverts(companion.ERC721NonexistentToken, tokenId=UNKNOWN):
        companion.isAuthorizedOrOwner(owner, UNKNOWN)


def test_owner_and_wallet_speak_as_the_agent(companion, token, agent, owner, wallet_key):
    token.setAgentWallet(agent, wallet_key, sender=owner)
    for account in (owner, wallet_key):
        companion.setPrimaryAgent(agent, sender=account)
        assert companion.agentOf(account) == agent


def test_nobody_speaks_as_a_burned_agent(companion, token, agent, owner, wallet_key):
    token.setAgentWallet(agent, wallet_key, sender=owner)
    for account in (owner, wallet_key):
        companion.setPrimaryAgent(agent, sender=account)
    token.burn(agent, sender=owner)
    assert companion.agentOf(owner) == companion.agentOf(wallet_key) == 0
    with ape.reverts(companion.ERC721NonexistentToken, tokenId=agent):
        companion.setPrimaryAgent(agent, sender=owner)


def test_registries_work_on_top_of_it(project, deployer, companion, token, agent, owner, client):
    ratings = deployer.deploy(project.BidirectionalReputationRegistry, companion)
    token.mint(1, sender=client)
    companion.setPrimaryAgent(agent, sender=owner)
    ratings.rateClient(1, 35, sender=owner)
    assert tuple(ratings.getClientRating(1, agent)) == (True, 35)
    ratings.giveFeedback(agent, 87, 0, "starred", "", "", "", bytes(32), sender=client)
    with ape.reverts("Self-feedback not allowed"):
        ratings.giveFeedback(agent, 87, 0, "starred", "", "", "", bytes(32), sender=owner)
    with ape.reverts(token.ERC721NonexistentToken, tokenId=UNKNOWN):
        ratings.giveFeedback(UNKNOWN, 87, 0, "starred", "", "", "", bytes(32), sender=client)
