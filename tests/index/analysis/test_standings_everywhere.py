"""A known ring stands above no honest agent, in no answer, unless it is marked there."""

from __future__ import annotations

from decimal import Decimal

import pytest

from bilateral.checks import check_server, snapshot, stored_findings
from bilateral.core.values.decision import limit_of
from bilateral.index.search import leaders
from bilateral.index.search.filters import AgentSearch, Gate
from bilateral.index.search.leaders import Board, leaderboard
from bilateral.index.search.queries import search_agents
from bilateral.index.standing.analysis import Refresher
from bilateral.index.standing.queries import stored_standing
from tests.index.analysis.conftest import KEY

RING, HONEST = 9, range(1, 8)


@pytest.fixture
def connection(indexed, market):
    """The index of the market with a ring, whose standings are current."""
    Refresher(indexed, {KEY.chain_id: (market.chain.url,)}).refresh()
    with snapshot(indexed) as connection:
        yield connection


def check(connection, agent, amount=None):
    return check_server(connection, agent, amount=amount, findings=stored_findings)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_ring_is_marked_or_left_out_wherever_agents_are_ranked(connection):
    named = {row.agent_id: row for row in leaderboard(connection, "starred").items}
    assert set(named) == set(HONEST), "the board by standing leaves the ring out"
    (held,) = leaderboard(connection, "starred", board=Board.HELD_BACK).items
    assert (held.agent_id, held.status) == (RING, "held_back")
    assert held.reason in {"links", "lockstep", "co-targeting", "blocks"}
    first = leaderboard(connection, "starred", board=Board.LOWER_BOUND).items[0]
    assert (first.agent_id, first.status) == (RING, "held_back"), "by plain bounds it leads, marked"
    agents = search_agents(connection, AgentSearch(gates=(Gate(tag="starred"),))).items
    assert {agent.agent_id for agent in agents if agent.status == "held_back"} == {RING}


@pytest.mark.parametrize("is_common", [True, False])
def test_board_is_in_the_order_of_ranks_page_by_page_for_a_common_and_a_rare_tag(connection, monkeypatch, is_common):
    monkeypatch.setattr(leaders, "_COMMON", 1 if is_common else 1_000)
    ranks = {agent: stored_standing(connection, KEY.chain_id, KEY.identity_registry, agent).lower for agent in HONEST}
    expected = sorted(HONEST, key=lambda agent: (-ranks[agent], agent))
    page, listed = leaderboard(connection, "starred", limit=3), []
    while page.next:
        listed += page.items
        page = leaderboard(connection, "starred", limit=3, cursor=page.next)
    assert [leader.agent_id for leader in [*listed, *page.items]] == expected


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_check_declines_the_ring_and_accepts_honest_agents_for_small_stakes(connection):
    ring = check(connection, RING, Decimal("0.5"))
    assert ring.verdict == "decline"
    assert "held_back" in {reason.code for reason in ring.reasons}
    for agent in HONEST:
        codes = {
            reason.code for reason in check(connection, agent, Decimal("0.5")).reasons if reason.severity != "note"
        }
        assert not codes & {"unvetted_raters", "few_raters", "uncertain_rating", "stake_above_evidence"}


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_stake_above_the_cost_of_the_evidence_asks_for_caution(connection):
    standing = stored_standing(connection, KEY.chain_id, KEY.identity_registry, 1)
    stake = Decimal(str(limit_of(standing).amount)) + 2
    codes = {reason.code for reason in check(connection, 1, stake).reasons}
    assert "stake_above_evidence" in codes
    assert "stake_above_evidence" not in {reason.code for reason in check(connection, 1, Decimal(1)).reasons}
