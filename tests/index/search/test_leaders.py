"""Leaderboards: the order of lower bounds, each agent once, page by page."""

from __future__ import annotations

import pytest

from bilateral.errors import InvalidArgumentError
from bilateral.query.pages import InvalidCursorError
from bilateral.query.search.filters import Side
from bilateral.query.search.leaders import leaderboard

BOARDS = [("starred", Side.SERVER), ("uptime", Side.SERVER), ("", Side.CLIENT), ("", Side.VALIDATOR)]


def keys(page):
    return [(item.chain_id, item.identity_registry, item.agent_id) for item in page.items]


@pytest.mark.parametrize(("tag", "side"), BOARDS, ids=["stars", "uptime", "clients", "validators"])
def test_a_leaderboard_is_in_the_order_of_lower_bounds_with_each_agent_once(connection, oracle, tag, side):
    expected = oracle.leaders(tag, side)
    assert len(expected) > 7  # more than one page
    assert keys(leaderboard(connection, tag, side, limit=1_000)) == expected
    agents, cursor = [], None
    while True:
        page = leaderboard(connection, tag, side, limit=7, cursor=cursor)
        agents += keys(page)
        if (cursor := page.next) is None:
            break
    assert agents == expected


def test_a_leaderboard_of_another_chain_is_empty(connection):
    assert leaderboard(connection, "starred", chains=(1,)).items == ()
    assert leaderboard(connection, "unused").items == ()


def test_a_tag_without_a_scale_has_no_leaderboard(connection):
    with pytest.raises(InvalidArgumentError) as raised:
        leaderboard(connection, "responseTime")
    assert str(raised.value) == 'the tag "responseTime" has no greatest value, and so no lower bound to rank by'


def test_a_cursor_is_of_one_leaderboard(connection):
    page = leaderboard(connection, "starred", limit=1)
    with pytest.raises(InvalidCursorError):
        leaderboard(connection, "uptime", limit=1, cursor=page.next)
