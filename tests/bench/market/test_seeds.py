"""Accounts that the analysis proposes to trust, in a market with attackers."""

from __future__ import annotations

import pytest

from bench.market.play import address
from bench.market.policies import fitted
from bilateral.core.errors import InvalidArgumentError
from bilateral.trust.seeds import seeds


@pytest.fixture(scope="module")
def engine(attacked):
    return fitted(attacked[0].log)


def test_only_honest_buyers_are_proposed(attacked, engine):
    market, _ = attacked
    honest = {address(market.log.seed, number) for number in market.people.buyers.tolist()}
    proposals = seeds(engine)
    assert len(proposals) >= 5
    assert {proposal.address for proposal in proposals} <= honest


def test_a_proposal_bought_from_many_for_long_and_agrees_with_others_who_paid(engine):
    for proposal in seeds(engine):
        assert proposal.sellers >= 3
        assert proposal.paid > 0
        assert proposal.days >= 14
        assert proposal.rated >= 3
        assert proposal.apart <= 15


def test_those_who_paid_most_sellers_come_first(engine):
    proposals = seeds(engine)
    assert [proposal.sellers for proposal in proposals] == sorted((p.sellers for p in proposals), reverse=True)
    assert seeds(engine, 2) == proposals[:2]


def test_a_number_below_one_is_refused(engine):
    with pytest.raises(InvalidArgumentError, match="0 proposals are too few: request at least 1"):
        seeds(engine, 0)
