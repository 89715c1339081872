"""An authorisation is valid for one registry on one chain."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bilateral.core.signatures import Domain, FeedbackAuth, encode_feedback_auth
from tests.authorized.helpers import MAX_UINT256, Given, refusal, sign
from tests.helpers import forked_to

OTHER_CHAIN_ID = 84_532
"""The chain id of Base Sepolia."""


@pytest.fixture(scope="session")
def second_registry(deployer, project, identity):
    return deployer.deploy(project.AuthorizedReputationRegistry, identity)


def test_authorisation_is_worthless_on_a_second_deployment(registry, second_registry, entry, owner, client):
    assert refusal(registry, client, entry) is None
    name, arguments = refusal(second_registry, client, entry)
    assert name == "SignerNotOwner"
    assert arguments["owner"] == owner.address


def test_second_deployment_takes_what_was_signed_for_it(registry, second_registry, auth, owner, client, domain):
    its_domain = replace(domain, verifying_contract=second_registry.address)
    its_own = Given(auth.agent_id, encode_feedback_auth(auth, sign(owner, auth, its_domain)))
    assert refusal(second_registry, client, its_own) is None
    assert refusal(registry, client, its_own)[0] == "SignerNotOwner"


def test_authorisation_is_worthless_on_a_fork_with_another_chain_id(registry, chain, entry, client):
    own = chain.chain_id
    with forked_to(chain, OTHER_CHAIN_ID):
        error = refusal(registry, client, entry)
    assert error == ("ChainNotAuthorized", {"chainId": OTHER_CHAIN_ID, "authorizedChainId": own})
    assert refusal(registry, client, entry) is None


def test_signature_is_worthless_on_a_fork_even_under_fields_that_name_the_fork(
    registry, chain, auth, owner, client, domain
):
    for_the_fork = replace(auth, chain_id=OTHER_CHAIN_ID)
    stale = Given(auth.agent_id, encode_feedback_auth(for_the_fork, sign(owner, for_the_fork, domain)))
    with forked_to(chain, OTHER_CHAIN_ID):
        assert refusal(registry, client, stale)[0] == "SignerNotOwner"


def test_fork_takes_what_was_signed_for_it(registry, chain, agent_id, owner, client):
    auth = FeedbackAuth(agent_id, client.address, 1, MAX_UINT256, OTHER_CHAIN_ID)
    signature = sign(owner, auth, Domain(OTHER_CHAIN_ID, registry.address))
    its_own = Given(agent_id, encode_feedback_auth(auth, signature))
    with forked_to(chain, OTHER_CHAIN_ID):
        assert refusal(registry, client, its_own) is None
    assert refusal(registry, client, its_own)[0] == "ChainNotAuthorized"


def test_fork_shows_the_digest_of_its_own_domain(registry, chain, agent_id, client):
    auth = FeedbackAuth(agent_id, client.address, 1, MAX_UINT256, OTHER_CHAIN_ID)
    fields = (auth.agent_id, auth.client_address, auth.index_limit, auth.expiry, auth.chain_id)
    here = registry.hashFeedbackAuth(fields)
    with forked_to(chain, OTHER_CHAIN_ID):
        assert registry.hashFeedbackAuth(fields) != here
        assert registry.eip712Domain().chainId == OTHER_CHAIN_ID
