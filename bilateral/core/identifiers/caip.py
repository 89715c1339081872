"""EVM and Solana chains, accounts and transactions, in the formats of the Chain Agnostic Improvement Proposals.

This module is part of `bilateral.core.identifiers`, which describes the common behaviour of identifiers.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Self

from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.values.arguments import is_whole

EVM: Final = "eip155"
SOLANA: Final = "solana"
MAX_UINT256: Final = 2**256 - 1  # the largest number that fits into a word of the EVM
ZERO_ADDRESS: Final = "0x" + "00" * 20
"""The zero address on EVM chains."""

ADDRESS_BYTES: Final = 32  # a Solana address is an Ed25519 public key, or a derived address of the same length

FAMILIES: Final = {EVM: "EVM", SOLANA: "Solana"}
"""The names of the supported kinds of chain, keyed by CAIP-2 namespace. This package calls non-EVM chains foreign."""

FOREIGN_PREFIXES: Final = tuple(f"{namespace}:" for namespace in FAMILIES if namespace != EVM)
"""The prefixes of identifiers on foreign chains."""

_NAMESPACE = re.compile(r"[-a-z0-9]{3,8}")
_NUMBER = re.compile(r"0|[1-9][0-9]*")
_BASE58 = re.compile(r"[1-9A-HJ-NP-Za-km-z]+")
_BASE58_DIGITS: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_EVM_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_EVM_HASH = re.compile(r"0x[0-9a-fA-F]{64}")

_CHAIN: Final = "a CAIP-2 chain id"
_ACCOUNT: Final = "a CAIP-10 account id"
_TRANSACTION: Final = "a transaction reference"

_SOLANA_REFERENCE_LENGTH: Final = 32  # CAIP-30 uses the first 32 characters of the genesis hash
_SOLANA_SIGNATURE_BYTES: Final = 64  # of Ed25519 (RFC 8032, section 5.1.6)
_MAX_CHAIN_DIGITS: Final = 32  # a reference of CAIP-2 has at most 32 characters
_MAX_BITS: Final = 1024
"""The maximum size of a number, in bits: by default, Python refuses to print numbers with more than 4300 digits."""


@dataclass(frozen=True)
class ChainId:
    """A chain (CAIP-2), on EVM or Solana: `eip155:8453`, `solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp`.

    Attributes:
        namespace: `eip155` or `solana`.
        reference: On EVM, the EIP-155 chain id in decimal digits; on Solana, the first 32 characters of the genesis
            hash.

    Raises:
        MalformedIdentifierError: The namespace is not supported, or the reference does not have the format that the
            namespace requires.
    """

    namespace: str
    reference: str

    def __post_init__(self) -> None:
        require(_CHAIN, str, self.namespace, self.reference)
        problem = _chain_problem(self.namespace, self.reference)
        if problem:
            raise MalformedIdentifierError(_CHAIN, str(self), problem)

    @classmethod
    def evm(cls, chain_id: int) -> Self:
        """Return the EVM chain with this EIP-155 chain id."""
        require(_CHAIN, int, chain_id)
        return cls(EVM, str(chain_id))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `namespace:reference`.

        Raises:
            MalformedIdentifierError: The text does not have this form.
        """
        namespace, reference = _split(_CHAIN, text, "namespace:reference", 2)
        return cls(namespace, reference)

    @property
    def is_evm(self) -> bool:
        """True if the chain is an EVM chain."""
        return self.namespace == EVM

    @property
    def evm_chain_id(self) -> int:
        """The EIP-155 chain id.

        Raises:
            MalformedIdentifierError: The chain is not an EVM chain.
        """
        if not self.is_evm:
            raise MalformedIdentifierError("an EVM chain", str(self), f"its namespace is {self.namespace}")
        return int(self.reference)

    def __str__(self) -> str:
        return f"{self.namespace}:{self.reference}"


