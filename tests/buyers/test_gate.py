"""A service for trusted buyers: by their own account, or by a credential that a fresh address holds."""

from __future__ import annotations

import ape
import pytest

from tests.buyers.conftest import POLICY, TRUSTED, settled_record
from tests.delegation import delegate

VERIFIED = 1


@pytest.fixture
def service(deployer, project, registry):
    return deployer.deploy(project.DiscountedService, registry)


@pytest.fixture
def holder(stranger, chain):
    """A fresh address, which has paid nobody."""
    return stranger


@pytest.fixture
def credential(holder, chain):
    now = chain.blocks.head.timestamp
    return (holder.address, now, now + 3_600, POLICY, TRUSTED)


def test_trusted_buyer_is_served(service, registry, attest, attestor, client):
    attest(client, 10, 5_000_000)
    registry.recordReviews([(client, 1, 65, 0)], sender=attestor)
    service.serve(sender=client)
    assert service.served(client) == 1


def test_verified_buyer_is_declined(service, attest, client):
    attest(client, 10, 5_000_000)
    with ape.reverts(service.TierTooLow, account=client.address, tier=VERIFIED, minimum=TRUSTED):
        service.serve(sender=client)


def test_fresh_address_with_a_credential_is_served(service, registry, attestor, holder, sign, credential):
    assert settled_record(registry, holder).payments == 0
    service.serveHolder(credential, sign(attestor, credential), sender=holder)
    assert service.served(holder) == 1


def test_credential_of_another_holder_is_refused(service, attestor, holder, client, sign, credential):
    with ape.reverts(service.CredentialOfAnother, holder=holder.address, caller=client.address):
        service.serveHolder(credential, sign(attestor, credential), sender=client)


def test_credential_of_a_low_tier_is_refused(service, attestor, holder, sign, credential):
    low = (*credential[:4], VERIFIED)
    with ape.reverts(service.TierTooLow, account=holder.address, tier=VERIFIED, minimum=TRUSTED):
        service.serveHolder(low, sign(attestor, low), sender=holder)


def test_forged_credential_is_refused(service, holder, sign, credential):
    with ape.reverts(service.CredentialNotValid, holder=holder.address):
        service.serveHolder(credential, sign(holder, credential), sender=holder)


def test_gate_tells_its_registry(service, registry):
    assert service.getBuyerRegistry() == registry.address


def test_gate_refuses_a_contract_that_is_not_a_buyer_registry(deployer, project, identity):
    with ape.reverts(project.DiscountedService.NotABuyerRegistry, registry=identity.address):
        deployer.deploy(project.DiscountedService, identity)


def test_gate_refuses_an_account_with_delegated_code(deployer, project, networks, stranger, registry):
    delegate(networks.provider.web3, stranger, registry, deployer)
    with ape.reverts(project.DiscountedService.NotABuyerRegistry, registry=stranger.address):
        deployer.deploy(project.DiscountedService, stranger)
