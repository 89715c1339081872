"""Searches find exactly what a plain filter of everything in Python finds, in the same order, on both engines.

`BILATERAL_SEARCHES=1000` makes it 1,000 searches on each engine.
"""

from __future__ import annotations

import os

import pytest

from bilateral.index.queries import search_plans
from bilateral.index.queries.search import search_agents
from tests.index.search.random_searches import RandomSearches

SEARCHES = int(os.environ.get("BILATERAL_SEARCHES", "120"))


def keys(page):
    return [(it.chain_id, it.identity_registry, it.agent_id) for it in page.items]


def test_random_searches_find_what_a_plain_filter_finds(connection, oracle, monkeypatch):
    searches, found_some, gated = RandomSearches(oracle, seed=1), 0, 0
    for number in range(SEARCHES):
        # Few files or many, few ratings or many: all plans find the same.
        monkeypatch.setattr(search_plans, "FEW_FILES", (2_000, 0, 0, 4)[number % 4])
        monkeypatch.setattr(search_plans, "FEW_RATED", (2_000, 2_000, 0, 4)[number % 4])
        search = searches.make()
        found = search_agents(connection, search, limit=1_000)
        expected = oracle.search(search)
        assert keys(found) == expected, search
        assert found.next is None
        found_some += bool(expected)
        gated += bool(expected) and bool(search.gates)
    assert found_some >= SEARCHES // 3
    assert gated >= SEARCHES // 8


@pytest.mark.parametrize("few", [2_000, 0], ids=["few", "many"])
def test_pages_of_random_searches_join_to_the_whole(connection, oracle, monkeypatch, few):
    monkeypatch.setattr(search_plans, "FEW_FILES", few)
    monkeypatch.setattr(search_plans, "FEW_RATED", few)
    searches, turned = RandomSearches(oracle, seed=2), 0
    for _ in range(SEARCHES // 6):
        search, cursor, found = searches.make(), None, []
        limit = searches.random.randint(1, 9)
        while True:
            page = search_agents(connection, search, limit=limit, cursor=cursor)
            found += keys(page)
            if (cursor := page.next) is None:
                break
            assert len(page.items) == limit
            turned += 1
        assert found == oracle.search(search), search
    assert turned >= SEARCHES // 12
