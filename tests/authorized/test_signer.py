"""The Python signer: it agrees with the contract, and refuses fields that the contract cannot decode."""

from __future__ import annotations

from dataclasses import astuple, replace

import pytest
from eth_utils import to_checksum_address
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bilateral.core.signatures import Domain, FeedbackAuth, encode_feedback_auth, sign_feedback_auth
from tests.authorized.helpers import MAX_UINT64, MAX_UINT256, key_of

ADDRESSES = st.binary(min_size=20, max_size=20).map(to_checksum_address)
UINT256 = st.integers(0, MAX_UINT256)
UINT64 = st.integers(0, MAX_UINT64)
AUTHS = st.builds(FeedbackAuth, UINT256, ADDRESSES, UINT64, UINT256, UINT256)

LOWEST = FeedbackAuth(0, to_checksum_address(bytes(20)), 0, 0, 0)
HIGHEST = FeedbackAuth(MAX_UINT256, to_checksum_address(b"\xff" * 20), MAX_UINT64, MAX_UINT256, MAX_UINT256)


@pytest.fixture(scope="session")
def digest_on_chain(registry):
    """A function that returns the contract's digest without Ape's conversions."""

    def digest_on_chain(auth):
        return bytes(registry.hashFeedbackAuth(astuple(auth)))

    return digest_on_chain


@settings(max_examples=100, deadline=None, derandomize=True)
@example(LOWEST)
@example(HIGHEST)
@given(AUTHS)
def test_signer_and_contract_agree_on_the_digest(digest_on_chain, domain, auth):
    assert auth.digest(domain) == digest_on_chain(auth)


@settings(max_examples=50, deadline=None, derandomize=True)
@example(LOWEST, b"")
@example(HIGHEST, bytes(65))
@given(AUTHS, st.binary(max_size=100))
def test_encoding_is_a_word_for_each_field_and_the_signature(auth, signature):
    agent_id, client, index_limit, expiry, chain_id = astuple(auth)
    words = [agent_id, int(client, 16), index_limit, expiry, chain_id]
    assert encode_feedback_auth(auth, signature) == b"".join(word.to_bytes(32) for word in words) + signature


def test_signed_authorisation_is_225_bytes_with_a_recoverable_signature(auth, domain, owner):
    key = key_of(owner)
    signed = sign_feedback_auth(auth, domain, key)
    assert len(signed) == 225
    assert signed[:160] == encode_feedback_auth(auth, b"")
    assert signed[160:] == bytes(key.sign_message(auth.signable(domain)).signature)


def test_signer_will_not_sign_for_a_chain_that_the_registry_is_not_on(auth, domain, owner):
    with pytest.raises(ValueError, match=f"chain_id is 1, but the registry is on chain {domain.chain_id}"):
        sign_feedback_auth(replace(auth, chain_id=1), domain, key_of(owner))
    with pytest.raises(ValueError, match=f"chain_id is {auth.chain_id}, but the registry is on chain 1"):
        sign_feedback_auth(auth, Domain(1, domain.verifying_contract), key_of(owner))


@pytest.mark.parametrize(("name", "bits"), [("agent_id", 256), ("index_limit", 64), ("expiry", 256), ("chain_id", 256)])
def test_number_out_of_range_is_refused_by_the_name_of_its_field(auth, name, bits):
    assert getattr(replace(auth, **{name: 0}), name) == 0
    assert getattr(replace(auth, **{name: 2**bits - 1}), name) == 2**bits - 1
    for outside in (-1, 2**bits):
        with pytest.raises(ValueError, match=rf"{name} must be from 0 to 2\^{bits} - 1, not {outside}"):
            replace(auth, **{name: outside})


@pytest.mark.parametrize(
    "address",
    ["", "0x", "client.eth", "0x" + "11" * 19, "0x" + "11" * 21, "0x" + "ab" * 20, b"\1" * 20],
    ids=["empty", "prefix", "name", "short", "long", "no checksum", "bytes"],
)
def test_client_without_a_valid_checksum_is_refused(auth, address):
    with pytest.raises(ValueError, match="client_address must be an EIP-55 checksummed address"):
        replace(auth, client_address=address)
