"""The feedback best practices: their table row by row, and their statements about the chain."""

from __future__ import annotations

import ape
import pytest

from bilateral.core.values import stars_to_value, value_for_tag

ROWS = [
    ("starred", "", "87", 87, 0),
    ("reachable", "", True, 1, 0),
    ("ownerVerified", "", True, 1, 0),
    ("uptime", "", "99.77", 9977, 2),
    ("successRate", "", "89", 89, 0),
    ("responseTime", "", "560", 560, 0),
    ("blocktimeFreshness", "", "4", 4, 0),
    ("revenues", "", "560", 560, 0),
    ("tradingYield", "day", "-3.2", -32, 1),
    ("tradingYield", "week", "-3.2", -32, 1),
    ("tradingYield", "month", "-3.2", -32, 1),
    ("tradingYield", "year", "-3.2", -32, 1),
]


@pytest.mark.parametrize(("tag1", "tag2", "human", "value", "decimals"), ROWS, ids=str)
def test_row_is_stored_and_summed_up_as_it_is(give, reputation, agent, client, tag1, tag2, human, value, decimals):
    stored = value_for_tag(tag1, human, tag2)
    give(client, value=stored.value, decimals=stored.decimals, tag1=tag1, tag2=tag2)
    assert tuple(reputation.readFeedback(agent, client, 1)) == (value, decimals, tag1, tag2, False)
    assert tuple(reputation.getSummary(agent, [client], tag1, tag2)) == (1, value, decimals)


def test_rows_of_one_client_are_told_apart_by_their_tags(give, reputation, agent, client):
    for tag1, tag2, _, value, decimals in ROWS:
        give(client, value=value, decimals=decimals, tag1=tag1, tag2=tag2)
    for tag1, tag2, _, value, decimals in ROWS:
        assert tuple(reputation.getSummary(agent, [client], tag1, tag2)) == (1, value, decimals)


@pytest.mark.parametrize(("stars", "value"), [(1, 20), (2, 40), (3, 60), (4, 80), (5, 100)])
def test_stars_map_to_hundredths(give, reputation, agent, client, stars, value):
    stored = stars_to_value(stars)
    give(client, value=stored.value, decimals=stored.decimals, tag1="starred")
    assert tuple(reputation.getSummary(agent, [client], "starred", "")) == (1, value, 0)


def test_summary_without_reviewers_is_refused(reputation, agent):
    with ape.reverts("clientAddresses required"):
        reputation.getSummary(agent, [], "starred", "")


def test_empty_tags_are_wildcards(give, reputation, agent, client):
    give(client, value=80, tag1="starred", tag2="finance")
    give(client, value=90, tag1="starred", tag2="travel")
    give(client, value=10, tag1="quality", tag2="finance")
    assert tuple(reputation.getSummary(agent, [client], "starred", "")) == (2, 85, 0)
    assert tuple(reputation.getSummary(agent, [client], "", "finance")) == (2, 45, 0)
    assert tuple(reputation.getSummary(agent, [client], "", "")) == (3, 60, 0)


def test_watchtowers_are_told_from_others_by_their_address(give, reputation, agent, validator, client, stranger):
    give(validator, value=9950, decimals=2, tag1="uptime")
    give(client, value=1, decimals=2, tag1="uptime")
    give(stranger, value=0, tag1="uptime")
    assert tuple(reputation.getSummary(agent, [validator], "uptime", "")) == (1, 9950, 2)


def test_average_has_the_precision_of_most_feedback(give, reputation, agent, client):
    for value, decimals in ((9977, 2), (9900, 2), (98, 0)):
        give(client, value=value, decimals=decimals, tag1="uptime")
    assert tuple(reputation.getSummary(agent, [client], "uptime", "")) == (3, 9892, 2)
