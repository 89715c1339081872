"""Direct feedback: its storage, its event and its errors."""

from __future__ import annotations

import ape
import pytest
from eth_utils import keccak

from tests.helpers import logged
from tests.reputation.model import MAX_ABS_VALUE
from tests.reputation.storage import ledger_slot

FULL = {
    "value": 87,
    "decimals": 0,
    "tag1": "starred",
    "tag2": "finance",
    "endpoint": "https://mcp.agent.example.com",
    "uri": "ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG",
    "hash": bytes(range(32)),
}

LAST_INDEX = 2**32 - 1
"""The highest index of a client's feedback on an agent."""


def test_feedback_is_emitted_whole(give, agent, client):
    assert logged(give(client, **FULL)) == [
        (
            "NewFeedback",
            {
                "agentId": agent,
                "clientAddress": client.address,
                "feedbackIndex": 1,
                "value": 87,
                "valueDecimals": 0,
                "indexedTag1": keccak(text="starred"),
                "tag1": "starred",
                "tag2": "finance",
                "endpoint": FULL["endpoint"],
                "feedbackURI": FULL["uri"],
                "feedbackHash": FULL["hash"],
            },
        )
    ]


def test_value_decimals_and_tags_are_stored(give, reputation, agent, client):
    give(client, **FULL)
    assert tuple(reputation.readFeedback(agent, client, 1)) == (87, 0, "starred", "finance", False)


def test_feedback_needs_no_more_than_a_value(give, reputation, agent, client):
    give(client, value=85)
    assert tuple(reputation.readFeedback(agent, client, 1)) == (85, 0, "", "", False)


def test_indexes_count_from_one_per_client(give, reputation, agent, client, other_client):
    indexes = [logged(give(sender))[0][1]["feedbackIndex"] for sender in (client, client, other_client, client)]
    assert indexes == [1, 2, 1, 3]
    assert [reputation.getLastIndex(agent, entry) for entry in (client, other_client)] == [3, 1]


def test_indexes_count_from_one_per_agent(give, reputation, agent, other_agent, client):
    give(client)
    give(client, agent_id=other_agent)
    assert [reputation.getLastIndex(entry, client) for entry in (agent, other_agent)] == [1, 1]


def test_stranger_has_no_index(reputation, agent, stranger):
    assert reputation.getLastIndex(agent, stranger) == 0


def test_clients_are_listed_once_in_the_order_of_their_first_feedback(
    give, reputation, agent, client, other_client, validator
):
    for sender in (other_client, client, other_client, validator, client):
        give(sender)
    assert reputation.getClients(agent) == [other_client, client, validator]


def test_client_stays_listed_when_all_it_said_is_revoked(give, reputation, agent, client):
    give(client)
    reputation.revokeFeedback(agent, 1, sender=client)
    give(client)
    assert reputation.getClients(agent) == [client]


def test_agent_without_feedback_has_no_clients(reputation, agent):
    assert reputation.getClients(agent) == []


def test_unknown_agent_has_no_clients(reputation):
    assert reputation.getClients(404) == []


@pytest.mark.parametrize("decimals", [0, 18])
def test_decimals_up_to_18_are_taken(give, reputation, agent, client, decimals):
    give(client, decimals=decimals)
    assert reputation.readFeedback(agent, client, 1).valueDecimals == decimals


@pytest.mark.parametrize("decimals", [19, 255])
def test_more_decimals_are_refused(give, client, decimals):
    with ape.reverts("too many decimals"):
        give(client, decimals=decimals)


@pytest.mark.parametrize("value", [MAX_ABS_VALUE, -MAX_ABS_VALUE, -1, 0])
def test_values_up_to_the_limits_are_taken(give, reputation, agent, client, value):
    give(client, value=value)
    assert reputation.readFeedback(agent, client, 1).value == value


@pytest.mark.parametrize("value", [MAX_ABS_VALUE + 1, -MAX_ABS_VALUE - 1, 2**127 - 1, -(2**127)])
def test_values_beyond_the_limits_are_refused(give, client, value):
    with ape.reverts("value too large"):
        give(client, value=value)


@pytest.mark.parametrize("agent_id", [0, 404, 2**256 - 1])
def test_unknown_agent_is_refused(give, identity, client, agent_id):
    with ape.reverts(identity.ERC721NonexistentToken, tokenId=agent_id):
        give(client, agent_id=agent_id)


def test_decimals_are_checked_before_the_value(give, client):
    with ape.reverts("too many decimals"):
        give(client, agent_id=404, decimals=19, value=MAX_ABS_VALUE + 1)


def test_value_is_checked_before_the_agent(give, client):
    with ape.reverts("value too large"):
        give(client, agent_id=404, value=MAX_ABS_VALUE + 1)


@pytest.fixture
def history_ending_at(give, reputation, agent, client, networks):
    """A function that sets the client's last index in storage."""
    give(client)

    def end_at(index):
        provider = networks.provider
        slot = ledger_slot(agent, client)
        word = int.from_bytes(provider.get_storage(reputation.address, slot))
        # The client's one active feedback stays active: only the last index moves.
        assert word & 0xFFFFFFFF == 1
        provider.set_storage(reputation.address, slot, (word - 1 + index).to_bytes(32))

    return end_at


def test_last_index_that_the_registry_holds_is_given(give, history_ending_at, reputation, agent, client):
    history_ending_at(LAST_INDEX - 1)
    give(client, value=5, tag1="last")
    assert reputation.getLastIndex(agent, client) == LAST_INDEX
    assert tuple(reputation.readFeedback(agent, client, LAST_INDEX)) == (5, 0, "last", "", False)
    assert tuple(reputation.getSummary(agent, [client], "", "")) == (2, 46, 0)


def test_no_feedback_follows_the_last_index(give, history_ending_at, reputation, agent, client):
    history_ending_at(LAST_INDEX)
    with ape.reverts(reputation.TooMuchFeedback, agentId=agent, clientAddress=client.address, limit=LAST_INDEX):
        give(client)
