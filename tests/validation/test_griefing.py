"""Attacks on a requester, a validator or an agent, and their limits (docs/security.md, Validation)."""

from __future__ import annotations

import ape
import pytest
from eth_utils import keccak

from bench.measurement import execution_gas
from tests.validation.conftest import REQUEST_URI

WORK_HASH = keccak(text="the work that everybody can see")


@pytest.fixture
def front_runner(identity, stranger):
    """An account with its own agent. It sees the pending requests of others."""
    identity.register(sender=stranger)
    return stranger


@pytest.fixture
def front_runners_agent(identity, front_runner):
    assert identity.ownerOf(identity.getAgentCount()) == front_runner
    return identity.getAgentCount()


@pytest.fixture
def taken_hash(validation, front_runner, front_runners_agent, validator):
    """A hash that the front runner used first, with the victim's validator."""
    validation.validationRequest(validator, front_runners_agent, REQUEST_URI, WORK_HASH, sender=front_runner)
    return WORK_HASH


def test_front_runner_can_take_a_hash(validation, taken_hash, owner, agent_id, validator):
    with ape.reverts("exists"):
        validation.validationRequest(validator, agent_id, REQUEST_URI, taken_hash, sender=owner)


def test_taken_hash_says_that_it_is_another_agents(status, taken_hash, front_runners_agent):
    assert status(taken_hash)["agentId"] == front_runners_agent


def test_answer_to_a_taken_hash_counts_for_the_front_runner_only(
    answer, summary, taken_hash, front_runners_agent, validator
):
    answer(taken_hash, 0)
    assert summary(validators=[validator]) == (0, 0)
    assert summary(validators=[validator], agent=front_runners_agent) == (1, 0)


@pytest.mark.usefixtures("taken_hash")
def test_victim_of_a_taken_hash_requests_the_same_work_under_a_salted_one(validation, owner, agent_id, validator):
    salted = keccak(WORK_HASH + keccak(text="a salt that nobody else knows"))
    validation.validationRequest(validator, agent_id, REQUEST_URI, salted, sender=owner)
    assert validation.getAgentValidations(agent_id) == [salted]


def test_nobody_else_can_add_to_an_agents_list(validation, front_runner, validator, agent_id):
    with ape.reverts("Not authorized"):
        validation.validationRequest(validator, agent_id, REQUEST_URI, WORK_HASH, sender=front_runner)
    assert validation.getAgentValidations(agent_id) == []


def test_spam_that_names_a_validator_makes_nothing_dearer_but_its_list(
    validation, ask, answer, agent_id, validator, front_runner, front_runners_agent
):
    answer(ask("honest work"), 100, tag="passed")
    before = execution_gas(validation.getSummary, agent_id, [validator], "passed")
    for number in range(20):
        ask(f"spam {number}", agent=front_runners_agent, sender=front_runner)
    assert execution_gas(validation.getSummary, agent_id, [validator], "passed") == before
    assert len(validation.getValidatorRequests(validator)) == 21


def test_spam_makes_a_validators_answer_no_dearer(chain, ask, answer, front_runner, front_runners_agent):
    first, second, third = ask("first"), ask("second"), ask("third")
    answer(first, 100, tag="passed")
    chain.pending_timestamp += 1000
    before = answer(second, 100, tag="passed").gas_used
    for number in range(20):
        ask(f"spam {number}", agent=front_runners_agent, sender=front_runner)
    chain.pending_timestamp += 1000
    assert answer(third, 100, tag="passed").gas_used == before


def test_long_tag_makes_a_summary_no_dearer(validation, ask, answer, agent_id, other_validator):
    answer(ask("work"), 100, tag="passed")
    request_hash = ask("work of a hostile validator", of=other_validator)
    answer(request_hash, 100, tag="short", sender=other_validator)
    before = execution_gas(validation.getSummary, agent_id, [], "passed")
    answer(request_hash, 100, tag="long " * 2_000, sender=other_validator)
    assert execution_gas(validation.getSummary, agent_id, [], "passed") == before


def test_agent_that_validates_itself_is_not_in_a_summary_of_trusted_validators(ask, answer, summary, owner, validator):
    answer(ask("of oneself", of=owner), 100, sender=owner)
    answer(ask("honest"), 40)
    assert summary() == (2, 70)
    assert summary(validators=[validator]) == (1, 40)


def test_validator_can_change_its_answer_long_after(chain, ask, answer, summary):
    request_hash = ask("work")
    answer(request_hash, 100)
    chain.pending_timestamp += 10 * 365 * 24 * 3600
    answer(request_hash, 0)
    assert summary() == (1, 0)
