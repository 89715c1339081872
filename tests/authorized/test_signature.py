"""Signatures for agents whose owner is a plain account: valid signers and valid forms."""

from __future__ import annotations

from dataclasses import replace

import ape
import pytest
from eth_account.messages import encode_defunct

from bilateral.core.signatures import AgentWalletSet, Domain, encode_feedback_auth
from tests.authorized.helpers import CURVE_ORDER, MAX_UINT256, key_of, sign


@pytest.fixture(scope="session")
def signature(auth, owner, domain):
    """The owner's signature of `auth`."""
    return sign(owner, auth, domain)


@pytest.fixture(scope="session")
def give_signed(give, auth):
    """A function that gives feedback with `auth` and any signature."""
    return lambda signature: give(encode_feedback_auth(auth, signature))


@pytest.fixture()
def digest(registry, auth):
    return registry.hashFeedbackAuth((auth.agent_id, auth.client_address, auth.index_limit, auth.expiry, auth.chain_id))


def test_owner_authorises(registry, give_signed, signature, agent_id, client):
    give_signed(signature)
    assert registry.getLastIndex(agent_id, client) == 1


def test_owner_signs_the_digest_that_the_registry_computes(give_signed, digest, owner, signature):
    assert bytes(key_of(owner).unsafe_sign_hash(digest).signature) == signature
    give_signed(signature)


def test_client_cannot_authorise_itself(registry, give_signed, auth, client, owner, domain):
    with ape.reverts(registry.SignerNotOwner, signer=client.address, owner=owner.address):
        give_signed(sign(client, auth, domain))


def test_operator_cannot_authorise(registry, identity, give_signed, auth, owner, operator, domain):
    identity.setApprovalForAll(operator, True, sender=owner)
    with ape.reverts(registry.SignerNotOwner, signer=operator.address, owner=owner.address):
        give_signed(sign(operator, auth, domain))


def test_address_approved_for_the_agent_cannot_authorise(
    registry, identity, give_signed, auth, agent_id, owner, approved, domain
):
    identity.approve(approved, agent_id, sender=owner)
    with ape.reverts(registry.SignerNotOwner, signer=approved.address, owner=owner.address):
        give_signed(sign(approved, auth, domain))


def test_agents_wallet_cannot_authorise(registry, identity, chain, give_signed, auth, owner, wallet_key, domain):
    deadline = chain.pending_timestamp + 60
    consent = AgentWalletSet(auth.agent_id, wallet_key.address, owner.address, deadline)
    proof = sign(wallet_key, consent, Domain(chain.chain_id, identity.address))
    identity.setAgentWallet(auth.agent_id, wallet_key, deadline, proof, sender=owner)
    with ape.reverts(registry.SignerNotOwner, signer=wallet_key.address, owner=owner.address):
        give_signed(sign(wallet_key, auth, domain))


def test_transfer_voids_what_the_former_owner_signed(
    registry, identity, give_signed, signature, agent_id, owner, other_owner
):
    give_signed(signature)
    identity.transferFrom(owner, other_owner, agent_id, sender=owner)
    with ape.reverts(registry.SignerNotOwner, signer=owner.address, owner=other_owner.address):
        give_signed(signature)


def test_new_owner_authorises_after_a_transfer_and_not_before(
    registry, identity, give_signed, auth, agent_id, owner, other_owner, domain
):
    signed_by_buyer = sign(other_owner, auth, domain)
    with ape.reverts(registry.SignerNotOwner, signer=other_owner.address, owner=owner.address):
        give_signed(signed_by_buyer)
    identity.transferFrom(owner, other_owner, agent_id, sender=owner)
    give_signed(signed_by_buyer)
    assert registry.getFeedbackCount(agent_id) == 1


def test_authorisation_is_valid_again_when_the_agent_comes_back(
    registry, identity, give_signed, signature, agent_id, owner, other_owner
):
    identity.transferFrom(owner, other_owner, agent_id, sender=owner)
    identity.transferFrom(other_owner, owner, agent_id, sender=other_owner)
    give_signed(signature)
    assert registry.getFeedbackCount(agent_id) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"agent_id": 2**200},
        {"client_address": "0x000000000000000000000000000000000000dEaD"},
        {"index_limit": 11},
        {"expiry": MAX_UINT256 - 1},
        {"chain_id": 1},
    ],
    ids=["agent", "client", "limit", "expiry", "chain id"],
)
def test_signature_over_another_authorisation_is_refused(refused, auth, owner, domain, change):
    signature_of_another = sign(owner, replace(auth, **change), domain)
    name, arguments = refused(encode_feedback_auth(auth, signature_of_another))
    assert name == "SignerNotOwner"
    assert arguments["owner"] == owner.address
    assert arguments["signer"] != owner.address


