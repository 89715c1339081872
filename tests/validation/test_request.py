"""`validationRequest`: callers, arguments and effects."""

from __future__ import annotations

import ape
import pytest
from eth_utils import keccak

from bilateral.core.signatures import AgentWalletSet, Domain
from tests.helpers import logged
from tests.validation.conftest import REQUEST_URI, UNKNOWN_AGENT

ZERO_ADDRESS = "0x" + "00" * 20
ZERO_HASH = bytes(32)
REQUEST_HASH = keccak(text="the request")
LAST_AGENT_ID = 2**64 - 1


@pytest.fixture(scope="session")
def request_as(validation, validator, agent_id):
    """Requests the same validation, as the given account."""

    def request_as(sender):
        return validation.validationRequest(validator, agent_id, REQUEST_URI, REQUEST_HASH, sender=sender)

    return request_as


@pytest.fixture(scope="session")
def permissive_registry(project, deployer):
    """A validation registry. Its identity registry knows every agent id."""
    return deployer.deploy(project.ValidationRegistry, deployer.deploy(project.IdentityAuthorizesEverybody))


def test_request_emits_one_whole_event(request_as, owner, validator, agent_id):
    assert logged(request_as(owner)) == [
        (
            "ValidationRequest",
            {
                "validatorAddress": validator.address,
                "agentId": agent_id,
                "requestURI": REQUEST_URI,
                "requestHash": REQUEST_HASH,
            },
        )
    ]


def test_request_is_pending_since_its_time(chain, request_as, status, owner, validator, agent_id):
    chain.pending_timestamp += 1000
    receipt = request_as(owner)
    assert status(REQUEST_HASH) == {
        "validatorAddress": validator.address,
        "agentId": agent_id,
        "response": 0,
        "responseHash": ZERO_HASH,
        "tag": "",
        "lastUpdate": receipt.timestamp,
    }


def test_owner_may_request(request_as, owner):
    assert not request_as(owner).failed


def test_operator_may_request(identity, request_as, owner, operator):
    identity.setApprovalForAll(operator, True, sender=owner)
    assert not request_as(operator).failed


def test_approved_address_may_request(identity, request_as, owner, approved, agent_id):
    identity.approve(approved, agent_id, sender=owner)
    assert not request_as(approved).failed


def test_stranger_may_not_request(request_as, stranger):
    with ape.reverts("Not authorized"):
        request_as(stranger)


def test_validator_may_not_request_for_the_agent(request_as, validator):
    with ape.reverts("Not authorized"):
        request_as(validator)


@pytest.mark.usefixtures("other_agent_id")
def test_owner_of_another_agent_may_not_request(request_as, other_owner):
    with ape.reverts("Not authorized"):
        request_as(other_owner)


def test_former_operator_may_not_request(identity, request_as, owner, operator):
    identity.setApprovalForAll(operator, True, sender=owner)
    identity.setApprovalForAll(operator, False, sender=owner)
    with ape.reverts("Not authorized"):
        request_as(operator)


def test_agents_wallet_may_not_request(chain, identity, request_as, owner, wallet_key, agent_id):
    deadline = chain.pending_timestamp + 60
    consent = AgentWalletSet(agent_id, wallet_key.address, owner.address, deadline)
    signature = wallet_key.sign_message(consent.signable(Domain(chain.chain_id, identity.address))).encode_rsv()
    identity.setAgentWallet(agent_id, wallet_key, deadline, signature, sender=owner)
    with ape.reverts("Not authorized"):
        request_as(wallet_key)


def test_after_a_transfer_the_new_owner_may_request(identity, request_as, owner, client, agent_id):
    identity.transferFrom(owner, client, agent_id, sender=owner)
    assert not request_as(client).failed


@pytest.mark.parametrize("former", ["owner", "operator", "approved"])
def test_after_a_transfer_nobody_of_the_former_side_may_request(identity, request_as, request, former, agent_id):
    owner, client, operator, approved = map(request.getfixturevalue, ["owner", "client", "operator", "approved"])
    identity.setApprovalForAll(operator, True, sender=owner)
    identity.approve(approved, agent_id, sender=owner)
    identity.transferFrom(owner, client, agent_id, sender=owner)
    with ape.reverts("Not authorized"):
        request_as(request.getfixturevalue(former))


def test_unknown_agent_is_refused_with_the_identity_registrys_error(validation, identity, owner, validator):
    with ape.reverts(identity.ERC721NonexistentToken, tokenId=UNKNOWN_AGENT):
        validation.validationRequest(validator, UNKNOWN_AGENT, REQUEST_URI, REQUEST_HASH, sender=owner)


