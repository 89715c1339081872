"""Checks of an agent's past state: nodes do not retain it, so it is only proven if nothing changed since."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from bilateral.core.errors import MalformedNodeAnswerError
from bilateral.core.errors.solana import AgentRefusedError, MalformedAccountError
from bilateral.core.identifiers.caip import base58_bytes, is_base58
from bilateral.node import answers
from bilateral.node.steps import Batch, Operation, Rpc
from bilateral.solana.nodes import SolanaNode, decoded, whole
from bilateral.solana.transactions import MAX_TRANSACTION, SignedTransaction

NOT_PROVABLE: Final = "not_provable_for_the_past"

_PAGE: Final = 1000
"""The maximum number of signatures in one response."""

MAX_EXAMINED: Final = 20
"""The maximum number of transactions to examine. If there are more, an agent's past state cannot be proven."""

_MAX_DATA_DIGITS: Final = 2 * MAX_TRANSACTION
"""The maximum number of digits of an inner instruction's data to decode. Harmless instructions have shorter data."""


@dataclass(frozen=True)
class Watched:
    """The accounts that determine an agent's state.

    Attributes:
        addresses: The accounts.
        harmless: The programs that may change these accounts. Each maps to the first bytes of those instructions that
            leave the wallet, URI and holder unchanged.
    """

    addresses: tuple[str, ...]
    harmless: Mapping[str, tuple[bytes, ...]]


class ReadAgent(Protocol):
    """An agent as stored in a registry on Solana."""

    @property
    def watched(self) -> Watched:
        """The accounts that determine the agent's state."""

    @property
    def slot(self) -> int:
        """The slot of the node's response."""


def require_unchanged(node: SolanaNode, agent: ReadAgent, slot: int) -> Operation[None]:
    """Check that an agent has not changed since the end of a slot.

    A plain transfer of a SATI agent mentions only the token account, and a metadata change mentions only the mint, so
    all watched accounts are searched.
    """
    if slot >= agent.slot:
        return
    options = {"limit": _PAGE, "commitment": node.commitment, "minContextSlot": agent.slot}
    watched = agent.watched
    searches = [Rpc("getSignaturesForAddress", (address, options)) for address in watched.addresses]
    requests = [Rpc("getFirstAvailableBlock"), *searches]
    first, *pages = yield from _all(requests)
    if whole(first) > slot:
        raise _not_provable(
            f"the node only retains transactions from slot {whole(first)} onwards, not from slot {slot}"
        )
    later: dict[str, None] = {}
    for page in pages:
        later |= dict.fromkeys(_later(answers.records(page), slot))
    if len(later) > MAX_EXAMINED:
        raise _not_provable(f"{len(later)} transactions touched the agent after slot {slot}")
    if not later:
        return
    form = {"encoding": "base64", "commitment": node.commitment, "maxSupportedTransactionVersion": 0}
    transactions = yield from _all([Rpc("getTransaction", (signature, form)) for signature in later])
    for signature, answer in zip(later, transactions, strict=True):
        if answer is None or not is_harmless(answers.record(answer), watched):
            raise _not_provable(f"the transaction {signature} may have changed the agent after slot {slot}")


def block_at(node: SolanaNode, as_of: datetime) -> Operation[int]:
    """Find the last block at or before a time, by bisection. Skipped slots have no block."""
    yield from node.require_chain()
    commitment = {"commitment": node.commitment}
    low, high = yield from _all([Rpc("getFirstAvailableBlock"), Rpc("getSlot", (commitment,))])
    low, high, seconds = whole(low), whole(high), as_of.timestamp()
    while low < high:
        middle = (low + high + 1) // 2
        blocks = yield Rpc("getBlocksWithLimit", (middle, 1, commitment))
        block = whole(blocks[0]) if isinstance(blocks, list) and blocks else high + 1
        time = whole((yield Rpc("getBlockTime", (block,)))) if middle <= block <= high else seconds + 1
        low, high = (block, high) if time <= seconds else (low, middle - 1)
    return int(low)


def is_harmless(answer: Mapping[str, Any], watched: Watched) -> bool:
    """Return whether a transaction provably left an agent's metadata and holder unchanged."""
    meta = answer.get("meta")
    if not isinstance(meta, dict) or not isinstance(meta.get("innerInstructions"), list):
        return False
    try:
        transaction = SignedTransaction.of(decoded(answer.get("transaction"), MAX_TRANSACTION))
    except MalformedAccountError as error:
        raise MalformedNodeAnswerError(f"the node's response is not a transaction: {error}") from None
    loaded = meta.get("loadedAddresses") or {}
    accounts = [*transaction.accounts]
    for name in ("writable", "readonly"):
        addresses = answers.record(loaded).get(name) or []
        if not isinstance(addresses, list):
            answers.malformed("addresses of lookup tables")
        accounts += [str(address) for address in addresses]
    instructions = [
        (instruction.program, instruction.accounts, instruction.data) for instruction in transaction.instructions
    ]
    for group in answers.records(meta["innerInstructions"]):
        instructions += [_inner(record, accounts) for record in answers.records(group.get("instructions"))]
    own = frozenset(watched.addresses)
    return not any(
        program in watched.harmless
        and not own.isdisjoint(accounts[place] for place in places if place < len(accounts))
        and not data.startswith(watched.harmless[program])
        for program, places, data in instructions
    )


def _inner(instruction: Mapping[str, Any], accounts: list[str]) -> tuple[str, tuple[int, ...], bytes]:
    program = whole(instruction.get("programIdIndex"))
    places, data = instruction.get("accounts"), instruction.get("data")
    if program >= len(accounts) or not isinstance(places, list) or not isinstance(data, str):
        answers.malformed("an inner instruction")
    is_readable = len(data) <= _MAX_DATA_DIGITS and is_base58(data)
    return accounts[program], tuple(whole(place) for place in places), base58_bytes(data) if is_readable else b""


def _later(entries: list[dict[str, Any]], slot: int) -> list[str]:
    later = [entry for entry in entries if whole(entry.get("slot")) > slot]
    if len(later) >= _PAGE:
        raise _not_provable(f"at least {_PAGE} transactions touched the agent after slot {slot}")
    if any(not isinstance(entry.get("signature"), str) for entry in later):
        answers.malformed("a list of signatures")
    return [str(entry["signature"]) for entry in later if entry.get("err") is None]


def _all(requests: list[Rpc]) -> Operation[list[Any]]:
    results: list[Any] = yield Batch(tuple(requests))
    for result in results:
        if isinstance(result, Exception):
            raise result
    return results


def _not_provable(problem: str) -> AgentRefusedError:
    return AgentRefusedError(f"the agent's history cannot be proven: {problem}", NOT_PROVABLE)
