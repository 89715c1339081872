"""Blocks are read again and compared with the rows: all of them, or some ranges."""

from __future__ import annotations

import pytest
from sqlalchemy import delete

from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.source import Source
from bilateral.index.tables import schema
from bilateral.index.verify import Verifier
from tests.index.conftest import REGISTRIES


@pytest.fixture
def compare(settled_chain, engine, follow, monkeypatch):
    """Index the settled chain, and return what compares it in ranges of 100 blocks."""
    monkeypatch.setattr("bilateral.index.verify.RANGE_BLOCKS", 100)
    follower = follow(settled_chain.url)
    while follower.step().block < settled_chain.head:
        pass
    verifier = Verifier(engine, Source(Endpoint(settled_chain.url), list(REGISTRIES)), REGISTRIES)
    return lambda **options: list(verifier.compare(0, settled_chain.head, **options))


def test_all_ranges_together_are_the_whole_chain(settled_chain, compare):
    found = compare()
    assert [it.first for it in found] == [0, *(it.last + 1 for it in found[:-1])]
    assert sum(it.rows for it in found) == len(settled_chain.logs)
    assert all(it.is_equal for it in found)


def test_samples_are_some_ranges_and_the_same_for_one_seed(compare):
    # An endpoint may give less than a range at once, which is then compared in parts.
    chosen = [{it.first // 100 for it in compare(samples=3, seed=seed)} for seed in (1, 1, 2)]
    assert chosen[0] == chosen[1] != chosen[2]
    assert {len(it) for it in chosen} == {3}


def test_each_range_names_its_own_missing_rows(engine, compare):
    table = schema.metadata.tables["registered"]
    with engine.begin() as connection:
        connection.execute(delete(table).where(table.c.block_number < 100))
    found = [it for it in compare() if not it.is_equal]
    assert {it.first // 100 for it in found} == {0}
    assert all(it.startswith("registered block ") for each in found for it in each.missing)
