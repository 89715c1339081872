"""The summary of an agent: the number of its feedbacks, and the average score."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.authorized.model import Model
from tests.helpers import isolated


@pytest.fixture(scope="session")
def authorizations(authorize, client, other_client, stranger):
    """Three clients, with an authorisation for each."""
    return [(entry, authorize(limit=1_000, client=entry)) for entry in (client, other_client, stranger)]


def test_agent_without_feedback_has_a_summary_of_zeros(registry, agent_id):
    assert registry.getSummary(agent_id) == (0, 0)
    assert registry.getFeedbackCount(agent_id) == 0


def test_unknown_agent_has_a_summary_of_zeros(registry):
    assert registry.getSummary(999) == (0, 0)
    assert registry.getFeedbackCount(999) == 0


@pytest.mark.parametrize(
    ("scores", "average"),
    [([0], 0), ([100], 100), ([0, 1], 0), ([99, 100], 99), ([1, 1, 0], 0), ([100, 100, 99], 99), ([0, 0, 100], 33)],
    ids=str,
)
def test_average_is_rounded_toward_zero(registry, give, agent_id, scores, average):
    for score in scores:
        give(score=score)
    assert registry.getSummary(agent_id) == (len(scores), average)


SEQUENCES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 100)), max_size=12)


@settings(max_examples=12, deadline=None, derandomize=True)
@example([(0, 100)] * 12)
@given(sequence=SEQUENCES)
def test_summary_is_that_of_the_model_after_every_feedback(
    registry, chain, give, agent_id, authorizations, owner, sequence
):
    model = Model(chain.chain_id, {agent_id: owner.address})
    with isolated(chain):
        for who, score in sequence:
            sender, feedback_auth = authorizations[who]
            give(feedback_auth, sender=sender, score=score)
            model.give(agent_id, {"clientAddress": sender.address, "score": score})
            assert registry.getSummary(agent_id) == model.summary(agent_id)
        assert registry.getFeedbackCount(agent_id) == len(sequence)


def test_repeated_feedback_of_one_client_counts_as_often_as_it_is_given(registry, give, agent_id, authorizations):
    (loud, its_auth), (quiet, other_auth), _ = authorizations
    for _ in range(3):
        give(its_auth, sender=loud, score=100)
    give(other_auth, sender=quiet, score=0)
    assert registry.getSummary(agent_id) == (4, 75)


def test_agents_are_summed_up_apart(registry, authorize, give, agent_id, other_agent_id, other_owner):
    give(score=10)
    give(authorize(agent_id=other_agent_id, signer=other_owner), agent_id=other_agent_id, score=90)
    assert registry.getSummary(agent_id) == (1, 10)
    assert registry.getSummary(other_agent_id) == (1, 90)


def test_transfer_of_the_agent_leaves_its_summary_as_it_is(registry, identity, give, agent_id, owner, other_owner):
    give(score=40)
    give(score=61)
    identity.transferFrom(owner, other_owner, agent_id, sender=owner)
    assert registry.getSummary(agent_id) == (2, 50)


def test_hundreds_of_feedbacks_sum_up_exactly(registry, deployer, project, authorize, agent_id, client):
    """A contract gives the highest and the lowest score two hundred times each, then another score."""
    often = deployer.deploy(project.MockRegularClient)
    feedback_auth = authorize(limit=401, client=often)
    for score, times in ((100, 100), (0, 100), (100, 100), (0, 100), (99, 1)):
        data = registry.giveFeedback.encode_input(agent_id, score, bytes(32), bytes(32), "", bytes(32), feedback_auth)
        often.repeatCall(registry, data, times, sender=client)
    assert registry.getSummary(agent_id) == (401, (200 * 100 + 99) // 401)
    assert registry.getLastIndex(agent_id, often) == 401
    last = registry.getClientFeedbackPage(agent_id, often, 398, 10)
    assert [(entry.position, entry.score) for entry in last] == [(398, 0), (399, 0), (400, 99)]