@dataclass(frozen=True)
class AccountId:
    """An account or contract on a chain (CAIP-10): `eip155:8453:0x8004…`, `solana:5eykt4…:satiRk…`.

    An agent registry string, which identifies an identity registry by chain and address, has this form.

    Attributes:
        address: On EVM, in checksum form (EIP-55), converted from any case; on Solana, 32 bytes in base 58, which is
            case-sensitive.

    Raises:
        MalformedIdentifierError: The address does not have the format that its chain requires, or its checksum is
            wrong.
    """

    chain: ChainId
    address: str

    def __post_init__(self) -> None:
        require(_ACCOUNT, ChainId, self.chain)
        require(_ACCOUNT, str, self.address)
        if self.chain.is_evm:
            object.__setattr__(self, "address", checksummed(self.address))
            return
        problem = base58_problem(self.address, ADDRESS_BYTES, "an address")
        if problem:
            raise MalformedIdentifierError(_ACCOUNT, str(self), problem)

    @classmethod
    def parse(cls, text: str, *, verify_checksum: bool = True) -> Self:
        """Parse `namespace:reference:address`.

        Args:
            verify_checksum: Pass `False` to accept EVM addresses with a wrong checksum, which CAIP-10 allows and some
                files contain. Never do so for an address to which money will be sent.

        Raises:
            MalformedIdentifierError: The text does not have this form.
        """
        namespace, reference, address = _split(_ACCOUNT, text, "namespace:reference:address", 3)
        chain = ChainId(namespace, reference)
        return cls(chain, address if verify_checksum or not chain.is_evm else address.lower())

    def __str__(self) -> str:
        return f"{self.chain}:{self.address}"


@dataclass(frozen=True)
class TransactionRef:
    """A transaction on a chain (`taskRef` of the x402 extension): `eip155:8453:0x…`, `solana:5eykt4…:5A2CSREG…`.

    Attributes:
        transaction: On EVM, the hash, converted to lower case; on Solana, the 64 bytes of the first signature in base
            58.

    Raises:
        MalformedIdentifierError: The transaction does not have the format that its chain requires.
    """

    chain: ChainId
    transaction: str

    def __post_init__(self) -> None:
        require(_TRANSACTION, ChainId, self.chain)
        require(_TRANSACTION, str, self.transaction)
        if self.chain.is_evm:
            matches = _EVM_HASH.fullmatch(self.transaction)
            problem = None if matches else "an EVM transaction must be 0x and 64 hexadecimal digits"
            object.__setattr__(self, "transaction", self.transaction.lower())
        else:
            problem = base58_problem(self.transaction, _SOLANA_SIGNATURE_BYTES, "a transaction")
        if problem:
            raise MalformedIdentifierError(_TRANSACTION, str(self), problem)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `namespace:reference:transaction`.

        Raises:
            MalformedIdentifierError: The text does not have this form.
        """
        namespace, reference, transaction = _split(_TRANSACTION, text, "namespace:reference:transaction", 3)
        return cls(ChainId(namespace, reference), transaction)

    def __str__(self) -> str:
        return f"{self.chain}:{self.transaction}"


def is_foreign(identifier: str) -> bool:
    """Return True if an identifier belongs to a supported non-EVM chain."""
    return identifier.startswith(FOREIGN_PREFIXES)


def family_of(identifier: str) -> str:
    """Return the name of the kind of chain, such as EVM or Solana, to which an identifier belongs."""
    namespace = identifier.partition(":")[0]
    return FAMILIES.get(namespace, namespace)


def checksummed(address: str) -> str:
    """Convert an EVM address to checksum form (EIP-55).

    Args:
        address: 0x and 40 hexadecimal digits: letters all in the same case, or in mixed case with the right checksum.

    Raises:
        MalformedIdentifierError: The text is not an address, or its checksum is wrong, for example because of a typing
            error.
    """
    require("an EVM address", str, address)
    return _checksummed(address)


def require(kind: str, expected: type, *values: object) -> None:
    """Raise an error if an identifier's value has the wrong type. A `bool` is not accepted as a number."""
    for value in values:
        if not (is_whole(value) if expected is int else isinstance(value, expected)):
            raise MalformedIdentifierError(kind, value, f"expected a value of type {expected.__name__}")
        if isinstance(value, int) and value.bit_length() > _MAX_BITS:
            raise MalformedIdentifierError(kind, value, "the number is too large for a chain id")


