"""Instructions of Token-2022 that make mints, groups and agents in the steps of SATI's `register_agent`."""

from __future__ import annotations

from hashlib import sha256

from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey
from solders.system_program import CreateAccountParams, create_account

from bilateral.solana.addresses import ASSOCIATED_TOKEN, SATI, TOKEN_2022, registry_address, token_account

TOKEN_2022_KEY = Pubkey.from_string(TOKEN_2022)
ATA_KEY = Pubkey.from_string(ASSOCIATED_TOKEN)
SYSTEM = Pubkey.from_string("11111111111111111111111111111111")
REGISTRY = Pubkey.from_string(registry_address())
SATI_KEY = Pubkey.from_string(SATI)

POINTERS = 166 + 68 + 68
"""The bytes of a mint with two pointers, before its metadata and its membership."""


def text(value):
    return len(value.encode()).to_bytes(4, "little") + value.encode()


def discriminator(name):
    return sha256(name.encode()).digest()[:8]


def metas(writable=(), readonly=(), signers=()):
    accounts = [AccountMeta(key, False, True) for key in writable]
    accounts += [AccountMeta(key, False, False) for key in readonly]
    return accounts + [AccountMeta(key, True, False) for key in signers]


def token_2022(data, **accounts):
    return Instruction(TOKEN_2022_KEY, data, metas(**accounts))


def create_mint(payer, mint, space, lamports, program=TOKEN_2022_KEY):
    return create_account(
        CreateAccountParams(from_pubkey=payer, to_pubkey=mint, lamports=lamports, space=space, owner=program)
    )


def pointer(kind, mint, authority, target):
    """40 is a group pointer, 39 a metadata pointer, 41 a member pointer."""
    return token_2022(bytes([kind, 0]) + bytes(authority) + bytes(target), writable=[mint])


def initialize_mint(mint, authority, decimals=0, freeze=None, program=TOKEN_2022_KEY):
    option = bytes(1) if freeze is None else b"\x01" + bytes(freeze)
    return Instruction(program, bytes([20, decimals]) + bytes(authority) + option, metas(writable=[mint]))


def initialize_metadata(mint, update_authority, mint_authority, name, symbol, uri):
    data = discriminator("spl_token_metadata_interface:initialize_account") + text(name) + text(symbol) + text(uri)
    return token_2022(data, writable=[mint], readonly=[update_authority, mint], signers=[mint_authority])


def update_field(mint, authority, key, value):
    """Set a text of the metadata: `uri` by its own number, any other key by name."""
    field = b"\x02" if key == "uri" else b"\x03" + text(key)
    data = discriminator("spl_token_metadata_interface:updating_field") + field + text(value)
    return token_2022(data, writable=[mint], signers=[authority])


def update_authority(mint, authority, new):
    data = discriminator("spl_token_metadata_interface:update_the_authority") + (bytes(new) if new else bytes(32))
    return token_2022(data, writable=[mint], signers=[authority])


def initialize_group(mint, update_authority, mint_authority):
    data = discriminator("spl_token_group_interface:initialize_token_group")
    data += bytes(update_authority) + (2**32).to_bytes(8, "little")
    return token_2022(data, writable=[mint], readonly=[mint], signers=[mint_authority])


def initialize_member(mint, mint_authority, group, group_authority, *, is_signed=True):
    keys = [
        AccountMeta(mint, False, True),
        AccountMeta(mint, False, False),
        AccountMeta(mint_authority, True, False),
        AccountMeta(group, False, True),
        AccountMeta(group_authority, is_signed, False),
    ]
    return Instruction(TOKEN_2022_KEY, discriminator("spl_token_group_interface:initialize_member"), keys)


def associated(owner, mint, program=TOKEN_2022_KEY):
    return Pubkey.from_string(token_account(str(owner), str(mint), str(program)))


def create_associated(payer, owner, mint, program=TOKEN_2022_KEY):
    keys = [
        AccountMeta(payer, True, True),
        AccountMeta(associated(owner, mint, program), False, True),
        *metas(readonly=[owner, mint, SYSTEM, program]),
    ]
    return Instruction(ATA_KEY, b"", keys)


def mint_to(mint, destination, authority, amount, program=TOKEN_2022_KEY):
    return Instruction(
        program, b"\x07" + amount.to_bytes(8, "little"), metas(writable=[mint, destination], signers=[authority])
    )


def renounce(mint, authority, kind=0):
    """Give up an authority of a mint: 0 is that for minting."""
    return token_2022(bytes([6, kind, 0]), writable=[mint], signers=[authority])


def transfer_checked(source, mint, destination, authority, amount, decimals=0, program=TOKEN_2022_KEY):
    keys = [
        *metas(writable=[source]),
        *metas(readonly=[mint]),
        *metas(writable=[destination]),
        *metas(signers=[authority]),
    ]
    return Instruction(program, b"\x0c" + amount.to_bytes(8, "little") + bytes([decimals]), keys)


def transfer(source, destination, authority, amount, program=TOKEN_2022_KEY):
    """The older transfer, which does not name the mint. SATI's `transferAgent` uses it."""
    return Instruction(
        program, b"\x03" + amount.to_bytes(8, "little"), metas(writable=[source, destination], signers=[authority])
    )


def burn(source, mint, authority):
    return token_2022(b"\x08" + (1).to_bytes(8, "little"), writable=[source, mint], signers=[authority])
