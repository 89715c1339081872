"""EIP-712 messages that the registries verify, ready to be signed by any `eth-account` key or Ape account.

Each message is a frozen dataclass whose fields are those of the Solidity struct, in the same order. The `signable`
method binds the message to one registry on one chain, so that the signature is invalid anywhere else.
"""

from __future__ import annotations  # so that error messages can quote the annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, get_origin, get_type_hints

from eth_abi.abi import decode, encode
from eth_abi.exceptions import DecodingError
from eth_account.messages import SignableMessage, encode_typed_data
from eth_account.signers.base import BaseAccount
from eth_keys.constants import SECPK1_N
from eth_keys.exceptions import BadSignature
from eth_keys.main import lazy_key_api as keys
from eth_typing import ChecksumAddress
from eth_utils.address import is_checksum_address, to_checksum_address
from eth_utils.crypto import keccak
from eth_utils.exceptions import ValidationError

from bilateral.core.errors import BilateralError, InvalidArgumentError, MalformedAuthorizationError, SignerFailedError
from bilateral.core.text import quoted
from bilateral.core.values.arguments import checked, is_whole
from bilateral.core.values.times import chain_time

_AUTH_BYTES: Final = 5 * 32  # five words of the contract ABI
_SIGNATURE_BYTES: Final = 65  # r, s and v
_V: Final = (27, 28)  # 27 plus the parity, as `ecrecover` expects it
_DOMAIN_TYPE: Final = [
    {"name": "name", "type": "string"},
    {"name": "version", "type": "string"},
    {"name": "chainId", "type": "uint256"},
    {"name": "verifyingContract", "type": "address"},
]


Address = Annotated[ChecksumAddress, "address"]
Account = Annotated[str, "address"]
"""The type of an address. It allows any string, because the address is validated when the message is created."""
Bytes32 = Annotated[bytes, "bytes32"]
String = Annotated[str, "string"]
Int128 = Annotated[int, "int128"]
Uint8 = Annotated[int, "uint8"]
Uint64 = Annotated[int, "uint64"]
Uint256 = Annotated[int, "uint256"]


@dataclass(frozen=True)
class Domain:
    """The EIP-712 domain of one registry on one chain.

    Attributes:
        chain_id: The EIP-155 id of the chain.
        verifying_contract: The address of the registry.
    """

    chain_id: int
    verifying_contract: ChecksumAddress


class Signable(SignableMessage):
    """A message to sign, with a copy in JSON that a remote wallet can display.

    Attributes:
        typed_data: The message in the form of `eth_signTypedData_v4`: JSON, with large numbers as decimal digits.
    """

    typed_data: dict[str, Any]


def _solidity(name: str) -> str:
    first, *words = name.split("_")
    return first + "".join("URI" if word == "uri" else word.title() for word in words)


@dataclass(frozen=True)
class TypedMessage:
    """The base class of messages: structs with Solidity types, each verified by one kind of registry.

    Attributes:
        domain_name: The `name` in the registry's EIP-712 domain, whose `version` is `1`.
        solidity_types: The Solidity type of each field, keyed by Solidity name.
    """

    domain_name: ClassVar[str]
    solidity_types: ClassVar[dict[str, str]]

    def __init_subclass__(cls) -> None:
        """Read the Solidity types of the fields from their annotations."""
        if "solidity_types" not in vars(cls):
            cls.solidity_types = {
                _solidity(name): hint.__metadata__[0]
                for name, hint in get_type_hints(cls, include_extras=True).items()
                if get_origin(hint) is Annotated
            }

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The values of the fields, converted to Solidity's types."""
        return tuple(getattr(self, field.name) for field in fields(self))

    @classmethod
    def described(cls, domain: Domain) -> dict[str, Any]:
        """Return this message's domain, primary type and types, as defined by EIP-712.

        Args:
            domain: The registry's domain.
        """
        kind = cls.__name__
        return {
            "domain": {
                "name": cls.domain_name,
                "version": "1",
                "chainId": domain.chain_id,
                "verifyingContract": domain.verifying_contract,
            },
            "primaryType": kind,
            "types": {kind: [{"name": name, "type": solidity} for name, solidity in cls.solidity_types.items()]},
        }

    def signable(self, domain: Domain) -> Signable:
        """Bind this message to a registry.

        Args:
            domain: The registry's domain.

        Returns:
            The message in the form that `eth_account.Account.sign_message` and Ape's accounts sign.
        """
        domain_data, kind, types = self.described(domain).values()
        message: dict[str, Any] = dict(zip(self.solidity_types, self.arguments, strict=True))
        signable = Signable(*encode_typed_data(domain_data=domain_data, message_types=types, message_data=message))
        signable.typed_data = {
            "types": {"EIP712Domain": _DOMAIN_TYPE, **types},
            "primaryType": kind,
            "domain": domain_data,
            "message": {name: _as_json(value) for name, value in message.items()},
        }
        return signable

    def digest(self, domain: Domain) -> bytes:
        """Hash this message as the registry does (EIP-712).

        Args:
            domain: The registry's domain.

        Returns:
            The 32 bytes that are signed.
        """
        signable = self.signable(domain)
        return keccak(b"\x19" + signable.version + signable.header + signable.body)


