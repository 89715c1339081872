"""Keys sign, and only canonical signatures of listed keys verify."""

from __future__ import annotations

import json

import pytest
from eth_account import Account
from eth_keys.constants import SECPK1_N
from hypothesis import given, settings
from hypothesis import strategies as st

from bilateral.documents import Signer
from bilateral.x402 import (
    Ed25519Key,
    InvalidKeyError,
    RemoteKey,
    Secp256k1Key,
    key_from_environment,
    key_from_keystore,
    key_from_secret,
)
from bilateral.x402.proof.keys import check_key, find_signer, is_signature_of, to_registry_form

SECRET, OTHER = bytes(range(1, 33)), bytes(range(2, 34))
DIGEST = bytes(range(32))
ALGORITHMS = ["secp256k1", "ed25519"]
EVM, SOLANA = Secp256k1Key(SECRET), Ed25519Key(SECRET)
COMPRESSED = ("02" if int(EVM.public_key[-2:], 16) % 2 == 0 else "03") + EVM.public_key[2:66]


def signer(public_key, algorithm, comment=None):
    return Signer.of(
        {
            "publicKey": public_key,
            "algorithm": algorithm,
            "role": "owner",
            "validFrom": 0,
            "validUntil": None,
            "comment": comment,
        }
    )


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    secret=st.integers(1, SECPK1_N - 1).map(lambda value: value.to_bytes(32)),
    digest=st.binary(min_size=32, max_size=32),
    algorithm=st.sampled_from(ALGORITHMS),
    position=st.integers(0, 63),
)
def test_any_signature_verifies_until_a_byte_changes(secret, digest, algorithm, position):
    key = key_from_secret(secret, algorithm)
    signature = key.sign(digest)
    assert is_signature_of(digest, signature, key.public_key, algorithm)
    changed = bytearray(signature)
    changed[position] ^= 1
    assert not is_signature_of(digest, bytes(changed), key.public_key, algorithm)
    assert not is_signature_of(digest[::-1] + b"", signature, key.public_key, algorithm) or digest == digest[::-1]


@pytest.mark.parametrize("v", [0, 1, 27, 28])
def test_secp256k1_signature_is_read_with_every_usual_v(v):
    signature = EVM.sign(DIGEST)
    matches = signature[64] == v % 27
    assert is_signature_of(DIGEST, signature[:64] + bytes([v]), EVM.public_key, "secp256k1") is matches
    assert is_signature_of(DIGEST, signature[:64], EVM.public_key, "secp256k1")
    assert signature[64] in (0, 1)


@pytest.mark.parametrize("v", [2, 3, 26, 29, 255])
def test_secp256k1_signature_with_another_v_verifies_nothing(v):
    assert not is_signature_of(DIGEST, EVM.sign(DIGEST)[:64] + bytes([v]), EVM.public_key, "secp256k1")


def test_malleable_secp256k1_signature_verifies_nothing():
    signature = EVM.sign(DIGEST)
    high = signature[:32] + (SECPK1_N - int.from_bytes(signature[32:64])).to_bytes(32)
    for form in (high, high + bytes([1 - signature[64]])):
        assert not is_signature_of(DIGEST, form, EVM.public_key, "secp256k1")


@pytest.mark.parametrize("signature", [b"", bytes(64), bytes(65), bytes(63), bytes(66), b"\xff" * 65, b"\xff" * 64])
@pytest.mark.parametrize("key", [EVM, SOLANA], ids=ALGORITHMS)
def test_nonsense_verifies_nothing(signature, key):
    assert not is_signature_of(DIGEST, signature, key.public_key, key.algorithm)


def test_ed25519_signature_that_is_not_canonical_verifies_nothing():
    signature = SOLANA.sign(DIGEST)
    order = 2**252 + 27742317777372353535851937790883648493
    shifted = signature[:32] + (int.from_bytes(signature[32:], "little") + order).to_bytes(32, "little")
    assert not is_signature_of(DIGEST, shifted, SOLANA.public_key, "ed25519")


def test_ed25519_key_of_small_order_verifies_nothing():
    neutral = (1).to_bytes(32, "little")
    assert not is_signature_of(DIGEST, neutral + bytes(32), neutral.hex(), "ed25519")


@pytest.mark.parametrize("public_key", ["", "zz", "04" + "11" * 64, "02" + "ff" * 32, EVM.public_key[2:]])
def test_key_outside_the_curve_verifies_nothing(public_key):
    assert not is_signature_of(DIGEST, EVM.sign(DIGEST), public_key, "secp256k1")


def test_unknown_algorithm_verifies_nothing():
    assert not is_signature_of(DIGEST, EVM.sign(DIGEST), EVM.public_key, "rsa")


