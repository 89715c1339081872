"""Token-2022 instructions with which an owner changes an agent's metadata, holder and authorities."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from bilateral.solana.addresses import ASSOCIATED_TOKEN, TOKEN_2022, address_bytes, token_account

SYSTEM: Final = "11111111111111111111111111111111"
URI: Final = "uri"

_URI_FIELD: Final = b"\x02"
_KEY_FIELD: Final = b"\x03"
_CREATE_IF_MISSING: Final = b"\x01"
_SET_AUTHORITY: Final = 6  # `SetAuthority` of the token program
_POINTER_AUTHORITY: Final = 12  # `AuthorityType::MetadataPointer` of Token-2022
_TRANSFER_CHECKED: Final = 12  # `TransferChecked` of the token program
_SYSTEM_TRANSFER: Final = 2  # `Transfer` of the system program


@dataclass(frozen=True)
class Account:
    """An account used by an instruction.

    Attributes:
        is_signer: True if the account must sign.
        is_writable: True if the instruction may change the account.
    """

    address: str
    is_signer: bool = False
    is_writable: bool = False


@dataclass(frozen=True)
class Call:
    """An instruction that is not yet part of a transaction."""

    program: str
    accounts: Sequence[Account]
    data: bytes


def set_field(mint: str, authority: str, key: str, value: str) -> Call:
    """Set a field in an agent's metadata: `uri`, or an additional field by its key."""
    field = _URI_FIELD if key == URI else _KEY_FIELD + _text(key)
    return _metadata_call("updating_field", field + _text(value), mint, authority)


def remove_field(mint: str, authority: str, key: str) -> Call:
    """Remove an additional field from an agent's metadata. A missing field is ignored."""
    return _metadata_call("remove_key_ix", b"\x01" + _text(key), mint, authority)


def hand_over_metadata(mint: str, authority: str, new: str) -> Call:
    """Transfer the update authority of an agent's metadata to another account."""
    return _metadata_call("update_the_authority", address_bytes(new), mint, authority)


def hand_over_pointer(mint: str, authority: str, new: str) -> Call:
    """Transfer the authority over an agent's metadata pointer to another account."""
    data = bytes([_SET_AUTHORITY, _POINTER_AUTHORITY, 1]) + address_bytes(new)
    return Call(TOKEN_2022, _changing(mint, authority), data)


def make_token_account(payer: str, owner: str, mint: str) -> Call:
    """Create an owner's associated token account, unless it already exists."""
    accounts = [
        Account(payer, is_signer=True, is_writable=True),
        Account(token_account(owner, mint, TOKEN_2022), is_writable=True),
        *map(Account, (owner, mint, SYSTEM, TOKEN_2022)),
    ]
    return Call(ASSOCIATED_TOKEN, accounts, _CREATE_IF_MISSING)


def transfer_agent(mint: str, source: str, owner: str, new: str) -> Call:
    """Move an agent from its owner's token account to another account's associated token account."""
    accounts = [
        Account(source, is_writable=True),
        Account(mint),
        Account(token_account(new, mint, TOKEN_2022), is_writable=True),
        Account(owner, is_signer=True),
    ]
    return Call(TOKEN_2022, accounts, bytes([_TRANSFER_CHECKED]) + (1).to_bytes(8, "little") + b"\0")


def pay_rent(payer: str, account: str, lamports: int) -> Call:
    """Transfer the lamports that an account needs for additional bytes."""
    accounts = [Account(payer, is_signer=True, is_writable=True), Account(account, is_writable=True)]
    return Call(SYSTEM, accounts, _SYSTEM_TRANSFER.to_bytes(4, "little") + lamports.to_bytes(8, "little"))


def _metadata_call(name: str, data: bytes, mint: str, authority: str) -> Call:
    prefix = sha256(f"spl_token_metadata_interface:{name}".encode()).digest()[:8]
    return Call(TOKEN_2022, _changing(mint, authority), prefix + data)


def _changing(mint: str, authority: str) -> list[Account]:
    return [Account(mint, is_writable=True), Account(authority, is_signer=True)]


def _text(value: str) -> bytes:
    """Return a string in Borsh encoding: its length in four bytes, followed by UTF-8."""
    content = value.encode()
    return len(content).to_bytes(4, "little") + content
