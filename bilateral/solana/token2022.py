"""Token-2022 mints and token accounts: base fields, followed by extensions (type, length and value)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Final

from bilateral.solana.addresses import address_text
from bilateral.solana.fields import Fields

_MINT_BYTES: Final = 82  # `Mint::LEN` of the token program
_ACCOUNT_BYTES: Final = 165
"""The size of a token account without extensions, in bytes. Mints with extensions are padded to this size."""

_MULTISIG_BYTES: Final = 355
"""The length of a multisignature account, which has no extensions. No account with extensions has this length."""

_MINT_KIND: Final = 1  # `AccountType::Mint`
_ACCOUNT_KIND: Final = 2  # `AccountType::Account`
_TYPE_BYTES: Final = 2  # of an extension's number, before its length
NOBODY: Final = bytes(32)


class Extension(IntEnum):
    """The types of extensions that agents have."""

    NON_TRANSFERABLE = 9
    METADATA_POINTER = 18
    METADATA = 19
    MEMBER_POINTER = 22
    MEMBER = 23


class AccountState(IntEnum):
    """The states of a token account."""

    UNINITIALIZED = 0
    INITIALIZED = 1
    FROZEN = 2


@dataclass(frozen=True)
class Mint:
    """An account that defines a token.

    Attributes:
        mint_authority: The account that may mint; None if nobody may.
        supply: The number of tokens.
        decimals: The number of decimals in an amount.
        is_initialized: True if the mint is initialised.
        freeze_authority: The account that may freeze token accounts; None if nobody may.
        extensions: The value of each extension, keyed by type.
    """

    mint_authority: str | None
    supply: int
    decimals: int
    is_initialized: bool
    freeze_authority: str | None
    extensions: Mapping[int, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, content: bytes) -> Mint:
        """Read a mint."""
        fields = Fields(content, "a mint")
        mint = cls(
            mint_authority=_optional(fields),
            supply=fields.number(8),
            decimals=fields.number(1),
            is_initialized=fields.number(1) == 1,
            freeze_authority=_optional(fields),
        )
        return mint if not fields.left else _with_extensions(mint, fields, content)


def _with_extensions(mint: Mint, fields: Fields, content: bytes) -> Mint:
    if len(content) == _MULTISIG_BYTES or any(fields.take(_ACCOUNT_BYTES - _MINT_BYTES)):
        raise fields.malformed("the base account is not followed by zeros")
    if fields.number(1) != _MINT_KIND:
        raise fields.malformed("the account is of a different type")
    return replace(mint, extensions=_extensions(fields))


@dataclass(frozen=True)
class TokenAccount:
    """An account that contains an owner's tokens of one mint.

    Attributes:
        mint: The token.
        amount: The number of tokens.
    """

    mint: str
    owner: str
    amount: int
    state: AccountState

    @classmethod
    def of(cls, content: bytes) -> TokenAccount:
        """Read a token account."""
        fields = Fields(content, "a token account")
        mint, owner, amount = address_text(fields.take(32)), address_text(fields.take(32)), fields.number(8)
        fields.take(36)  # the delegate
        state = fields.number(1)
        if state not in tuple(AccountState):
            raise fields.malformed(f"unknown account state: {state}")
        fields.take(_ACCOUNT_BYTES - fields.position)
        if fields.left:
            if len(content) == _MULTISIG_BYTES or fields.number(1) != _ACCOUNT_KIND:
                raise fields.malformed("the account is of a different type")
            _extensions(fields)
        return cls(mint, owner, amount, AccountState(state))


@dataclass(frozen=True)
class TokenMetadata:
    """The metadata within a mint.

    Attributes:
        update_authority: The account that may change the metadata; None if nobody may.
        entries: The values of the additional fields, by key.
    """

    update_authority: str | None
    mint: str
    name: str
    symbol: str
    uri: str
    entries: Mapping[str, str]

    @classmethod
    def of(cls, content: bytes) -> TokenMetadata:
        """Read the metadata from the extension's value."""
        fields = Fields(content, "metadata")
        authority, mint = fields.take(32), address_text(fields.take(32))
        name, symbol, uri = fields.text(), fields.text(), fields.text()
        entries: dict[str, str] = {}
        for _ in range(fields.number(4)):
            key, value = fields.text(), fields.text()
            if key in entries:
                raise fields.malformed(f"the key {key[:64]!r} occurs twice")
            entries[key] = value
        fields.end()
        return cls(None if authority == NOBODY else address_text(authority), mint, name, symbol, uri, entries)


@dataclass(frozen=True)
class GroupMember:
    """A mint's membership in a group.

    Attributes:
        mint: The member.
        group: The mint of the group.
        number: The member's number, counted from 1.
    """

    mint: str
    group: str
    number: int

    @classmethod
    def of(cls, content: bytes) -> GroupMember:
        """Read the membership from the extension's value."""
        fields = Fields(content, "a group member")
        member = cls(address_text(fields.take(32)), address_text(fields.take(32)), fields.number(8))
        fields.end()
        return member


def pointed_address(content: bytes) -> str:
    """Return the address that a pointer refers to."""
    fields = Fields(content, "a pointer")
    fields.take(32)  # the authority
    address = address_text(fields.take(32))
    fields.end()
    return address


def _optional(fields: Fields) -> str | None:
    """Read an optional address: four bytes for its presence, then 32 bytes."""
    is_present, address = fields.number(4), fields.take(32)
    if is_present not in {0, 1}:
        raise fields.malformed("an optional address has an invalid presence flag")
    return address_text(address) if is_present else None


def _extensions(fields: Fields) -> dict[int, bytes]:
    """Read extensions until type 0 or the end of the account."""
    extensions: dict[int, bytes] = {}
    while fields.left >= _TYPE_BYTES:
        kind = fields.number(2)
        if kind == 0:
            break
        value = fields.take(fields.number(2))
        if kind in extensions:
            raise fields.malformed(f"the extension {kind} occurs twice")
        extensions[kind] = value
    return extensions
