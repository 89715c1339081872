"""Reads the SATI accounts that together prove an agent, in two requests.

An agent is a Token-2022 mint with one token. Its membership in the SATI registry's group proves that SATI registered
it, because only the registry's own address can sign for a membership. Everything else, including the wallet, is text
written by the metadata's update authority.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bilateral.core.errors import MalformedIdentifierError, NodeError
from bilateral.core.errors.solana import AgentRefusedError, InconsistentNodeError, MalformedAccountError, SolanaError
from bilateral.core.identifiers.caip import AccountId, ChainId, base58_problem
from bilateral.node import answers
from bilateral.node.steps import Operation, Rpc
from bilateral.solana import token2022
from bilateral.solana.addresses import SATI, TOKEN_2022, address_text, index_address, registry_address, token_account
from bilateral.solana.fields import Account, anchor_account
from bilateral.solana.history import Watched
from bilateral.solana.nodes import SolanaNode

_ATTEMPTS: Final = 2
"""How often to try to read an agent that changes meanwhile, or on which nodes disagree. A third try rarely helps."""

WALLET_KEY: Final = "agentWallet"
METADATA: Final = "metadata"
OWNER: Final = "owner"

_REGISTRY_BYTES: Final = 81  # discriminator, two addresses, a count and a bump: 8 + 64 + 8 + 1
_INDEX_BYTES: Final = 41  # discriminator, mint and bump: 8 + 32 + 1
_ADDRESS_BYTES: Final = 32  # of an account of Solana: an Ed25519 public key


@dataclass(frozen=True)
class Registry:
    """SATI's registry account.

    Attributes:
        group: The mint of the group whose members are the agents.
        authority: The account that may change the registry.
        total: The number of agents.
    """

    group: str
    authority: str
    total: int

    @classmethod
    def of(cls, account: Account | None, program: str) -> Registry:
        """Read the account at the registry's address."""
        fields = anchor_account(account, program, "SATI's account RegistryConfig", "RegistryConfig", _REGISTRY_BYTES)
        return cls(address_text(fields.take(32)), address_text(fields.take(32)), fields.number(8))


@dataclass(frozen=True)
class MintedAgent:
    """An agent according to its mint. The holder has not been determined yet.

    Attributes:
        member: The agent's membership in SATI's group.
        is_soulbound: True if the agent cannot be transferred.
        pointer_authority: The account that may point the agent to different metadata; None if nobody may.
    """

    metadata: token2022.TokenMetadata
    member: token2022.GroupMember
    is_soulbound: bool
    pointer_authority: str | None

    @property
    def authority(self) -> str:
        """The account that may change the wallet and the URI."""
        if self.metadata.update_authority is None:
            raise AgentRefusedError(
                "the agent's metadata has no update authority, so its holder cannot change it", MISMATCH
            )
        return self.metadata.update_authority


@dataclass(frozen=True)
class SatiAgent:
    """A SATI agent whose accounts have been checked.

    Attributes:
        mint: The agent's mint, which is its `agentId`.
        number: The agent's number among the members of SATI's group.
        holder: The account that holds the agent and controls its metadata.
        token_account: The account that contains the token.
        uri: The URI of the registration file.
        wallet: The account to which payments go; empty if the agent only declares a wallet on another chain.
        wallet_source: `metadata` (unproven), or `owner` if the metadata declares no wallet.
        metadata: The whole metadata.
        is_soulbound: True if the agent cannot be transferred.
        pointer_authority: The account that may point the agent to different metadata; None if nobody may.
        remarks: Irregularities that do not make the agent unusable.
        slot: The slot of the node's response.
    """

    mint: str
    number: int
    holder: str
    token_account: str
    uri: str
    wallet: str
    wallet_source: str
    metadata: token2022.TokenMetadata
    is_soulbound: bool
    pointer_authority: str | None
    remarks: tuple[str, ...]
    slot: int

    @property
    def watched(self) -> Watched:
        """The accounts that determine the agent's state, and the instructions that do not change it."""
        return Watched((self.mint, self.token_account), {TOKEN_2022: _HARMLESS})


_HARMLESS: Final = tuple(bytes([kind]) for kind in (1, 16, 17, 18, 21, 22, 23, 24))
"""Token-2022 instructions that create or describe token accounts. They change neither metadata nor holder."""

