"""Storage slots of a client's words in the reputation registry, for states that calls cannot reach in a test."""

from __future__ import annotations

from eth_utils import keccak

REPUTATIONS_SLOT = 0
"""Return the slot of `_reputations`. In a `Reputation`, the mapping `histories` is the second word."""

TAG_COUNT_SLOT = 3
"""`_tags.count`: the last of the dictionary's three words, which start at slot 1."""


def ledger_slot(agent, client):
    """Return the slot of `_reputations[agent].histories[client].ledger`, the first word of a history."""
    reputation = int.from_bytes(keccak(agent.to_bytes(32) + REPUTATIONS_SLOT.to_bytes(32)))
    return int.from_bytes(keccak(bytes.fromhex(client.address[2:]).rjust(32, b"\0") + (reputation + 1).to_bytes(32)))


def feedback_slot(agent, client, index):
    """Return the slot of a feedback. By index, feedback follows a history's first two words."""
    return ledger_slot(agent, client) + 2 + index
