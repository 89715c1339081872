"""Agents whose owner is a contract (ERC-1271), a hostile contract, or a delegated account (EIP-7702)."""

from __future__ import annotations

from dataclasses import replace

import ape
import pytest

from bilateral.core.signatures import encode_feedback_auth
from tests.authorized.helpers import Given, refusal, sign

HOSTILE_WALLETS = [
    "WalletRefuses",
    "WalletReverts",
    "WalletReturnsShortData",
    "WalletReturnsDirtyMagic",
    "WalletBurnsGas",
]


def register_by(wallet, identity, sender):
    """Register an agent by a contract wallet, and return its id."""
    wallet.execute(identity, identity.register.encode_input(), sender=sender)
    return identity.getAgentCount()


def digest_of(registry, auth):
    return registry.hashFeedbackAuth((auth.agent_id, auth.client_address, auth.index_limit, auth.expiry, auth.chain_id))


@pytest.fixture()
def wallet_auth(identity, contract_wallet, wallet_key, auth):
    """An authorisation for an agent that belongs to a contract wallet."""
    return replace(auth, agent_id=register_by(contract_wallet, identity, wallet_key))


@pytest.fixture()
def delegated_owner(deployer, project, owner, other_owner, chain):
    """The agent's owner, delegated to a wallet contract that follows another account's key."""
    wallet = deployer.deploy(project.MockWallet, other_owner)
    chain.provider.set_code(owner.address, bytes.fromhex("ef0100" + wallet.address[2:]))
    return owner


def test_contract_owner_authorises_by_what_it_accepts(registry, give, wallet_auth, wallet_key, domain, client):
    give(encode_feedback_auth(wallet_auth, sign(wallet_key, wallet_auth, domain)), agent_id=wallet_auth.agent_id)
    assert registry.getLastIndex(wallet_auth.agent_id, client) == 1


def test_contract_owner_is_asked_about_the_digest_that_the_registry_shows(
    registry, contract_wallet, wallet_auth, wallet_key, domain
):
    signature = sign(wallet_key, wallet_auth, domain)
    assert contract_wallet.isValidSignature(digest_of(registry, wallet_auth), signature).hex() == "1626ba7e"


def test_contract_owner_that_does_not_accept_is_named(registry, give, contract_wallet, wallet_auth, stranger, domain):
    with ape.reverts(registry.SignatureRefused, owner=contract_wallet.address, digest=digest_of(registry, wallet_auth)):
        give(encode_feedback_auth(wallet_auth, sign(stranger, wallet_auth, domain)), agent_id=wallet_auth.agent_id)


@pytest.mark.parametrize("length", [0, 1, 64, 66, 500])
def test_signature_of_any_length_is_for_the_contract_owner_to_judge(
    refused, registry, contract_wallet, wallet_auth, wallet_key, domain, length
):
    """This wallet refuses all but 65 bytes; the registry leaves the decision to it."""
    signature = sign(wallet_key, wallet_auth, domain).ljust(length, b"\0")[:length]
    error = refused(encode_feedback_auth(wallet_auth, signature), agent_id=wallet_auth.agent_id)
    digest = digest_of(registry, wallet_auth)
    assert error == ("SignatureRefused", {"owner": contract_wallet.address, "digest": digest})


@pytest.mark.parametrize("length", [0, 64, 65, 66, 500])
def test_contract_owner_may_accept_a_signature_of_any_length(
    registry, identity, deployer, project, give, auth, client, length
):
    wallet = deployer.deploy(project.WalletAcceptsEverything)
    mine = replace(auth, agent_id=register_by(wallet, identity, deployer))
    give(encode_feedback_auth(mine, b"\7" * length), agent_id=mine.agent_id)
    assert registry.getLastIndex(mine.agent_id, client) == 1


def test_key_of_a_contract_owner_does_not_sign_for_an_agent_of_another_owner(
    registry, give, auth, owner, wallet_key, domain
):
    with ape.reverts(registry.SignerNotOwner, signer=wallet_key.address, owner=owner.address):
        give(encode_feedback_auth(auth, sign(wallet_key, auth, domain)))


