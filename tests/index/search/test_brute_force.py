"""Searches find exactly what a plain filter of everything in Python finds, in the same order, on both engines.

`make compare-searches` makes it 1,000 searches with conditions on ratings on each engine.
"""

from __future__ import annotations

import os
import random
from itertools import chain
from math import ceil

import pytest
from sqlalchemy import insert, select

from bilateral.index.agents.tables import agent
from bilateral.index.search import plans as search_plans
from bilateral.index.search.filters import AgentSearch, Gate, Side
from bilateral.index.search.queries import search_agents
from bilateral.index.standing.tables import standing, standing_refresh
from tests.index.search.random_searches import RandomSearches

SEARCHES = int(os.environ.get("BILATERAL_SEARCHES", "40"))

FIGURES = {
    "reasons": "[]",
    **dict.fromkeys(("lower_bound", "upper_bound", "effective_raters", "raters", "payments", "paid"), 0),
    "evidence_cost": 0,
}


@pytest.fixture
def count(part):
    """The number of searches with conditions on ratings."""
    return ceil(SEARCHES * part)


def keys(page):
    return [(item.chain_id, item.identity_registry, item.agent_id) for item in page.items]


def pages_of(connection, search, limit):
    """Return the keys of the agents of each page."""
    pages, cursor = [], None
    while cursor is not None or not pages:
        page = search_agents(connection, search, limit=limit, cursor=cursor)
        pages.append(keys(page))
        cursor = page.next
    return pages


@pytest.fixture(params=[True, False], ids=["standings", "no standings"])
def stood(request, connection, oracle):
    """The index, with made-up standings of servers and of some clients: some held back, and none of the newest."""
    random_ = random.Random(4)  # noqa: S311  # reproducible, not secret
    agents = connection.execute(select(agent).order_by(agent.c.registered_block)).mappings().all()
    if request.param:
        key = {name: agents[0][name] for name in ("chain_id", "identity_registry")}
        last = agents[-4]["registered_block"]
        connection.execute(insert(standing_refresh).values(**key, block_number=last))
        for row in agents:
            for side in [Side.SERVER] * (row["registered_block"] <= last) + [Side.CLIENT] * (random_.random() < 0.5):
                rank = random_.choice((None, 0.0, 0.0, 25.5, 60.25, 80.1, 1 / 3))
                names = {"side": side.value, "agent_id": row["agent_id"], "rank": rank, "status": "ok"}
                connection.execute(insert(standing).values(**key, **names, **FIGURES))
                oracle.standings[side, (row["chain_id"], row["identity_registry"], int(row["agent_id"]))] = rank
    yield connection
    oracle.standings.clear()
    connection.rollback()


def test_random_searches_find_what_a_plain_filter_finds(stood, oracle, monkeypatch, count):
    searches, found_some, gated, passed, number = RandomSearches(oracle, seed=1), 0, 0, 0, 0
    while gated < count:
        number += 1
        # Few files or many, few ratings or many: all plans find the same.
        monkeypatch.setattr(search_plans, "FEW_FILES", (2_000, 0, 0, 4)[number % 4])
        monkeypatch.setattr(search_plans, "FEW_RATED", (2_000, 2_000, 0, 4)[number % 4])
        monkeypatch.setattr(search_plans, "MOST_LISTED", (2_000, 2_000, 0, 8)[number % 4])
        monkeypatch.setattr(search_plans, "MOST_SCANNED", (2_000, 0, 20)[number % 3])
        search = searches.make()
        agents = search_agents(stood, search, limit=1_000)
        expected = oracle.search(search)
        assert keys(agents) == expected, search
        assert agents.next is None
        found_some += bool(expected)
        gated += bool(search.gates)
        passed += bool(search.gates and expected)
    print(f"{number} searches, {gated} of them gated: the same agents in the same order as a plain filter finds")
    assert found_some >= number // 3
    assert passed >= gated // 4


@pytest.mark.parametrize("few", [2_000, 0], ids=["few", "many"])
def test_pages_of_random_searches_join_to_the_whole(stood, oracle, monkeypatch, few, count):
    monkeypatch.setattr(search_plans, "FEW_FILES", few)
    monkeypatch.setattr(search_plans, "FEW_RATED", few)
    searches, turned = RandomSearches(oracle, seed=2), 0
    for _ in range(count // 2):
        search = searches.make()
        limit = searches.random.randint(1, 9)
        pages = pages_of(stood, search, limit)
        assert {len(page) for page in pages[:-1]} <= {limit}
        assert [*chain.from_iterable(pages)] == oracle.search(search), search
        turned += len(pages) - 1
    assert turned >= count // 4


@pytest.mark.one_engine
def test_pages_of_clients_with_a_standing_go_on_with_those_without(stood, oracle, monkeypatch):
    monkeypatch.setattr(search_plans, "FEW_FILES", 0)
    monkeypatch.setattr(search_plans, "FEW_RATED", 0)
    search = AgentSearch(text="the", gates=(Gate(side=Side.CLIENT, tag=""),))
    assert [*chain.from_iterable(pages_of(stood, search, limit=2))] == oracle.search(search)
