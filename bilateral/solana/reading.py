"""Read an agent of SATI in two requests: mint and registry, then index, holder and the mint again."""

from __future__ import annotations

from typing import Final

from bilateral.core.errors import NodeError
from bilateral.core.errors.solana import InconsistentNodeError, SolanaError
from bilateral.node import answers
from bilateral.node.steps import Operation, Rpc
from bilateral.solana.addresses import SATI, TOKEN_2022, index_address, registry_address, token_account
from bilateral.solana.anchor import Account
from bilateral.solana.nodes import SolanaNode
from bilateral.solana.sati import Registry, SatiAgent, agent_of, check_index, is_held_by, minted_agent, transferred

_ATTEMPTS: Final = 2
"""Reads of an agent that changes, or of a pool of nodes that differ. A third would rarely help."""


def read_agent(node: SolanaNode, mint: str, program: str = SATI) -> Operation[SatiAgent]:
    """Read an agent, and check that its accounts prove it.

    Args:
        mint: The agent's mint.
        program: SATI's program.

    Raises:
        AgentRefusedError: It is not an agent of SATI, or its former owner controls it.
        MalformedAccountError: An account has no valid layout.
        WrongNodeError: The node is of another chain.
        InconsistentNodeError: Two reads differ, twice.
        NodeError: The node returns an error.
    """
    yield from node.require_chain()
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return (yield from _read_once(node, mint, program))
        except InconsistentNodeError:
            if attempt == _ATTEMPTS:
                raise
    raise AssertionError


def _read_once(node: SolanaNode, mint: str, program: str) -> Operation[SatiAgent]:
    """Read an agent in one snapshot: the mint is the same in the first and in the second answer."""
    slot, (account, registry_account) = yield from node.accounts([mint, registry_address(program)])
    minted = minted_agent(mint, account, Registry.of(registry_account, program))
    holder, number = minted.authority, minted.member.number
    holding_address = token_account(holder, mint, TOKEN_2022)
    second, (index, holding, again) = yield from node.accounts(
        [index_address(number, program), holding_address, mint], slot
    )
    _require_same(mint, account, again, second)
    check_index(mint, index, program)
    if not is_held_by(holding, mint, holder):
        holding_address = yield from _largest_account(node, mint, holder)
        second, (holding, again) = yield from node.accounts([holding_address, mint], second)
        _require_same(mint, account, again, second)
        if not is_held_by(holding, mint, holder):
            raise transferred(mint, holder)
    return agent_of(mint, minted, holding_address, node.chain, second)


def _require_same(mint: str, account: Account | None, again: Account | None, slot: int) -> None:
    """Check that a mint has not changed between two answers."""
    if again != account:
        raise InconsistentNodeError(f"the agent {mint} changed while it was read, by slot {slot}: try again")


def _largest_account(node: SolanaNode, mint: str, holder: str) -> Operation[str]:
    """Ask for the account that holds an agent, if it is not the associated one of the update authority."""
    try:
        answer = yield from node.ask(Rpc("getTokenLargestAccounts", (mint, {"commitment": node.commitment})))
    except NodeError as error:
        problem = f"the usual account of {holder} does not hold the agent {mint}, and the node names no other: {error}"
        raise SolanaError(problem) from None
    for candidate in answers.records(answers.record(answer).get("value")):
        if candidate.get("amount") == "1" and isinstance(candidate.get("address"), str):
            return str(candidate["address"])
    raise transferred(mint, holder)
