"""Leaderboards: the order of lower bounds, each agent once, page by page."""

from __future__ import annotations

from functools import partial

import pytest
from sqlalchemy import insert, select

from bilateral.core.errors import InvalidArgumentError
from bilateral.index.log.tables import registry
from bilateral.index.reading.pages import InvalidCursorError
from bilateral.index.search.filters import Side
from bilateral.index.search.leaders import Board, leaderboard
from bilateral.index.standing.tables import standing_refresh

BOARDS = [("starred", Side.SERVER), ("uptime", Side.SERVER), ("", Side.CLIENT), ("", Side.VALIDATOR)]


by_bound = partial(leaderboard, board=Board.LOWER_BOUND)


@pytest.fixture
def analysed(connection):
    """The index after an analysis that found no agent worth a standing."""
    key = connection.execute(select(registry.c.chain_id, registry.c.identity_registry).distinct()).mappings().first()
    connection.execute(insert(standing_refresh).values(**key, block_number=1))
    yield connection
    connection.rollback()


def keys(page):
    return [(item.chain_id, item.identity_registry, item.agent_id) for item in page.items]


@pytest.mark.parametrize(("tag", "side"), BOARDS, ids=["stars", "uptime", "clients", "validators"])
def test_a_leaderboard_is_in_the_order_of_lower_bounds_with_each_agent_once(analysed, oracle, tag, side):
    expected = oracle.leaders(tag, side)
    assert len(expected) > 7  # more than one page
    assert keys(by_bound(analysed, tag, side, limit=1_000)) == expected
    agents, cursor = [], None
    while True:
        page = by_bound(analysed, tag, side, limit=7, cursor=cursor)
        agents += keys(page)
        if (cursor := page.next) is None:
            break
    assert agents == expected


def test_a_leaderboard_of_another_chain_is_empty(analysed):
    assert by_bound(analysed, "starred", chains=(1,)).items == ()
    assert by_bound(analysed, "unused").items == ()


@pytest.mark.parametrize("board", [None, *Board])
def test_nobody_leads_before_the_first_analysis(connection, board):
    assert leaderboard(connection, "starred", board=board).items == ()


@pytest.mark.parametrize("side", [Side.SERVER, Side.CLIENT])
def test_lower_bounds_do_not_stand_in_for_standings(analysed, side):
    assert leaderboard(analysed, "starred" if side is Side.SERVER else "", side).items == ()


def test_validators_are_ranked_by_lower_bound_and_have_no_other_board(analysed):
    assert keys(leaderboard(analysed, "", Side.VALIDATOR)) == keys(by_bound(analysed, "", Side.VALIDATOR)) != []
    with pytest.raises(InvalidArgumentError, match="validators have no standing: use board=lower_bound, not standing"):
        leaderboard(analysed, "", Side.VALIDATOR, board=Board.STANDING)


def test_a_tag_without_a_scale_has_no_leaderboard(connection):
    with pytest.raises(InvalidArgumentError) as raised:
        leaderboard(connection, "responseTime")
    assert str(raised.value) == 'the tag "responseTime" has no maximum value, so it cannot be ranked by lower bound'


def test_a_cursor_is_of_one_leaderboard(analysed):
    page = by_bound(analysed, "starred", limit=1)
    with pytest.raises(InvalidCursorError):
        by_bound(analysed, "uptime", limit=1, cursor=page.next)
