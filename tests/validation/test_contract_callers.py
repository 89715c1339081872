"""A contract requests and answers as itself, whoever's transaction it is."""

from __future__ import annotations

import ape
import pytest
from eth_utils import keccak

from tests.helpers import logged
from tests.validation.conftest import REQUEST_URI, RESPONSE_HASH, RESPONSE_URI


@pytest.fixture
def call(validation, contract_wallet, wallet_key):
    """Calls the registry as a contract wallet. The transaction is that of the wallet's key."""

    def call(method, *arguments):
        data = getattr(validation, method).encode_input(*arguments)
        return contract_wallet.execute(validation, data, sender=wallet_key)

    return call


def test_answer_is_logged_as_the_contracts(call, ask, contract_wallet):
    request_hash = ask("work", of=contract_wallet)
    ((name, event),) = logged(call("validationResponse", request_hash, 90, RESPONSE_URI, RESPONSE_HASH, ""))
    assert (name, event["validatorAddress"]) == ("ValidationResponse", contract_wallet)


def test_contract_does_not_answer_for_the_sender_of_the_transaction(call, ask, wallet_key):
    request_hash = ask("work", of=wallet_key)
    with ape.reverts("not validator"):
        call("validationResponse", request_hash, 90, RESPONSE_URI, RESPONSE_HASH, "")


def test_contract_requests_for_its_own_agent_only(identity, validation, call, validator, contract_wallet, wallet_key):
    contract_wallet.execute(identity, identity.register.encode_input(), sender=wallet_key)
    its_agent = identity.getAgentCount()
    call("validationRequest", validator, its_agent, REQUEST_URI, keccak(text="work"))
    assert validation.getAgentValidations(its_agent) == [keccak(text="work")]
    identity.register(sender=wallet_key)
    with ape.reverts("Not authorized"):
        call("validationRequest", validator, its_agent + 1, REQUEST_URI, keccak(text="other work"))
