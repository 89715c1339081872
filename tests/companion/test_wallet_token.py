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


LARGE = [10**15 + 1, 2**32 + 1, 2**64 + 1, 2**128 + 1, 2**255 + 1]


@pytest.fixture(scope="module")
def registries(project, deployer, companion):
    """The registries that store something by agent: of feedback and ratings, and of validations."""
    return [
        deployer.deploy(getattr(project, name), companion)
        for name in ("BidirectionalReputationRegistry", "ValidationRegistry")
    ]


@pytest.mark.parametrize("agent_id", LARGE)
def test_wallet_and_owner_alone_accept_feedback_for_a_large_id(
    registries, token, owner, wallet_key, stranger, client, agent_id
):
    ratings, _ = registries
    token.mint(agent_id, sender=owner)
    for number in (3, 4, 5):
        token.mint(number, sender=client)
    token.setAgentWallet(agent_id, wallet_key, sender=owner)
    for account in (stranger, client):
        with ape.reverts(ratings.UnauthorizedFeedback):
            ratings.acceptFeedback(3, agent_id, sender=account)
    ratings.acceptFeedback(3, agent_id, sender=wallet_key)
    ratings.acceptFeedback(4, agent_id, sender=owner)
    assert [ratings.isFeedbackAuthorized(number, agent_id)[0] for number in (3, 4, 5)] == [True, True, False]
    token.setAgentWallet(agent_id, ZERO_ADDRESS, sender=owner)
    with ape.reverts(ratings.UnauthorizedFeedback):
        ratings.acceptFeedback(5, agent_id, sender=wallet_key)


@pytest.mark.parametrize("agent_id", LARGE)
def test_records_of_ids_that_differ_in_high_bits_alone_are_apart(
    companion, registries, token, owner, other_owner, client, stranger, agent_id
):
    ratings, validation = registries
    token.mint(1, sender=owner)
    token.mint(agent_id, sender=other_owner)
    token.mint(7, sender=client)
    for account, number in ((owner, 1), (other_owner, agent_id), (client, 7)):
        companion.setPrimaryAgent(number, sender=account)
    ratings.giveFeedback(agent_id, 87, 0, "", "", "", "", bytes(32), sender=stranger)
    ratings.rateClient(7, 35, sender=other_owner)
    ratings.rateClient(agent_id, 45, sender=client)
    ratings.acceptFeedback(7, agent_id, sender=other_owner)
    if agent_id < 2**64:
        validation.validationRequest(stranger, agent_id, "ipfs://request", b"\x07" * 32, sender=other_owner)
    else:  # it refuses larger ids, and cuts none
        with ape.reverts(validation.SafeCastOverflowedUintDowncast, bits=64, value=agent_id):
            validation.validationRequest(stranger, agent_id, "ipfs://request", b"\x07" * 32, sender=other_owner)
    assert [ratings.getLastIndex(number, stranger) for number in (1, agent_id)] == [0, 1]
    assert [tuple(ratings.getClientRating(7, number)) for number in (1, agent_id)] == [(False, 0), (True, 35)]
    assert [tuple(ratings.getClientRating(number, 7)) for number in (1, agent_id)] == [(False, 0), (True, 45)]
    assert [ratings.isFeedbackAuthorized(7, number)[0] for number in (1, agent_id)] == [False, True]
    assert [len(validation.getAgentValidations(number)) for number in (1, agent_id)] == [0, int(agent_id < 2**64)]
    with ape.reverts("Self-feedback not allowed"):
        ratings.giveFeedback(agent_id, 87, 0, "", "", "", "", bytes(32), sender=other_owner)
