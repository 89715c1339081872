"""Agents and accounts in the forms in which callers and policies write them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.identifiers import AgentId, GlobalAgentId
from bilateral.core.identifiers.agents import AGENT_FORMS

_ADDRESS_LENGTH: Final = 42  # characters: 0x, and two digits for each of 20 bytes


@dataclass(frozen=True)
class AgentReference:
    """An agent as a caller writes it.

    Attributes:
        chain_id: The chain; None for the only one of the index.
        identity: The identity registry; None for the canonical one of the chain, or else the oldest.
        agent_id: The number in the registry.
    """

    chain_id: int | None
    identity: str | None
    agent_id: int


def is_account(text: object) -> bool:
    """Return True if a text means an account, not an agent."""
    return isinstance(text, str) and len(text) == _ADDRESS_LENGTH and text[:2].lower() == "0x"


def parse_agent(agent: str | int | AgentId | GlobalAgentId) -> AgentReference:
    """Read an agent in any published form."""
    if isinstance(agent, str) and agent[:2].lower() == "0x":
        raise MalformedIdentifierError("an agent id", agent, f"{AGENT_FORMS}; an account has 40 hexadecimal digits")
    if isinstance(agent, str) and "0x" in agent.lower():
        text = agent
        if "#" not in agent:
            head, _, token = agent.rpartition(":")
            text = f"{head}#{token}"
        agent = GlobalAgentId.parse(text)
    if isinstance(agent, GlobalAgentId):
        return AgentReference(agent.registry.chain.evm_chain_id, agent.registry.address, int(agent.agent))
    agent_id = agent if isinstance(agent, AgentId) else AgentId.parse(agent)
    return AgentReference(agent_id.chain_id, None, agent_id.token_id)
