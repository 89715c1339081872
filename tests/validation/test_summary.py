"""`getSummary`: counts, averages and storage reads."""

from __future__ import annotations

import pytest
from ape.types import HexBytes
from eth_utils import keccak
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers import isolated
from tests.validation.conftest import UNKNOWN_AGENT

ZERO_ADDRESS = "0x" + "00" * 20
NOTHING = (0, 0)


@pytest.fixture(scope="session")
def storage_reads(networks, validation):
    """Returns the number of storage words that a view reads."""

    def storage_reads(method, *arguments):
        call = {"to": validation.address, "data": HexBytes(method.encode_input(*arguments)).to_0x_hex()}
        trace = networks.provider.make_request("debug_traceCall", [call, "latest", {}])
        return [step["op"] for step in trace["structLogs"]].count("SLOAD")

    return storage_reads


@pytest.fixture(scope="session")
def batchers(deployer, project):
    """Two contracts that act as owner and validator many times in one transaction."""
    return [deployer.deploy(project.MockBatcher) for _ in range(2)]


def test_agent_without_requests_has_nothing(summary):
    assert summary() == NOTHING


def test_unknown_agent_has_nothing(summary):
    assert summary(agent=UNKNOWN_AGENT) == NOTHING


def test_requests_without_an_answer_do_not_count(ask, answer, summary):
    ask("unanswered")
    answer(ask("answered"), 60)
    ask("also unanswered")
    assert summary() == (1, 60)


def test_answer_of_0_counts(ask, answer, summary):
    answer(ask("failed"), 0)
    answer(ask("passed"), 100)
    assert summary() == (2, 50)


@pytest.mark.parametrize(
    ("responses", "average"),
    [([99, 100], 99), ([0, 1], 0), ([0, 0, 100], 33), ([100, 100, 100], 100), ([1, 1, 0], 0), ([67, 68, 68], 67)],
)
def test_average_is_rounded_down(ask, answer, summary, responses, average):
    for number, response in enumerate(responses):
        answer(ask(f"work {number}"), response)
    assert summary() == (len(responses), average)


def test_request_answered_twice_counts_once_with_its_last_answer(ask, answer, summary):
    twice = ask("answered twice")
    answer(twice, 10)
    answer(ask("answered once"), 40)
    answer(twice, 20)
    assert summary() == (2, 30)


def test_only_listed_validators_count(ask, answer, summary, validator, other_validator):
    answer(ask("one's"), 10)
    answer(ask("the other's", of=other_validator), 90, sender=other_validator)
    assert summary(validators=[validator]) == (1, 10)
    assert summary(validators=[other_validator]) == (1, 90)
    assert summary(validators=[validator, other_validator]) == (2, 50)
    assert summary(validators=[]) == (2, 50)


def test_validator_listed_twice_counts_once(ask, answer, summary, validator, other_validator):
    answer(ask("one's"), 10)
    answer(ask("the other's", of=other_validator), 90, sender=other_validator)
    assert summary(validators=[validator, other_validator, validator, validator]) == (2, 50)


def test_validator_who_was_never_asked_counts_nothing(ask, answer, summary, stranger):
    answer(ask("work"), 10)
    assert summary(validators=[stranger]) == NOTHING


def test_zero_address_in_the_list_counts_nothing_and_is_not_all(ask, answer, summary):
    answer(ask("work"), 10)
    assert summary(validators=[ZERO_ADDRESS]) == NOTHING


def test_only_answers_with_the_tag_count(ask, answer, summary):
    answer(ask("soft"), 10, tag="soft-finality")
    answer(ask("hard"), 90, tag="hard-finality")
    answer(ask("untagged"), 20)
    assert summary(tag="soft-finality") == (1, 10)
    assert summary(tag="hard-finality") == (1, 90)


def test_empty_tag_counts_tagged_and_untagged(ask, answer, summary):
    answer(ask("tagged"), 10, tag="soft-finality")
    answer(ask("untagged"), 20)
    assert summary(tag="") == (2, 15)


def test_tag_that_was_never_used_counts_nothing(ask, answer, summary):
    answer(ask("tagged"), 10, tag="soft-finality")
    answer(ask("untagged"), 20)
    assert summary(tag="hard-finality") == NOTHING


