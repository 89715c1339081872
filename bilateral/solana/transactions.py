"""Solana transactions, legacy or version 0, which consist of signatures and a message with instructions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bilateral.core.identifiers.caip import base58_text
from bilateral.solana.addresses import address_text
from bilateral.solana.fields import Fields

MAX_TRANSACTION: Final = 1232
"""The maximum size of a transaction: a 1280-byte IPv6 packet without its headers."""

_SIGNATURE_BYTES: Final = 64  # of Ed25519 (RFC 8032, section 5.1.6)
_VERSIONED: Final = 0x80  # the bit that distinguishes a version from a number of signatures


@dataclass(frozen=True)
class Instruction:
    """An instruction in a transaction.

    Attributes:
        program: The program that runs the instruction; empty if it comes from a lookup table.
        accounts: The positions of the instruction's accounts among the transaction's accounts.
    """

    program: str
    accounts: tuple[int, ...]
    data: bytes


@dataclass(frozen=True)
class SignedTransaction:
    """A transaction with its signatures, some of which may be empty.

    Attributes:
        signatures: The signatures, starting with the fee payer's.
        message: The bytes that every signer signs.
        signers: The number of accounts that must sign. These accounts come first in `accounts`.
        accounts: The accounts listed in the message itself.
        has_lookups: True if additional accounts come from lookup tables.
        blockhash: The recent blockhash.
    """

    signatures: tuple[bytes, ...]
    message: bytes
    signers: int
    accounts: tuple[str, ...]
    instructions: tuple[Instruction, ...]
    has_lookups: bool
    blockhash: str

    @property
    def id(self) -> str:
        """The transaction's id, its first signature in base 58."""
        return base58_text(self.signatures[0])

    @classmethod
    def of(cls, content: bytes) -> SignedTransaction:
        """Read a transaction."""
        fields = Fields(content, "a transaction")
        if len(content) > MAX_TRANSACTION:
            raise fields.malformed(f"the {len(content)} bytes exceed the limit of {MAX_TRANSACTION}")
        signatures = tuple(fields.take(_SIGNATURE_BYTES) for _ in range(fields.compact()))
        start = fields.position
        signers = fields.number(1)
        is_versioned = bool(signers & _VERSIONED)
        if is_versioned:
            if signers != _VERSIONED:
                raise fields.malformed(f"its version {signers - _VERSIONED} is unknown")
            signers = fields.number(1)
        fields.take(2)  # the numbers of read-only accounts
        accounts = tuple(address_text(fields.take(32)) for _ in range(fields.compact()))
        blockhash = base58_text(fields.take(32))
        instructions = tuple(_instruction(fields, accounts) for _ in range(fields.compact()))
        has_lookups = is_versioned and _skip_lookups(fields)
        fields.end()
        if not signers or signers != len(signatures) or signers > len(accounts):
            raise fields.malformed(
                f"{signers} signers, {len(signatures)} signatures and {len(accounts)} accounts do not match"
            )
        if not has_lookups:
            _require_listed_accounts(fields, accounts, instructions)
        return cls(signatures, content[start:], signers, accounts, instructions, has_lookups, blockhash)


def _instruction(fields: Fields, accounts: tuple[str, ...]) -> Instruction:
    program = fields.number(1)
    places = tuple(fields.take(fields.compact()))
    return Instruction(accounts[program] if program < len(accounts) else "", places, fields.take(fields.compact()))


def _skip_lookups(fields: Fields) -> bool:
    """Skip the address lookup tables, and return whether there are any."""
    count = fields.compact()
    for _ in range(count):
        fields.take(32)
        fields.take(fields.compact())
        fields.take(fields.compact())
    return count > 0


def _require_listed_accounts(fields: Fields, accounts: tuple[str, ...], instructions: tuple[Instruction, ...]) -> None:
    for instruction in instructions:
        if not instruction.program or any(place >= len(accounts) for place in instruction.accounts):
            raise fields.malformed("an instruction refers to an account that the transaction does not list")
