"""Reads of feedback that nobody gave: in an empty registry, and of agents whose ids differ in high bits only."""

from __future__ import annotations

import ape
import pytest

from tests.authorized.helpers import MAX_UINT256


def assert_no_feedback(registry, agent_id, client):
    """Check every view of an agent without feedback."""
    assert tuple(registry.getSummary(agent_id)) == (0, 0)
    assert registry.getFeedbackCount(agent_id) == 0
    assert registry.getLastIndex(agent_id, client) == 0
    assert list(registry.getFeedbackPage(agent_id, 0, MAX_UINT256)) == []
    assert list(registry.getClientFeedbackPage(agent_id, client, 0, MAX_UINT256)) == []
    with ape.reverts(registry.PositionOutOfBounds, agentId=agent_id, position=0, count=0):
        registry.getFeedback(agent_id, 0)


@pytest.mark.parametrize("agent_id", [0, 1, MAX_UINT256])
def test_empty_registry_has_no_feedback(deployer, project, client, agent_id):
    empty = deployer.deploy(project.AuthorizedReputationRegistry, deployer.deploy(project.IdentityRegistry))
    assert_no_feedback(empty, agent_id, client)


@pytest.mark.parametrize("high_bit", [8, 32, 48, 64, 128, 160, 255])
def test_agent_has_no_feedback_of_an_agent_whose_id_differs_in_a_high_bit(registry, give, agent_id, client, high_bit):
    give()
    assert registry.getFeedbackCount(agent_id) == 1
    assert_no_feedback(registry, agent_id + 2**high_bit, client)
