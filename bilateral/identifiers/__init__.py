"""The identifiers of chains, accounts, agents, transactions and feedback."""

from bilateral.identifiers.agents import AgentId, FeedbackId, GlobalAgentId, global_agent_id
from bilateral.identifiers.caip import SOLANA, AccountId, ChainId, TransactionRef, checksummed

__all__ = [
    "SOLANA",
    "AccountId",
    "AgentId",
    "ChainId",
    "FeedbackId",
    "GlobalAgentId",
    "TransactionRef",
    "checksummed",
    "global_agent_id",
]
