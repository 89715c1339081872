"""Summaries by example. `test_histories.py` compares them with the model."""

from __future__ import annotations

import ape
import pytest

from bench.measurement import execution_gas
from tests.reputation.model import MAX_ABS_VALUE


@pytest.fixture
def summary(reputation, agent):
    def summary(*clients, tag1="", tag2=""):
        return tuple(reputation.getSummary(agent, clients, tag1, tag2))

    return summary


def test_clients_are_required(reputation, agent):
    with ape.reverts("clientAddresses required"):
        reputation.getSummary(agent, [], "", "")


def test_nothing_sums_up_to_nothing(summary, stranger):
    assert summary(stranger) == (0, 0, 0)


def test_unknown_agent_sums_up_to_nothing(reputation, client):
    assert tuple(reputation.getSummary(404, [client], "", "")) == (0, 0, 0)


def test_tag_that_nobody_used_sums_up_to_nothing(give, summary, client):
    give(client, tag1="starred", tag2="finance")
    assert summary(client, tag1="Starred") == (0, 0, 0)
    assert summary(client, tag1="starred", tag2="travel") == (0, 0, 0)
    assert summary(client, tag2="starred") == (0, 0, 0)


def test_tag_of_another_agent_sums_up_to_nothing(give, summary, client, other_agent):
    give(client)
    give(client, agent_id=other_agent, tag1="starred")
    assert summary(client, tag1="starred") == (0, 0, 0)


def test_feedback_is_averaged(give, summary, client, other_client):
    give(client, value=80)
    give(other_client, value=91)
    assert summary(client, other_client) == (2, 85, 0)


def test_average_is_cut_toward_zero_also_below_zero(give, summary, client):
    give(client, value=-80)
    give(client, value=-91)
    assert summary(client) == (2, -85, 0)


def test_clients_that_are_not_listed_do_not_count(give, summary, client, other_client):
    give(client, value=80)
    give(other_client, value=0)
    assert summary(client) == (1, 80, 0)


def test_client_that_is_listed_twice_counts_twice(give, summary, client, other_client):
    give(client, value=90)
    give(other_client, value=60)
    assert summary(client, other_client, client) == (3, 80, 0)


def test_revoked_feedback_does_not_count(give, summary, reputation, agent, client):
    give(client, value=10)
    give(client, value=90)
    reputation.revokeFeedback(agent, 1, sender=client)
    assert summary(client) == (1, 90, 0)
    assert summary(client, tag1="") == (1, 90, 0)


def test_all_revoked_sums_up_to_nothing(give, summary, reputation, agent, client):
    give(client, value=10, tag1="starred")
    reputation.revokeFeedback(agent, 1, sender=client)
    assert summary(client) == (0, 0, 0)
    assert summary(client, tag1="starred") == (0, 0, 0)


def test_client_starts_anew_in_other_decimals_after_it_revoked_all(give, summary, reputation, agent, client):
    give(client, value=10)
    reputation.revokeFeedback(agent, 1, sender=client)
    give(client, value=9977, decimals=2)
    assert summary(client) == (1, 9977, 2)


def test_client_that_starts_anew_costs_a_summary_no_more_than_a_new_client(
    give, reputation, agent, client, other_client
):
    """Its ledger is not mixed, so the summary reads none of its feedback."""
    for index in (1, 2, 3):
        give(client, value=10)
        reputation.revokeFeedback(agent, index, sender=client)
    for account in (client, other_client):
        give(account, value=9977, decimals=2)
    started_anew, is_new = (
        execution_gas(reputation.getSummary, agent, [account.address], "", "") for account in (client, other_client)
    )
    assert started_anew == is_new


def test_mixed_client_stays_right_when_what_mixed_it_is_revoked(give, summary, reputation, agent, client):
    give(client, value=80)
    give(client, value=9977, decimals=2)
    assert summary(client) == (2, 89, 0)
    reputation.revokeFeedback(agent, 2, sender=client)
    assert summary(client) == (1, 80, 0)
    reputation.revokeFeedback(agent, 1, sender=client)
    assert summary(client) == (0, 0, 0)
    give(client, value=5, decimals=18)
    assert summary(client) == (1, 5, 18)


