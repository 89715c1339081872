"""Sellers that do not respond: the watchtower and the check tell which, and buyers who listen are served."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bench.market.dead import DyingMarket, compared, draw_fates
from bench.market.policies import Ranking, Truth, mean
from bench.market.settings import DAY, START, Deaths
from simulation.probes import Losses
from tests.bench.market.conftest import SMALL

TINY = replace(SMALL, accounts=300, days=14, attackers=3)
BORN = np.full(20, START)
NONE_LOST = Losses(lost=0.0, cuts=0.0)
STEADY = Deaths(never=0.0, ends=0.0, outages=0.0, losses=NONE_LOST)


def fates(days=14, **changes):
    """Return who does not respond, and who is declined, without the column of attackers."""
    tables = draw_fates(replace(TINY, days=days), BORN, replace(STEADY, **changes), 1)
    return [table[:, :-1] for table in tables]


@pytest.fixture(scope="module")
def rows():
    """Return the measures of a market with dead sellers, without and with measurements."""
    return compared(TINY, Truth(0, "oracle"), 1, Deaths())


def test_sellers_that_respond_are_never_declined():
    assert not any(table.any() for table in fates())


def test_single_lost_probes_decline_nobody():
    assert not fates(losses=replace(NONE_LOST, lost=0.01))[1].any()


def test_sellers_that_never_responded_are_declined_after_three_rounds():
    is_down, is_declined = fates(never=1.0)
    assert is_down.all()
    assert not is_declined[:3].any()
    assert is_declined[4:].all()


def test_sellers_are_declined_within_an_hour_of_an_outage_and_accepted_again():
    is_down, is_declined = fates(outages=1.0, outage=0.5)
    assert is_down.any(axis=0).all()
    assert (is_down & ~is_declined).sum(axis=0).max() <= 4
    assert is_declined[-1].sum() <= is_down[-1].sum() + 1
    assert (is_declined & ~is_down).sum(axis=0).max() <= 6


def test_long_cuts_of_the_watchtower_alone_decline_good_sellers():
    is_down, is_declined = fates(losses=replace(NONE_LOST, cuts=1.0, cut=DAY / 24))
    assert not is_down.any()
    assert 0.01 < is_declined.mean() < 0.5


def test_buyers_who_listen_try_fewer_sellers_in_vain_and_are_served_more_often(rows):
    assert rows["with"]["down"] == rows["without"]["down"] > 0.1
    assert rows["with"]["silent"] < rows["without"]["silent"] / 4
    assert rows["with"]["served"] >= rows["without"]["served"]
    assert rows["without"]["falsely"] == 0.0 <= rows["with"]["falsely"] < 0.01


def test_nobody_buys_from_a_seller_that_does_not_respond():
    market = DyingMarket(TINY, Ranking("plain mean", mean), 1)
    market.deaths = Deaths(offers=1)
    market.is_down, is_declined = draw_fates(TINY, market.log.agents["ts"], replace(STEADY, never=0.5), 1)
    market.is_declined, market.daily = np.zeros_like(is_declined), []
    market.run()
    never = market.is_down[-1, :-1]
    assert never.any()
    assert not np.isin(market.sales["agent"], np.flatnonzero(never)).any()
    assert sum(unserved for unserved, _ in market.unserved) > 0
