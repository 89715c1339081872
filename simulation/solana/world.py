"""A world on Solana: SATI's registry set in its layout, agents in the steps of its program, tokens and accounts."""

from __future__ import annotations

from hashlib import sha256

from solders.account import Account
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import TransferParams
from solders.system_program import transfer as transfer_lamports
from solders.transaction import VersionedTransaction

from bilateral.core.contracts.records import foreign_book
from bilateral.solana.addresses import MAINNET, TOKEN, index_address
from bilateral.solana.registry8004 import CORE, agent_address
from simulation.solana import instructions as ix

TOKEN_KEY = Pubkey.from_string(TOKEN)
PROGRAM_8004 = foreign_book()[MAINNET].registries["8004-solana"]
RENT = 10**8  # lamports: the rent of 14 kB


class World:
    """Makes accounts, tokens and agents on a node.

    Attributes:
        payer: Pays for everything that is not a payment under test.
        group: The mint of the group of SATI's registry.
        total: The number of agents.
    """

    def __init__(self, node):
        self.node, self.payer, self.total = node, Keypair(), 0
        node.vm.airdrop(self.payer.pubkey(), 10**15)
        self.group = self.make_group(ix.REGISTRY)
        self._write_registry()

    def run(self, instructions, *signers, payer=None, forged=False):
        """Send a transaction, and return its signature. A forged one lacks those that SATI's program makes."""
        payer = payer or self.payer
        self.node.vm.expire_blockhash()
        message = MessageV0.try_compile(
            payer.pubkey(), list(instructions), [], Hash.from_string(str(self.node.vm.latest_blockhash()))
        )
        keys = {keypair.pubkey(): keypair for keypair in (payer, *signers)}
        content = b"\x80" + bytes(message)
        signatures = [
            keys[key].sign_message(content) if key in keys else Signature.new_unique()
            for key in message.account_keys[: message.header.num_required_signatures]
        ]
        self.node.vm.with_sigverify(not forged)
        try:
            signature = self.node.send(VersionedTransaction.populate(message, signatures))
        finally:
            self.node.vm.with_sigverify(True)
        error = self.node.history[signature]["meta"]["err"]
        if error is not None:
            raise AssertionError(error)
        return signature

    def make_group(self, authority):
        """Make a group, whose authority is any address."""
        mint, payer = Keypair(), self.payer.pubkey()
        self.run(
            [
                ix.create_mint(payer, mint.pubkey(), 166 + 68, RENT),
                ix.pointer(40, mint.pubkey(), payer, mint.pubkey()),
                ix.initialize_mint(mint.pubkey(), payer),
                ix.initialize_group(mint.pubkey(), authority, payer),
            ],
            mint,
        )
        return mint.pubkey()

    def register(
        self, owner, uri="", metadata=None, *, soulbound=False, group=None, group_authority=ix.REGISTRY, name="Weather"
    ):
        """Register an agent in the steps of SATI's program, and return its mint."""
        mint, payer, holder = Keypair(), self.payer.pubkey(), owner.pubkey()
        key, group = mint.pubkey(), group or self.group
        self.run(
            [
                ix.create_mint(payer, key, ix.POINTERS + 4 * soulbound, RENT),
                ix.pointer(39, key, holder, key),
                ix.pointer(41, key, group_authority, key),
                *([ix.token_2022(bytes([32]), writable=[key])] if soulbound else []),
                ix.initialize_mint(key, payer),
                ix.initialize_metadata(key, holder, payer, name, "AGENT", ""),
            ],
            mint,
            forged=True,
        )
        self.run(
            [
                *(ix.update_field(key, holder, name, value) for name, value in (metadata or {}).items()),
                ix.initialize_member(key, payer, group, group_authority),
                ix.create_associated(payer, holder, key),
                ix.mint_to(key, ix.associated(holder, key), payer, 1),
                ix.renounce(key, payer),
            ],
            owner,
            forged=True,
        )
        if uri:
            self.set_field(owner, key, "uri", uri)
        if group == self.group:
            self.total += 1
            self._write_registry()
            self.write_index(self.total, key)
        return key

    def set_field(self, owner, mint, key, value):
        """Set a text of an agent's metadata, as its owner does. A long one is set by hand, in place."""
        return self.run([ix.update_field(mint, owner.pubkey(), key, value)], owner)

    def transfer_agent(self, mint, owner, buyer, *, plain=False):
        """Transfer an agent, without its update authority."""
        source, destination = ix.associated(owner.pubkey(), mint), ix.associated(buyer.pubkey(), mint)
        move = (
            ix.transfer(source, destination, owner.pubkey(), 1)
            if plain
            else ix.transfer_checked(source, mint, destination, owner.pubkey(), 1)
        )
        return self.run([ix.create_associated(self.payer.pubkey(), buyer.pubkey(), mint), move], owner)

    def asset(self, program=TOKEN_KEY, decimals=6, fee=None):
        """Make a token for payments; with a transfer fee in hundredths of a percent, of Token-2022."""
        mint, payer = Keypair(), self.payer.pubkey()
        steps = [ix.create_mint(payer, mint.pubkey(), 82 if fee is None else 166 + 4 + 108, RENT, program)]
        if fee is not None:
            option = bytes([26, 0, 0, 0]) + fee.to_bytes(2, "little") + (10**9).to_bytes(8, "little")
            steps.append(ix.token_2022(option, writable=[mint.pubkey()]))
        steps.append(ix.initialize_mint(mint.pubkey(), payer, decimals, program=program))
        self.run(steps, mint)
        return mint.pubkey()

    def give(self, asset, owner, amount=0, program=TOKEN_KEY):
        """Make an owner's account for a token, with an amount, and return the account."""
        payer, account = self.payer.pubkey(), ix.associated(owner, asset, program)
        is_new = self.node.vm.get_account(account) is None
        self.run(
            [
                *([ix.create_associated(payer, owner, asset, program)] if is_new else []),
                *([ix.mint_to(asset, account, payer, amount, program)] if amount else []),
            ]
        )
        return account

    def fund(self, owner, lamports=10**10):
        """Give lamports to an account."""
        self.run(
            [transfer_lamports(TransferParams(from_pubkey=self.payer.pubkey(), to_pubkey=owner, lamports=lamports))]
        )

    def write(self, address, content, owner=ix.SATI_KEY):
        """Write an account, as SATI's program or an attacker's would."""
        self.node.vm.set_account(Pubkey.from_string(str(address)), Account(RENT, bytes(content), owner))

    def write_8004(self, asset, owner, *, live=None, wallet=None, uri="", collection=None):
        """Write an agent of 8004-solana, and its asset of Metaplex Core with the owner that it has now."""
        collection, program = collection or self.group, Pubkey.from_string(PROGRAM_8004)
        wallet = b"\0" if wallet is None else b"\1" + bytes(wallet)
        record = sha256(b"account:AgentAccount").digest()[:8] + bytes(self.group) + 2 * bytes(owner) + bytes(asset)
        record += b"\xff\1" + wallet + bytes(3 * 40) + bytes(3) + ix.text(uri) + ix.text("Weather") + ix.text("")
        self.write(agent_address(str(asset), PROGRAM_8004), record.ljust(748, b"\0"), program)
        core = b"\1" + bytes(live or owner) + b"\2" + bytes(collection) + ix.text("Agent") + ix.text(uri) + b"\0"
        self.write(asset, core, Pubkey.from_string(CORE))

    def write_index(self, number, mint):
        self.write(index_address(number), sha256(b"account:AgentIndex").digest()[:8] + bytes(mint) + b"\xff")

    def _write_registry(self):
        content = sha256(b"account:RegistryConfig").digest()[:8] + bytes(self.group) + bytes(self.payer.pubkey())
        self.write(ix.REGISTRY, content + self.total.to_bytes(8, "little") + b"\xfe")
