"""Validation of an agent's work, by the client."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from eth_account import Account
from eth_utils.crypto import keccak

from bilateral.client import ValidationAnswered, ValidationRequested, ValidationStatus, ValidationSummary
from bilateral.core.contracts.codec import ContractRevertError
from bilateral.core.errors import InvalidArgumentError
from tests.sdk.client.helpers import nonce_of
from tests.sdk.client.unreliable import refuses

pytestmark = pytest.mark.one_client


@pytest.fixture
def name():
    """A request hash that nobody has used."""
    return keccak(Account.create().address.encode())


def test_a_validator_answers_a_request(connect, owner, checker, agent, name):
    requested = connect(owner).request_validation(agent, checker.address, "ipfs://request", name).wait()
    assert requested == ValidationRequested(name, agent, checker.address, "ipfs://request")
    client = connect(checker)
    pending = client.get_validation_status(name)
    assert pending == ValidationStatus(name, agent, checker.address, 0, bytes(32), "", pending.last_update)
    assert not pending.is_surely_answered
    answered = client.respond_to_validation(name, 100, "ipfs://evidence", b"\1" * 32, "hard-finality").wait()
    assert answered == ValidationAnswered(
        name, agent, checker.address, 100, "ipfs://evidence", b"\1" * 32, "hard-finality"
    )
    status = client.get_validation_status("0x" + name.hex())
    assert (status.response, status.response_hash, status.tag) == (100, b"\1" * 32, "hard-finality")
    assert status.is_surely_answered
    assert abs(status.last_update - datetime.now(UTC)) < timedelta(minutes=1)


def test_a_request_brings_its_document(connect, owner, checker, agent, name):
    document = name.hex().encode()
    requested = connect(owner).request_validation(agent, checker.address, document=document).wait()
    assert requested.request_hash == keccak(document)
    assert connect().state.loader.load(requested.uri, requested.request_hash).content == document


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"request_uri": "data:,"},
        {"document": b"x", "request_uri": "data:,"},
        {"document": b"x", "request_hash": bytes(32)},
        {"request_hash": b"x"},
    ],
)
def test_a_request_has_a_document_or_a_hash(connect, owner, checker, agent, options):
    with pytest.raises(InvalidArgumentError):
        connect(owner).request_validation(agent, checker.address, **options)


def test_answers_are_averaged_by_tag_and_validator(connect, owner, checker, payer, agent):
    names = {}
    for signer, response, tag in ((checker, 100, "a"), (checker, 51, "b"), (payer, 0, "a")):
        name = keccak(Account.create().address.encode())
        connect(owner).request_validation(agent, signer.address, "", name).wait()
        connect(signer).respond_to_validation(name, response, tag=tag).wait()
        names[name] = response
    client = connect()
    assert client.get_validation_summary(agent) == ValidationSummary(agent, 3, Decimal(50), "", ())
    trusted = client.get_validation_summary(agent, validators=[checker.address.lower()])
    assert trusted == ValidationSummary(agent, 2, Decimal(75), "", (checker.address,))
    assert client.get_validation_summary(agent, tag="a").average == 50
    assert client.get_validation_summary(agent, tag="c").average is None
    assert client.get_agent_validations(agent) == list(names)
    assert client.get_validator_requests(payer.address)[-1] == list(names)[-1]


def test_only_the_validator_answers(connect, owner, checker, payer, agent, name, web3):
    connect(owner).request_validation(agent, checker.address, "", name).wait()
    before = nonce_of(web3, payer)
    with pytest.raises(ContractRevertError) as caught:
        connect(payer).respond_to_validation(name, 1)
    assert caught.value.reason == "not_validator"
    assert nonce_of(web3, payer) == before


@pytest.mark.parametrize(("response", "reason"), [(101, "response_too_high"), (255, "response_too_high")])
def test_a_response_is_100_at_most(connect, owner, checker, agent, name, response, reason):
    connect(owner).request_validation(agent, checker.address, "", name).wait()
    with pytest.raises(ContractRevertError) as caught:
        connect(checker).respond_to_validation(name, response)
    assert caught.value.reason == reason
    with pytest.raises(InvalidArgumentError):
        connect(checker).respond_to_validation(name, 256)


def test_an_unknown_request_is_refused(connect, checker, name):
    for attempt in (
        lambda: connect().get_validation_status(name),
        lambda: connect(checker).respond_to_validation(name, 1),
    ):
        with pytest.raises(ContractRevertError) as caught:
            attempt()
        assert caught.value.reason == "unknown_request"


def test_a_hash_is_used_once(connect, owner, checker, agent, name):
    connect(owner).request_validation(agent, checker.address, "", name).wait()
    with pytest.raises(ContractRevertError) as caught:
        connect(owner).request_validation(agent, checker.address, "", name)
    assert caught.value.reason == "request_exists"


@pytest.mark.parametrize(
    "refusal",
    [refuses("out of gas"), refuses("execution reverted"), lambda *_: 413, lambda *_: b"cut"],
    ids=["gas", "revert", "HTTP", "no JSON"],
)
def test_requests_that_are_too_many_for_a_call_are_read_from_the_logs(connect, node, owner, register, refusal):
    agents, validator, stranger = [register(), register()], Account.create().address, Account.create().address
    names = [keccak(Account.create().address.encode()) for _ in range(4)]
    for name, agent, asked in zip(names, agents * 2, [validator, validator, stranger, validator], strict=True):
        connect(owner).request_validation(agent, asked, "data:,", name).wait()
    client = connect(to=node.url)
    client.get_deployment()
    node.interference["eth_call"] = refusal
    assert client.get_validator_requests(validator) == connect().get_validator_requests(validator)
    assert client.get_validator_requests(validator) == [names[0], names[1], names[3]]
    assert client.get_agent_validations(agents[0]) == connect().get_agent_validations(agents[0])
    assert client.get_agent_validations(agents[0]) == [names[0], names[2]]


def test_a_refusal_of_requests_with_a_reason_is_passed_on(connect, node, checker):
    client = connect(to=node.url)
    client.get_deployment()
    node.interference["eth_call"] = refuses("execution reverted", 3, "0x12345678")
    with pytest.raises(ContractRevertError) as caught:
        client.get_validator_requests(checker.address)
    assert caught.value.data == bytes.fromhex("12345678")


def test_a_stranger_requests_nothing(connect, payer, checker, agent, name):
    with pytest.raises(ContractRevertError) as caught:
        connect(payer).request_validation(agent, checker.address, "", name)
    assert caught.value.reason == "not_authorized"
