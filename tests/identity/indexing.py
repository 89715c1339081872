"""An indexer that reads only the events of the identity registry."""

from __future__ import annotations

from bilateral.core.contracts import Registry
from bilateral.core.contracts.logs import RawLog
from bilateral.core.events.agents import AgentStates
from bilateral.core.events.decoder import decode_log


def states(node, address, first_block):
    """Derive the state of all agents from the logs since a block.

    Args:
        node: Ape's provider.
        address: The identity registry.
        first_block: The number of the first block.

    Returns:
        The `AgentStates`.
    """
    query = {"address": address, "fromBlock": hex(first_block), "toBlock": "latest"}
    logs = node.make_request("eth_getLogs", [query])
    derived = AgentStates()
    derived.apply(decode_log(Registry.IDENTITY, RawLog.from_json(log)) for log in logs)
    return derived
