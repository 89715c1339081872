"""Reads of feedback by position and by client; feedback never changes."""

from __future__ import annotations

import ape
import pytest
from eth_abi.abi import encode
from eth_utils import keccak

from tests.authorized.helpers import MAX_UINT64, MAX_UINT256, plain, tag
from tests.helpers import isolated, logged

PATTERN = "aabaaabbabaaaaab"
"""The raters in order: `a` is the client, eleven times, which fills three pages of its record; `b` is another."""


@pytest.fixture(scope="session")
def rated_id(identity, owner):
    """An agent for the history below only."""
    return identity.register(sender=owner).return_value


@pytest.fixture(scope="session")
def history(authorize, give, rated_id, client, other_client):
    """The expected records of feedback in the order of `PATTERN`."""
    clients = {
        who: (rater, authorize(99, agent_id=rated_id, client=rater))
        for who, rater in (("a", client), ("b", other_client))
    }
    records = []
    for position, who in enumerate(PATTERN):
        sender, feedback_auth = clients[who]
        tags = tag(f"tag {position % 3}"), tag("") if position % 2 else tag("second")
        receipt = give(feedback_auth, agent_id=rated_id, sender=sender, score=position * 6, tag1=tags[0], tag2=tags[1])
        records.append(
            {
                "position": position,
                "clientAddress": sender.address,
                "score": position * 6,
                "tag1": tags[0],
                "tag2": tags[1],
                "timestamp": receipt.timestamp,
            }
        )
    return records


def of(history, account):
    return [record for record in history if record["clientAddress"] == account.address]


def page(feedback):
    return [plain(entry) for entry in feedback]


def test_feedback_reads_as_it_was_given(registry, rated_id, history):
    assert [plain(registry.getFeedback(rated_id, position)) for position in range(len(history))] == history


def test_feedback_bears_the_time_of_its_block(registry, chain, give, agent_id):
    time = chain.pending_timestamp + 12_345
    chain.pending_timestamp = time
    give()
    assert registry.getFeedback(agent_id, 0).timestamp == time == chain.blocks.head.timestamp


def test_time_fits_for_the_next_34_000_years(registry, chain, give, agent_id):
    last_second = 2**40 - 1
    chain.pending_timestamp = last_second
    give(score=100)
    feedback = registry.getFeedback(agent_id, 0)
    assert (feedback.timestamp, feedback.score) == (last_second, 100)


@pytest.mark.parametrize("beyond", [len(PATTERN), len(PATTERN) + 1, 2**48, MAX_UINT64])
def test_position_past_the_last_is_refused(registry, rated_id, history, beyond):
    assert registry.getFeedback(rated_id, len(history) - 1).position == len(history) - 1
    with ape.reverts(registry.PositionOutOfBounds, agentId=rated_id, position=beyond, count=len(history)):
        registry.getFeedback(rated_id, beyond)


def test_agent_without_feedback_has_no_position_0(registry, other_agent_id):
    with ape.reverts(registry.PositionOutOfBounds, agentId=other_agent_id, position=0, count=0):
        registry.getFeedback(other_agent_id, 0)


OFFSETS = [0, 1, 4, 5, 11, 12, 15, 16, 17, MAX_UINT256]
LIMITS = [0, 1, 5, 16, 17, MAX_UINT256]


@pytest.mark.parametrize("offset", OFFSETS)
def test_pages_of_an_agent_are_slices_of_all_its_feedback(registry, rated_id, history, offset):
    for limit in LIMITS:
        assert page(registry.getFeedbackPage(rated_id, offset, limit)) == history[offset:][:limit]


@pytest.mark.parametrize("offset", OFFSETS)
def test_pages_of_a_client_are_slices_of_all_that_it_gave(registry, rated_id, history, client, other_client, offset):
    for account in (client, other_client):
        for limit in LIMITS:
            read = registry.getClientFeedbackPage(rated_id, account, offset, limit)
            assert page(read) == of(history, account)[offset:][:limit]


def test_pages_of_whoever_gave_nothing_are_empty(registry, rated_id, other_agent_id, history, stranger, client):
    assert len(history) == registry.getFeedbackCount(rated_id)
    assert registry.getClientFeedbackPage(rated_id, stranger, 0, 10) == []
    assert registry.getClientFeedbackPage(other_agent_id, client, 0, 10) == []
    assert registry.getFeedbackPage(other_agent_id, 0, 10) == []
    assert registry.getFeedbackPage(999, 0, 10) == []


def test_count_and_indexes_agree_with_what_was_given(registry, rated_id, history, client, other_client):
    assert registry.getFeedbackCount(rated_id) == len(history)
    assert registry.getLastIndex(rated_id, client) == len(of(history, client)) == 11
    assert registry.getLastIndex(rated_id, other_client) == len(of(history, other_client)) == 5


def test_transfer_of_the_agent_leaves_its_feedback_as_it_is(registry, identity, rated_id, history, owner, other_owner):
    identity.transferFrom(owner, other_owner, rated_id, sender=owner)
    assert page(registry.getFeedbackPage(rated_id, 0, 99)) == history


def test_later_feedback_leaves_the_earlier_as_it_is(
    registry, chain, authorize, give, rated_id, history, client, stranger
):
    with isolated(chain):
        for score in (0, 100):
            for sender, tag1 in ((client, tag("tag 0")), (stranger, tag("new"))):
                feedback_auth = authorize(99, agent_id=rated_id, client=sender)
                give(feedback_auth, agent_id=rated_id, sender=sender, score=score, tag1=tag1)
        assert page(registry.getFeedbackPage(rated_id, 0, len(history))) == history


def test_nothing_but_giving_feedback_changes_the_registry(registry):
    assert [method.name for method in registry.contract_type.mutable_methods] == ["giveFeedback"]


def test_everything_in_storage_can_be_rebuilt_from_the_log(registry, entry, give, agent_id, client):
    receipt = give(score=33)
    ((_, event),) = logged(receipt)
    feedback = plain(registry.getFeedback(agent_id, 0))
    assert feedback == entry.record(client, 0, receipt.timestamp) | {"score": 33}
    assert {name: event[name] for name in ("clientAddress", "score", "tag1", "tag2")} == {
        name: feedback[name] for name in ("clientAddress", "score", "tag1", "tag2")
    }


def test_every_position_of_48_bits_is_remembered(registry, chain, authorize, give, agent_id, client):
    """The test writes the agent's count into storage, because so much feedback would take centuries."""
    count, feedback_auth = 2**48 - 12, authorize(limit=11)
    slot = int.from_bytes(keccak(encode(["uint256", "uint256"], [agent_id, 0])))
    chain.provider.set_storage(registry.address, slot, count.to_bytes(32))
    assert registry.getFeedbackCount(agent_id) == count
    for score in range(11):
        give(feedback_auth, score=score)
    read = registry.getClientFeedbackPage(agent_id, client, 0, 99)
    assert [(entry.position, entry.score) for entry in read] == [(count + score, score) for score in range(11)]
    assert registry.getFeedback(agent_id, count + 10).score == 10