NOT_REGISTERED: Final = "agent_not_registered"
MISMATCH: Final = "authority_mismatch"


def minted_agent(mint: str, account: Account | None, registry: Registry) -> MintedAgent:
    """Check the account of an agent's mint, and return what it proves."""
    if account is None:
        raise _unregistered(mint, "there is no account at this address")
    if account.owner != TOKEN_2022:
        raise _unregistered(mint, f"the mint's account belongs to the program {account.owner}, not to Token-2022")
    content = account.content
    try:
        parsed = token2022.Mint.of(content)
    except MalformedAccountError as error:
        if len(content) > _TOKEN_ACCOUNT_KIND_AT and content[_TOKEN_ACCOUNT_KIND_AT] == 1:
            raise
        raise _unregistered(mint, f"the account does not have the layout of a mint: {error}") from None
    problem = _mint_problem(parsed)
    if problem:
        raise _unregistered(mint, problem)
    if (
        _pointer(parsed, token2022.Extension.MEMBER_POINTER) != mint
        or token2022.Extension.MEMBER not in parsed.extensions
    ):
        raise _unregistered(mint, "the mint has no group membership of its own")
    member = token2022.GroupMember.of(parsed.extensions[token2022.Extension.MEMBER])
    if member.mint != mint or member.group != registry.group:
        raise _unregistered(mint, f"the mint is in the group {member.group}, not in SATI's group {registry.group}")
    if (
        _pointer(parsed, token2022.Extension.METADATA_POINTER) != mint
        or token2022.Extension.METADATA not in parsed.extensions
    ):
        raise _unregistered(mint, "the mint has no metadata of its own")
    metadata = token2022.TokenMetadata.of(parsed.extensions[token2022.Extension.METADATA])
    if metadata.mint != mint:
        raise _unregistered(mint, f"the metadata of {mint} belongs to a different mint, {metadata.mint}")
    authority = parsed.extensions[token2022.Extension.METADATA_POINTER][:_ADDRESS_BYTES]
    return MintedAgent(
        metadata=metadata,
        member=member,
        is_soulbound=token2022.Extension.NON_TRANSFERABLE in parsed.extensions,
        pointer_authority=None if authority == token2022.NOBODY else address_text(authority),
    )


_TOKEN_ACCOUNT_KIND_AT: Final = 165
"""The offset of the byte that distinguishes mints with extensions from token accounts with extensions."""


def check_index(mint: str, account: Account | None, program: str) -> None:
    """Check that SATI's index lists the agent under its number."""
    try:
        fields = anchor_account(account, program, "SATI's account AgentIndex", "AgentIndex", _INDEX_BYTES)
        listed = address_text(fields.take(_ADDRESS_BYTES))
    except MalformedAccountError as error:
        raise _unregistered(mint, f"SATI's index does not list the agent's number: {error}") from None
    if listed != mint:
        raise _unregistered(mint, f"SATI's index lists {listed} under the agent's number")


def has_holder(account: Account | None, mint: str, holder: str) -> bool:
    """Return whether a token account holds the agent on behalf of a holder."""
    if account is None or account.owner != TOKEN_2022:
        return False
    token = token2022.TokenAccount.of(account.content)
    if (token.mint, token.owner, token.amount) != (
        mint,
        holder,
        1,
    ) or token.state is token2022.AccountState.UNINITIALIZED:
        return False
    if token.state is token2022.AccountState.FROZEN:
        raise AgentRefusedError(f"the account that holds the agent {mint} is frozen", MISMATCH)
    return True


def transferred(mint: str, authority: str) -> AgentRefusedError:
    """Return the error for an agent whose holder is not its update authority."""
    problem = (
        f"the agent {mint} was transferred, and its former owner {authority} still controls its wallet and URI: "
        "the holder must take over the update authority first"
    )
    return AgentRefusedError(problem, MISMATCH)


def agent_of(mint: str, minted: MintedAgent, token_account: str, chain: ChainId, slot: int) -> SatiAgent:
    """Build an agent whose accounts have all been checked."""
    wallet, source, remarks = wallet_of(minted, chain)
    return SatiAgent(
        mint=mint,
        number=minted.member.number,
        holder=minted.authority,
        token_account=token_account,
        uri=minted.metadata.uri,
        wallet=wallet,
        wallet_source=source,
        metadata=minted.metadata,
        is_soulbound=minted.is_soulbound,
        pointer_authority=minted.pointer_authority,
        remarks=remarks,
        slot=slot,
    )


