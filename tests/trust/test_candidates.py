"""Candidates of detectors."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from bench.trust.candidates import findings, flooded, joins, ratings, trials
from bench.trust.speed import tables
from bench.trust.worlds.honest import honest_world
from bench.trust.worlds.kinds import FAMILIES
from bench.trust.worlds.world import Settings
from bilateral.trust.coding import coded
from bilateral.trust.context import Context

TINY = Settings(clients=250, owners=120, platforms=1, communities=2)


@cache
def context():
    made = honest_world(3, TINY)
    for family in ("star", "ring", "wash_ring", "camouflaged_ring"):
        FAMILIES[family](made, made.begin(family, 8))
    return Context.of(coded(made.tables()[0]))


@pytest.mark.parametrize("way", [joins, trials])
def test_candidates_lose_no_finding(way):
    proposed = way(context())
    told = {name: rows for name, rows in findings(context()).items() if name in proposed}
    assert sum(rows.any() for rows in told.values()) >= 3
    for name, rows in told.items():
        assert not (rows & ~proposed[name]).any(), name


def test_trials_propose_more_than_findings_and_less_than_joins():
    any_of = [np.logical_or.reduce(list(way(context()).values())).mean() for way in (findings, trials, joins)]
    assert any_of == sorted(any_of)


def test_a_flood_is_as_large_as_the_market_and_of_new_accounts():
    market = tables(1000)
    flood = flooded(market)
    assert flood.feedback.num_rows == 2000
    assert not set(flood.feedback["client"].to_pylist()[1000:]) & set(market.feedback["client"].to_pylist())


def test_ratings_of_traders_become_feedback_from_0_to_100(tmp_path):
    file = tmp_path / "ratings.csv"
    file.write_text("1,2,10,5.0\n2,1,-10,6.0\n")
    market = ratings(file)
    assert market.feedback["value"].to_pylist() == [100, 0]
    assert market.agents["agent_id"].to_pylist() == [1, 2]
    assert market.agents["owner"].to_pylist() == [market.feedback["client"][place].as_py() for place in (0, 1)]