def test_contract_owner_may_not_rate_its_own_agent(registry, contract_wallet, wallet_auth, wallet_key, domain):
    own = replace(wallet_auth, client_address=contract_wallet.address)
    entry = Given(own.agent_id, encode_feedback_auth(own, sign(wallet_key, own, domain)))
    expected = {"agentId": own.agent_id, "clientAddress": contract_wallet.address}
    assert refusal(registry, contract_wallet, entry) == ("SelfFeedbackNotAllowed", expected)


def test_transfer_to_a_contract_voids_what_the_former_owner_signed(
    registry, identity, give, entry, auth, agent_id, owner, contract_wallet
):
    identity.transferFrom(owner, contract_wallet, agent_id, sender=owner)
    with ape.reverts(registry.SignatureRefused, owner=contract_wallet.address, digest=digest_of(registry, auth)):
        give(entry.feedback_auth)


@pytest.mark.parametrize("new_owner", ["a second wallet of the key", "the key"])
def test_owner_that_accepts_the_same_key_takes_over_what_the_former_owner_signed(
    registry, identity, deployer, project, give, contract_wallet, wallet_auth, wallet_key, domain, client, new_owner
):
    """The signed struct does not name the owner, and this wallet does not bind the digest to its own address."""
    feedback_auth = encode_feedback_auth(wallet_auth, sign(wallet_key, wallet_auth, domain))
    receiver = wallet_key if new_owner == "the key" else deployer.deploy(project.MockWallet, wallet_key)
    transfer = identity.transferFrom.encode_input(contract_wallet, receiver, wallet_auth.agent_id)
    contract_wallet.execute(identity, transfer, sender=wallet_key)
    assert identity.ownerOf(wallet_auth.agent_id) == receiver
    give(feedback_auth, agent_id=wallet_auth.agent_id)
    assert registry.getLastIndex(wallet_auth.agent_id, client) == 1


@pytest.mark.parametrize("misdeed", HOSTILE_WALLETS)
def test_owner_that_misbehaves_authorises_nothing(
    registry, identity, deployer, project, give, auth, domain, wallet_key, misdeed
):
    wallet = deployer.deploy(getattr(project, misdeed))
    mine = replace(auth, agent_id=register_by(wallet, identity, deployer))
    with ape.reverts(registry.SignatureRefused, owner=wallet.address, digest=digest_of(registry, mine)):
        give(encode_feedback_auth(mine, sign(wallet_key, mine, domain)), agent_id=mine.agent_id)
    assert registry.getFeedbackCount(mine.agent_id) == 0


def test_owner_that_burns_gas_is_named_within_an_ordinary_gas_limit(
    registry, identity, deployer, project, refused, auth, domain, wallet_key
):
    wallet = deployer.deploy(project.WalletBurnsGas)
    mine = replace(auth, agent_id=register_by(wallet, identity, deployer))
    error = refused(encode_feedback_auth(mine, sign(wallet_key, mine, domain)), agent_id=mine.agent_id, gas=150_000)
    assert error == ("SignatureRefused", {"owner": wallet.address, "digest": digest_of(registry, mine)})


def test_owner_contract_without_erc1271_authorises_nothing(registry, identity, give, auth, agent_id, owner, domain):
    identity.transferFrom(owner, registry, agent_id, sender=owner)
    with ape.reverts(registry.SignatureRefused, owner=registry.address, digest=digest_of(registry, auth)):
        give(encode_feedback_auth(auth, sign(owner, auth, domain)))


def test_delegated_owner_signs_like_any_account(registry, give, auth, delegated_owner, domain, client):
    give(encode_feedback_auth(auth, sign(delegated_owner, auth, domain)))
    assert registry.getLastIndex(auth.agent_id, client) == 1


def test_delegated_owner_also_accepts_what_its_contract_accepts(
    registry, give, auth, delegated_owner, other_owner, domain, client
):
    assert delegated_owner.address != other_owner.address
    give(encode_feedback_auth(auth, sign(other_owner, auth, domain)))
    assert registry.getLastIndex(auth.agent_id, client) == 1


def test_delegated_owner_refuses_what_neither_it_nor_its_contract_signed(
    registry, give, auth, delegated_owner, stranger, domain
):
    with ape.reverts(registry.SignatureRefused, owner=delegated_owner.address, digest=digest_of(registry, auth)):
        give(encode_feedback_auth(auth, sign(stranger, auth, domain)))
