"""A service that declines badly rated clients."""

from __future__ import annotations

import ape
import pytest
from ape.utils import ZERO_ADDRESS

from tests.delegation import delegate


@pytest.fixture
def deploy(project, deployer, registry, identity, server_id):
    def deploy(*, trusts_newcomers):
        return deployer.deploy(project.GatedService, registry, identity, server_id, trusts_newcomers)

    return deploy


@pytest.fixture
def service(deploy):
    return deploy(trusts_newcomers=True)


@pytest.mark.parametrize("rating", [70, 71, 100])
def test_client_rated_at_least_the_minimum_is_served(service, registry, server, client, client_id, rating):
    registry.rateClient(client_id, rating, sender=server)
    service.serve(sender=client)
    assert service.served(client_id) == 1


@pytest.mark.parametrize("rating", [0, 69])
def test_client_rated_below_the_minimum_is_declined(service, registry, server, server_id, client, client_id, rating):
    registry.rateClient(client_id, rating, sender=server)
    with ape.reverts(service.ClientDeclined, clientId=client_id, serverId=server_id, rating=rating, minimum=70):
        service.serve(sender=client)


def test_newcomer_is_served_where_newcomers_are_trusted(service, client, client_id):
    service.serve(sender=client)
    assert service.served(client_id) == 1


def test_newcomer_is_declined_where_newcomers_are_not_trusted(deploy, client, client_id, server_id):
    service = deploy(trusts_newcomers=False)
    with ape.reverts(service.ClientNotRated, clientId=client_id, serverId=server_id):
        service.serve(sender=client)


@pytest.mark.parametrize("trusts_newcomers", [True, False])
def test_account_without_an_agent_is_declined(deploy, stranger, server_id, trusts_newcomers):
    service = deploy(trusts_newcomers=trusts_newcomers)
    with ape.reverts(service.ClientNotRated, clientId=0, serverId=server_id):
        service.serve(sender=stranger)


def test_contract_is_not_served_as_the_sender_of_the_transaction(
    service, register, registry, server, server_id, wallet_key, call_as_contract
):
    registry.rateClient(register(wallet_key), 100, sender=server)
    with ape.reverts(service.ClientNotRated, clientId=0, serverId=server_id):
        call_as_contract(service, "serve")


def test_client_that_gave_its_agent_away_to_lose_its_rating_is_declined(
    service, identity, registry, server, server_id, client, client_id, stranger
):
    registry.rateClient(client_id, 0, sender=server)
    identity.transferFrom(client, stranger, client_id, sender=client)
    with ape.reverts(service.ClientNotRated, clientId=0, serverId=server_id):
        service.serve(sender=client)


def test_rating_by_another_server_does_not_count(service, registry, validator, validator_id, client, client_id):
    registry.rateClient(client_id, 0, sender=validator)
    service.serve(sender=client)
    assert service.served(client_id) == 1


def test_rating_as_a_validator_does_not_count(service, registry, server, client, client_id):
    registry.rateValidator(client_id, 0, sender=server)
    service.serve(sender=client)
    assert service.served(client_id) == 1


def test_gate_names_its_registry(service, registry):
    assert service.getRatingsRegistry() == registry


@pytest.mark.parametrize("wrong_identity", ["zero address", "account", "identity registry", "reputation registry"])
def test_gate_takes_nothing_but_a_registry_of_ratings(
    project, deployer, identity, networks, stranger, monkeypatch, wrong_identity
):
    # Ape would query a public block explorer for the address of the missing contract.
    monkeypatch.setitem(networks.provider.network.__dict__, "explorer", None)
    candidates = {
        "zero address": lambda: ZERO_ADDRESS,
        "account": lambda: stranger.address,
        "identity registry": lambda: identity.address,
        "reputation registry": lambda: deployer.deploy(project.ReputationRegistry, identity).address,
    }
    ratings = candidates[wrong_identity]()
    with ape.reverts(project.IReputationGate.NotARatingsRegistry, ratings=ratings):
        deployer.deploy(project.GatedService, ratings, identity, 1, True)


def test_account_that_delegates_to_a_registry_of_ratings_is_refused(
    project, deployer, identity, registry, networks, stranger, client, monkeypatch
):
    """The account answers like a registry of ratings (EIP-7702) until its key ends the delegation."""
    monkeypatch.setitem(networks.provider.network.__dict__, "explorer", None)
    delegate(networks.provider.web3, stranger, registry.address, sponsor=client)
    interface_id = bytes.fromhex("01ffc9a7")
    assert project.BidirectionalReputationRegistry.at(stranger.address).supportsInterface(interface_id)
    with ape.reverts(project.IReputationGate.NotARatingsRegistry, ratings=stranger.address):
        deployer.deploy(project.GatedService, stranger, identity, 1, True)
