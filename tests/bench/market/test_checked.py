"""A market on a real chain, indexed, and the real check under each named policy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.market.checked import measured
from tests.bench.market.conftest import SMALL


@pytest.fixture(scope="module")
def rows():
    """Return the answers of each policy about the last purchases of a small market."""
    return {row["policy"]: row for row in measured(1, replace(SMALL, accounts=240, days=14, attackers=3), until=12)}


def test_answers_are_about_the_same_purchases_and_add_up(rows):
    assert len({(row["asks"], row["cheats"]) for row in rows.values()}) == 1
    for row in rows.values():
        assert row["asks"] > 20
        assert sum(row[f"good {answer}"] for answer in ("accept", "caution", "decline")) == pytest.approx(1)


def test_strict_policies_accept_and_lose_no_more_than_the_default_one(rows):
    balanced, strict, own = rows.values()
    assert strict["good accept"] <= balanced["good accept"]
    assert strict["lost"] <= balanced["lost"]
    assert 0 < own["good accept"] <= balanced["good accept"]


def test_default_policy_serves_and_keeps_most_money_from_cheats(rows):
    balanced = rows["`balanced`"]
    assert balanced["served"] > 0.8
    assert balanced["lost"] <= balanced["lost without"]
