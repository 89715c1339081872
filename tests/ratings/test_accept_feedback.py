"""The August 2025 base: a server authorises a client to rate it, once."""

from __future__ import annotations

import ape
import pytest
from ape.utils import ZERO_ADDRESS
from eth_abi import encode
from eth_utils import keccak

from bilateral.core.signatures import AgentWalletSet, Domain
from tests.helpers import forked_to, logged


@pytest.fixture
def auth_id(registry, chain):
    def auth_id(client_id, server_id, chain_id=chain.chain_id):
        types = ["uint256", "uint256", "address", "uint256"]
        return keccak(encode(types, [client_id, server_id, registry.address, chain_id]))

    return auth_id


def test_authorisation_is_emitted_whole(registry, auth_id, server, server_id, client_id):
    assert logged(registry.acceptFeedback(client_id, server_id, sender=server)) == [
        (
            "AuthFeedback",
            {
                "agentClientId": client_id,
                "agentServerId": server_id,
                "feedbackAuthId": auth_id(client_id, server_id),
            },
        )
    ]


def test_authorisation_is_stored(registry, chain, auth_id, server, server_id, client_id):
    registry.acceptFeedback(client_id, server_id, sender=server)
    expected = auth_id(client_id, server_id)
    assert tuple(registry.isFeedbackAuthorized(client_id, server_id)) == (True, expected)
    assert registry.getFeedbackAuthId(client_id, server_id) == expected
    with forked_to(chain, chain.chain_id + 1):
        assert registry.getFeedbackAuthId(client_id, server_id) == auth_id(client_id, server_id, chain.chain_id + 1)


def test_pair_without_authorisation_has_no_id(registry, server, server_id, client_id, validator_id):
    registry.acceptFeedback(client_id, server_id, sender=server)
    for pair in ((validator_id, server_id), (server_id, client_id), (0, 0), (404, server_id)):
        assert tuple(registry.isFeedbackAuthorized(*pair)) == (False, bytes(32))
        assert registry.getFeedbackAuthId(*pair) == bytes(32)


@pytest.mark.usefixtures("last_agent_id")
@pytest.mark.parametrize("authorized", [2, 31, 32, 64])
def test_authorisation_leaves_its_neighbours_without(registry, server, server_id, authorized):
    registry.acceptFeedback(authorized, server_id, sender=server)
    for count in (0, authorized - 1, authorized, authorized + 1, authorized + 256):
        assert registry.isFeedbackAuthorized(count, server_id).isAuthorized == (count == authorized)


def test_unknown_client_is_refused(registry, stranger, server_id):
    with ape.reverts(registry.AgentNotFound):
        registry.acceptFeedback(404, server_id, sender=stranger)


def test_unknown_server_is_refused(registry, stranger, client_id):
    with ape.reverts(registry.AgentNotFound):
        registry.acceptFeedback(client_id, 404, sender=stranger)


def test_zero_address_is_not_the_wallet_that_an_unknown_server_lacks(registry, client_id):
    """Only a simulated call can come from the zero address."""
    with ape.reverts(registry.AgentNotFound):
        registry.acceptFeedback.call(client_id, 404, sender=ZERO_ADDRESS)


def test_zero_address_is_not_the_wallet_that_a_server_lacks(registry, identity, server, server_id, client_id):
    identity.unsetAgentWallet(server_id, sender=server)
    with ape.reverts(registry.UnauthorizedFeedback):
        registry.acceptFeedback.call(client_id, server_id, sender=ZERO_ADDRESS)


@pytest.mark.parametrize("pair", ["two agents", "an agent with itself"])
def test_strangers_are_refused_before_the_pair_is_looked_at(registry, stranger, server_id, client_id, pair):
    with ape.reverts(registry.UnauthorizedFeedback):
        registry.acceptFeedback(client_id if pair == "two agents" else server_id, server_id, sender=stranger)


def test_client_does_not_authorise_itself(registry, client, server_id, client_id):
    with ape.reverts(registry.UnauthorizedFeedback):
        registry.acceptFeedback(client_id, server_id, sender=client)


def test_operator_does_not_authorise(registry, identity, server, operator, server_id, client_id):
    identity.setApprovalForAll(operator, True, sender=server)
    with ape.reverts(registry.UnauthorizedFeedback):
        registry.acceptFeedback(client_id, server_id, sender=operator)


def test_server_is_not_its_own_client(registry, server, server_id):
    with ape.reverts(registry.SelfFeedbackNotAllowed):
        registry.acceptFeedback(server_id, server_id, sender=server)


def test_pair_is_authorised_once(registry, server, server_id, client_id):
    registry.acceptFeedback(client_id, server_id, sender=server)
    with ape.reverts(registry.FeedbackAlreadyAuthorized):
        registry.acceptFeedback(client_id, server_id, sender=server)


@pytest.fixture
def wallet(identity, chain, server, server_id, wallet_key):
    """The server's wallet, which is not its owner."""
    deadline = chain.pending_timestamp + 60
    consent = AgentWalletSet(server_id, wallet_key.address, server.address, deadline)
    signature = wallet_key.sign_message(consent.signable(Domain(chain.chain_id, identity.address))).encode_rsv()
    identity.setAgentWallet(server_id, wallet_key, deadline, signature, sender=server)
    return wallet_key


@pytest.mark.usefixtures("client_id")
@pytest.mark.parametrize("role", ["wallet", "server"])
def test_wallet_and_owner_authorise(request, registry, wallet, server_id, client_id, role):
    account = wallet if role == "wallet" else request.getfixturevalue("server")
    registry.acceptFeedback(client_id, server_id, sender=account)
    assert registry.isFeedbackAuthorized(client_id, server_id).isAuthorized


def test_owner_authorises_when_there_is_no_wallet(registry, identity, server, server_id, client_id):
    identity.unsetAgentWallet(server_id, sender=server)
    registry.acceptFeedback(client_id, server_id, sender=server)
    assert registry.isFeedbackAuthorized(client_id, server_id).isAuthorized


def test_former_wallet_does_not_authorise(registry, identity, wallet, server, server_id, client_id):
    identity.unsetAgentWallet(server_id, sender=server)
    with ape.reverts(registry.UnauthorizedFeedback):
        registry.acceptFeedback(client_id, server_id, sender=wallet)


def test_new_owner_authorises_and_the_former_does_not(registry, identity, server, stranger, server_id, client_id):
    identity.transferFrom(server, stranger, server_id, sender=server)
    with ape.reverts(registry.UnauthorizedFeedback):
        registry.acceptFeedback(client_id, server_id, sender=server)
    registry.acceptFeedback(client_id, server_id, sender=stranger)
    assert registry.isFeedbackAuthorized(client_id, server_id).isAuthorized


def test_feedback_needs_no_authorisation(registry, server_id, client, client_id):
    registry.giveFeedback(server_id, 87, 0, "", "", "", "", bytes(32), sender=client)
    assert tuple(registry.getSummary(server_id, [client], "", "")) == (1, 87, 0)
    assert not registry.isFeedbackAuthorized(client_id, server_id).isAuthorized