def wallet_of(minted: MintedAgent, chain: ChainId) -> tuple[str, str, tuple[str, ...]]:
    """Return an agent's wallet, the wallet's source, and remarks about its format.

    The accepted formats are CAIP-10 and the two in SATI's own documents: `solana:<address>` and the bare address.
    """
    text = minted.metadata.entries.get(WALLET_KEY)
    if text is None:
        return minted.authority, OWNER, ()
    bare = text.removeprefix("solana:")
    if ":" not in bare and base58_problem(bare, _ADDRESS_BYTES, "an address") is None:
        return bare, METADATA, (f"agentWallet {text[:80]} does not specify its chain (CAIP-10)",)
    if not text:
        return "", METADATA, ("agentWallet is empty",)
    try:
        account = AccountId.parse(text)
    except MalformedIdentifierError as error:
        raise AgentRefusedError(f"agentWallet is malformed: {error}", "malformed_wallet") from None
    return (account.address if account.chain == chain else ""), METADATA, ()


def read_agent(node: SolanaNode, mint: str, program: str = SATI) -> Operation[SatiAgent]:
    """Read an agent, and check that its accounts prove it."""
    yield from node.require_chain()
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return (yield from _read_once(node, mint, program))
        except InconsistentNodeError:
            if attempt == _ATTEMPTS:
                raise
    raise AssertionError


def _read_once(node: SolanaNode, mint: str, program: str) -> Operation[SatiAgent]:
    """Read an agent as one snapshot: the mint must not change between the first and the second response."""
    slot, (account, registry_account) = yield from node.accounts([mint, registry_address(program)])
    minted = minted_agent(mint, account, Registry.of(registry_account, program))
    holder, number = minted.authority, minted.member.number
    holding_address = token_account(holder, mint, TOKEN_2022)
    second, (index, holding, again) = yield from node.accounts(
        [index_address(number, program), holding_address, mint], slot
    )
    _require_same(mint, account, again, second)
    check_index(mint, index, program)
    if not has_holder(holding, mint, holder):
        holding_address = yield from _largest_account(node, mint, holder)
        second, (holding, again) = yield from node.accounts([holding_address, mint], second)
        _require_same(mint, account, again, second)
        if not has_holder(holding, mint, holder):
            raise transferred(mint, holder)
    return agent_of(mint, minted, holding_address, node.chain, second)


def _require_same(mint: str, account: Account | None, again: Account | None, slot: int) -> None:
    if again != account:
        raise InconsistentNodeError(f"the agent {mint} changed while it was being read, by slot {slot}: try again")


def _largest_account(node: SolanaNode, mint: str, holder: str) -> Operation[str]:
    """Find the token account that holds an agent, when it is not the holder's associated token account."""
    try:
        answer = yield from node.ask(Rpc("getTokenLargestAccounts", (mint, {"commitment": node.commitment})))
    except NodeError as error:
        problem = f"the usual account of {holder} does not hold agent {mint}, and the node lists no other: {error}"
        raise SolanaError(problem) from None
    for candidate in answers.records(answers.record(answer).get("value")):
        if candidate.get("amount") == "1" and isinstance(candidate.get("address"), str):
            return str(candidate["address"])
    raise transferred(mint, holder)


def _mint_problem(mint: token2022.Mint) -> str | None:
    """Return the reason why a mint's supply is not fixed at one token; None if it is fixed."""
    if not mint.is_initialized:
        return "its mint is not initialised"
    if mint.supply != 1 or mint.decimals:
        reason = "it was burnt" if not mint.supply else "its supply is not exactly one token"
        return f"{reason}: its supply is {mint.supply} with {mint.decimals} decimals"
    if mint.mint_authority or mint.freeze_authority:
        return f"its mint has an authority, {mint.mint_authority or mint.freeze_authority}"
    return None


def _pointer(mint: token2022.Mint, kind: token2022.Extension) -> str | None:
    return token2022.pointed_address(mint.extensions[kind]) if kind in mint.extensions else None


def _unregistered(mint: str, problem: str) -> AgentRefusedError:
    return AgentRefusedError(f"{mint} is not a SATI agent: {problem}", NOT_REGISTERED)