def test_tag_without_an_answer_does_not_count_the_unanswered(ask, summary):
    ask("unanswered")
    assert summary(tag="hard-finality") == NOTHING


def test_update_moves_an_answer_to_its_new_tag(ask, answer, summary):
    request_hash = ask("work")
    answer(request_hash, 80, tag="soft-finality")
    answer(request_hash, 100, tag="hard-finality")
    assert summary(tag="soft-finality") == NOTHING
    assert summary(tag="hard-finality") == (1, 100)


def test_update_without_a_tag_takes_the_tag_away(ask, answer, summary):
    request_hash = ask("work")
    answer(request_hash, 80, tag="soft-finality")
    answer(request_hash, 70)
    assert summary(tag="soft-finality") == NOTHING
    assert summary() == (1, 70)


def test_validators_and_tag_filter_together(ask, answer, summary, validator, other_validator):
    answer(ask("1"), 10, tag="soft-finality")
    answer(ask("2"), 20, tag="hard-finality")
    answer(ask("3", of=other_validator), 30, tag="soft-finality", sender=other_validator)
    answer(ask("4", of=other_validator), 40, tag="hard-finality", sender=other_validator)
    assert summary(validators=[validator], tag="hard-finality") == (1, 20)
    assert summary(validators=[other_validator], tag="soft-finality") == (1, 30)
    assert summary(validators=[validator, other_validator], tag="hard-finality") == (2, 30)


def test_answers_of_other_agents_do_not_count(ask, answer, summary, other_agent_id, other_owner):
    answer(ask("one agent's"), 10)
    answer(ask("the other's", agent=other_agent_id, sender=other_owner), 90)
    assert summary() == (1, 10)
    assert summary(agent=other_agent_id) == (1, 90)


def test_unfiltered_summary_reads_one_word_per_request(storage_reads, validation, ask, answer, agent_id):
    answer(ask("answered"), 10, tag="soft-finality")
    answer(ask("also answered"), 10)
    ask("unanswered")
    reads_of_the_count = 1
    assert storage_reads(validation.getSummary, agent_id, [], "") == reads_of_the_count + 3


def test_filters_read_nothing_more_per_request(storage_reads, validation, ask, answer, agent_id, validator):
    answer(ask("answered"), 10, tag="soft-finality")
    answer(ask("also answered"), 10, tag="soft-finality")
    ask("unanswered")
    reads_of_the_count = 1
    reads_of_the_wanted_tag = 2
    reads = storage_reads(validation.getSummary, agent_id, [validator], "soft-finality")
    assert reads == reads_of_the_count + reads_of_the_wanted_tag + 3


ANSWERED_REQUESTS = st.tuples(
    st.integers(0, 1), st.one_of(st.none(), st.integers(0, 100)), st.sampled_from(["", "a", "b", "long " * 20])
)
"""A validator's number, its answer or None, and the answer's tag."""


@settings(deadline=None, derandomize=True, max_examples=15)
@given(requests=st.lists(ANSWERED_REQUESTS, max_size=12))
def test_summary_is_that_of_the_definition(chain, identity, validation, deployer, batchers, requests):
    with isolated(chain):
        batchers[0].executeAll(identity, [identity.register.encode_input()], sender=deployer)
        agent_id = identity.getAgentCount()
        for number, (validator, response, tag) in enumerate(requests):
            request_hash = keccak(text=f"request {number}")
            ask = validation.validationRequest.encode_input(batchers[validator], agent_id, "", request_hash)
            batchers[0].executeAll(validation, [ask], sender=deployer)
            if response is not None:
                answer = validation.validationResponse.encode_input(request_hash, response, "", bytes(32), tag)
                batchers[validator].executeAll(validation, [answer], sender=deployer)

        for validators in ([], [0], [1], [1, 0, 1]):
            for tag in ("", "a", "b", "long " * 20, "never used"):
                counted = [
                    response
                    for validator, response, given_tag in requests
                    if response is not None and (not validators or validator in validators) and tag in ("", given_tag)
                ]
                expected = (len(counted), sum(counted) // len(counted) if counted else 0)
                assert tuple(validation.getSummary(agent_id, [batchers[v] for v in validators], tag)) == expected