@dataclass(frozen=True)
class AgentWalletSet(TypedMessage):
    """A wallet's consent to become an agent's wallet (ERC-8004, `setAgentWallet`).

    Attributes:
        new_wallet: The wallet that consents and signs.
        owner: The agent token's current owner.
        deadline: The last second at which the registry accepts the signature, in Unix time; at most 5 minutes after the
            time of the transaction's block.
    """

    agent_id: Uint256
    new_wallet: Address
    owner: Address
    deadline: Uint256

    domain_name: ClassVar[str] = "ERC8004IdentityRegistry"


@dataclass(frozen=True)
class Feedback(TypedMessage):
    """Feedback that a client signs and another account sends (this project's extension, `giveFeedbackBySig`).

    Attributes:
        agent_id: The rated agent.
        client_address: The client, which signs the message.
        feedback_index: The feedback's future index: `registry.getLastIndex(agent_id, client_address) + 1`.
        value: The value, times `10 ** value_decimals`; from -10**38 to 10**38.
        tag1: The first tag; may be empty.
        tag2: The second tag; may be empty.
        endpoint: The endpoint that was used; may be empty.
        feedback_uri: The URI of the feedback file; may be empty.
        feedback_hash: The keccak-256 hash of the feedback file, 32 bytes; all zeros if not provided.
        deadline: The last second at which the registry accepts the signature, in Unix time.
    """

    agent_id: Uint256
    client_address: Address
    feedback_index: Uint64
    value: Int128
    value_decimals: Uint8
    tag1: String
    tag2: String
    endpoint: String
    feedback_uri: String
    feedback_hash: Bytes32
    deadline: Uint256

    domain_name: ClassVar[str] = "ERC8004ReputationRegistry"


@dataclass(frozen=True)
class FeedbackAuth(TypedMessage):
    """An agent owner's authorisation of a client to rate the agent (FeedbackAuth, FR-015; `giveFeedback`).

    Attributes:
        client_address: The authorised client.
        index_limit: The registry accepts feedback while the client's last index for the agent (its number of entries so
            far) is below this limit: `registry.getLastIndex(agent_id, client_address) + n` allows `n` more entries.
        expiry: The last second at which the registry accepts the authorisation, in Unix time.
        chain_id: The EIP-155 id of the registry's chain.
    """

    agent_id: Uint256
    client_address: Address
    index_limit: Uint64
    expiry: Uint256
    chain_id: Uint256

    domain_name: ClassVar[str] = "AuthorizedReputationRegistry"

    def __post_init__(self) -> None:
        for name, bits in {"agent_id": 256, "index_limit": 64, "expiry": 256, "chain_id": 256}.items():
            value = getattr(self, name)
            if not is_whole(value) or not 0 <= value < 1 << bits:
                raise InvalidArgumentError(f"{name} must be from 0 to 2^{bits} - 1, not {value!r}")
        if not is_checksum_address(self.client_address):
            address = quoted(str(self.client_address))
            raise InvalidArgumentError(f"client_address must be an EIP-55 checksummed address, not {address}")

    @property
    def expires(self) -> datetime:
        """The expiry in UTC; for any time after the year 9999, the end of that year."""
        return chain_time(self.expiry)


