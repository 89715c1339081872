"""The lists of an agent's and of a validator's requests."""

from __future__ import annotations

from tests.validation.conftest import UNKNOWN_AGENT


def test_agents_requests_are_listed_in_their_order(validation, ask, agent_id):
    hashes = [ask(f"work {number}") for number in range(5)]
    assert validation.getAgentValidations(agent_id) == hashes


def test_validators_requests_are_listed_in_their_order(validation, ask, validator):
    hashes = [ask(f"work {number}") for number in range(5)]
    assert validation.getValidatorRequests(validator) == hashes


def test_nobody_has_requests_before_the_first(validation, agent_id, validator):
    assert validation.getAgentValidations(agent_id) == []
    assert validation.getValidatorRequests(validator) == []


def test_unknown_agent_has_no_requests(validation):
    assert validation.getAgentValidations(UNKNOWN_AGENT) == []


def test_one_agents_requests_name_several_validators(validation, ask, agent_id, validator, other_validator):
    first = ask("first")
    second = ask("second", of=other_validator)
    third = ask("third")
    assert validation.getAgentValidations(agent_id) == [first, second, third]
    assert validation.getValidatorRequests(validator) == [first, third]
    assert validation.getValidatorRequests(other_validator) == [second]


def test_one_validators_requests_are_for_several_agents(
    validation, ask, agent_id, other_agent_id, other_owner, validator
):
    first = ask("first")
    second = ask("second", agent=other_agent_id, sender=other_owner)
    third = ask("third")
    assert validation.getValidatorRequests(validator) == [first, second, third]
    assert validation.getAgentValidations(agent_id) == [first, third]
    assert validation.getAgentValidations(other_agent_id) == [second]


def test_answers_change_no_list(validation, ask, answer, agent_id, validator):
    hashes = [ask(f"work {number}") for number in range(3)]
    for request_hash in reversed(hashes):
        answer(request_hash, 100, tag="hard-finality")
        answer(request_hash, 0)
    assert validation.getAgentValidations(agent_id) == hashes
    assert validation.getValidatorRequests(validator) == hashes


def test_requests_of_both_owners_are_listed_after_a_transfer(validation, identity, ask, owner, client, agent_id):
    first = ask("the former owner's")
    identity.transferFrom(owner, client, agent_id, sender=owner)
    second = ask("the new owner's", sender=client)
    assert validation.getAgentValidations(agent_id) == [first, second]
