"""The market of retaliation: fear silences clients where servers can answer, and nowhere else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.report import interval
from bench.retaliation import Assumptions, market

SMALL = Assumptions(servers=40, clients=400, days=20)


def test_a_market_is_the_same_for_a_seed():
    assert market(SMALL, 7) == market(SMALL, 7) != market(SMALL, 8)


@pytest.mark.parametrize("seed", range(5))
def test_open_ratings_silence_bad_words_and_blind_ones_do_not(seed):
    open_market, blind_market = market(SMALL, seed), market(replace(SMALL, adoption=1.0), seed)
    assert open_market.reported_bad < 0.85 * blind_market.reported_bad
    assert abs(blind_market.reported_bad - blind_market.reported_good) < 0.05
    assert (blind_market.retaliations, open_market.retaliations > 0) == (0.0, True)


def test_the_more_servers_seal_the_more_bad_experiences_are_reported():
    shares = [market(replace(SMALL, adoption=adoption), 3).reported_bad for adoption in (0.0, 0.5, 1.0)]
    assert shares == sorted(shares)


def test_a_client_that_loses_nothing_fears_nothing():
    fearless = market(replace(SMALL, loss=0.0), 3)
    assert abs(fearless.reported_bad - fearless.reported_good) < 0.05
    assert fearless.retaliations > 0


def test_a_market_without_avengers_loses_its_fear_but_for_the_caution_of_newcomers():
    peaceful = market(replace(SMALL, avengers=0.0), 3)
    assert peaceful.retaliations == 0.0
    assert peaceful.reported_bad > market(SMALL, 3).reported_bad


def test_an_interval_holds_the_mean_between_its_limits():
    mean, low, high = interval([0.0, 1.0] * 20)
    assert (mean, low < mean < high) == (0.5, True)
    assert interval([2.0] * 5) == (2.0, 2.0, 2.0)
