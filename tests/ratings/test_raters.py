"""The agent as which an account rates."""

from __future__ import annotations

import ape
import pytest
from ape.utils import ZERO_ADDRESS

from bilateral.core.signatures import AgentWalletSet, Domain


@pytest.fixture
def second_id(register, server, server_id, client_id, validator_id):
    """The server's second agent."""
    return register(server)


@pytest.fixture
def set_wallet(identity, chain, server, server_id):
    """A function that makes an account the wallet of the server's agent."""

    def set_wallet(wallet, sender=server):
        deadline = chain.pending_timestamp + 60
        consent = AgentWalletSet(server_id, wallet.address, server.address, deadline)
        signature = wallet.sign_message(consent.signable(Domain(chain.chain_id, identity.address))).encode_rsv()
        identity.setAgentWallet(server_id, wallet, deadline, signature, sender=sender)

    return set_wallet


def test_owner_of_several_agents_rates_as_its_primary_agent(
    registry, identity, server, server_id, second_id, client_id
):
    registry.rateClient(client_id, 10, sender=server)
    identity.setPrimaryAgent(second_id, sender=server)
    registry.rateClient(client_id, 90, sender=server)
    assert tuple(registry.getClientRating(client_id, server_id)) == (True, 10)
    assert tuple(registry.getClientRating(client_id, second_id)) == (True, 90)


def test_owner_rates_its_own_other_agent(registry, server, server_id, second_id):
    registry.rateClient(second_id, 100, sender=server)
    assert tuple(registry.getClientRating(second_id, server_id)) == (True, 100)


def test_wallet_rates_as_its_agent(registry, set_wallet, wallet_key, server_id, client_id):
    set_wallet(wallet_key)
    registry.rateClient(client_id, 42, sender=wallet_key)
    assert tuple(registry.getClientRating(client_id, server_id)) == (True, 42)


def test_approved_address_that_made_itself_the_wallet_rates_as_the_agent_until_the_wallet_is_unset(
    registry, identity, set_wallet, approved, server, server_id, client_id, validator_id
):
    identity.approve(approved, server_id, sender=server)
    set_wallet(approved, sender=approved)
    identity.approve(ZERO_ADDRESS, server_id, sender=server)
    registry.rateClient(client_id, 1, sender=approved)
    identity.unsetAgentWallet(server_id, sender=server)
    with ape.reverts(registry.RaterNotRegistered, account=approved):
        registry.rateClient(validator_id, 1, sender=approved)
    assert tuple(registry.getClientRating(client_id, server_id)) == (True, 1)


def test_wallet_does_not_rate_its_own_agent(registry, set_wallet, wallet_key, server_id):
    set_wallet(wallet_key)
    with ape.reverts(registry.CannotRateSelf):
        registry.rateClient(server_id, 100, sender=wallet_key)


def test_wallet_and_owner_rate_once_between_them(registry, set_wallet, wallet_key, server, server_id, client_id):
    set_wallet(wallet_key)
    registry.rateClient(client_id, 42, sender=wallet_key)
    with ape.reverts(registry.AlreadyRated, subjectId=client_id, serverId=server_id):
        registry.rateClient(client_id, 43, sender=server)


def test_rotated_wallet_no_longer_rates_and_its_successor_does(
    registry, set_wallet, wallet_key, stranger, server_id, client_id
):
    set_wallet(wallet_key)
    set_wallet(stranger)
    with ape.reverts(registry.RaterNotRegistered, account=wallet_key.address):
        registry.rateClient(client_id, 42, sender=wallet_key)
    registry.rateClient(client_id, 43, sender=stranger)
    assert tuple(registry.getClientRating(client_id, server_id)) == (True, 43)


def test_former_owner_no_longer_rates(registry, identity, server, server_id, stranger, client_id):
    identity.transferFrom(server, stranger, server_id, sender=server)
    with ape.reverts(registry.RaterNotRegistered, account=server.address):
        registry.rateClient(client_id, 42, sender=server)


def test_new_owner_rates_only_when_it_has_chosen_the_agent(registry, identity, server, server_id, stranger, client_id):
    identity.transferFrom(server, stranger, server_id, sender=server)
    with ape.reverts(registry.RaterNotRegistered, account=stranger.address):
        registry.rateClient(client_id, 42, sender=stranger)
    identity.setPrimaryAgent(server_id, sender=stranger)
    registry.rateClient(client_id, 42, sender=stranger)
    assert tuple(registry.getClientRating(client_id, server_id)) == (True, 42)


def test_new_owner_with_an_agent_goes_on_rating_as_that_one(
    registry, identity, server, server_id, validator, validator_id, client_id
):
    identity.transferFrom(server, validator, server_id, sender=server)
    registry.rateClient(client_id, 42, sender=validator)
    assert tuple(registry.getClientRating(client_id, validator_id)) == (True, 42)
    assert tuple(registry.getClientRating(client_id, server_id)) == (False, 0)


def test_ratings_stay_with_the_agent_when_it_is_transferred(registry, identity, server, server_id, stranger, client_id):
    registry.rateClient(client_id, 42, sender=server)
    identity.transferFrom(server, stranger, server_id, sender=server)
    identity.setPrimaryAgent(server_id, sender=stranger)
    with ape.reverts(registry.AlreadyRated, subjectId=client_id, serverId=server_id):
        registry.rateClient(client_id, 100, sender=stranger)
    assert tuple(registry.getClientRating(client_id, server_id)) == (True, 42)
