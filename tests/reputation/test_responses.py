"""Responses to feedback, and their counts."""

from __future__ import annotations

import ape
import pytest
from ape.exceptions import VirtualMachineError
from ape.utils import ZERO_ADDRESS

from tests.helpers import logged
from tests.reputation.storage import feedback_slot

URI = "ipfs://QmAnswer"
HASH = bytes(range(32, 64))

MOST_RESPONSES = 2**40 - 1
"""The largest number of responses that a feedback's word can count."""


@pytest.fixture
def rated(give, client, other_client):
    """Two feedbacks of the client, and one of the other client."""
    for sender in (client, client, other_client):
        give(sender)


@pytest.fixture
def respond(reputation, agent):
    def respond(sender, client, index, times=1):
        for _ in range(times):
            receipt = reputation.appendResponse(agent, client, index, URI, HASH, sender=sender)
        return receipt

    return respond


@pytest.fixture
def answered(rated, respond, client, other_client, owner, stranger):
    """Responses of several accounts, with the counts that the tests expect."""
    respond(owner, client, 1, times=3)
    respond(stranger, client, 1)
    respond(owner, client, 2)
    respond(owner, other_client, 1, times=2)


@pytest.mark.usefixtures("rated")
def test_response_is_emitted_whole(respond, agent, client, owner):
    assert logged(respond(owner, client, 2)) == [
        (
            "ResponseAppended",
            {
                "agentId": agent,
                "clientAddress": client.address,
                "feedbackIndex": 2,
                "responder": owner.address,
                "responseURI": URI,
                "responseHash": HASH,
            },
        )
    ]


@pytest.mark.usefixtures("rated")
@pytest.mark.parametrize("role", ["owner", "client", "stranger"])
def test_anybody_may_answer(request, respond, reputation, agent, client, role):
    respond(request.getfixturevalue(role), client, 1)
    assert reputation.getResponseCount(agent, client, 1, []) == 1


@pytest.mark.usefixtures("rated")
def test_revoked_feedback_may_be_answered(respond, reputation, agent, client, owner):
    reputation.revokeFeedback(agent, 1, sender=client)
    respond(owner, client, 1)
    assert reputation.getResponseCount(agent, client, 1, []) == 1
    assert reputation.readFeedback(agent, client, 1).isRevoked


@pytest.mark.usefixtures("answered")
def test_answered_feedback_may_be_revoked(reputation, agent, client):
    reputation.revokeFeedback(agent, 1, sender=client)
    assert reputation.getResponseCount(agent, client, 1, []) == 4


@pytest.mark.usefixtures("answered")
def test_answers_change_nothing_of_the_feedback(reputation, agent, client):
    assert tuple(reputation.readFeedback(agent, client, 1)) == (87, 0, "", "", False)
    assert tuple(reputation.getSummary(agent, [client], "", "")) == (2, 87, 0)


@pytest.mark.usefixtures("rated")
def test_index_zero_is_refused(reputation, agent, client, owner):
    with ape.reverts("index must be > 0"):
        reputation.appendResponse(agent, client, 0, "", HASH, sender=owner)


@pytest.mark.usefixtures("rated")
def test_empty_uri_is_refused_before_the_index_is_looked_up(reputation, agent, client, owner):
    with ape.reverts("Empty URI"):
        reputation.appendResponse(agent, client, 3, "", HASH, sender=owner)


@pytest.mark.usefixtures("rated")
@pytest.mark.parametrize("index", [3, 2**32, 2**32 + 1, 2**64 - 1])
def test_index_past_the_last_is_refused(reputation, agent, client, owner, index):
    with ape.reverts("index out of bounds"):
        reputation.appendResponse(agent, client, index, URI, HASH, sender=owner)


@pytest.mark.usefixtures("rated")
@pytest.mark.parametrize("who", ["unknown client", "unknown agent"])
def test_feedback_that_nobody_gave_cannot_be_answered(reputation, agent, client, stranger, owner, who):
    target = (agent, stranger) if who == "unknown client" else (404, client)
    with ape.reverts("index out of bounds"):
        reputation.appendResponse(*target, 1, URI, HASH, sender=owner)


@pytest.mark.usefixtures("answered")
def test_no_responders_stand_for_all(reputation, agent, client, other_client):
    counts = [reputation.getResponseCount(agent, *of, []) for of in ((client, 1), (client, 2), (other_client, 1))]
    assert counts == [4, 1, 2]


@pytest.mark.usefixtures("answered")
def test_responders_are_counted_by_name(reputation, agent, client, owner, stranger):
    counts = [reputation.getResponseCount(agent, client, 1, entry) for entry in ([owner], [stranger], [client])]
    assert counts == [3, 1, 0]


@pytest.mark.usefixtures("answered")
def test_responder_that_is_listed_twice_counts_twice(reputation, agent, client, owner, stranger):
    assert reputation.getResponseCount(agent, client, 1, [owner, stranger, owner]) == 7


@pytest.mark.usefixtures("answered")
def test_index_zero_stands_for_all_of_a_clients_feedback(reputation, agent, client, owner):
    assert reputation.getResponseCount(agent, client, 0, []) == 5
    assert reputation.getResponseCount(agent, client, 0, [owner]) == 4


@pytest.mark.usefixtures("answered")
@pytest.mark.parametrize("index", [0, 1, 99])
def test_zero_client_stands_for_all_clients_whatever_the_index(reputation, agent, owner, index):
    assert reputation.getResponseCount(agent, ZERO_ADDRESS, index, []) == 7
    assert reputation.getResponseCount(agent, ZERO_ADDRESS, index, [owner]) == 6


@pytest.mark.usefixtures("answered")
@pytest.mark.parametrize("index", [3, 2**32, 2**32 + 1, 2**64 - 1])
def test_feedback_that_nobody_gave_has_no_answers(reputation, agent, client, owner, index):
    assert reputation.getResponseCount(agent, client, index, []) == 0
    assert reputation.getResponseCount(agent, client, index, [owner]) == 0


@pytest.mark.usefixtures("answered")
def test_unknown_agent_has_no_answers(reputation, client):
    assert reputation.getResponseCount(404, ZERO_ADDRESS, 0, []) == 0
    assert reputation.getResponseCount(404, client, 0, []) == 0


@pytest.fixture
def answers_up_to(give, reputation, agent, client, networks):
    """A function that sets the number of responses of the client's first feedback in storage."""
    give(client, value=-5, decimals=3, tag1="tag")
    slot = feedback_slot(agent, client, 1)

    def up_to(count):
        word = int.from_bytes(networks.provider.get_storage(reputation.address, slot))
        networks.provider.set_storage(reputation.address, slot, (word | count << 216).to_bytes(32))

    return up_to


def test_last_response_that_a_feedback_counts_is_taken(answers_up_to, respond, reputation, agent, client, owner):
    answers_up_to(MOST_RESPONSES - 1)
    respond(owner, client, 1)
    assert reputation.getResponseCount(agent, client, 1, []) == MOST_RESPONSES
    assert tuple(reputation.readFeedback(agent, client, 1)) == (-5, 3, "tag", "", False)


def test_no_response_follows_the_last(answers_up_to, respond, client, owner):
    answers_up_to(MOST_RESPONSES)
    with pytest.raises(VirtualMachineError, match="overflow"):
        respond(owner, client, 1)
