"""Every filter, order and page that the schema offers gives what plain Python gives."""

from __future__ import annotations

import pytest

from bilateral.api.graphql.schema import PLURALS, graphql_schema
from tests.api.graphql.oracle import BY_BLOCK, Generator, Oracle, everything
from tests.api.world import CHAIN_ID

PAGES = 60


@pytest.fixture(scope="module")
def rows(query):
    return everything(query)


@pytest.mark.parametrize("chain_id", [CHAIN_ID, None], ids=["one chain", "all chains"])
@pytest.mark.parametrize("seed", range(1))
def test_pages_equal_those_of_plain_python(query, rows, chain_id, seed):
    oracle, generator = Oracle(rows), Generator(seed, rows, graphql_schema())
    full = 0
    for _ in range(PAGES):
        entity, where, order_by, descending, first, skip = generator.page()
        is_by_block = chain_id is not None and (entity, order_by) in BY_BLOCK
        if is_by_block:
            first, skip = 1000, 0
        plural, direction = PLURALS[entity][0], "desc" if descending else "asc"
        times = "createdAt" if is_by_block else ""
        text = (
            f"query ($where: {entity}_filter) {{ {plural}(where: $where, orderBy: {order_by}, "
            f"orderDirection: {direction}, first: {first}, skip: {skip}) {{ id {times} }} }}"
        )
        answer = query(text, {"where": where}, chain=chain_id)[plural]
        expected = oracle.page(entity, where, order_by, descending, first, skip)
        ids = [entry["id"] for entry in answer]
        full += bool(expected)
        if is_by_block:
            times = [int(entry["createdAt"]) for entry in answer]
            assert times == sorted(times, reverse=descending)
            ids, expected = sorted(ids), sorted(expected)
        assert ids == expected, (text, where)
    assert full > PAGES // 4
