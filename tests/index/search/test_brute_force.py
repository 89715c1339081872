"""Searches find exactly what a plain filter of everything in Python finds, in the same order, on both engines.

`BILATERAL_SEARCHES=1000` makes it 1,000 searches on each engine.
"""

from __future__ import annotations

import os

from bilateral.index.queries import search as searching
from bilateral.index.queries.search import search_agents
from tests.index.search.random_searches import RandomSearches

SEARCHES = int(os.environ.get("BILATERAL_SEARCHES", "120"))


def keys(page):
    return [(it.chain_id, it.identity_registry, it.agent_id) for it in page.items]


def test_random_searches_find_what_a_plain_filter_finds(connection, oracle, monkeypatch):
    searches, found_some, gated = RandomSearches(oracle, seed=1), 0, 0
    for number in range(SEARCHES):
        # Few files or many: the two ways of looking ratings up find the same.
        monkeypatch.setattr(searching, "_FEW", 2_000 * (number % 2))
        search = searches.make()
        found = search_agents(connection, search, limit=1_000)
        expected = oracle.search(search)
        assert keys(found) == expected, search
        assert found.next is None
        found_some += bool(expected)
        gated += bool(expected) and bool(search.gates)
    assert found_some >= SEARCHES // 3
    assert gated >= SEARCHES // 8


def test_pages_of_random_searches_join_to_the_whole(connection, oracle):
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
