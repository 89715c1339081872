"""Reads of one feedback, and of all."""

from __future__ import annotations

import ape
import pytest


@pytest.fixture
def rows(reputation, agent):
    """A function that returns `readAllFeedback` as rows."""

    def rows(*clients, tag1="", tag2="", include_revoked=False):
        columns = reputation.readAllFeedback(agent, clients, tag1, tag2, include_revoked)
        return list(zip(*columns, strict=True))

    return rows


@pytest.fixture
def everything(give, reputation, agent, client, other_client):
    """Feedback of two clients: the other client came first; the client's second feedback is revoked."""
    give(other_client, value=1, tag1="reachable")
    give(client, value=87, tag1="starred", tag2="finance")
    give(client, value=-32, decimals=1, tag1="tradingYield", tag2="week")
    give(client, value=60, tag1="starred", tag2="travel")
    reputation.revokeFeedback(agent, 2, sender=client)
    first = (other_client, 1, 1, 0, "reachable", "", False)
    return [
        first,
        (client, 1, 87, 0, "starred", "finance", False),
        (client, 2, -32, 1, "tradingYield", "week", True),
        (client, 3, 60, 0, "starred", "travel", False),
    ]


def test_index_zero_is_refused(give, reputation, agent, client):
    give(client)
    with ape.reverts("index must be > 0"):
        reputation.readFeedback(agent, client, 0)


@pytest.mark.parametrize("index", [2, 2**32 - 1, 2**32, 2**32 + 1, 2**64 - 1])
def test_index_past_the_last_is_refused(give, reputation, agent, client, index):
    give(client)
    with ape.reverts("index out of bounds"):
        reputation.readFeedback(agent, client, index)


@pytest.mark.parametrize("who", ["unknown client", "unknown agent"])
def test_feedback_that_nobody_gave_cannot_be_read(reputation, agent, client, stranger, give, who):
    give(client)
    with ape.reverts("index out of bounds"):
        reputation.readFeedback(*((agent, stranger) if who == "unknown client" else (404, client)), 1)


def test_no_clients_stand_for_all_in_the_order_of_their_first_feedback(everything, rows):
    assert rows(include_revoked=True) == everything


def test_revoked_feedback_is_left_out_unless_asked_for(everything, rows, client):
    assert rows() == [everything[0], everything[1], everything[3]]
    assert rows(include_revoked=True) == everything
    assert rows(client) == [everything[1], everything[3]]
    assert rows(client, include_revoked=True) == everything[1:]
    assert rows(tag1="tradingYield") == []
    assert rows(tag1="tradingYield", include_revoked=True) == [everything[2]]


def test_clients_are_read_in_the_order_asked_for(everything, rows, client, other_client):
    assert rows(client, other_client, include_revoked=True) == [*everything[1:], everything[0]]


def test_client_that_is_listed_twice_is_read_twice(everything, rows, client):
    assert rows(client, client) == [everything[1], everything[3]] * 2


@pytest.mark.usefixtures("everything")
def test_unknown_client_has_nothing_to_read(rows, stranger):
    assert rows(stranger) == []


def test_first_tag_filters(everything, rows):
    assert rows(tag1="starred") == [everything[1], everything[3]]


def test_second_tag_filters(everything, rows):
    assert rows(tag2="week", include_revoked=True) == [everything[2]]


def test_both_tags_filter_together(everything, rows):
    assert rows(tag1="starred", tag2="travel") == [everything[3]]
    assert rows(tag1="starred", tag2="week", include_revoked=True) == []


@pytest.mark.usefixtures("everything")
def test_tag_that_nobody_used_finds_nothing(rows):
    assert rows(tag1="finance") == []
    assert rows(tag1="nowhere") == []
    assert rows(tag2="nowhere") == []


def test_agent_without_feedback_has_nothing_to_read(rows):
    assert rows() == []


def test_unknown_agent_has_nothing_to_read(reputation):
    assert [list(column) for column in reputation.readAllFeedback(404, [], "", "", True)] == [[]] * 7
