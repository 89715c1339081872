"""Accounts of programs that Anchor made: their owner, and the discriminator before their fields."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from bilateral.core.errors.solana import MalformedAccountError
from bilateral.solana.fields import Fields


@dataclass(frozen=True)
class Account:
    """An account as a node returns it.

    Attributes:
        owner: The program that owns it.
        content: Its bytes.
    """

    owner: str
    content: bytes


def anchor_account(account: Account | None, program: str, kind: str, name: str, length: int) -> Fields:
    """Return the fields of an account, after its discriminator.

    Args:
        account: The account; None if there is none.
        program: The program that must own it.
        kind: The kind of account, for messages.
        name: The name of its type in the program.
        length: The number of its bytes.

    Raises:
        MalformedAccountError: It is missing, of another program, or has another type or length.
    """
    if account is None:
        raise MalformedAccountError(kind, "it does not exist")
    if account.owner != program:
        raise MalformedAccountError(kind, f"it belongs to the program {account.owner}, not to {program}")
    fields = Fields(account.content, kind)
    if len(account.content) != length or fields.take(8) != sha256(f"account:{name}".encode()).digest()[:8]:
        raise fields.malformed(f"its {len(account.content)} bytes do not have the layout of the known version")
    return fields