@pytest.mark.parametrize("change", ["chain", "contract"])
def test_signature_for_another_domain_is_refused(refused, auth, owner, domain, identity, change):
    other = replace(domain, chain_id=1) if change == "chain" else replace(domain, verifying_contract=identity.address)
    name, arguments = refused(encode_feedback_auth(auth, sign(owner, auth, other)))
    assert name == "SignerNotOwner"
    assert arguments["owner"] == owner.address


def test_personal_message_instead_of_typed_data_is_refused(refused, auth, owner, digest):
    signature = bytes(key_of(owner).sign_message(encode_defunct(digest)).signature)
    assert refused(encode_feedback_auth(auth, signature))[0] == "SignerNotOwner"


@pytest.mark.parametrize("length", [0, 1, 32, 64])
def test_signature_shorter_than_65_bytes_is_refused(registry, give_signed, signature, length):
    with ape.reverts(registry.SignatureLengthInvalid, length=length, expected=65):
        give_signed(signature[:length])


@pytest.mark.parametrize("trailing", [b"\0", b"\1", bytes(32)], ids=["a zero", "a one", "a word"])
def test_trailing_bytes_are_refused(registry, give_signed, signature, trailing):
    with ape.reverts(registry.SignatureLengthInvalid, length=65 + len(trailing), expected=65):
        give_signed(signature + trailing)


def test_compact_signature_of_64_bytes_is_refused(registry, give_signed, signature):
    r, s, v = signature[:32], int.from_bytes(signature[32:64]), signature[64]
    compact = r + (s | (v - 27) << 255).to_bytes(32)
    with ape.reverts(registry.SignatureLengthInvalid, length=64, expected=65):
        give_signed(compact)


def test_malleable_twin_of_a_good_signature_is_refused(registry, give_signed, signature):
    high_s = (CURVE_ORDER - int.from_bytes(signature[32:64])).to_bytes(32)
    twin = signature[:32] + high_s + bytes([27 + 28 - signature[64]])
    with ape.reverts(registry.SignatureMalleable, s=high_s):
        give_signed(twin)


@pytest.mark.parametrize("excess", [0, 1])
def test_s_is_malleable_from_the_first_value_above_half_the_order(refused, auth, signature, excess):
    s = CURVE_ORDER // 2 + excess
    error = refused(encode_feedback_auth(auth, signature[:32] + s.to_bytes(32) + signature[64:]))
    if excess:
        assert error == ("SignatureMalleable", {"s": s.to_bytes(32)})
    else:
        assert error[0] == "SignerNotOwner"


@pytest.mark.parametrize("v", [0, 1, 26, 29, 255])
def test_v_other_than_27_and_28_is_refused(registry, give_signed, signature, digest, v):
    with ape.reverts(registry.SignatureUnrecoverable, digest=digest):
        give_signed(signature[:64] + bytes([v]))


def test_the_other_v_is_somebody_elses_signature(refused, auth, signature, owner):
    error = refused(encode_feedback_auth(auth, signature[:64] + bytes([27 + 28 - signature[64]])))
    assert error[0] == "SignerNotOwner"
    assert error[1]["owner"] == owner.address


@pytest.mark.parametrize("v", [0, 27, 28])
def test_signature_of_zeros_is_refused(registry, give_signed, digest, v):
    with ape.reverts(registry.SignatureUnrecoverable, digest=digest):
        give_signed(bytes(64) + bytes([v]))


@pytest.mark.parametrize("zeroed", ["r", "s"])
def test_signature_with_r_or_s_of_zero_is_refused(registry, give_signed, signature, digest, zeroed):
    r, s = signature[:32], signature[32:64]
    with ape.reverts(registry.SignatureUnrecoverable, digest=digest):
        give_signed((bytes(32) + s if zeroed == "r" else r + bytes(32)) + signature[64:])


def test_r_outside_the_curve_is_refused(registry, give_signed, signature, digest):
    with ape.reverts(registry.SignatureUnrecoverable, digest=digest):
        give_signed(CURVE_ORDER.to_bytes(32) + signature[32:])
