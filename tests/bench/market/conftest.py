"""Small markets, each played once."""

from __future__ import annotations

import pytest

from bench.market.measures import play
from bench.market.play import Market
from bench.market.policies import Ranking, Truth, mean
from bench.market.settings import Settings

SMALL = Settings(accounts=600, days=40, attackers=8)


@pytest.fixture(scope="session")
def peaceful():
    """Return a market without attackers, whose buyers follow the plain mean."""
    return Market(SMALL, Ranking("plain mean", mean), 1).run()


@pytest.fixture(scope="session")
def attacked():
    """Return an attacked market, whose buyers follow the plain mean, and its attackers."""
    return next(play(SMALL, Ranking("plain mean", mean), 1))


@pytest.fixture(scope="session")
def known():
    """Return an attacked market, whose buyers know the truth, and its attackers."""
    return next(play(SMALL, Truth(0, "oracle"), 1))
