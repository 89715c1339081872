"""Keys that sign interactions (paid requests with their answers), and checks of the signatures.

A secp256k1 signature consists of `r`, `s` and `v` and covers the 32 bytes of the hash, without any prefix; `v` is 0 or
1 and `s` is low. An ed25519 signature has 64 bytes and covers the same 32 bytes.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, Protocol, TypeAlias, get_args

from eth_account import Account
from eth_keys.constants import SECPK1_N
from eth_keys.exceptions import BadSignature
from eth_keys.main import lazy_key_api as curve
from eth_utils.exceptions import ValidationError
from nacl.exceptions import BadSignatureError
from nacl.exceptions import ValueError as BadEd25519Error
from nacl.signing import SigningKey, VerifyKey

from bilateral.core.identifiers import ChainId
from bilateral.core.identifiers.caip import base58_bytes
from bilateral.documents import Signer
from bilateral.x402.proof.errors import InvalidKeyError

Algorithm: TypeAlias = Literal["secp256k1", "ed25519"]

KEY_BYTES: Final = 32  # of an Ed25519 public key (RFC 8032, section 5.1.5)

_PROBE: Final = b"bilateral: does this key sign?".ljust(32, b".")
_RECOVERABLE_BYTES: Final = 65  # r, s and v
_PLAIN_BYTES: Final = 64  # r and s, or an Ed25519 signature (RFC 8032, section 5.1.6)
_V: Final = {0: 0, 1: 1, 27: 0, 28: 1}  # the parity, alone or with the 27 of `ecrecover`


class InteractionKey(Protocol):
    """A key that signs interactions."""

    @property
    def algorithm(self) -> Algorithm:
        """The signature scheme."""

    @property
    def public_key(self) -> str:
        """The public key in hexadecimal digits without 0x, as in the registration file."""

    def sign(self, digest: bytes) -> bytes:
        """Sign a 32-byte hash."""


@dataclass(frozen=True)
class Secp256k1Key:
    """A secp256k1 key in memory.

    Attributes:
        secret: The 32-byte private key.
    """

    secret: bytes = field(repr=False)

    algorithm: Algorithm = field(default="secp256k1", init=False)

    def __post_init__(self) -> None:
        """Reject bytes that are not a private key."""
        if len(self.secret) != KEY_BYTES or not 0 < int.from_bytes(self.secret) < SECPK1_N:
            raise InvalidKeyError("a secp256k1 key must be 32 bytes encoding a number from 1 up to the curve's order")

    @property
    def public_key(self) -> str:
        """The public key in its uncompressed 65-byte form, in hexadecimal digits."""
        return "04" + bytes(curve.PrivateKey(self.secret).public_key.to_bytes()).hex()

    def sign(self, digest: bytes) -> bytes:
        """Sign a 32-byte hash. Return 65 bytes: r, s, v."""
        return bytes(curve.PrivateKey(self.secret).sign_msg_hash(digest).to_bytes())


@dataclass(frozen=True)
class Ed25519Key:
    """An ed25519 key in memory.

    Attributes:
        secret: The 32-byte seed.
    """

    secret: bytes = field(repr=False)

    algorithm: Algorithm = field(default="ed25519", init=False)

    def __post_init__(self) -> None:
        """Reject bytes that are not a seed."""
        if len(self.secret) != KEY_BYTES:
            raise InvalidKeyError("an ed25519 key must be a 32-byte seed")

    @property
    def public_key(self) -> str:
        """The public key, 32 bytes in hexadecimal digits."""
        return bytes(SigningKey(self.secret).verify_key).hex()

    def sign(self, digest: bytes) -> bytes:
        """Sign a 32-byte hash. Return 64 bytes."""
        return bytes(SigningKey(self.secret).sign(digest).signature)


@dataclass(frozen=True)
class RemoteKey:
    """A key held by another program, such as a key management service.

    Attributes:
        public_key: The public key in hexadecimal digits, without 0x.
        function: Signs a 32-byte hash. It may return a secp256k1 signature without `v`.
        algorithm: The signature scheme.
    """

    public_key: str
    function: Callable[[bytes], bytes] = field(repr=False)
    algorithm: Algorithm = "secp256k1"

    def sign(self, digest: bytes) -> bytes:
        """Sign a 32-byte hash, and convert the signature to the extension's form.

        Raises:
            InvalidKeyError: The signature was not made by this key.
        """
        candidates = [bytes(self.function(digest))]
        if self.algorithm != "ed25519":
            r, s = candidates[0][:32], int.from_bytes(candidates[0][32:64])
            low = r + min(s, SECPK1_N - s).to_bytes(32) if 0 < s < SECPK1_N else b""
            candidates = [low + bytes([v]) for v in (0, 1)]
        for candidate in candidates:
            if is_signature_of(digest, candidate, self.public_key, self.algorithm):
                return candidate
        raise InvalidKeyError("the remote key returned a signature that does not match its public key")


def key_from_secret(secret: bytes, algorithm: Algorithm = "secp256k1") -> Secp256k1Key | Ed25519Key:
    """Create a key from its 32 secret bytes.

    Raises:
        InvalidKeyError: The bytes are not a valid key for the algorithm, or the algorithm is unknown.
    """
    if algorithm not in get_args(Algorithm):
        raise InvalidKeyError(f"the algorithm must be one of {', '.join(get_args(Algorithm))}, not {algorithm!r}")
    return Secp256k1Key(secret) if algorithm == "secp256k1" else Ed25519Key(secret)


def key_from_environment(variable: str, algorithm: Algorithm = "secp256k1") -> Secp256k1Key | Ed25519Key:
    """Read a key from an environment variable: 64 hexadecimal digits, with or without 0x.

    Raises:
        InvalidKeyError: The variable is not set, or is not a valid key. The error does not show the value.
    """
    value = os.environ.get(variable)
    if not value:
        raise InvalidKeyError(f"the environment variable {variable} is not set")
    try:
        secret = bytes.fromhex(value.strip().removeprefix("0x"))
    except ValueError:
        raise InvalidKeyError(f"the environment variable {variable} is not hexadecimal") from None
    return key_from_secret(secret, algorithm)


def key_from_keystore(path: Path, passphrase: str, algorithm: Algorithm = "secp256k1") -> Secp256k1Key | Ed25519Key:
    """Decrypt a key from a keystore file, as written by Ape, geth and other tools.

    Args:
        path: The file, such as `~/.ape/accounts/agent.json`.
        algorithm: The signature scheme of the decrypted 32-byte key.

    Raises:
        InvalidKeyError: The file cannot be read or is not a keystore, or the passphrase is wrong.
    """
    try:
        secret = bytes(Account.decrypt(path.read_text(encoding="utf-8"), passphrase))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidKeyError(f"the keystore {path.name} cannot be opened: {type(error).__name__}") from None
    return key_from_secret(secret, algorithm)


def check_key(key: InteractionKey) -> None:
    """Sign a test message with a key, and check the signature.

    Raises:
        InvalidKeyError: The key failed to sign, or its public key does not verify its signature.
    """
    try:
        signature = key.sign(_PROBE)
    except InvalidKeyError:
        raise
    except Exception as error:
        raise InvalidKeyError(f"signing failed: {type(error).__name__}") from error
    if not is_signature_of(_PROBE, signature, key.public_key, key.algorithm):
        raise InvalidKeyError("the signing key's signature does not match its public key")


def is_signature_of(digest: bytes, signature: bytes, public_key: str, algorithm: str) -> bool:
    """Check whether the given key made a signature.

    Args:
        digest: The 32 bytes that were signed.
        public_key: The public key in hexadecimal digits.
        algorithm: `secp256k1` or `ed25519`. For any other value, no signature is valid.
    """
    try:
        key = bytes.fromhex(public_key)
    except ValueError:
        return False
    if algorithm == "ed25519":
        return _is_ed25519(digest, signature, key)
    return algorithm == "secp256k1" and _point(key) in _recovered(digest, signature)


def find_signer(digest: bytes, signature: bytes, signers: Iterable[Signer]) -> Signer | None:
    """Find the key that made a signature. A secp256k1 key is recovered only once, even if there are many candidates.

    Args:
        digest: The 32 bytes that were signed.
        signers: The candidates.

    Returns:
        The first candidate that verifies the signature, or None.
    """
    recovered = _recovered(digest, signature)
    for signer in signers:
        is_ed25519 = signer.algorithm == "ed25519"
        if _is_ed25519(digest, signature, signer.key) if is_ed25519 else _point(signer.key) in recovered:
            return signer
    return None


def is_key(public_key: bytes, signer: Signer) -> bool:
    """Return whether a public key is the listed key; secp256k1 keys may be compressed or uncompressed."""
    if signer.algorithm == "ed25519":
        return public_key == signer.key
    point = _point(public_key)
    return point is not None and point == _point(signer.key)


def is_signature_of_account(digest: bytes, signature: bytes, chain: ChainId, address: str) -> bool:
    """Check a signature by an account that is not a contract: secp256k1 on an EVM chain, ed25519 on other chains.

    Args:
        digest: The 32 bytes that were signed.
        chain: The account's chain.
        address: The account's address.
    """
    if not chain.is_evm:
        return _is_ed25519(digest, signature, base58_bytes(address))
    recovered = map(curve.PublicKey, _recovered(digest, signature))
    return any(key.to_address() == address.lower() for key in recovered)


def to_registry_form(signature: bytes) -> bytes:
    """Convert a secp256k1 signature to the registries' form, in which `v` is 27 or 28.

    Raises:
        InvalidKeyError: The signature is not 65 bytes long, or has an invalid `v`.
    """
    if len(signature) != _RECOVERABLE_BYTES or signature[64] not in _V:
        raise InvalidKeyError("a recoverable signature must have 65 bytes, and its last byte must be 0, 1, 27 or 28")
    return signature[:64] + bytes([27 + _V[signature[64]]])


def from_registry_form(signature: bytes) -> bytes:
    """Convert a recoverable secp256k1 signature to the extension's form, in which `v` is 0 or 1.

    Raises:
        InvalidKeyError: The signature is not 65 bytes long, or has an invalid `v`.
    """
    return signature[:64] + bytes([to_registry_form(signature)[64] - 27])


def _is_ed25519(digest: bytes, signature: bytes, key: bytes) -> bool:
    """Check an ed25519 signature. libsodium rejects keys of small order and non-canonical signatures."""
    if len(signature) != _PLAIN_BYTES or len(key) != KEY_BYTES:
        return False
    try:
        VerifyKey(key).verify(digest, signature)
    except (BadSignatureError, BadEd25519Error):
        return False
    return True


def _recovered(digest: bytes, signature: bytes) -> list[bytes]:
    """Recover the 64-byte keys that may have made a secp256k1 signature: one, or two if `v` is missing."""
    if len(signature) == _PLAIN_BYTES:
        parities: tuple[int, ...] = (0, 1)
    elif len(signature) == _RECOVERABLE_BYTES and signature[64] in _V:
        parities = (_V[signature[64]],)
    else:
        return []
    if not 0 < int.from_bytes(signature[32:64]) <= SECPK1_N // 2:
        return []
    recovered = []
    for parity in parities:
        with suppress(BadSignature, ValidationError):
            key = curve.Signature(signature[:64] + bytes([parity])).recover_public_key_from_msg_hash(digest)
            recovered.append(bytes(key.to_bytes()))
    return recovered


def _point(key: bytes) -> bytes | None:
    if len(key) == _RECOVERABLE_BYTES and key[0] == 4:  # noqa: PLR2004  # SEC 1: the prefix of an uncompressed key
        return key[1:]
    try:
        return bytes(curve.PublicKey.from_compressed_bytes(key).to_bytes())
    except (ValidationError, ValueError):
        return None
