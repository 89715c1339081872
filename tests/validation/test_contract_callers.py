"""A contract requests and answers for itself, not for the sender of the transaction."""

from __future__ import annotations

from functools import partial

import ape
import pytest
from eth_utils import keccak

from tests.helpers import logged
from tests.validation.conftest import REQUEST_URI, RESPONSE_HASH, RESPONSE_URI


@pytest.fixture
def call(validation, call_as_contract):
    """Calls the registry as a contract wallet."""
    return partial(call_as_contract, validation)


def test_answer_is_logged_as_the_contracts(call, ask, contract_wallet):
    request_hash = ask("work", of=contract_wallet)
    ((name, event),) = logged(call("validationResponse", request_hash, 90, RESPONSE_URI, RESPONSE_HASH, ""))
    assert (name, event["validatorAddress"]) == ("ValidationResponse", contract_wallet)


def test_contract_does_not_answer_for_the_sender_of_the_transaction(call, ask, wallet_key):
    request_hash = ask("work", of=wallet_key)
    with ape.reverts("not validator"):
        call("validationResponse", request_hash, 90, RESPONSE_URI, RESPONSE_HASH, "")


def test_contract_requests_for_its_own_agent_only(identity, validation, call, call_as_contract, validator, wallet_key):
    call_as_contract(identity, "register")
    its_agent = identity.getAgentCount()
    call("validationRequest", validator, its_agent, REQUEST_URI, keccak(text="work"))
    assert validation.getAgentValidations(its_agent) == [keccak(text="work")]
    identity.register(sender=wallet_key)
    with ape.reverts("Not authorized"):
        call("validationRequest", validator, its_agent + 1, REQUEST_URI, keccak(text="other work"))
