"""Reads of feedback that nobody gave: in an empty registry, and of agents whose ids differ in high bits only."""

from __future__ import annotations

import ape
import pytest
from ape.utils import ZERO_ADDRESS


def assert_no_feedback(registry, agent_id, client):
    """Check every view of an agent without feedback."""
    assert list(registry.getClients(agent_id)) == []
    assert registry.getLastIndex(agent_id, client) == 0
    assert tuple(registry.getSummary(agent_id, [client], "", "")) == (0, 0, 0)
    for clients in ([], [client]):
        columns = registry.readAllFeedback(agent_id, clients, "", "", True)
        assert [list(column) for column in columns] == [[]] * 7
    for index in (0, 1):
        assert registry.getResponseCount(agent_id, client, index, []) == 0
        assert registry.getResponseCount(agent_id, client, index, [client]) == 0
    assert registry.getResponseCount(agent_id, ZERO_ADDRESS, 0, []) == 0
    with ape.reverts("index out of bounds"):
        registry.readFeedback(agent_id, client, 1)


@pytest.mark.parametrize("agent_id", [0, 1, 2**256 - 1])
def test_empty_registry_has_no_feedback(deployer, project, client, agent_id):
    empty = deployer.deploy(project.ReputationRegistry, deployer.deploy(project.IdentityRegistry))
    assert_no_feedback(empty, agent_id, client)
    assert_no_feedback(empty, agent_id, deployer)
    assert empty.getVoidedDeadline(client) == 0


@pytest.mark.parametrize("high_bit", [8, 32, 64, 128, 160, 255])
def test_agent_has_no_feedback_of_an_agent_whose_id_differs_in_a_high_bit(
    give, reputation, agent, client, owner, high_bit
):
    give(client)
    reputation.appendResponse(agent, client, 1, "ipfs://response", bytes(32), sender=client)
    assert_no_feedback(reputation, agent + 2**high_bit, client)
