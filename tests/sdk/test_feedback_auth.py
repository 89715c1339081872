"""The SDK decodes authorisations of feedback and finds their signers as the registry does."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from eth_account import Account
from eth_keys.constants import SECPK1_N
from hypothesis import given
from hypothesis import strategies as st

from bilateral.core.errors import InvalidArgumentError, MalformedAuthorizationError, SignerFailedError
from bilateral.core.signatures import (
    Domain,
    FeedbackAuth,
    decode_feedback_auth,
    encode_feedback_auth,
    recover_feedback_auth_signer,
    sign_feedback_auth,
)
from tests.sdk.strategies import EVM_ADDRESS, addresses

DOMAIN = Domain(84532, EVM_ADDRESS)
AUTH = FeedbackAuth(7, EVM_ADDRESS, 3, 4_102_444_800, 84532)
OWNER = Account.from_key(b"\x01" * 32)

auths = st.builds(
    FeedbackAuth,
    st.integers(0, 2**256 - 1),
    addresses(),
    st.integers(0, 2**64 - 1),
    st.integers(0, 2**256 - 1),
    st.integers(0, 2**256 - 1),
)


@given(auths, st.binary())
def test_decoding_reverses_encoding(auth, signature):
    assert decode_feedback_auth(encode_feedback_auth(auth, signature)) == (auth, signature)


@given(st.binary(max_size=230))
def test_no_bytes_break_the_decoder(data):
    try:
        auth, signature = decode_feedback_auth(data)
    except MalformedAuthorizationError as error:
        assert error.reason == "malformed_authorization"
    else:
        assert encode_feedback_auth(auth, signature) == data


def test_too_few_bytes_are_refused_with_their_number():
    with pytest.raises(MalformedAuthorizationError, match="only 159 bytes"):
        decode_feedback_auth(bytes(159))


@pytest.mark.parametrize("word", [1, 2], ids=["client", "index limit"])
def test_a_field_out_of_range_is_refused(word):
    data = bytearray(encode_feedback_auth(AUTH, b""))
    data[32 * word] = 1
    with pytest.raises(MalformedAuthorizationError, match="a field is out of range"):
        decode_feedback_auth(bytes(data))


def test_the_signer_is_found():
    auth, signature = decode_feedback_auth(sign_feedback_auth(AUTH, DOMAIN, OWNER))
    assert recover_feedback_auth_signer(auth, signature, DOMAIN) == OWNER.address


@pytest.mark.parametrize("domain", [Domain(1, EVM_ADDRESS), Domain(84532, OWNER.address)], ids=["chain", "registry"])
def test_a_signature_for_another_chain_or_registry_is_not_the_owners(domain):
    _, signature = decode_feedback_auth(sign_feedback_auth(AUTH, DOMAIN, OWNER))
    assert recover_feedback_auth_signer(AUTH, signature, domain) != OWNER.address


def _malleable(signature):
    s = SECPK1_N - int.from_bytes(signature[32:64])
    return signature[:32] + s.to_bytes(32) + bytes([55 - signature[64]])


@pytest.mark.parametrize(
    "spoil",
    [
        _malleable,
        lambda signature: signature[:64] + bytes([signature[64] - 27]),
        lambda signature: signature[:64],
        lambda signature: signature + b"\x00",
        lambda signature: bytes(32) + signature[32:],
        lambda signature: signature[:32] + bytes(32) + signature[64:],
        lambda signature: b"\xff" * 32 + signature[32:],
    ],
    ids=["malleable", "v of 0 or 1", "short", "long", "r of 0", "s of 0", "r beyond the order"],
)
def test_a_signature_that_the_registry_refuses_has_no_signer(spoil):
    _, signature = decode_feedback_auth(sign_feedback_auth(AUTH, DOMAIN, OWNER))
    assert recover_feedback_auth_signer(AUTH, spoil(signature), DOMAIN) is None


@given(st.binary(min_size=64, max_size=64), st.sampled_from([27, 28]))
def test_no_signature_breaks_the_recovery(points, v):
    signer = recover_feedback_auth_signer(AUTH, points + bytes([v]), DOMAIN)
    assert signer is None or signer.startswith("0x")


@pytest.mark.parametrize("wrong", ["1", 1.5, True, None, -1])
def test_a_field_of_an_authorisation_is_a_number_in_range(wrong):
    for field in ("agent_id", "index_limit", "expiry", "chain_id"):
        with pytest.raises(InvalidArgumentError, match=f"{field} must be"):
            replace(AUTH, **{field: wrong})
    with pytest.raises(InvalidArgumentError, match="client_address must be"):
        replace(AUTH, client_address=wrong)


def test_an_authorisation_for_another_chain_is_not_signed():
    with pytest.raises(InvalidArgumentError, match="the registry is on chain 1"):
        sign_feedback_auth(AUTH, Domain(1, EVM_ADDRESS), OWNER)


def test_an_exception_of_a_signer_is_named_and_kept():
    class Unplugged:
        def sign_message(self, _):
            raise OSError("no device")

    with pytest.raises(SignerFailedError, match="OSError") as caught:
        sign_feedback_auth(AUTH, DOMAIN, Unplugged())
    assert isinstance(caught.value.__cause__, OSError)


def test_an_expiry_is_a_time():
    assert AUTH.expires == datetime(2100, 1, 1, tzinfo=UTC)
    assert replace(AUTH, expiry=2**256 - 1).expires == datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


@pytest.mark.parametrize("wrong", [None, "00" * 300, 5])
def test_an_authorisation_must_be_bytes(wrong):
    with pytest.raises(InvalidArgumentError, match="expected bytes"):
        decode_feedback_auth(wrong)
