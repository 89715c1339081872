"""The lower confidence bound: one definition for everything that ranks or gates."""

from __future__ import annotations

from fractions import Fraction
from math import isclose, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilateral.core.values.bounds import SHARES, lower_bound, scale_of_tag, share_of_scale


@pytest.mark.parametrize(
    ("tag", "scale"),
    [
        ("starred", (0, 100)),
        ("uptime", (0, 100)),
        ("reachable", (0, 1)),
        ("anything else", (0, 100)),
        ("", (0, 100)),
        ("responseTime", None),
        ("tradingYield", None),
    ],
)
def test_a_tag_has_the_scale_of_the_best_practices_or_that_of_ratings(tag, scale):
    assert scale_of_tag(tag) == scale


@pytest.mark.parametrize(
    ("value", "decimals", "share"),
    [
        (0, 0, 0),
        (100, 0, SHARES),
        (9977, 2, 997_700),
        (-1, 0, 0),
        (101, 0, SHARES),
        (10**38, 0, SHARES),
        (-(10**38), 18, 0),
        (1, 18, 0),
    ],
)
def test_a_value_outside_of_its_scale_counts_as_the_nearest_end(value, decimals, share):
    assert share_of_scale(value, decimals, (0, 100)) == share


@given(value=st.integers(-(10**38), 10**38), decimals=st.integers(0, 18))
def test_a_share_is_the_exact_one_cut_to_millionths(value, decimals):
    exact = min(max(Fraction(value, 10**decimals) / 100, Fraction(0)), Fraction(1))
    assert 0 <= exact * SHARES - share_of_scale(value, decimals, (0, 100)) < 1


@given(share=st.integers(0, SHARES), counterparts=st.integers(1, 10**6))
def test_the_bound_solves_the_equation_of_wilsons_interval(share, counterparts):
    bound = lower_bound(share * counterparts, counterparts, (0, 1))
    mean, quantile = share / SHARES, 1.6448536269514722
    assert 0 <= bound <= mean + 1e-12
    assert isclose(mean - bound, quantile * sqrt(bound * (1 - bound) / counterparts), rel_tol=1e-6, abs_tol=1e-9)


@given(share=st.integers(0, SHARES), counterparts=st.integers(1, 1000))
def test_more_counterparts_of_the_same_mind_raise_the_bound(share, counterparts):
    fewer = lower_bound(share * counterparts, counterparts, (0, 100))
    more = lower_bound(share * (counterparts + 1), counterparts + 1, (0, 100))
    assert more >= fewer


@pytest.mark.parametrize(("counterparts", "bound"), [(1, 26.99), (10, 78.71), (100, 97.37)])
def test_the_bound_of_praise_alone_depends_on_how_many_praise(counterparts, bound):
    assert round(lower_bound(SHARES * counterparts, counterparts, (0, 100)), 2) == bound
