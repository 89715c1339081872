"""Where the reputation registry keeps a client's words, for states that no test could reach by calls."""

from __future__ import annotations

from eth_utils import keccak

REPUTATIONS_SLOT = 0
"""`_reputations`; of a `Reputation`, the mapping `histories` is the second word."""

TAG_COUNT_SLOT = 3
"""`_tags.count`: the last of the dictionary's three words, which start at slot 1."""


def ledger_slot(agent, client):
    """The slot of `_reputations[agent].histories[client].ledger`, which is a history's first word."""
    reputation = int.from_bytes(keccak(agent.to_bytes(32) + REPUTATIONS_SLOT.to_bytes(32)))
    return int.from_bytes(keccak(bytes.fromhex(client.address[2:]).rjust(32, b"\0") + (reputation + 1).to_bytes(32)))


def feedback_slot(agent, client, index):
    """The slot of a feedback: a history's third word and those that follow, by index."""
    return ledger_slot(agent, client) + 2 + index
