"""`validationResponse`: callers, arguments, effects and repetition."""

from __future__ import annotations

import ape
import pytest
from eth_utils import keccak

from tests.helpers import logged
from tests.validation.conftest import RESPONSE_HASH, RESPONSE_URI

UNKNOWN_HASH = keccak(text="nobody has asked for this")
ZERO_HASH = bytes(32)


def test_response_emits_one_whole_event(ask, answer, validator, agent_id):
    request_hash = ask("work")
    assert logged(answer(request_hash, 67, tag="hard-finality")) == [
        (
            "ValidationResponse",
            {
                "validatorAddress": validator.address,
                "agentId": agent_id,
                "requestHash": request_hash,
                "response": 67,
                "responseURI": RESPONSE_URI,
                "responseHash": RESPONSE_HASH,
                "tag": "hard-finality",
            },
        )
    ]


def test_response_is_the_status_from_its_time_on(chain, ask, answer, status, validator, agent_id):
    request_hash = ask("work")
    chain.pending_timestamp += 1000
    receipt = answer(request_hash, 67, tag="hard-finality")
    assert status(request_hash) == {
        "validatorAddress": validator.address,
        "agentId": agent_id,
        "response": 67,
        "responseHash": RESPONSE_HASH,
        "tag": "hard-finality",
        "lastUpdate": receipt.timestamp,
    }


@pytest.mark.parametrize("response", [0, 1, 99, 100])
def test_every_response_up_to_100_is_accepted(ask, answer, status, summary, response):
    request_hash = ask("work")
    answer(request_hash, response)
    assert status(request_hash)["response"] == response
    assert summary() == (1, response)


@pytest.mark.parametrize("response", [101, 255])
def test_response_above_100_is_refused(ask, answer, response):
    request_hash = ask("work")
    with ape.reverts("resp>100"):
        answer(request_hash, response)


def test_response_without_uri_hash_and_tag_is_an_answer(validation, ask, summary, validator, status):
    request_hash = ask("work")
    validation.validationResponse(request_hash, 0, "", ZERO_HASH, "", sender=validator)
    assert summary() == (1, 0)
    assert (status(request_hash)["responseHash"], status(request_hash)["tag"]) == (ZERO_HASH, "")


def test_second_response_replaces_the_first_whole(chain, validation, ask, answer, status, validator, agent_id):
    request_hash = ask("work")
    answer(request_hash, 80, tag="soft-finality")
    chain.pending_timestamp += 1000
    receipt = validation.validationResponse(request_hash, 100, "", ZERO_HASH, "hard-finality", sender=validator)
    assert status(request_hash) == {
        "validatorAddress": validator.address,
        "agentId": agent_id,
        "response": 100,
        "responseHash": ZERO_HASH,
        "tag": "hard-finality",
        "lastUpdate": receipt.timestamp,
    }


def test_second_response_emits_a_whole_event_of_its_own(ask, answer, validator, agent_id):
    request_hash = ask("work")
    answer(request_hash, 80, tag="soft-finality")
    assert logged(answer(request_hash, 0, tag="")) == [
        (
            "ValidationResponse",
            {
                "validatorAddress": validator.address,
                "agentId": agent_id,
                "requestHash": request_hash,
                "response": 0,
                "responseURI": RESPONSE_URI,
                "responseHash": RESPONSE_HASH,
                "tag": "",
            },
        )
    ]


def test_answer_may_be_changed_any_number_of_times(ask, answer, summary):
    request_hash = ask("work")
    for response in (100, 0, 50, 50, 100, 1):
        answer(request_hash, response)
        assert summary() == (1, response)


def test_refused_update_leaves_the_answer_as_it_was(ask, answer, status):
    request_hash = ask("work")
    answer(request_hash, 80, tag="soft-finality")
    before = status(request_hash)
    with ape.reverts("resp>100"):
        answer(request_hash, 101, tag="hard-finality")
    assert status(request_hash) == before


