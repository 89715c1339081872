"""Tier credentials, signed and verified in Python as the registry verifies them."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from eth_account import Account

from bilateral.buyers.credentials import (
    agent_scope,
    gate_scope,
    is_valid_at,
    issue_credential,
    require_use,
    sign_credential,
    verify_credential,
    verify_credential_on_chain,
)
from bilateral.buyers.errors import CredentialRefusedError
from bilateral.client import Client
from bilateral.core.contracts import Deployment
from bilateral.core.contracts.buyer_terms import BuyerTier, policy_hash
from bilateral.core.errors import InvalidArgumentError, SignerFailedError
from bilateral.core.signatures import Domain

DAY = 86_400
HOLDER = "0x" + "11" * 20
BRP = policy_hash("brp-1.0")
SCOPE, PSEUDONYM = b"\x05" * 32, b"\x07" * 32
USE = {"scope": SCOPE, "pseudonym": PSEUDONYM}


@pytest.fixture(scope="module")
def key(attestor):
    return Account.from_key(attestor.private_key)


@pytest.fixture
def domain(chain, registry):
    return Domain(chain.chain_id, registry.address)


@pytest.fixture
def credential(chain):
    chain.mine()
    return issue_credential(HOLDER, BuyerTier.TRUSTED, BRP, **USE, at=chain.blocks.head.timestamp)


@pytest.fixture
def client(chain, registry, identity):
    deployment = Deployment(chain.chain_id, identity.address, buyers=registry.address)
    with Client(chain.provider.http_uri, deployment=deployment) as client:
        yield client


def test_python_and_the_registry_accept_a_signed_credential(registry, domain, key, credential, client):
    signature = sign_credential(credential, domain, key)
    assert credential.digest(domain) == registry.getCredentialHash(credential.arguments)
    assert registry.verifyCredential(credential.arguments, signature)
    assert verify_credential(credential, signature, domain, key.address.lower(), at=credential.issued_at)
    assert verify_credential_on_chain(credential, signature, client, at=credential.valid_until)


@pytest.mark.parametrize("field", ["holder", "policy", "tier", "issued_at", "valid_until", "scope", "pseudonym"])
def test_a_changed_credential_is_refused(registry, domain, key, credential, client, field):
    signature = sign_credential(credential, domain, key)
    values = {
        "holder": "0x" + "22" * 20,
        "policy": policy_hash("other"),
        "tier": BuyerTier.PREMIUM,
        "issued_at": credential.issued_at - 1,
        "valid_until": credential.valid_until + 1,
        "scope": PSEUDONYM,
        "pseudonym": SCOPE,
    }
    changed = replace(credential, **{field: values[field]})
    assert not verify_credential(changed, signature, domain, key.address, at=credential.issued_at)
    assert not verify_credential_on_chain(changed, signature, client, at=credential.issued_at)


def test_a_credential_of_another_registry_chain_or_signer_is_refused(domain, key, credential, registry):
    at = credential.issued_at
    for other in (replace(domain, chain_id=1), replace(domain, verifying_contract=HOLDER)):
        signature = sign_credential(credential, other, key)
        assert not verify_credential(credential, signature, domain, key.address, at=at)
        assert not registry.verifyCredential(credential.arguments, signature)
    forged = sign_credential(credential, domain, Account.create())
    assert not verify_credential(credential, forged, domain, key.address, at=at)


def test_a_credential_is_valid_from_its_first_to_its_last_second(domain, key, credential, client):
    signature = sign_credential(credential, domain, key)
    first, last = credential.issued_at, credential.valid_until
    for at, valid in ((first - 1, False), (first, True), (last, True), (last + 1, False)):
        assert is_valid_at(credential, at) == valid
        assert verify_credential(credential, signature, domain, key.address, at=at) == valid
        assert verify_credential_on_chain(credential, signature, client, at=at) == valid


@pytest.mark.parametrize(("lifetime", "valid"), [(DAY, True), (DAY + 1, False)])
def test_a_credential_is_valid_for_a_day_at_most(registry, domain, key, credential, lifetime, valid):
    longer = replace(credential, valid_until=credential.issued_at + lifetime)
    signature = sign_credential(longer, domain, key)
    assert verify_credential(longer, signature, domain, key.address, at=longer.issued_at) == valid
    assert registry.verifyCredential(longer.arguments, signature) == valid


@pytest.mark.parametrize("lifetime", [0, DAY + 1])
def test_a_lifetime_out_of_range_is_refused(lifetime):
    with pytest.raises(InvalidArgumentError, match=rf"lifetime {lifetime} is out of range 1\.\.86400"):
        issue_credential(HOLDER, BuyerTier.NEW, bytes(32), **USE, lifetime=lifetime)


def test_a_credential_begins_now():
    credential = issue_credential(HOLDER, BuyerTier.NEW, bytes(32), **USE)
    assert abs(credential.issued_at - time.time()) < 60


@pytest.mark.parametrize(
    ("second", "lifetime", "last"), [(0, DAY, DAY - 1), (0, 60, 60), (DAY - 61, 60, DAY - 1), (DAY - 1, 3_600, DAY - 1)]
)
def test_a_credential_ends_with_its_utc_day(second, lifetime, last):
    begin = 20_000 * DAY
    credential = issue_credential(HOLDER, BuyerTier.NEW, BRP, **USE, lifetime=lifetime, at=begin + second)
    assert (credential.issued_at, credential.valid_until) == (begin + second, begin + last)


def test_a_credential_for_its_use_passes():
    credential = issue_credential(HOLDER, BuyerTier.PREMIUM, BRP, **USE, at=5 * DAY)
    for minimum in BuyerTier:
        require_use(credential, HOLDER, policy=BRP, scope=SCOPE, minimum=minimum, at=6 * DAY - 1)


@pytest.mark.parametrize(
    ("changes", "reason", "field"),
    [
        ({"holder": "0x" + "22" * 20}, "credential_of_another", "holder"),
        ({"policy": policy_hash("independent-1.0")}, "policy_mismatch", "policy"),
        ({"scope": PSEUDONYM}, "scope_mismatch", "scope"),
        ({"at": 6 * DAY}, "epoch_over", "day"),
        ({"at": 5 * DAY - 1}, "epoch_over", "day"),
        ({"minimum": BuyerTier.PREMIUM}, "tier_too_low", "tier"),
    ],
)
def test_a_credential_for_another_use_is_refused_by_name(changes, reason, field):
    credential = issue_credential(HOLDER, BuyerTier.TRUSTED, BRP, **USE, at=5 * DAY)
    use = {"holder": HOLDER, "policy": BRP, "scope": SCOPE, "minimum": BuyerTier.TRUSTED, "at": 5 * DAY} | changes
    with pytest.raises(
        CredentialRefusedError, match=f"the credential's {field} is .*: request a new credential"
    ) as caught:
        require_use(credential, **use)
    assert (caught.value.reason, caught.value.field) == (reason, field)


def test_scopes_of_gates_and_agents_are_apart():
    scopes = [gate_scope(1, HOLDER), gate_scope(5, HOLDER), gate_scope(1, "0x" + "22" * 20)]
    scopes += [agent_scope(1, HOLDER, 0), agent_scope(1, HOLDER, 2**255), agent_scope(5, HOLDER, 0)]
    assert len(set(scopes)) == len(scopes)


def test_a_signer_that_fails_is_named(domain, credential):
    class Broken:
        address = HOLDER

        def sign_message(self, _):
            raise RuntimeError("no device")

    with pytest.raises(SignerFailedError):
        sign_credential(credential, domain, Broken())


def test_the_contract_of_an_attestor_accepts_a_credential(
    deployer, project, identity, token, anchorer, contract_wallet, wallet_key, chain
):
    registry = deployer.deploy(project.BuyerReputationRegistry, identity, [token], contract_wallet, anchorer)
    domain = Domain(chain.chain_id, registry.address)
    credential = issue_credential(HOLDER, BuyerTier.NEW, bytes(32), **USE, at=chain.blocks.head.timestamp)
    signer = Account.from_key(wallet_key.private_key)
    signature = sign_credential(credential, domain, signer)
    assert not verify_credential(credential, signature, domain, contract_wallet.address, at=credential.issued_at)
    deployment = Deployment(chain.chain_id, identity.address, buyers=registry.address)
    with Client(chain.provider.http_uri, deployment=deployment) as client:
        assert verify_credential_on_chain(credential, signature, client, at=credential.issued_at)
        forged = sign_credential(credential, domain, Account.create())
        assert not verify_credential_on_chain(credential, forged, client, at=credential.issued_at)
