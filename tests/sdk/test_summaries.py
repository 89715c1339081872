"""A locally computed summary equals the registry's to the last digit."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bilateral.core.values import MAX_VALUE, FeedbackValue
from bilateral.core.values.summaries import Summary, summarize
from tests.helpers import isolated

integers = st.one_of(
    st.integers(-100, 100), st.integers(-MAX_VALUE, MAX_VALUE), st.sampled_from([MAX_VALUE, -MAX_VALUE])
)
feedback_values = st.builds(FeedbackValue, integers, st.integers(0, 3) | st.integers(0, 18))

TOO_LARGE = [FeedbackValue(MAX_VALUE), FeedbackValue(0, 1), FeedbackValue(0, 1)]
"""Most of them have one decimal, with which the average exceeds 128 bits."""


@pytest.fixture(scope="module")
def crowd(deployer, project):
    """A contract that gives any number of feedbacks in one transaction."""
    crowd = deployer.deploy(project.MockFeedbackCrowd)
    crowd.gather(1, sender=deployer)
    return crowd


def give(values, reputation, crowd, sender):
    calls = [
        reputation.giveFeedback.encode_input(1, value.value, value.decimals, "", "", "", "", bytes(32))
        for value in values
    ]
    crowd.play(reputation, [0] * len(calls), calls, sender=sender)


def defined_summary(values):
    """Return the summary as ERC-8004 and the registry's manual define it, in exact fractions."""
    if not values:
        return Summary(0, 0, 0)
    mean = sum(Fraction(value.value, 10**value.decimals) for value in values) / len(values)
    wad = math.trunc(mean * 10**18)
    frequency = Counter(value.decimals for value in values)
    decimals = min(frequency, key=lambda places: (-frequency[places], places))
    scaled = [math.trunc(Fraction(wad, 10 ** (18 - number))) for number in range(decimals + 1)]
    decimals = max(places for places, value in enumerate(scaled) if -(2**127) <= value < 2**127)
    return Summary(len(values), scaled[decimals], decimals)


huge_values = st.builds(
    FeedbackValue, st.integers(-MAX_VALUE, MAX_VALUE).map(lambda value: value // 10**3 * 10**3), st.integers(0, 1)
)
tiny_values = st.builds(FeedbackValue, st.integers(-100, 100), st.integers(2, 18))


@given(st.lists(feedback_values, max_size=12) | st.lists(huge_values | tiny_values | tiny_values, max_size=12))
@settings(max_examples=25, deadline=None)
@example([FeedbackValue(-80), FeedbackValue(-91)])
@example([FeedbackValue(9977, 2), FeedbackValue(997, 1)])
@example([FeedbackValue(1, 18), FeedbackValue(0, 18), FeedbackValue(0, 18)])
@example([FeedbackValue(-1, 18), FeedbackValue(0, 17), FeedbackValue(0, 17)])
@example([FeedbackValue(MAX_VALUE)] * 5)
@example(TOO_LARGE)
@example([FeedbackValue(-MAX_VALUE), FeedbackValue(1, 18), FeedbackValue(1, 18)])
def test_the_local_summary_is_the_registrys(chain, reputation, identity, crowd, owner, deployer, values):
    with isolated(chain):
        identity.register(sender=owner)
        give(values, reputation, crowd, deployer)
        assert Summary(*reputation.getSummary(1, crowd.clients(), "", "")) == summarize(values)


@given(st.lists(feedback_values, max_size=12) | st.lists(huge_values | tiny_values | tiny_values, max_size=12))
@example(TOO_LARGE)
def test_the_local_summary_is_the_defined_one(values):
    assert summarize(values) == defined_summary(values)


@pytest.mark.parametrize("highest", [2**127 - 1, -(2**127)])
def test_an_average_may_take_all_128_bits_and_no_more(highest):
    step = 1 if highest > 0 else -1

    def average_of(target):
        whole, rest = divmod(target, 2)
        return summarize([FeedbackValue(whole), FeedbackValue(5 * rest, 1), *[FeedbackValue(0, 1)] * 3])

    assert average_of(highest) == Summary(5, highest, 1)
    assert average_of(highest + step) == Summary(5, step * (abs(highest + step) // 10), 0)


def test_no_feedback_gives_a_zero_summary():
    assert summarize([]) == Summary(0, 0, 0)
    assert summarize([]).average is None


def test_the_average_is_a_decimal_number():
    assert summarize([FeedbackValue(9977, 2), FeedbackValue(9970, 2)]).average == Decimal("99.73")