def test_unknown_hash_is_not_answered(answer):
    with ape.reverts("unknown"):
        answer(UNKNOWN_HASH, 100)


def test_zero_hash_is_unknown_until_it_is_requested(answer):
    with ape.reverts("unknown"):
        answer(ZERO_HASH, 100)


def test_unknown_hash_has_no_status(validation):
    with ape.reverts("unknown"):
        validation.getValidationStatus(UNKNOWN_HASH)


@pytest.mark.parametrize("somebody", ["owner", "operator", "stranger", "other_validator"])
def test_nobody_but_the_named_validator_answers(identity, ask, answer, owner, operator, request, somebody):
    identity.setApprovalForAll(operator, True, sender=owner)
    request_hash = ask("work")
    with ape.reverts("not validator"):
        answer(request_hash, 100, sender=request.getfixturevalue(somebody))


def test_validator_of_one_request_does_not_answer_another(ask, answer, other_validator):
    ask("its own", of=other_validator)
    request_hash = ask("somebody else's")
    with ape.reverts("not validator"):
        answer(request_hash, 100, sender=other_validator)


def test_validators_operator_does_not_answer(identity, ask, answer, validator, stranger):
    identity.setApprovalForAll(stranger, True, sender=validator)
    request_hash = ask("work")
    with ape.reverts("not validator"):
        answer(request_hash, 100, sender=stranger)


def test_contract_answers_as_a_validator(validation, ask, summary, contract_wallet, wallet_key):
    request_hash = ask("work", of=contract_wallet)
    response = validation.validationResponse.encode_input(request_hash, 90, RESPONSE_URI, RESPONSE_HASH, "zkML")
    contract_wallet.execute(validation, response, sender=wallet_key)
    assert summary(validators=[contract_wallet]) == (1, 90)


def test_key_of_a_contract_validator_does_not_answer_for_it(ask, answer, contract_wallet, wallet_key):
    request_hash = ask("work", of=contract_wallet)
    with ape.reverts("not validator"):
        answer(request_hash, 90, sender=wallet_key)


def test_unknown_comes_before_the_response_limit(answer):
    with ape.reverts("unknown"):
        answer(UNKNOWN_HASH, 101)


def test_the_validator_is_checked_before_the_response_limit(ask, answer, stranger):
    request_hash = ask("work")
    with ape.reverts("not validator"):
        answer(request_hash, 101, sender=stranger)


def test_request_is_answered_after_the_agent_was_transferred(identity, ask, answer, status, owner, client, agent_id):
    request_hash = ask("work")
    identity.transferFrom(owner, client, agent_id, sender=owner)
    answer(request_hash, 75)
    assert (status(request_hash)["agentId"], status(request_hash)["response"]) == (agent_id, 75)


def test_answers_stay_with_the_agent_when_it_is_transferred(identity, ask, answer, summary, owner, client, agent_id):
    answer(ask("work"), 75)
    identity.transferFrom(owner, client, agent_id, sender=owner)
    assert summary() == (1, 75)


def test_answering_one_request_leaves_the_others_as_they_were(ask, answer, status, validation, agent_id, validator):
    first, second, third = ask("first"), ask("second"), ask("third")
    before = status(first), status(third)
    answer(second, 100, tag="hard-finality")
    assert (status(first), status(third)) == before
    assert validation.getAgentValidations(agent_id) == [first, second, third]
    assert validation.getValidatorRequests(validator) == [first, second, third]


@pytest.mark.parametrize(
    "uri", ["", "x" * 10_000, "\x00", "ipfs://🤖/'\"><script>"], ids=["empty", "long", "zero byte", "markup"]
)
def test_uri_is_emitted_as_it_is(validation, ask, validator, uri):
    receipt = validation.validationResponse(ask("work"), 1, uri, RESPONSE_HASH, "", sender=validator)
    ((_, fields),) = logged(receipt)
    assert fields["responseURI"] == uri
