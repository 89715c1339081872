"""Credentials of tiers: signed by the attestor, for a day at most, for one holder."""

from __future__ import annotations

import pytest

from tests.buyers.conftest import POLICY, PSEUDONYM, SCOPE, TRUSTED

DAY = 86_400


@pytest.fixture
def now(chain):
    return chain.blocks.head.timestamp


@pytest.fixture
def credential(stranger, now):
    """A credential of an hour for a fresh address."""
    return (stranger.address, now, now + 3_600, POLICY, TRUSTED, SCOPE, PSEUDONYM)


def test_credential_of_the_attestor_is_valid(registry, attestor, sign, credential):
    assert registry.verifyCredential(credential, sign(attestor, credential))


def test_credential_of_anybody_else_is_not(registry, anchorer, stranger, sign, credential):
    for signer in (anchorer, stranger):
        assert not registry.verifyCredential(credential, sign(signer, credential))
    assert not registry.verifyCredential(credential, b"")


@pytest.mark.parametrize("field", range(7))
def test_credential_with_another_field_is_not_valid(registry, attestor, client, sign, credential, field):
    changed = list(credential)
    changed[field] = [client.address, credential[1] - 1, credential[2] - 1, bytes(32), 3, bytes(32), bytes(32)][field]
    assert not registry.verifyCredential(tuple(changed), sign(attestor, credential))
    assert registry.verifyCredential(tuple(changed), sign(attestor, changed))


@pytest.mark.parametrize(
    "domain",
    [{"name": "Other"}, {"version": "2"}, {"chainId": 1}, {"verifyingContract": "0x" + "11" * 20}],
    ids=["name", "version", "chain", "contract"],
)
def test_credential_for_another_registry_is_not_valid(registry, attestor, sign, credential, domain):
    assert not registry.verifyCredential(credential, sign(attestor, credential, domain))


@pytest.mark.parametrize(
    ("start", "end", "valid"),
    [(0, 0, True), (1, DAY, False), (-1, -1, False), (-DAY, 0, True), (-DAY - 1, 0, False), (0, DAY, True)],
    ids=["this second", "too early", "too late", "last second of a day", "longer than a day", "first second of a day"],
)
def test_credential_is_valid_for_a_day_at_most(registry, attestor, sign, credential, now, start, end, valid):
    changed = (credential[0], now + start, now + end, *credential[3:])
    assert registry.verifyCredential(changed, sign(attestor, changed), block_id="latest") is valid


def test_credential_that_ends_before_it_begins_is_not_valid(registry, attestor, sign, credential, now):
    changed = (credential[0], now + 10, now - 10, *credential[3:])
    assert not registry.verifyCredential(changed, sign(attestor, changed))


def test_credentials_end_with_the_attestors_role(registry, attestor, successor, sign, credential):
    registry.setNominee(successor, 0, sender=attestor)
    assert registry.verifyCredential(credential, sign(attestor, credential))
    registry.takeRole(0, sender=successor)
    assert not registry.verifyCredential(credential, sign(attestor, credential))
    assert registry.verifyCredential(credential, sign(successor, credential))


def test_attestor_may_be_a_contract(
    deployer, project, identity, token, contract_wallet, wallet_key, anchorer, sign, credential
):
    arguments = (identity, [token], contract_wallet, anchorer)
    registry = deployer.deploy(project.BuyerReputationRegistry, *arguments)
    signature = sign(wallet_key, credential, {"verifyingContract": registry.address})
    assert registry.verifyCredential(credential, signature)


def test_signers_sign_the_digest_of_the_registry(registry, attestor, credential, sign):
    from eth_keys import keys  # noqa: PLC0415

    signature = sign(attestor, credential)
    digest = bytes(registry.getCredentialHash(credential))
    recovered = keys.Signature(signature[:64] + bytes([signature[64] - 27])).recover_public_key_from_msg_hash(digest)
    assert recovered.to_checksum_address() == attestor.address


def test_domain_is_told(registry, chain):
    assert tuple(registry.eip712Domain())[1:5] == (
        "BuyerReputationRegistry", "1", chain.chain_id, registry.address,
    )  # fmt: skip