@lru_cache(maxsize=4096)  # makes reading 10,000 entries twice as fast, because they repeat few clients
def _checksummed(address: str) -> str:
    from eth_hash.auto import keccak  # noqa: PLC0415  # slow to import, and no help of a command needs it

    if not _EVM_ADDRESS.fullmatch(address):
        raise MalformedIdentifierError("an EVM address", address, "expected 0x and 40 hexadecimal digits")
    digits = address[2:].lower()
    # This is three times as fast as eth-utils, which matters because an index reads many new addresses.
    capitals = zip(digits, keccak(digits.encode()).hex(), strict=False)
    checksum = "0x" + "".join([digit.upper() if nibble > "7" else digit for digit, nibble in capitals])
    if address[2:] not in (checksum[2:], digits, digits.upper()):
        raise MalformedIdentifierError("an EVM address", address, "its checksum (EIP-55) is wrong")
    return checksum


def _split(kind: str, text: str, form: str, count: int) -> list[str]:
    """Split a string at its colons into exactly the given number of parts, none of which may be empty."""
    require(kind, str, text)
    parts = text.split(":")
    if len(parts) != count:
        raise MalformedIdentifierError(kind, text, f"expected {form}")
    if not all(parts):
        raise MalformedIdentifierError(kind, text, f"a part of {form} is empty")
    return parts


def whole_number(kind: str, text: str, part: str) -> int:
    """Parse a canonical decimal number with at most 78 digits, the maximum for a uint256."""
    if not _NUMBER.fullmatch(part):
        raise MalformedIdentifierError(kind, text, f"{part[:80]!r} is not a whole number in plain decimal digits")
    if len(part) > len(str(MAX_UINT256)):
        raise MalformedIdentifierError(kind, text, "it contains a number above 2^256 - 1")
    return int(part)


def _chain_problem(namespace: str, reference: str) -> str | None:
    if not _NAMESPACE.fullmatch(namespace):
        return "a namespace must have 3 to 8 characters from a-z, 0-9 and -"
    if namespace == EVM:
        if not _NUMBER.fullmatch(reference) or reference == "0" or len(reference) > _MAX_CHAIN_DIGITS:
            return "an eip155 reference must be the chain id in decimal digits, from 1, without leading zeros"
        return None
    if namespace == SOLANA:
        if not _BASE58.fullmatch(reference) or len(reference) != _SOLANA_REFERENCE_LENGTH:
            return "a solana reference must be the first 32 characters of the genesis hash, in base 58"
        return None
    return f"the namespaces eip155 and solana are supported, not {namespace}"


def base58_problem(text: str, length: int, subject: str) -> str | None:
    """Return why a Solana identifier is not `length` bytes in base 58; None if it is valid."""
    if not _BASE58.fullmatch(text) or len(text) > 2 * length:
        return f"{subject} of solana is {length} bytes in base 58"
    decoded = len(base58_bytes(text))
    return None if decoded == length else f"{subject} of solana has {length} bytes, but this one has {decoded}"


def is_base58(text: str) -> bool:
    """Return whether a string consists only of base 58 digits."""
    return bool(_BASE58.fullmatch(text))


def base58_bytes(text: str) -> bytes:
    """Decode base 58: one zero byte for each leading 1, followed by the bytes of the number."""
    number = 0
    for digit in text:
        number = number * 58 + _BASE58_DIGITS.index(digit)
    return bytes(len(text) - len(text.lstrip("1"))) + number.to_bytes((number.bit_length() + 7) // 8)


def base58_text(content: bytes) -> str:
    """Encode bytes in base 58, the inverse of `base58_bytes`."""
    number, digits = int.from_bytes(content), ""
    while number:
        number, digit = divmod(number, 58)
        digits = _BASE58_DIGITS[digit] + digits
    return "1" * (len(content) - len(content.lstrip(b"\0"))) + digits
