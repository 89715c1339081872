"""A summary worked out locally is the registry's, to the last digit."""

from __future__ import annotations

from decimal import Decimal

import ape
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bilateral.errors import UnrepresentableValueError
from bilateral.summaries import Summary, summarize
from bilateral.values import MAX_VALUE, FeedbackValue
from tests.helpers import isolated
from tests.reputation.model import Given, ReputationModel

integers = st.one_of(
    st.integers(-100, 100), st.integers(-MAX_VALUE, MAX_VALUE), st.sampled_from([MAX_VALUE, -MAX_VALUE])
)
feedback_values = st.builds(FeedbackValue, integers, st.integers(0, 3) | st.integers(0, 18))

TOO_LARGE = [FeedbackValue(MAX_VALUE), FeedbackValue(0, 1), FeedbackValue(0, 1)]
"""At one decimal, where most of them are, the average takes more than 128 bits."""


@pytest.fixture(scope="module")
def crowd(deployer, project):
    """A client that gives any number of feedbacks in one transaction."""
    crowd = deployer.deploy(project.MockFeedbackCrowd)
    crowd.gather(1, sender=deployer)
    return crowd


def give(values, reputation, crowd, sender):
    calls = [reputation.giveFeedback.encode_input(1, it.value, it.decimals, "", "", "", "", bytes(32)) for it in values]
    crowd.play(reputation, [0] * len(calls), calls, sender=sender)


@given(st.lists(feedback_values, max_size=12))
@settings(max_examples=15)
@example([FeedbackValue(-80), FeedbackValue(-91)])
@example([FeedbackValue(9977, 2), FeedbackValue(997, 1)])
@example([FeedbackValue(1, 18), FeedbackValue(0, 18), FeedbackValue(0, 18)])
@example([FeedbackValue(-1, 18), FeedbackValue(0, 17), FeedbackValue(0, 17)])
@example([FeedbackValue(MAX_VALUE)] * 5)
@example(TOO_LARGE)
def test_the_local_summary_is_the_registrys(chain, reputation, identity, crowd, owner, deployer, values):
    with isolated(chain):
        identity.register(sender=owner)
        give(values, reputation, crowd, deployer)
        try:
            expected = summarize(values)
        except UnrepresentableValueError:
            model = ReputationModel()
            for value in values:
                model.give(1, "client", Given(value.value, value.decimals))
            _, average, decimals = model.summary(1, ["client"], "", "")
            with ape.reverts(reputation.SummaryTooLarge, summaryValue=average, summaryValueDecimals=decimals):
                reputation.getSummary(1, crowd.clients(), "", "")
        else:
            assert Summary(*reputation.getSummary(1, crowd.clients(), "", "")) == expected


def test_an_average_beyond_128_bits_is_refused_by_both(reputation, identity, crowd, owner, deployer):
    identity.register(sender=owner)
    give(TOO_LARGE, reputation, crowd, deployer)
    with ape.reverts(reputation.SummaryTooLarge, summaryValue=MAX_VALUE * 10 // 3, summaryValueDecimals=1):
        reputation.getSummary(1, crowd.clients(), "", "")
    with pytest.raises(UnrepresentableValueError, match="at 1 decimals exceeds the 128 bits"):
        summarize(TOO_LARGE)


@pytest.mark.parametrize("highest", [2**127 - 1, -(2**127)])
def test_an_average_may_take_all_128_bits_and_no_more(highest):
    step = 1 if highest > 0 else -1

    def average_of(target):
        whole, rest = divmod(target, 2)
        return summarize([FeedbackValue(whole), FeedbackValue(5 * rest, 1), *[FeedbackValue(0, 1)] * 3])

    assert average_of(highest) == Summary(5, highest, 1)
    with pytest.raises(UnrepresentableValueError):
        average_of(highest + step)


def test_nothing_sums_up_to_nothing():
    assert summarize([]) == Summary(0, 0, 0)
    assert summarize([]).average is None


def test_the_average_is_a_decimal_number():
    assert summarize([FeedbackValue(9977, 2), FeedbackValue(9970, 2)]).average == Decimal("99.73")