def test_agent_id_0_is_unknown(validation, identity, owner, validator):
    with ape.reverts(identity.ERC721NonexistentToken, tokenId=0):
        validation.validationRequest(validator, 0, REQUEST_URI, REQUEST_HASH, sender=owner)


def test_validator_is_not_the_zero_address(validation, owner, agent_id):
    with ape.reverts("bad validator"):
        validation.validationRequest(ZERO_ADDRESS, agent_id, REQUEST_URI, REQUEST_HASH, sender=owner)


def test_hash_is_used_once(request_as, owner):
    request_as(owner)
    with ape.reverts("exists"):
        request_as(owner)


def test_hash_is_used_once_by_all_agents_and_validators(
    validation, request_as, owner, other_owner, other_agent_id, other_validator
):
    request_as(owner)
    with ape.reverts("exists"):
        validation.validationRequest(other_validator, other_agent_id, "", REQUEST_HASH, sender=other_owner)


def test_answered_hash_is_not_used_again(request_as, answer, owner):
    request_as(owner)
    answer(REQUEST_HASH, 0)
    with ape.reverts("exists"):
        request_as(owner)


def test_zero_hash_is_a_hash_like_any_other(validation, status, owner, validator, agent_id):
    validation.validationRequest(validator, agent_id, REQUEST_URI, ZERO_HASH, sender=owner)
    assert status(ZERO_HASH)["agentId"] == agent_id
    assert validation.getAgentValidations(agent_id) == [ZERO_HASH]
    assert validation.getValidatorRequests(validator) == [ZERO_HASH]
    with ape.reverts("exists"):
        validation.validationRequest(validator, agent_id, REQUEST_URI, ZERO_HASH, sender=owner)


def test_owner_may_name_itself_as_validator(validation, ask, answer, summary, owner):
    request_hash = ask("of oneself", of=owner)
    answer(request_hash, 100, sender=owner)
    assert summary() == (1, 100)
    assert validation.getValidatorRequests(owner) == [request_hash]


@pytest.mark.parametrize(
    "uri", ["", "x" * 10_000, "\x00", "ipfs://🤖/'\"><script>"], ids=["empty", "long", "zero byte", "markup"]
)
def test_uri_is_emitted_as_it_is(validation, owner, validator, agent_id, uri):
    receipt = validation.validationRequest(validator, agent_id, uri, REQUEST_HASH, sender=owner)
    ((_, fields),) = logged(receipt)
    assert fields["requestURI"] == uri


def test_bad_validator_comes_before_exists(validation, request_as, owner, agent_id):
    request_as(owner)
    with ape.reverts("bad validator"):
        validation.validationRequest(ZERO_ADDRESS, agent_id, REQUEST_URI, REQUEST_HASH, sender=owner)


def test_exists_comes_before_the_unknown_agent(validation, request_as, owner, validator):
    request_as(owner)
    with ape.reverts("exists"):
        validation.validationRequest(validator, UNKNOWN_AGENT, REQUEST_URI, REQUEST_HASH, sender=owner)


def test_exists_comes_before_the_callers_right(request_as, owner, stranger):
    request_as(owner)
    with ape.reverts("exists"):
        request_as(stranger)


def test_highest_agent_id_that_fits_is_kept_whole(permissive_registry, owner, validator):
    permissive_registry.validationRequest(validator, LAST_AGENT_ID, "", REQUEST_HASH, sender=owner)
    assert permissive_registry.getValidationStatus(REQUEST_HASH).agentId == LAST_AGENT_ID
    assert permissive_registry.getAgentValidations(LAST_AGENT_ID) == [REQUEST_HASH]
    assert permissive_registry.getValidatorRequests(validator) == [REQUEST_HASH]


def test_agent_id_that_does_not_fit_is_refused(permissive_registry, owner, validator):
    with ape.reverts(permissive_registry.SafeCastOverflowedUintDowncast, bits=64, value=LAST_AGENT_ID + 1):
        permissive_registry.validationRequest(validator, LAST_AGENT_ID + 1, "", REQUEST_HASH, sender=owner)


def test_agent_id_0_works_where_an_identity_registry_knows_it(permissive_registry, owner, validator):
    permissive_registry.validationRequest(validator, 0, "", REQUEST_HASH, sender=owner)
    with ape.reverts("exists"):
        permissive_registry.validationRequest(validator, 0, "", REQUEST_HASH, sender=owner)
    assert permissive_registry.getAgentValidations(0) == [REQUEST_HASH]
