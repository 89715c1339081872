"""Fields that share a storage word keep all of their bits: ids of 64 bits, numbers and times of 40, counts of 152."""

from __future__ import annotations

import pytest
from eth_abi import encode
from eth_utils import keccak

LOW_ID = 7
HIGH_BITS = pytest.mark.parametrize("high_id", [LOW_ID + 2**bit for bit in (8, 16, 24, 32, 40, 48, 56, 63)], ids=hex)
"""Ids that differ from `LOW_ID` in one high bit."""

REQUEST_COUNTS_SLOT = 2
"""`ValidationRegistry._requestCounts`."""

LAST_NUMBER = 2**40 - 1


@pytest.fixture
def registry(project, deployer):
    """A validation registry whose identity registry knows every id and authorises every account."""
    return deployer.deploy(project.ValidationRegistry, deployer.deploy(project.IdentityAuthorizesEverybody))


@pytest.fixture
def request_validation(registry, owner, validator):
    """Requests a validation, and returns its hash."""

    def request(agent_id, name, of=validator):
        request_hash = keccak(text=name)
        registry.validationRequest(of, agent_id, "", request_hash, sender=owner)
        return request_hash

    return request


@pytest.fixture
def skip_requests(registry, networks):
    """Sets the number of an agent's next request, as though it had made all earlier ones."""

    def skip(agent_id, number):
        slot = int.from_bytes(keccak(encode(["uint256", "uint256"], [agent_id, REQUEST_COUNTS_SLOT])))
        networks.provider.set_storage(registry.address, slot, number.to_bytes(32))

    return skip


@HIGH_BITS
def test_agents_that_differ_in_one_high_bit_have_their_own_requests(registry, request_validation, validator, high_id):
    low, high = request_validation(LOW_ID, "low"), request_validation(high_id, "high")
    assert (registry.getAgentValidations(LOW_ID), registry.getAgentValidations(high_id)) == ([low], [high])
    registry.validationResponse(high, 90, "", bytes(32), "tag", sender=validator)
    assert registry.getSummary(LOW_ID, [], "") == (0, 0)
    assert registry.getSummary(high_id, [], "") == (1, 90)
    assert registry.getValidationStatus(low).agentId == LOW_ID
    assert registry.getValidationStatus(high).agentId == high_id


@HIGH_BITS
def test_list_of_a_validator_follows_agents_that_differ_in_one_high_bit(
    registry, request_validation, validator, high_id
):
    hashes = [
        request_validation(agent_id, f"{number}") for number, agent_id in enumerate([LOW_ID, high_id, LOW_ID, high_id])
    ]
    assert registry.getValidatorRequests(validator) == hashes


@HIGH_BITS
def test_response_keeps_a_list_that_follows_agents_with_high_ids(registry, request_validation, validator, high_id):
    hashes = [request_validation(agent_id, f"{number}") for number, agent_id in enumerate([high_id, LOW_ID, high_id])]
    for request_hash in hashes:
        registry.validationResponse(request_hash, 1, "", bytes(32), "", sender=validator)
    assert registry.getValidatorRequests(validator) == hashes


@HIGH_BITS
def test_previous_request_of_an_agent_with_a_high_id_leaves_the_time(registry, request_validation, chain, high_id):
    """The previous position and the time share a word."""
    request_validation(high_id, "previous")
    status = registry.getValidationStatus(request_validation(LOW_ID, "last"))
    assert (status.agentId, status.lastUpdate) == (LOW_ID, chain.blocks.head.timestamp)


@pytest.mark.parametrize("number", [2**bit for bit in (8, 16, 24, 32, 39)] + [LAST_NUMBER])
def test_request_with_a_high_number_is_found_beside_the_first(
    registry, request_validation, skip_requests, validator, number
):
    first = request_validation(LOW_ID, "first")
    skip_requests(LOW_ID, number)
    high = request_validation(LOW_ID, "high")
    neighbour = request_validation(LOW_ID + 1, "neighbour")
    for request_hash, response in [(first, 1), (high, 2), (neighbour, 3)]:
        registry.validationResponse(request_hash, response, "", bytes(32), "", sender=validator)
    statuses = [registry.getValidationStatus(request) for request in (first, high, neighbour)]
    assert [(status.agentId, status.response) for status in statuses] == [(LOW_ID, 1), (LOW_ID, 2), (LOW_ID + 1, 3)]
    assert registry.getValidatorRequests(validator) == [first, high, neighbour]


@pytest.mark.parametrize("time", [2**32, 2**33 + 1, 2**39, 2**40 - 1])
def test_time_after_the_year_2106_is_kept_whole(registry, request_validation, chain, validator, time):
    chain.pending_timestamp = time
    request_hash = request_validation(LOW_ID, "late")
    assert registry.getValidationStatus(request_hash).lastUpdate == time
    receipt = registry.validationResponse(request_hash, 50, "", bytes(32), "", sender=validator)
    assert registry.getValidationStatus(request_hash).lastUpdate == receipt.timestamp >= time
    assert registry.getValidatorRequests(validator) == [request_hash]


def test_validator_with_more_than_256_requests_has_them_all(registry, validator, project, deployer):
    batcher = deployer.deploy(project.MockBatcher)
    hashes = [keccak(text=f"{number}") for number in range(260)]
    for batch in (hashes[:130], hashes[130:]):
        calls = [registry.validationRequest.encode_input(validator, LOW_ID, "", entry) for entry in batch]
        batcher.executeAll(registry, calls, sender=deployer)
    assert registry.getValidatorRequests(validator) == hashes
    assert registry.getAgentValidations(LOW_ID) == hashes
