"""`getAgentCount` is the highest id that was ever proven to exist. Anybody proves an agent."""

from __future__ import annotations

import ape

from tests.calls import encoded
from tests.companion.conftest import UNKNOWN_AGENT
from tests.helpers import logged


def raised(count):
    return ("AgentCountRaised", {"agentCount": count})


def test_new_companion_knows_of_no_agent(companion, agent):
    assert companion.getAgentCount() == 0


def test_anybody_raises_the_count_by_proving_an_agent(companion, agent, client_agent, stranger):
    for agent_id in (agent, client_agent):
        receipt = companion.proveAgent(agent_id, sender=stranger)
        assert (receipt.return_value, companion.getAgentCount()) == (agent_id, agent_id)
        assert logged(receipt) == [raised(agent_id)]


def test_proof_of_an_earlier_agent_changes_nothing(companion, agent_zero, agent, client_agent, stranger):
    companion.proveAgent(client_agent, sender=stranger)
    for agent_id in (client_agent, agent, agent_zero):
        receipt = companion.proveAgent(agent_id, sender=stranger)
        assert (receipt.return_value, companion.getAgentCount()) == (client_agent, client_agent)
        assert logged(receipt) == []


def test_unknown_agent_is_not_proven(companion, agent, stranger):
    with ape.reverts(companion.ERC721NonexistentToken, tokenId=UNKNOWN_AGENT):
        companion.proveAgent(UNKNOWN_AGENT, sender=stranger)
    assert companion.getAgentCount() == 0


def test_burned_agent_leaves_the_count(project, deployer, owner):
    token = deployer.deploy(project.MockWalletToken)
    companion = deployer.deploy(project.CompanionDirectory, token)
    token.mint(7, sender=owner)
    companion.proveAgent(7, sender=owner)
    token.burn(7, sender=owner)
    assert (companion.getAgentCount(), companion.agentExists(7)) == (7, False)


def test_batch_that_names_a_later_agent_is_refused_until_the_agent_is_proven(
    companion, ratings, agent, client_agent, second_agent, owner, stranger
):
    companion.setPrimaryAgent(agent, sender=owner)
    companion.proveAgent(client_agent, sender=stranger)
    refusal = encoded("SubjectNotRegistered(uint256)", second_agent)
    with ape.reverts(ratings.RatingRefused, position=1, reason=refusal):
        ratings.rateClients([client_agent, second_agent], [90, 35], sender=owner)
    companion.proveAgent(second_agent, sender=stranger)
    ratings.rateClients([client_agent, second_agent], [90, 35], sender=owner)
    assert ratings.getClientRatings([client_agent, second_agent], agent) == ([True, True], [90, 35])
