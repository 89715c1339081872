"""Identifiers for chains, accounts, agents, transactions and feedback."""

from bilateral.core.identifiers.agents import AgentId, FeedbackId, GlobalAgentId, global_agent_id
from bilateral.core.identifiers.caip import SOLANA, AccountId, ChainId, TransactionRef, checksummed

__all__ = ["SOLANA", "AccountId", "AgentId", "ChainId", "FeedbackId", "GlobalAgentId", "TransactionRef", "checksummed"]
__all__ += ["global_agent_id"]
