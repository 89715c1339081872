"""Agents in 8004-solana. Each is an account of that program plus the Metaplex Core asset that the account describes.

Like ERC-8004, the program requires the wallet's signature, and clears the wallet when it transfers an agent. A transfer
made directly through Metaplex Core does not update the stored owner or wallet until somebody calls `sync_owner`. The
reader therefore compares the owner stored by the program with the owner of the asset. The layouts match version 0.6.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from bilateral.core.errors.solana import AgentRefusedError
from bilateral.node.steps import Operation
from bilateral.solana.addresses import address_bytes, address_text, program_address
from bilateral.solana.fields import Account, Fields, anchor_account
from bilateral.solana.history import Watched
from bilateral.solana.nodes import SolanaNode
from bilateral.solana.sati import MISMATCH, NOT_REGISTERED, OWNER

CORE: Final = "CoREENxT6tW1HoK8ypY1SxRMZTcVPm7R94rH4PZNhX7d"
"""The Metaplex Core program, which owns the assets."""

PROVEN: Final = "proven"

_AGENT_BYTES: Final = 748
_ASSET: Final = 1  # `Key::AssetV1` of Metaplex Core
_OF_COLLECTION: Final = 2  # `UpdateAuthority::Collection` of Metaplex Core
_COUNTERS: Final = 3 * (32 + 8)
"""The size, in bytes, of three digests with counts: for feedback, responses and revocations."""

_HARMLESS: Final = tuple(
    sha256(f"global:{name}".encode()).digest()[:8]
    for name in (
        *("give_feedback", "append_response", "revoke_feedback", "enable_atom", "owner_of", "core_owner_of"),
        *("set_metadata_pda", "delete_metadata_pda", "set_collection_pointer", "set_collection_pointer_with_options"),
        *("set_parent_asset", "set_parent_asset_with_options"),
    )
)
"""Instructions that change neither the wallet, the URI nor the owner. Anyone may give feedback at any time."""


@dataclass(frozen=True)
class Record:
    """An agent as stored by the program.

    Attributes:
        collection: The collection that contains all agents.
        owner: The owner that the program last stored, which may be outdated.
        asset: The asset, which is the agent's `agentId`.
        wallet: The proven wallet; None if there is none.
        uri: The URI of the registration file.
    """

    collection: str
    owner: str
    asset: str
    wallet: str | None
    uri: str
    name: str

    @classmethod
    def of(cls, account: Account | None, program: str) -> Record:
        """Read an agent's account."""
        fields = anchor_account(account, program, "the account of an agent", "AgentAccount", _AGENT_BYTES)
        collection = address_text(fields.take(32))
        fields.take(32)  # the creator
        owner, asset = address_text(fields.take(32)), address_text(fields.take(32))
        fields.take(2)  # the bump, and the use of a program for reputation
        wallet = _optional(fields)
        fields.take(_COUNTERS)
        _optional(fields)  # the parent
        fields.take(2)  # the locks of parent and collection pointer
        return cls(collection, owner, asset, wallet, fields.text(), fields.text())


@dataclass(frozen=True)
class Agent8004:
    """An agent in 8004-solana whose accounts have been checked.

    Attributes:
        asset: The asset, which is the agent's `agentId`.
        account: The account, owned by the program, that describes the asset.
        holder: The owner of the asset.
        uri: The URI of the registration file.
        wallet: The account to which payments go.
        wallet_source: `proven`, or `owner` if the agent has no wallet of its own.
        remarks: Irregularities that do not make the agent unusable; always empty.
        slot: The slot of the node's response.
    """

    asset: str
    account: str
    holder: str
    uri: str
    wallet: str
    wallet_source: str
    name: str
    remarks: tuple[str, ...]
    slot: int
    program: str

    @property
    def watched(self) -> Watched:
        """The accounts that determine the agent's state, and the instructions that do not change it."""
        return Watched((self.asset, self.account), {self.program: _HARMLESS, CORE: ()})


def agent_address(asset: str, program: str) -> str:
    """Derive the address of an agent's account."""
    return program_address(program, b"agent", address_bytes(asset))[0]


def agent_8004_of(asset: str, accounts: tuple[Account | None, Account | None], program: str, slot: int) -> Agent8004:
    """Check an agent's accounts, and return the agent that they prove."""
    described, asset_account = accounts
    if described is None:
        raise _unregistered(asset, "the program has no account for this asset")
    record = Record.of(described, program)
    if record.asset != asset:
        raise _unregistered(asset, f"the account describes a different asset, {record.asset}")
    holder = _owner_of(asset, asset_account, record.collection)
    if holder != record.owner:
        problem = (
            f"the agent {asset} was transferred to {holder}, but the registry still has the wallet and URI of its "
            f"former owner {record.owner}: call `sync_owner` first"
        )
        raise AgentRefusedError(problem, MISMATCH)
    return Agent8004(
        asset=asset,
        account=agent_address(asset, program),
        holder=holder,
        uri=record.uri,
        wallet=record.wallet or holder,
        wallet_source=OWNER if record.wallet is None else PROVEN,
        name=record.name,
        remarks=(),
        slot=slot,
        program=program,
    )


def read_agent_8004(node: SolanaNode, asset: str, program: str) -> Operation[Agent8004]:
    """Read an agent in one request, so that its accounts are consistent."""
    yield from node.require_chain()
    slot, (described, asset_account) = yield from node.accounts([agent_address(asset, program), asset])
    return agent_8004_of(asset, (described, asset_account), program, slot)


def _owner_of(asset: str, account: Account | None, collection: str) -> str:
    if account is None or account.owner != CORE:
        raise _unregistered(asset, "the account is not a Metaplex Core asset")
    fields = Fields(account.content, "an asset of Metaplex Core")
    kind = fields.number(1)
    if kind != _ASSET:
        raise _unregistered(asset, "it was burnt" if not kind else f"its account is of a different type, {kind}")
    owner = address_text(fields.take(32))
    if fields.number(1) != _OF_COLLECTION or address_text(fields.take(32)) != collection:
        raise _unregistered(asset, f"the asset does not belong to collection {collection}")
    return owner


def _optional(fields: Fields) -> str | None:
    """Read an optional address: a byte for its presence, and the address if present."""
    is_present = fields.number(1)
    if is_present > 1:
        raise fields.malformed("an optional address has an invalid presence flag")
    return address_text(fields.take(32)) if is_present else None


def _unregistered(asset: str, problem: str) -> AgentRefusedError:
    return AgentRefusedError(f"{asset} is not an 8004-solana agent: {problem}", NOT_REGISTERED)
