"""A service for trusted buyers: by their own account, or by a credential that a fresh address holds."""

from __future__ import annotations

import ape
import pytest
from eth_utils import keccak

from bilateral.buyers.credentials import gate_scope
from tests.buyers.conftest import POLICY, PSEUDONYM, TRUSTED, settled_record
from tests.delegation import delegate
from tests.helpers import forked_to

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
def clone(deployer, networks, project):
    """Deploys a minimal proxy of a contract (ERC-1167), which runs the contract's code with its immutable values."""

    def clone(contract):
        code = f"0x3d602d80600a3d3981f3363d3d373d3d3d363d73{contract.address[2:]}5af43d82803e903d91602b57fd5bf3"
        web3 = networks.provider.web3
        receipt = web3.eth.wait_for_transaction_receipt(
            web3.eth.send_transaction({"from": deployer.address, "data": code})
        )
        return project.DiscountedService.at(receipt["contractAddress"])

    return clone


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


def test_clones_of_a_gate_have_scopes_of_their_own(service, clone, chain, attestor, holder, sign, credential):
    first, second = clone(service), clone(service)
    scopes = [gate_scope(chain.chain_id, gate.address) for gate in (service, first, second)]
    assert [bytes(gate.getTierScope()) for gate in (service, first, second)] == scopes
    own = (*credential[:5], scopes[1], PSEUDONYM)
    first.serveHolder(own, sign(attestor, own), sender=holder)
    assert first.pseudonyms() == 1
    with ape.reverts(second.ScopeMismatch, scope=scopes[1], expected=scopes[2]):
        second.serveHolder(own, sign(attestor, own), sender=holder)


def test_after_a_split_of_the_chain_only_credentials_for_the_new_chain_id_count(
    service, attestor, holder, sign, credential, scope, chain
):
    new_id = chain.chain_id + 1
    new_scope = gate_scope(new_id, service.address)
    own = (*credential[:5], new_scope, PSEUDONYM)
    signature = sign(attestor, own, {"chainId": new_id})
    with forked_to(chain, new_id):
        assert bytes(service.getTierScope()) == new_scope
        with ape.reverts(service.ScopeMismatch, scope=scope, expected=new_scope):
            service.serveHolder.call(credential, sign(attestor, credential), sender=holder)
        service.serveHolder.call(own, signature, sender=holder)


def test_contract_is_served_by_its_own_credential(
    service, attestor, contract_wallet, call_as_contract, sign, credential
):
    own = (contract_wallet.address, *credential[1:])
    call_as_contract(service, "serveHolder", own, sign(attestor, own))
    assert service.servedHolders(PSEUDONYM) == 1


def test_contract_is_not_served_as_the_sender_of_the_transaction(
    service, registry, attest, attestor, wallet_key, contract_wallet, call_as_contract, sign, credential
):
    own = (wallet_key.address, *credential[1:])
    with ape.reverts(service.CredentialOfAnother, holder=wallet_key.address, caller=contract_wallet.address):
        call_as_contract(service, "serveHolder", own, sign(attestor, own))
    attest(wallet_key, 10, 5_000_000)
    registry.recordReviews([(wallet_key, 1, 65, 0)], sender=attestor)
    with ape.reverts(service.TierTooLow, account=contract_wallet.address, tier=0, minimum=TRUSTED):
        call_as_contract(service, "serve")


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
