"""Compare the owners of agents with those that the registries on the chain name."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any, Final

from eth_abi.abi import encode
from eth_utils.crypto import keccak
from sqlalchemy import Engine, select

from bilateral.core.errors import MalformedNodeAnswerError, NodeError
from bilateral.core.identifiers import checksummed
from bilateral.index.agents import tables as agent_tables
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.log import tables as schema
from bilateral.index.log.database import snapshot
from bilateral.node.answers import revert_of

_SELECTOR: Final = keccak(text="ownerOf(uint256)")[:4]
_OWNER: Final = re.compile(r"0x0{24}([0-9a-fA-F]{40})")


@dataclass(frozen=True)
class OwnerComparison:
    """The comparison of some agents' owners.

    Attributes:
        block: The last indexed block, at which the registries were asked.
        compared: The number of agents.
        different: The agents with another owner on the chain: registry, agent and both owners.
    """

    block: int
    compared: int
    different: tuple[str, ...]


def compare_owners(
    engine: Engine, endpoint: Endpoint, chain_id: int, *, samples: int, seed: int = 0
) -> OwnerComparison:
    """Compare the owners of agents, chosen at random, with `ownerOf` after the last indexed block.

    Args:
        endpoint: A node that keeps the state after that block.
        samples: The number of agents to choose.
        seed: The seed of the choice.

    Raises:
        NodeError: The node refuses, for instance because it lacks the state.
        MalformedNodeAnswerError: An answer is not an address.
    """
    block, agents = _sample(engine, chain_id, samples, random.Random(seed))  # noqa: S311  # a sample, not a secret
    different = []
    for registry, agent_id, owner in agents:
        actual = _owner_of(endpoint, registry, int(agent_id), block)
        if actual != owner:
            different.append(f"{registry} agent {agent_id}: {owner} in the index, {actual or 'no owner'} on the chain")
    return OwnerComparison(block, len(agents), tuple(different))


def _sample(
    engine: Engine, chain_id: int, samples: int, choice: random.Random
) -> tuple[int, Sequence[tuple[Any, ...]]]:
    """Return the last indexed block, and registry, id and owner of some agents after it."""
    chain, agent = schema.chain.c, agent_tables.agent.c
    query = (
        select(agent.identity_registry, agent.agent_id, agent.owner)
        .where(agent.chain_id == chain_id)
        .order_by(agent.identity_registry, agent.agent_id)  # one seed chooses the same agents again
        .execution_options(stream_results=True)
    )
    with snapshot(engine) as connection:
        block = connection.execute(select(chain.block_number).where(chain.chain_id == chain_id)).scalar_one()
        if not samples:
            return block, ()
        return block, nsmallest(samples, map(tuple, connection.execute(query)), key=lambda _: choice.random())


def _owner_of(endpoint: Endpoint, registry: str, agent_id: int, block: int) -> str | None:
    """Return an agent's owner after a block, in checksum form; None if the registry reverts: no such agent."""
    data = "0x" + (_SELECTOR + encode(["uint256"], [agent_id])).hex()
    try:
        answer = endpoint.request("eth_call", ({"to": registry, "data": data}, hex(block)), str)
    except NodeError as error:
        if revert_of(error) is None:
            raise
        return None
    if not (owner := _OWNER.fullmatch(answer)):
        raise MalformedNodeAnswerError(
            f"{endpoint.name} answers ownerOf({agent_id}) of {registry} with {answer[:80]!r} instead of an address"
        )
    return checksummed("0x" + owner[1])
