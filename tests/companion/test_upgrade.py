"""The identity registry's owner replaces its code by one that gives every agent to a thief, and later restores it."""

from __future__ import annotations

import ape
import pytest

from bilateral.core.signatures import FeedbackAuth, encode_feedback_auth
from tests.authorized.helpers import MAX_UINT256, Given, authorization, domain_of, refusal, sign
from tests.calls import encoded
from tests.companion.conftest import UNKNOWN_AGENT
from tests.deployed import implementation_of

FEEDBACK = (87, 0, "starred", "", "", "", bytes(32))


@pytest.fixture
def thief(stranger):
    return stranger


@pytest.fixture
def steal(project, deployer, identity, thief):
    """A function that replaces the identity registry's code, and returns another one that restores it."""
    honest = implementation_of(identity)

    def steal():
        identity.upgradeToAndCall(deployer.deploy(project.IdentityIsStolen, thief), b"", sender=deployer)
        return lambda: identity.upgradeToAndCall(honest, b"", sender=deployer)

    return steal


@pytest.fixture
def authorized(project, deployer, companion):
    return deployer.deploy(project.AuthorizedReputationRegistry, companion)


def test_ratings_and_feedback_that_exist_stay_as_they_are(
    chain, ratings, authorized, steal, speaking, client_agent, owner, client, thief
):
    ratings.rateClient(client_agent, 35, sender=owner)
    ratings.giveFeedback(speaking, *FEEDBACK, sender=client)
    feedback_auth = authorization(authorized, chain, owner, speaking, client, 1)
    authorized.giveFeedback(*Given(speaking, feedback_auth), sender=client)

    def views():
        return (
            tuple(ratings.getClientRating(client_agent, speaking)),
            tuple(ratings.getSummary(speaking, [client.address], "", "")),
            tuple(ratings.readFeedback(speaking, client, 1)),
            tuple(authorized.getSummary(speaking)),
            tuple(authorized.getFeedback(speaking, 0)),
        )

    before = views()
    steal()
    assert views() == before
    with ape.reverts(ratings.RaterNotRegistered, account=thief):
        ratings.rateClient(client_agent, 100, sender=thief)
    assert tuple(ratings.getClientRating(client_agent, speaking)) == (True, 35)


def test_thief_cannot_change_a_rating_in_the_name_of_the_stolen_agent(
    companion, ratings, steal, speaking, client_agent, owner, thief
):
    ratings.rateClient(client_agent, 35, sender=owner)
    steal()
    companion.setPrimaryAgent(speaking, sender=thief)
    with ape.reverts(ratings.AlreadyRated, subjectId=client_agent, serverId=speaking):
        ratings.rateClient(client_agent, 100, sender=thief)


def test_thief_speaks_as_any_agent_until_the_code_is_restored(
    companion, ratings, steal, speaking, client_agent, second_agent, owner, thief
):
    restore = steal()
    companion.setPrimaryAgent(speaking, sender=thief)
    assert (companion.agentOf(owner), companion.agentOf(thief)) == (0, speaking)
    ratings.rateClient(client_agent, 0, sender=thief)
    restore()
    assert (companion.agentOf(owner), companion.agentOf(thief)) == (speaking, 0)
    with ape.reverts(ratings.RaterNotRegistered, account=thief):
        ratings.rateClient(second_agent, 0, sender=thief)
    assert tuple(ratings.getClientRating(client_agent, speaking)) == (True, 0), "this rating stays"


def test_thief_authorises_feedback_until_the_code_is_restored(authorized, chain, steal, speaking, client, thief):
    auth = FeedbackAuth(speaking, client.address, 2, MAX_UINT256, chain.chain_id)
    entry = Given(speaking, encode_feedback_auth(auth, sign(thief, auth, domain_of(authorized, chain))))
    assert refusal(authorized, client, entry)[0] == "SignerNotOwner"
    restore = steal()
    authorized.giveFeedback(*entry, sender=client)
    restore()
    assert refusal(authorized, client, entry)[0] == "SignerNotOwner"
    assert authorized.getFeedbackCount(speaking) == 1


def test_count_that_a_lie_raised_stays_and_single_ratings_still_ask(companion, ratings, steal, speaking, owner, thief):
    restore = steal()
    companion.proveAgent(MAX_UINT256, sender=thief)
    restore()
    assert companion.getAgentCount() == MAX_UINT256
    with ape.reverts(ratings.SubjectNotRegistered, agentId=UNKNOWN_AGENT):
        ratings.rateClient(UNKNOWN_AGENT, 35, sender=owner)
    ratings.rateClients([UNKNOWN_AGENT], [35], sender=owner)
    with ape.reverts(ratings.RatingRefused, position=0, reason=encoded("SubjectNotRegistered(uint256)", 0)):
        ratings.rateClients([0], [35], sender=owner)
