"""A run with too little coverage names the missing outcomes."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.system.functions import FUNCTIONS
from tests.system.model import ETHER
from tests.system.run import REFUSALS, shortcomings, unseen_refusals

REGISTER = ("identity", "register(string,(string,bytes)[])")


@pytest.fixture
def tally():
    """The counts of a run with every revert once and every function accepted five times."""
    accepted = {
        (registry, signature, "accepted"): 5 for registry, functions in FUNCTIONS.items() for signature in functions
    }
    return Counter(accepted) + Counter(dict.fromkeys(REFUSALS, 1)) + Counter(examples=60)


def test_run_that_saw_everything_lacks_nothing(tally):
    assert shortcomings(tally, 60) + unseen_refusals(tally) == []


def test_example_that_ended_early_is_missed(tally):
    assert shortcomings(tally, 61) == ["only 60 of 61 examples were whole"]


def test_calls_must_be_accepted_a_quarter_of_the_time(tally):
    accepted = sum(times for key, times in tally.items() if key[2] == "accepted")
    refused = sum(tally[refusal] for refusal in REFUSALS)
    tally[*REGISTER, "reserved key"] += 3 * accepted - refused
    assert shortcomings(tally, 60) == []
    tally[*REGISTER, "reserved key"] += 1
    assert shortcomings(tally, 60) == [f"only {accepted} of {4 * accepted + 1} calls were accepted"]


def test_function_that_was_never_accepted_is_missed(tally):
    del tally[*REGISTER, "accepted"]
    assert shortcomings(tally, 60) == ["identity.register(string,(string,bytes)[]) was never accepted"]


def test_refusal_of_ether_says_nothing_of_the_function(tally):
    tally[*REGISTER, ETHER] += 100
    del tally[*REGISTER, "reserved key"]
    assert shortcomings(tally, 60) == ["identity.register(string,(string,bytes)[]) was never refused but for ether"]


def test_refusal_that_a_long_run_has_not_seen_is_missed(tally):
    del tally["open", "rateValidator(uint256,uint8)", "AlreadyRated"]
    assert shortcomings(tally, 60) == []
    assert unseen_refusals(tally) == ["open.rateValidator(uint256,uint8) was never refused: AlreadyRated"]
