"""Solana addresses: base 58 encoding, known programs, and program-derived addresses."""

from functools import lru_cache
from hashlib import sha256
from typing import Final

from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.identifiers.caip import ADDRESS_BYTES, base58_bytes, base58_problem, base58_text

SATI: Final = "satiRkxEiwZ51cv8PRu8UMzuaqeaNU9jABo6oAFMsLe"
"""The SATI program, which has the same address on all networks."""

TOKEN: Final = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"  # noqa: S105  # a program
TOKEN_2022: Final = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"  # noqa: S105  # a program
ASSOCIATED_TOKEN: Final = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"  # noqa: S105  # a program

TOKEN_PROGRAMS: Final = frozenset({TOKEN, TOKEN_2022})

MAINNET: Final = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
DEVNET: Final = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"
TESTNET: Final = "solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z"

_PRIME: Final = 2**255 - 19  # the field of Curve25519: an address off the curve has no key
_D: Final = -121665 * pow(121666, -1, _PRIME) % _PRIME
"""The parameter of the ed25519 curve."""

_MARKER: Final = b"ProgramDerivedAddress"
_MAX_SEED: Final = 32  # bytes of a seed (`MAX_SEED_LEN` of the runtime)
_MAX_SEEDS: Final = 16  # `MAX_SEEDS` of the runtime
_BUMPS: Final = 256  # the number of bump seeds, which have one byte


def address_bytes(address: str) -> bytes:
    """Return the 32 bytes of an address."""
    problem = base58_problem(address, ADDRESS_BYTES, "an address")
    if problem:
        raise MalformedIdentifierError("a Solana address", address, problem)
    return base58_bytes(address)


def address_text(content: bytes) -> str:
    """Return 32 bytes as an address."""
    return base58_text(content)


def is_on_curve(content: bytes) -> bool:
    """Return whether 32 bytes are a point on the ed25519 curve, for which a private key may exist.

    Points outside the main subgroup are included. libsodium's stricter test for valid points would derive different
    addresses.
    """
    y = int.from_bytes(content, "little") & ((1 << 255) - 1)
    square = y * y % _PRIME
    ratio = (square - 1) * (_D * square + 1) % _PRIME  # it is a square exactly if the quotient is one
    return ratio == 0 or pow(ratio, (_PRIME - 1) // 2, _PRIME) == 1


@lru_cache(maxsize=4096)  # a derivation takes milliseconds, and a seller's payments all go to one account
def program_address(program: str, *seeds: bytes) -> tuple[str, int]:
    """Derive an address from seeds: the first that is not on the curve, trying bumps from 255 down."""
    if len(seeds) >= _MAX_SEEDS or any(len(seed) > _MAX_SEED for seed in seeds):
        raise ValueError(
            f"an address can be derived from at most {_MAX_SEEDS - 1} seeds of at most {_MAX_SEED} bytes each"
        )
    joined, suffix = b"".join(seeds), address_bytes(program) + _MARKER
    for bump in reversed(range(_BUMPS)):
        candidate = sha256(joined + bytes([bump]) + suffix).digest()
        if not is_on_curve(candidate):
            return address_text(candidate), bump
    raise ValueError("no bump seed produces a valid address")  # the chance is 2^-256


def token_account(owner: str, mint: str, program: str) -> str:
    """Derive the address of an owner's associated token account."""
    return program_address(ASSOCIATED_TOKEN, *map(address_bytes, (owner, program, mint)))[0]


def registry_address(program: str = SATI) -> str:
    """Derive the address of SATI's registry account."""
    return program_address(program, b"registry")[0]


def index_address(number: int, program: str = SATI) -> str:
    """Derive the address of the SATI account that lists the agent with a given number. Numbers start at 1."""
    return program_address(program, b"agent_index", number.to_bytes(8, "little"))[0]