def test_smaller_decimals_win_a_tie(give, summary, client, other_client):
    give(client, value=9977, decimals=2)
    give(other_client, value=997, decimals=1)
    assert summary(client, other_client) == (2, 997, 1)


def test_most_frequent_decimals_win(give, summary, client, other_client):
    give(client, value=9977, decimals=2)
    give(client, value=9900, decimals=2)
    give(other_client, value=98, decimals=0)
    assert summary(client, other_client) == (3, 9892, 2)


def test_average_is_cut_to_18_decimals_before_it_is_scaled(give, summary, client):
    for value in (1, 0, 0):
        give(client, value=value, decimals=18)
    assert summary(client) == (3, 0, 18)


@pytest.mark.parametrize("sign", [1, -1])
def test_extremes_of_one_client_do_not_overflow_its_ledger(give, summary, client, sign):
    for _ in range(5):
        give(client, value=sign * MAX_ABS_VALUE)
    assert summary(client) == (5, sign * MAX_ABS_VALUE, 0)


def test_extremes_cancel_out(give, summary, reputation, agent, client):
    give(client, value=MAX_ABS_VALUE)
    give(client, value=-MAX_ABS_VALUE)
    give(client, value=-1)
    assert summary(client) == (3, 0, 0)
    reputation.revokeFeedback(agent, 1, sender=client)
    assert summary(client) == (2, -(MAX_ABS_VALUE // 2), 0)


@pytest.mark.parametrize("sign", [1, -1])
def test_average_beyond_128_bits_is_returned_with_the_most_decimals_that_fit(give, summary, client, sign):
    for value, decimals in ((sign * MAX_ABS_VALUE, 0), (0, 1), (0, 1)):
        give(client, value=value, decimals=decimals)
    assert MAX_ABS_VALUE * 10 // 3 > 2**127
    assert summary(client) == (3, sign * (MAX_ABS_VALUE // 3), 0)


def test_average_that_does_not_fit_loses_no_more_decimals_than_it_must(give, summary, client):
    for value, decimals in ((10**30, 0), (1, 18), (2, 18)):
        give(client, value=value, decimals=decimals)
    average = 10**30 * 10**8 // 3
    assert average < 2**127 < average * 10
    assert summary(client) == (3, average, 8)


def test_average_that_does_not_fit_is_still_cut_toward_zero(give, summary, client):
    for value, decimals in ((-(10**38), 0), (-(10**18) + 1, 18), (0, 18)):
        give(client, value=value, decimals=decimals)
    assert summary(client) == (3, -(10**38 // 3), 0)


@pytest.mark.parametrize("tag1", ["", "starred"])
def test_huge_value_does_not_stop_the_summary_of_a_list(give, summary, client, other_client, stranger, tag1):
    for honest in (client, other_client):
        give(honest, value=9977 * 10**16, decimals=18, tag1="starred")
    give(stranger, value=MAX_ABS_VALUE, tag1="starred")
    average = (MAX_ABS_VALUE * 10**18 + 2 * 9977 * 10**16) // 3
    assert summary(client, other_client, stranger, tag1=tag1) == (3, average // 10**18, 0)


@pytest.mark.parametrize(
    ("extreme", "beyond"), [(2**127 - 1, 2**127), (-(2**127), -(2**127) - 1)], ids=["highest", "lowest"]
)
def test_average_may_take_all_128_bits_and_no_more(give, summary, client, other_client, extreme, beyond):
    # One value has no decimals and four have one. At one decimal the average is twice that value, plus a fifth of the
    # sum of the four.
    for rater, average in ((client, extreme), (other_client, beyond)):
        whole, rest = divmod(average, 2)
        for value, decimals in ((whole, 0), (5 * rest, 1), (0, 1), (0, 1), (0, 1)):
            give(rater, value=value, decimals=decimals)
    assert summary(client) == (5, extreme, 1)
    assert summary(other_client) == (5, 2**127 // 10 if beyond > 0 else -(2**127 // 10), 0)


def test_average_of_values_below_1e20_keeps_the_most_frequent_decimals(give, summary, client):
    give(client, value=10**20 - 1)
    for _ in range(2):
        give(client, value=0, decimals=18)
    assert summary(client) == (3, (10**20 - 1) * 10**18 // 3, 18)
