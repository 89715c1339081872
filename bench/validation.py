"""Gas cases of the validation registry."""

from collections.abc import Sequence
from typing import Any

import ape
from eth_utils.crypto import keccak

from bench.identity import URI
from bench.measurement import GasCase, World, execution_gas

RESPONSE_HASH = keccak(text="evidence")

TAG = "hard-finality"

OTHER_TAG = "soft-finality"


def _request_hash(number: int) -> bytes:
    return keccak(text=f"request {number}")


def _request(world: World, number: int) -> int:
    return int(
        world.validation.validationRequest(world.validator, 1, URI, _request_hash(number), sender=world.owner).gas_used
    )


def _respond(world: World, number: int, response: int, tag: str) -> int:
    # In the second of the request, or of the answer before, the time of the last update would not change.
    ape.chain.pending_timestamp += 60
    return int(
        world.validation.validationResponse(
            _request_hash(number), response, URI, RESPONSE_HASH, tag, sender=world.validator
        ).gas_used
    )


def _request_some(world: World, count: int) -> int:
    """Request validations for a newly registered agent, and return the gas of the last request."""
    world.identity.register(sender=world.owner)
    return [_request(world, number) for number in range(count)][-1]


def _first_response(world: World, *, tag_is_known: bool) -> int:
    _request_some(world, 2)
    if tag_is_known:
        _respond(world, 0, 50, TAG)
    return _respond(world, 1, 100, TAG)


def _second_response(world: World) -> int:
    _request_some(world, 1)
    _respond(world, 0, 50, OTHER_TAG)
    return _respond(world, 0, 100, TAG)


def _answer_many(world: World, count: int, *, answered: int) -> Any:
    """Let a contract request validations of its own agent from itself and answer some of them.

    Args:
        world: The world.
        count: The number of requests.
        answered: The number of answered requests: the first ones.

    Returns:
        The contract.
    """
    batcher = world.deployer.deploy(ape.project.MockBatcher)
    batcher.executeAll(world.identity, [world.identity.register.encode_input()], sender=world.deployer)
    requests = [
        world.validation.validationRequest.encode_input(batcher, 1, URI, _request_hash(number))
        for number in range(count)
    ]
    responses = [
        world.validation.validationResponse.encode_input(_request_hash(number), number, URI, RESPONSE_HASH, TAG)
        for number in range(answered)
    ]
    batcher.executeAll(world.validation, requests + responses, sender=world.deployer)
    return batcher


def _get_summary(world: World, count: int, *, answered: int, filtered: bool = False) -> int:
    validator = _answer_many(world, count, answered=answered)
    validators: Sequence[Any] = [validator] if filtered else []
    return execution_gas(world.validation.getSummary, 1, validators, TAG if filtered else "")


def _get_agent_validations(world: World, count: int) -> int:
    _answer_many(world, count, answered=0)
    return execution_gas(world.validation.getAgentValidations, 1)


def _get_validator_requests(world: World, count: int) -> int:
    validator = _answer_many(world, count, answered=0)
    return execution_gas(world.validation.getValidatorRequests, validator)


CASES = [
    GasCase("validationRequest, first of agent and validator", 145_000, lambda w: _request_some(w, 1)),
    GasCase("validationRequest, after others", 125_000, lambda w: _request_some(w, 2), 175_967, 267_073),
    GasCase(
        "validationResponse, first, new tag", 90_000, lambda w: _first_response(w, tag_is_known=False), 132_294, 167_369
    ),
    GasCase(
        "validationResponse, first, known tag",
        70_000,
        lambda w: _first_response(w, tag_is_known=True),
        132_294,
        167_369,
    ),
    GasCase("validationResponse, second, new tag", 75_000, _second_response),
    GasCase(
        "getSummary of 100 answered, no filter, execution",
        480_000,
        lambda w: _get_summary(w, 100, answered=100),
        705_488,
    ),
    GasCase(
        "getSummary of 100 answered, one validator and tag, execution",
        480_000,
        lambda w: _get_summary(w, 100, answered=100, filtered=True),
    ),
    GasCase("getSummary of 100 unanswered, execution", 250_000, lambda w: _get_summary(w, 100, answered=0)),
    GasCase("getAgentValidations of 100, execution", 250_000, lambda w: _get_agent_validations(w, 100)),
    GasCase("getValidatorRequests of 100, execution", 500_000, lambda w: _get_validator_requests(w, 100)),
]
"""The validation registry's calls."""