def encode_feedback_auth(auth: FeedbackAuth, signature: bytes) -> bytes:
    """Encode an authorisation and its signature for `giveFeedback` (FeedbackAuth, FR-023).

    Args:
        auth: The authorisation.
        signature: The agent owner's signature: 65 bytes `r`, `s`, `v`, or one that the owner's contract accepts
            (ERC-1271).

    Returns:
        `feedbackAuth`: the five fields, 32 bytes each, and the signature.
    """
    return encode(list(auth.solidity_types.values()), [getattr(auth, field.name) for field in fields(auth)]) + signature


def sign_feedback_auth(auth: FeedbackAuth, domain: Domain, owner: BaseAccount) -> bytes:
    """Sign an authorisation with the key of the agent's owner.

    Args:
        auth: The authorisation.
        domain: The domain of the registry.
        owner: The owner of the agent's token.

    Returns:
        `feedbackAuth`, ready for `giveFeedback`: 225 bytes.

    Raises:
        InvalidArgumentError: The authorisation and the domain have different chains, so no registry would accept the
            authorisation.
        SignerFailedError: The owner's key failed to sign.
    """
    if auth.chain_id != domain.chain_id:
        raise InvalidArgumentError(f"chain_id is {auth.chain_id}, but the registry is on chain {domain.chain_id}")
    signable = auth.signable(domain)
    with signer_errors():
        signature = bytes(owner.sign_message(signable).signature)
    return encode_feedback_auth(auth, signature)


@contextmanager
def signer_errors() -> Iterator[None]:
    """Wrap a signer's exceptions. Interrupts and errors from this package pass through unchanged.

    Raises:
        SignerFailedError: The signer raised any other exception.
    """
    try:
        yield
    except BilateralError:
        raise
    except Exception as error:
        raise SignerFailedError(error) from error


@checked
def decode_feedback_auth(feedback_auth: bytes) -> tuple[FeedbackAuth, bytes]:
    """Decode an authorisation, the inverse of `encode_feedback_auth`.

    Args:
        feedback_auth: The five fields, 32 bytes each, and the signature.

    Returns:
        The authorisation and its signature. The signature is not checked.

    Raises:
        MalformedAuthorizationError: The bytes are too short, or a field is out of range for its Solidity type.
    """
    if len(feedback_auth) < _AUTH_BYTES:  # eth-abi would accept a truncated word
        raise MalformedAuthorizationError(f"the data has only {len(feedback_auth)} bytes")
    try:
        values = list(decode(list(FeedbackAuth.solidity_types.values()), feedback_auth[:_AUTH_BYTES]))
    except DecodingError:
        raise MalformedAuthorizationError("a field is out of range") from None
    values[1] = to_checksum_address(values[1])
    return FeedbackAuth(*values), feedback_auth[_AUTH_BYTES:]


def recover_feedback_auth_signer(auth: FeedbackAuth, signature: bytes, domain: Domain) -> str | None:
    """Recover the signer of an authorisation that was signed by an account without code.

    Args:
        auth: The authorisation.
        domain: The domain of the registry.

    Returns:
        The signer's address, which must be the agent's owner. None if no signer can be recovered, or if the signature
        has the wrong length or is malleable; the registry rejects such signatures too. If the owner is a contract, only
        that contract can check the signature (ERC-1271).
    """
    return recover_signer(auth.digest(domain), signature)


def recover_signer(digest: bytes, signature: bytes) -> str | None:
    """Return the account whose key signed a digest, applying the same strict rules as the registries.

    Args:
        digest: The 32 bytes that were signed.

    Returns:
        The account; None if the signature does not have 65 bytes, is malleable (`s` too high), or matches no key. A
        contract's signature can only be checked by that contract (ERC-1271).
    """
    if len(signature) != _SIGNATURE_BYTES or signature[64] not in _V:
        return None
    if int.from_bytes(signature[32:64]) > SECPK1_N // 2:
        return None
    try:
        raw = keys.Signature(signature[:64] + bytes([signature[64] - _V[0]]))
        return raw.recover_public_key_from_msg_hash(digest).to_checksum_address()
    except (BadSignature, ValidationError):
        return None


def _as_json(value: Any) -> Any:
    """Return a field as JSON. Numbers become strings of digits, because JavaScript rounds those above 2^53."""
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    return str(value) if is_whole(value) else value
