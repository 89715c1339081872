"""The project's registries work unchanged on top of a companion."""

from __future__ import annotations

import ape
import pytest

from tests.authorized.helpers import Given, authorization
from tests.calls import encoded
from tests.companion.conftest import UNKNOWN_AGENT
from tests.helpers import logged

FEEDBACK = (87, 0, "starred", "", "https://agent.example.com", "ipfs://feedback", bytes(32))


@pytest.fixture
def authorized(project, deployer, companion):
    return deployer.deploy(project.AuthorizedReputationRegistry, companion)


@pytest.fixture
def validation(project, deployer, companion):
    return deployer.deploy(project.ValidationRegistry, companion)


@pytest.fixture
def gate(project, deployer, ratings, companion, agent):
    return deployer.deploy(project.GatedService, ratings, companion, agent, True)


def rated(client_id, server_id, rating):
    return ("ClientRated", {"clientId": client_id, "serverId": server_id, "rating": rating})


def test_owner_rates_a_client_as_its_agent(ratings, speaking, client_agent, owner):
    receipt = ratings.rateClient(client_agent, 35, sender=owner)
    assert logged(receipt) == [rated(client_agent, speaking, 35)]
    ratings.rateValidator(client_agent, 92, sender=owner)
    assert tuple(ratings.getClientRating(client_agent, speaking)) == (True, 35)
    assert tuple(ratings.getValidatorRating(client_agent, speaking)) == (True, 92)


def test_wallet_rates_as_its_agent(ratings, companion, agent, client_agent, wallet_key, set_wallet):
    set_wallet(wallet_key)
    companion.setPrimaryAgent(agent, sender=wallet_key)
    receipt = ratings.rateClient(client_agent, 35, sender=wallet_key)
    assert logged(receipt) == [rated(client_agent, agent, 35)]


def test_agent_zero_is_rated_alone_but_not_in_a_batch(companion, ratings, speaking, agent_zero, owner):
    receipt = ratings.rateClient(agent_zero, 35, sender=owner)
    assert logged(receipt) == [rated(agent_zero, speaking, 35)]
    companion.proveAgent(speaking, sender=owner)
    refusal = encoded("SubjectNotRegistered(uint256)", agent_zero)
    with ape.reverts(ratings.RatingRefused, position=0, reason=refusal):
        ratings.rateValidators([agent_zero], [35], sender=owner)


def test_account_that_lost_its_agent_does_not_rate(identity, ratings, speaking, client_agent, owner, other_owner):
    identity.transferFrom(owner, other_owner, speaking, sender=owner)
    with ape.reverts(ratings.RaterNotRegistered, account=owner):
        ratings.rateClient(client_agent, 35, sender=owner)


def test_unknown_agent_is_not_rated(ratings, speaking, owner):
    with ape.reverts(ratings.SubjectNotRegistered, agentId=UNKNOWN_AGENT):
        ratings.rateClient(UNKNOWN_AGENT, 35, sender=owner)


def test_rating_that_names_the_expected_owner_is_refused_after_a_transfer(
    identity, ratings, speaking, client_agent, owner, client, other_owner
):
    identity.transferFrom(client, other_owner, client_agent, sender=client)
    with ape.reverts(ratings.UnexpectedOwner, agentId=client_agent, expected=client.address, found=other_owner.address):
        ratings.rateClientAs(client_agent, 35, speaking, client, sender=owner)
    ratings.rateClientAs(client_agent, 35, speaking, other_owner, sender=owner)


@pytest.mark.parametrize("rating", [0, 69, 70, 100])
@pytest.mark.parametrize("trusts_newcomers", [True, False])
@pytest.mark.parametrize("caller", ["stranger", "owner of agent 0"])
def test_rating_of_agent_zero_opens_the_gate_for_nobody(
    project, deployer, companion, ratings, speaking, agent_zero, owner, stranger, rating, trusts_newcomers, caller
):
    ratings.rateClient(agent_zero, rating, sender=owner)
    gate = deployer.deploy(project.GatedService, ratings, companion, speaking, trusts_newcomers)
    account = stranger if caller == "stranger" else deployer
    with ape.reverts(gate.ClientNotRated, clientId=0, serverId=speaking):
        gate.serve(sender=account)
    assert gate.served(0) == 0


