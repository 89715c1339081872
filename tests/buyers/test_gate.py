"""A service for trusted buyers: by their own account, or by a credential that a fresh address holds."""

from __future__ import annotations

import ape
import pytest
from eth_utils import keccak

from bilateral.buyers.credentials import gate_scope
from tests.buyers.conftest import POLICY, PSEUDONYM, TRUSTED, settled_record
from tests.delegation import delegate

VERIFIED = 1
DAY = 86_400
OTHER_POLICY = keccak(text="independent-1.0")


@pytest.fixture
def service(deployer, project, registry):
    return deployer.deploy(project.DiscountedService, registry, POLICY)


@pytest.fixture
def scope(service, chain):
    return gate_scope(chain.chain_id, service.address)


@pytest.fixture
def holder(stranger):
    """A fresh address, which has paid nobody."""
    return stranger


@pytest.fixture
def noon(chain):
    """The time of the last block, at noon of a day: no test crosses midnight."""
    time = (chain.blocks.head.timestamp // DAY + 1) * DAY + DAY // 2
    chain.mine(timestamp=time)
    return time


@pytest.fixture
def credential(holder, noon, scope):
    return (holder.address, noon, noon + 3_600, POLICY, TRUSTED, scope, PSEUDONYM)


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
    assert (service.servedHolders(PSEUDONYM), service.pseudonyms()) == (1, 1)


def test_thirty_holders_of_one_buyer_are_one_customer(service, attestor, accounts, sign, credential):
    """Each holder gets its own credential. All have the buyer's pseudonym."""
    holders = [accounts.generate_test_account() for _ in range(30)]
    for holder in holders:
        accounts[0].transfer(holder, "1 ether")
        own = (holder.address, *credential[1:])
        service.serveHolder(own, sign(attestor, own), sender=holder)
    assert (service.pseudonyms(), service.servedHolders(PSEUDONYM)) == (1, 30)


def test_two_buyers_are_two_customers(service, attestor, holder, sign, credential):
    for pseudonym in (PSEUDONYM, keccak(text="another buyer")):
        own = (*credential[:6], pseudonym)
        service.serveHolder(own, sign(attestor, own), sender=holder)
    assert service.pseudonyms() == 2


def test_credential_of_another_holder_is_refused(service, attestor, holder, client, sign, credential):
    with ape.reverts(service.CredentialOfAnother, holder=holder.address, caller=client.address):
        service.serveHolder(credential, sign(attestor, credential), sender=client)


def test_credential_by_another_policy_is_refused(service, attestor, holder, sign, credential):
    other = (*credential[:3], OTHER_POLICY, *credential[4:])
    with ape.reverts(service.PolicyMismatch, policy=OTHER_POLICY, expected=POLICY):
        service.serveHolder(other, sign(attestor, other), sender=holder)


def test_credential_for_another_gate_or_chain_is_refused(
    service, deployer, project, registry, attestor, holder, sign, credential, scope, chain
):
    twin = deployer.deploy(project.DiscountedService, registry, POLICY)
    with ape.reverts(twin.ScopeMismatch, scope=scope, expected=gate_scope(chain.chain_id, twin.address)):
        twin.serveHolder(credential, sign(attestor, credential), sender=holder)
    elsewhere = gate_scope(chain.chain_id + 1, service.address)
    other = (*credential[:5], elsewhere, PSEUDONYM)
    with ape.reverts(service.ScopeMismatch, scope=elsewhere, expected=scope):
        service.serveHolder(other, sign(attestor, other), sender=holder)


@pytest.mark.parametrize(("issued", "used", "passes"), [(-1, 0, False), (0, 0, True), (0, DAY - 1, True)])
def test_credential_counts_on_its_utc_day_alone(
    service, attestor, holder, sign, credential, chain, noon, issued, used, passes
):
    """It may be valid for a day from any second, but its pseudonym is of one day."""
    midnight = noon // DAY * DAY + DAY
    chain.pending_timestamp = midnight + used
    own = (holder.address, midnight + issued, midnight + issued + DAY, *credential[3:])
    if passes:
        service.serveHolder(own, sign(attestor, own), sender=holder)
        assert service.pseudonyms() == 1
        return
    today = midnight // DAY
    with ape.reverts(service.EpochOver, day=today - 1, today=today):
        service.serveHolder(own, sign(attestor, own), sender=holder)


def test_credential_of_a_low_tier_is_refused(service, attestor, holder, sign, credential):
    low = (*credential[:4], VERIFIED, *credential[5:])
    with ape.reverts(service.TierTooLow, account=holder.address, tier=VERIFIED, minimum=TRUSTED):
        service.serveHolder(low, sign(attestor, low), sender=holder)


@pytest.mark.parametrize("signer", ["holder", "nobody"])
def test_forged_credential_is_refused(service, holder, sign, credential, signer):
    signature = sign(holder, credential) if signer == "holder" else bytes(65)
    with ape.reverts(service.CredentialNotValid, holder=holder.address):
        service.serveHolder(credential, signature, sender=holder)


def test_changed_pseudonym_makes_a_credential_invalid(service, attestor, holder, sign, credential):
    changed = (*credential[:6], keccak(text="another customer"))
    with ape.reverts(service.CredentialNotValid, holder=holder.address):
        service.serveHolder(changed, sign(attestor, credential), sender=holder)


def test_gate_tells_its_registry_policy_and_scope(service, registry, scope):
    assert service.getBuyerRegistry() == registry.address
    assert (bytes(service.getTierPolicy()), bytes(service.getTierScope())) == (POLICY, scope)


def test_gate_refuses_a_contract_that_is_not_a_buyer_registry(deployer, project, identity):
    with ape.reverts(project.DiscountedService.NotABuyerRegistry, registry=identity.address):
        deployer.deploy(project.DiscountedService, identity, POLICY)


def test_gate_refuses_an_account_with_delegated_code(deployer, project, networks, stranger, registry):
    delegate(networks.provider.web3, stranger, registry, deployer)
    with ape.reverts(project.DiscountedService.NotABuyerRegistry, registry=stranger.address):
        deployer.deploy(project.DiscountedService, stranger, POLICY)