def test_signer_is_found_among_keys_of_both_algorithms_and_forms():
    other = Secp256k1Key(OTHER)
    listed = [
        signer(SOLANA.public_key, "ed25519", "solana"),
        signer(other.public_key, "secp256k1", "other"),
        signer(COMPRESSED, "secp256k1", "evm"),
    ]
    assert find_signer(DIGEST, EVM.sign(DIGEST), listed).comment == "evm"
    assert find_signer(DIGEST, SOLANA.sign(DIGEST), listed).comment == "solana"
    assert find_signer(DIGEST, other.sign(DIGEST), listed).comment == "other"
    assert find_signer(DIGEST, Secp256k1Key(bytes(range(3, 35))).sign(DIGEST), listed) is None
    assert find_signer(DIGEST, EVM.sign(DIGEST), []) is None


def test_signature_is_converted_for_the_registries():
    signature = EVM.sign(DIGEST)
    converted = to_registry_form(signature)
    assert converted == signature[:64] + bytes([27 + signature[64]])
    assert to_registry_form(converted) == converted
    for wrong in (signature[:64], signature[:64] + b"\x02"):
        with pytest.raises(InvalidKeyError, match="a recoverable signature must have 65 bytes"):
            to_registry_form(wrong)


@pytest.mark.parametrize("secret", [b"", bytes(32), SECPK1_N.to_bytes(32), bytes(33)])
def test_invalid_secp256k1_key_is_refused(secret):
    with pytest.raises(InvalidKeyError):
        Secp256k1Key(secret)


def test_seed_of_another_length_is_refused():
    with pytest.raises(InvalidKeyError):
        Ed25519Key(bytes(31))


def test_unknown_algorithm_has_no_key():
    with pytest.raises(InvalidKeyError, match="not 'rsa'"):
        key_from_secret(SECRET, "rsa")


@pytest.mark.parametrize("key", [EVM, SOLANA], ids=ALGORITHMS)
def test_key_does_not_show_its_secret(key):
    assert SECRET.hex() not in repr(key).lower()
    assert repr(SECRET) not in repr(key)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_key_comes_from_the_environment(monkeypatch, algorithm):
    monkeypatch.setenv("AGENT_KEY", f"0x{SECRET.hex()}\n")
    assert key_from_environment("AGENT_KEY", algorithm) == key_from_secret(SECRET, algorithm)


@pytest.mark.parametrize(
    ("value", "problem"), [("", "is not set"), ("secret", "is not hexadecimal"), ("12", "32 bytes")]
)
def test_unusable_variable_is_refused_without_its_value(monkeypatch, value, problem):
    monkeypatch.setenv("AGENT_KEY", value)
    with pytest.raises(InvalidKeyError, match=problem) as error:
        key_from_environment("AGENT_KEY")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_key_comes_from_a_keystore(tmp_path, algorithm):
    path = tmp_path / "agent.json"
    path.write_text(json.dumps(Account.encrypt(SECRET, "passphrase", kdf="pbkdf2", iterations=2)))
    assert key_from_keystore(path, "passphrase", algorithm) == key_from_secret(SECRET, algorithm)
    with pytest.raises(InvalidKeyError, match=r"the keystore agent\.json cannot be opened"):
        key_from_keystore(path, "wrong", algorithm)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"version": 3}', '{"version": 3, "crypto": 7}'])
def test_invalid_keystore_file_is_refused(tmp_path, content):
    path = tmp_path / "agent.json"
    path.write_text(content)
    with pytest.raises(InvalidKeyError, match="cannot be opened"):
        key_from_keystore(path, "passphrase")


def der_like(digest):
    """Sign as key services do: without v, and with a high s."""
    signature = EVM.sign(digest)
    return signature[:32] + (SECPK1_N - int.from_bytes(signature[32:64])).to_bytes(32)


@pytest.mark.parametrize("function", [EVM.sign, der_like, lambda digest: EVM.sign(digest)[:64]])
def test_remote_signature_is_brought_into_the_extensions_form(function):
    key = RemoteKey(EVM.public_key, function)
    assert key.sign(DIGEST) == EVM.sign(DIGEST)
    check_key(key)


def test_remote_ed25519_key_signs():
    check_key(RemoteKey(SOLANA.public_key, SOLANA.sign, "ed25519"))


@pytest.mark.parametrize("answer", [b"", bytes(65), b"\xff" * 65, Secp256k1Key(OTHER).sign(DIGEST)])
def test_remote_key_that_signs_wrongly_is_refused(answer):
    key = RemoteKey(EVM.public_key, lambda _: answer)
    with pytest.raises(InvalidKeyError, match="a signature that does not match its public key"):
        check_key(key)


def test_remote_key_that_fails_is_refused_without_its_secrets():
    def fail(_):
        raise ConnectionError("https://user:password@kms.example")

    with pytest.raises(InvalidKeyError, match="signing failed: ConnectionError") as error:
        check_key(RemoteKey(EVM.public_key, fail))
    assert "password" not in str(error.value)


def test_key_of_another_public_key_is_refused():
    class Mismatched:
        algorithm = "secp256k1"
        public_key = EVM.public_key
        sign = staticmethod(Secp256k1Key(OTHER).sign)

    with pytest.raises(InvalidKeyError, match="the signing key's signature does not match its public key"):
        check_key(Mismatched())