def test_gate_declines_a_badly_rated_client(companion, ratings, gate, speaking, client_agent, owner, client, agent):
    companion.setPrimaryAgent(client_agent, sender=client)
    gate.serve(sender=client)
    ratings.rateClient(client_agent, 35, sender=owner)
    with ape.reverts(gate.ClientDeclined, clientId=client_agent, serverId=agent, rating=35, minimum=70):
        gate.serve(sender=client)


def test_feedback_is_open_to_all_but_owner_and_operators(
    identity, ratings, agent_zero, agent, client, owner, operator, deployer
):
    identity.setApprovalForAll(operator, True, sender=owner)
    ratings.giveFeedback(agent, *FEEDBACK, sender=client)
    ratings.giveFeedback(agent_zero, *FEEDBACK, sender=client)
    assert ratings.getSummary(agent_zero, [client.address], "", "") == (1, 87, 0)
    for account, agent_id in ((owner, agent), (operator, agent), (deployer, agent_zero)):
        with ape.reverts("Self-feedback not allowed"):
            ratings.giveFeedback(agent_id, *FEEDBACK, sender=account)


def test_feedback_on_an_unknown_agent_is_refused(project, ratings, client):
    with ape.reverts(project.MockDeployedIdentityRegistry.ERC721NonexistentToken, tokenId=UNKNOWN_AGENT):
        ratings.giveFeedback(UNKNOWN_AGENT, *FEEDBACK, sender=client)


@pytest.mark.parametrize("server", [0, 1])
def test_owner_of_any_agent_even_of_agent_zero_authorises_clients(
    ratings, agent_zero, agent, client_agent, deployer, owner, server
):
    ratings.acceptFeedback(client_agent, server, sender=deployer if server == agent_zero else owner)
    assert ratings.isFeedbackAuthorized(client_agent, server)[0]
    with ape.reverts(ratings.UnauthorizedFeedback):
        ratings.acceptFeedback(client_agent, server, sender=owner if server == agent_zero else deployer)


def test_owner_authorises_feedback_by_a_signature(authorized, identity, chain, agent, owner, client, other_owner):
    feedback_auth = authorization(authorized, chain, owner, agent, client, 2)
    entry = Given(agent, feedback_auth)
    receipt = authorized.giveFeedback(*entry, sender=client)
    assert logged(receipt) == [entry.event(client)]
    identity.transferFrom(owner, other_owner, agent, sender=owner)
    with ape.reverts(authorized.SignerNotOwner, signer=owner.address, owner=other_owner.address):
        authorized.giveFeedback(*entry, sender=client)


def test_authorisation_for_an_unknown_agent_is_refused(authorized, project, chain, owner, client):
    feedback_auth = authorization(authorized, chain, owner, UNKNOWN_AGENT, client, 1)
    with ape.reverts(project.MockDeployedIdentityRegistry.ERC721NonexistentToken, tokenId=UNKNOWN_AGENT):
        authorized.giveFeedback(*Given(UNKNOWN_AGENT, feedback_auth), sender=client)


def test_owner_asks_for_validation(validation, agent, owner, client, validator):
    request_hash = b"\x01" * 32
    with ape.reverts("Not authorized"):
        validation.validationRequest(validator, agent, "ipfs://request", request_hash, sender=client)
    validation.validationRequest(validator, agent, "ipfs://request", request_hash, sender=owner)
    validation.validationResponse(request_hash, 90, "", bytes(32), "", sender=validator)
    assert validation.getSummary(agent, [], "") == (1, 90)
